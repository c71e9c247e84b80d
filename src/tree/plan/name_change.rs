//! The change of one name, by itself.

use super::charset_choice::CharsetChoice;
use super::name_spelling::{adds_control, restored, spelled};
use super::name_steps::{left, take_steps};
use super::plan_options::PlanOptions;
use crate::names::{BackingName, CharsetSource};
use crate::records::{PlanLine, Reason};

/// Most times that a name is looked at again: the result of one option may be what another option is about.
const MOST_ROUNDS: usize = 4;

/// The readings of a name less likely than this are none of a name that an entry has got.
const POSSIBLE: f64 = 0.01;

/// The names that an entry of a name may have got, where that entry is not there.
#[derive(Debug, Default)]
pub(super) struct Spellings {
    /// The one that it would get, if that is sure enough.
    pub(super) likely: Option<BackingName>,
    /// Those by any reading that is not negligible, each once.
    pub(super) possible: Vec<BackingName>,
}

/// May `name` get another name? Whatever this says no to is kept.
pub(super) fn may_change(options: &PlanOptions, name: &[u8]) -> bool {
    if options.are_of_ill_formed_alone() {
        return std::str::from_utf8(name).is_err() || name.len() > options.policy().max_bytes;
    }
    let text = std::str::from_utf8(name).ok();
    if options.map.store_as.is_some() {
        return text.is_some() && !(name.is_ascii() && options.policy().conforms(name));
    }
    !options.policy().conforms(name)
        || (options.fix_double && !name.is_ascii())
        || (options.unescape.is_some() && name.contains(&b'%'))
        || text.is_some_and(|text| restored(options, text).is_some())
}

/// Returns the line of a plan for a name that [may change](may_change), were it alone in its directory; `None` if nothing is amiss
/// with it. Kind and inode are
/// left to the caller. A new name conforms, and is kept by the same options. It has no control character that the name has
/// not, unless that is allowed (law T8).
pub(super) fn name_change(
    options: &PlanOptions,
    choice: &CharsetChoice,
    old: &BackingName,
) -> Option<PlanLine> {
    let mut line = repeated(options, choice, old)?;
    let new = line.new.as_ref();
    let has_control = new.is_some_and(|new| adds_control(old.as_bytes(), new.as_bytes()));
    if has_control && !options.allow_control {
        line = left(old, Reason::Control, line.candidates);
    }
    match line.new {
        None if options.escape => escaped(options, old).or(Some(line)),
        _ => Some(line),
    }
}

/// Returns the names that an entry of this name may have got, which [may change](may_change).
pub(super) fn spellings(
    options: &PlanOptions,
    choice: &CharsetChoice,
    old: &BackingName,
) -> Spellings {
    let name = old.as_bytes();
    let mut possible: Vec<BackingName> = Vec::new();
    if options.from == CharsetSource::Auto && std::str::from_utf8(name).is_err() {
        let guesses = choice.mixture.read(name).into_iter();
        for guess in guesses.filter(|guess| guess.confidence >= POSSIBLE) {
            if let Ok((new, _)) = spelled(options, &guess.text, name)
                && !adds_control(name, new.as_bytes())
                && !possible.contains(&new)
            {
                possible.push(new);
            }
        }
    }
    Spellings {
        likely: name_change(options, choice, old).and_then(|line| line.new),
        possible,
    }
}

/// Returns the change to the name that a mount shows of an ill-formed name without text; `None` if there is none.
fn escaped(options: &PlanOptions, old: &BackingName) -> Option<PlanLine> {
    let name = old.as_bytes();
    let is_ill_formed = std::str::from_utf8(name).is_err();
    let mut new = is_ill_formed.then(|| options.unlimited.escape_candidate(name, 1))?;
    if options.policy().over_a_limit(new.as_bytes()).is_some() {
        if !options.shorten {
            return Some(left(old, Reason::WouldBeTooLong, None));
        }
        new = options.map.escape_candidate(name, 1);
    }
    options.policy().conforms(new.as_bytes()).then(|| PlanLine {
        new: Some(new.as_backing()),
        ..left(old, Reason::BytesEscaped, None)
    })
}

fn repeated(options: &PlanOptions, choice: &CharsetChoice, old: &BackingName) -> Option<PlanLine> {
    let mut line = take_steps(options, choice, old)?;
    for _ in 0..MOST_ROUNDS {
        let new = line.new.as_ref();
        let new = new.filter(|new| may_change(options, new.as_bytes()));
        let next = new.and_then(|new| take_steps(options, choice, new));
        let Some(next) = next.filter(|next| next.new.is_some()) else {
            return Some(line);
        };
        if next.new.as_ref() == Some(old) {
            return None;
        }
        line.new = next.new;
        line.warning = line.warning.or(next.warning);
        line.charset = line.charset.or(next.charset);
        line.confidence = match (line.confidence, next.confidence) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
    Some(left(old, Reason::NoSpelling, None))
}

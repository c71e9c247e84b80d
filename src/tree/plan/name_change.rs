//! The change of one name, by itself.

use std::borrow::Cow;

use super::charset_choice::CharsetChoice;
use super::plan_options::PlanOptions;
use crate::codec::charset::is_meaningless;
use crate::codec::guess::{TextGuess, doubly_encoded};
use crate::names::{BackingName, CharsetSource, Escapes, percent_decoded};
use crate::records::{Candidate, Kind, PlanLine, Reason, Warning};

/// A name that is less likely than this to have been encoded again is meant as it is.
const LIKELY: f64 = 0.25;

/// Among others that were surely encoded again, this is enough.
const AMONG_OTHERS: f64 = 0.5;

/// Most times that a name is looked at again: the result of one option may be what another option is about.
const MOST_ROUNDS: usize = 4;

/// Most readings that a plan lists.
const CANDIDATES: usize = 3;

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
    let is_unwanted = |new: &BackingName| adds_control(old.as_bytes(), new.as_bytes());
    if !options.allow_control && line.new.as_ref().is_some_and(is_unwanted) {
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

/// Returns the line of a name that stays.
fn left(
    old: &BackingName,
    reason: Reason,
    candidates: impl IntoIterator<Item = Candidate>,
) -> PlanLine {
    PlanLine {
        candidates: candidates.into_iter().collect(),
        ..PlanLine::new(old.clone(), Kind::Unknown, 0, reason)
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
    let mut line = once(options, choice, old)?;
    for _ in 0..MOST_ROUNDS {
        let new = line.new.as_ref();
        let new = new.filter(|new| may_change(options, new.as_bytes()));
        let next = new.and_then(|new| once(options, choice, new));
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

fn once(options: &PlanOptions, choice: &CharsetChoice, old: &BackingName) -> Option<PlanLine> {
    let name = old.as_bytes();
    // The reason until something else is found; then it is about the characters, or the form.
    let mut line = left(old, Reason::Target, None);
    let mut bytes = Cow::Borrowed(name);
    let unescaped = match options.unescape {
        Some(Escapes::Utf8fs) => {
            let spelling = options.map.escaped_spelling(name);
            spelling.map(|spelling| spelling.as_bytes().to_vec())
        }
        Some(Escapes::Percent) => percent_decoded(name),
        None => None,
    };
    if let Some(unescaped) = unescaped {
        bytes = Cow::Owned(unescaped);
        line.reason = Reason::Escaped;
        // Text beside bytes of a charset: neither reading would be right for both.
        let is_text = |name: &[u8]| std::str::from_utf8(name).is_ok();
        if !is_text(&bytes) && is_text(name) && !name.is_ascii() {
            return Some(left(old, Reason::NoSpelling, None));
        }
    }
    let mut text = match std::str::from_utf8(&bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let read = match &options.from {
                CharsetSource::Leave => return None,
                CharsetSource::Charsets(charsets) => charsets
                    .iter()
                    .find_map(|charset| Some((charset.decode_reversibly(&bytes)?, *charset))),
                CharsetSource::Auto => {
                    let mut guesses = choice.mixture.read(&bytes);
                    let is_likely = |best: &TextGuess| best.confidence >= options.least;
                    if !guesses.first().is_some_and(is_likely) {
                        let candidates = candidates(options, &guesses, &bytes);
                        let reason = match candidates.as_slice() {
                            [] => Reason::Unreadable,
                            _ => Reason::Unsure,
                        };
                        return Some(left(old, reason, candidates));
                    }
                    let best = guesses.remove(0);
                    line.candidates = candidates(options, &guesses, &bytes);
                    line.confidence = Some(best.confidence);
                    Some((best.text, best.charset))
                }
            };
            let Some((text, charset)) = read else {
                return Some(left(old, Reason::Unreadable, None));
            };
            if line.reason == Reason::Target {
                line.reason = Reason::Decoded;
            }
            line.warning = warning(&text);
            line.charset = Some(charset);
            Cow::Owned(text)
        }
    };
    if options.fix_double
        && line.reason == Reason::Target
        && let Some(doubled) = doubly_encoded(text.as_bytes())
        && doubled.confidence >= LIKELY
    {
        let charset = doubled.routes.first().copied();
        let confidence = Some(doubled.confidence);
        // One name alone may be meant as it is; many of one directory are not.
        let is_among_others = doubled.confidence >= AMONG_OTHERS && choice.doubled >= options.least;
        if is_among_others || doubled.confidence >= options.least {
            line.reason = Reason::Doubled;
            (line.charset, line.confidence) = (charset, confidence);
            text = Cow::Owned(doubled.text);
        } else if options.policy().conforms(name) {
            let candidate = BackingName::parse(doubled.text.as_bytes()).ok();
            let candidate = candidate.map(|name| Candidate {
                name,
                charset,
                confidence,
            });
            return Some(left(old, Reason::Unsure, candidate));
        }
    }
    if let Some(restored) = restored(options, &text) {
        if line.reason == Reason::Target {
            line.reason = Reason::Mapped;
        }
        text = Cow::Owned(restored);
    }
    let (new, reason) = match spelled(options, &text, name) {
        Ok(spelled) => spelled,
        Err((reason, cut)) => {
            let cut = cut.map(|name| Candidate {
                name,
                charset: line.charset,
                confidence: line.confidence,
            });
            return Some(left(old, reason, cut));
        }
    };
    let Some(stored) = stored(options, new) else {
        return Some(left(old, Reason::Unmappable, None));
    };
    if stored == *old {
        return None;
    }
    let is_respelled = line.reason == Reason::Decoded && reason != Reason::Form;
    if line.reason == Reason::Target || is_respelled {
        line.reason = reason;
    }
    if std::str::from_utf8(stored.as_bytes()).is_err() {
        line.reason = Reason::Encoded;
    }
    line.new = Some(stored);
    Some(line)
}

/// The name in the charset that names are stored in; `None` if that lacks a character, or its bytes would be UTF-8.
fn stored(options: &PlanOptions, name: BackingName) -> Option<BackingName> {
    if options.map.store_as.is_none() || name.as_bytes().is_ascii() {
        return Some(name);
    }
    let stored = options.map.stored(&name.as_visible()).ok()?;
    (stored != name).then_some(stored)
}

/// The text that private-use characters stand for; `None` if there are none, or they are to stay.
fn restored(options: &PlanOptions, text: &str) -> Option<String> {
    options
        .private_use
        .filter(|_| !text.is_ascii())?
        .restored(text)
}

/// The names that these readings make of it, each once, but for those that would have control characters.
pub(super) fn candidates(
    options: &PlanOptions,
    guesses: &[TextGuess],
    name: &[u8],
) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = Vec::new();
    for guess in guesses {
        if let Ok((new, _)) = spelled(options, &guess.text, name)
            && new.as_bytes() != name
            && !adds_control(name, new.as_bytes())
            && candidates.len() < CANDIDATES
            && candidates.iter().all(|other| other.name != new)
        {
            candidates.push(Candidate {
                name: new,
                charset: Some(guess.charset),
                confidence: Some(guess.confidence),
            });
        }
    }
    candidates
}

/// The conforming name of a text that the name on disk stands for, and the problem of the text, if it was not taken as it is; else
/// why there is none, and what it would be cut to.
fn spelled(
    options: &PlanOptions,
    text: &str,
    name: &[u8],
) -> Result<(BackingName, Reason), (Reason, Option<BackingName>)> {
    let policy = options.policy();
    // Checked after the last step: it is one component of a path (law C5).
    if policy.conforms(text.as_bytes())
        && let Ok(new) = BackingName::parse(text.as_bytes())
    {
        return Ok((new, Reason::Form));
    }
    let whole = options.unlimited.spelled(text.as_bytes(), name);
    let whole = whole.filter(|whole| options.unlimited.policy.conforms(whole.as_bytes()));
    let whole = whole.ok_or((Reason::NoSpelling, None))?;
    if policy.over_a_limit(whole.as_bytes()).is_none() {
        let reason = match policy.form {
            Some(form) if !form.holds(text) => Reason::Form,
            _ => Reason::Forbidden,
        };
        return Ok((whole.as_backing(), reason));
    }
    let cut = options.map.spelled(text.as_bytes(), name);
    let cut = cut.filter(|cut| policy.conforms(cut.as_bytes()));
    match cut.map(|cut| cut.as_backing()) {
        Some(cut) if options.shorten => Ok((cut, Reason::TooLong)),
        cut => Err((Reason::WouldBeTooLong, cut)),
    }
}

/// Returns the suspicion about a text that bytes were decoded to.
fn warning(text: &str) -> Option<Warning> {
    let mut pairs = text.chars().zip(text.chars().skip(1));
    // C0 and C1 as Latin-1 reads them, and a continuation byte.
    if pairs.any(|(lead, next)| matches!(lead, 'À' | 'Á') && matches!(next, '\u{80}'..='\u{BF}'))
    {
        return Some(Warning::Overlong);
    }
    let is_added = |c: char| !c.is_ascii() && is_meaningless(c);
    text.chars().any(is_added).then_some(Warning::Control)
}

/// Has the new name a control character, noncharacter or unassigned code point that the old one has not?
fn adds_control(old: &[u8], new: &[u8]) -> bool {
    let had = |c: char| match str::from_utf8(old) {
        Ok(old) => old.contains(c),
        Err(_) => c.is_ascii() && old.iter().any(|&byte| char::from(byte) == c),
    };
    let new = str::from_utf8(new).unwrap_or_default();
    new.chars().any(|c| is_meaningless(c) && !had(c))
}

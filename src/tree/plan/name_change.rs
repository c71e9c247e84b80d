//! The change of one name, by itself.

use std::borrow::Cow;

use super::charset_choice::CharsetChoice;
use super::plan_options::PlanOptions;
use crate::codec::Charset;
use crate::codec::charset::is_meaningless;
use crate::codec::guess::{Doubled, TextGuess, doubly_encoded};
use crate::names::{BackingName, CharsetSource, Escapes, VisibleName, percent_decoded};
use crate::records::{Candidate, Reason, Warning};

/// A name that is less likely than this to have been encoded again is meant as it is.
const LIKELY: f64 = 0.25;

/// Among others that were surely encoded again, this is enough.
const AMONG_OTHERS: f64 = 0.5;

/// Most times that a name is looked at again: the result of one option may be what another option is about.
const MOST_ROUNDS: usize = 4;

/// Most readings that a plan lists.
const CANDIDATES: usize = 3;

/// The change of a name.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum NameChange {
    /// Nothing is amiss with it.
    Keep,
    /// The entry gets another name.
    New(NewName),
    /// Something is amiss, but it stays.
    Left(Reason, Vec<Candidate>),
}

/// A new name, and why.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NewName {
    pub(super) name: Vec<u8>,
    pub(super) reason: Reason,
    pub(super) warning: Option<Warning>,
    pub(super) charset: Option<Charset>,
    pub(super) confidence: Option<f64>,
    /// Other names that the guesses make of it.
    pub(super) candidates: Vec<Candidate>,
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

/// Returns the change of `name`, were it alone in its directory. A new name conforms, and is kept by the same options. It has no
/// control character that the name has not, unless that is allowed (law T8).
pub(super) fn name_change(
    options: &PlanOptions,
    choice: &CharsetChoice,
    name: &[u8],
) -> NameChange {
    if !may_change(options, name) {
        return NameChange::Keep;
    }
    let change = match repeated(options, choice, name) {
        NameChange::New(new) if !options.allow_control && adds_control(name, &new.name) => {
            NameChange::Left(Reason::Control, new.candidates)
        }
        change @ (NameChange::Keep | NameChange::New(_) | NameChange::Left(..)) => change,
    };
    match change {
        NameChange::Left(..) if options.escape => escaped(options, name).unwrap_or(change),
        NameChange::Keep | NameChange::New(_) | NameChange::Left(..) => change,
    }
}

/// Returns the change to the name that a mount shows of an ill-formed name without text; `None` if there is none.
fn escaped(options: &PlanOptions, name: &[u8]) -> Option<NameChange> {
    let is_ill_formed = std::str::from_utf8(name).is_err();
    let mut new = is_ill_formed.then(|| options.unlimited.escape_candidate(name, 1))?;
    if options.policy().over_a_limit(new.as_bytes()).is_some() {
        if !options.shorten {
            return Some(NameChange::Left(Reason::WouldBeTooLong, Vec::new()));
        }
        new = options.map.escape_candidate(name, 1);
    }
    options.policy().conforms(new.as_bytes()).then(|| {
        NameChange::New(NewName {
            name: new.as_bytes().to_vec(),
            reason: Reason::BytesEscaped,
            warning: None,
            charset: None,
            confidence: None,
            candidates: Vec::new(),
        })
    })
}

fn repeated(options: &PlanOptions, choice: &CharsetChoice, name: &[u8]) -> NameChange {
    let mut change = once(options, choice, name);
    for _ in 0..MOST_ROUNDS {
        let NameChange::New(new) = &mut change else {
            return change;
        };
        if !may_change(options, &new.name) {
            return change;
        }
        let NameChange::New(next) = once(options, choice, &new.name) else {
            return change;
        };
        if next.name == name {
            return NameChange::Keep;
        }
        new.name = next.name;
        new.warning = new.warning.or(next.warning);
        new.charset = new.charset.or(next.charset);
        new.confidence = match (new.confidence, next.confidence) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
    NameChange::Left(Reason::NoSpelling, Vec::new())
}

fn once(options: &PlanOptions, choice: &CharsetChoice, name: &[u8]) -> NameChange {
    let mut new = NewName {
        name: Vec::new(),
        // Until something else is found; then it is about the characters, or the form.
        reason: Reason::Target,
        warning: None,
        charset: None,
        confidence: None,
        candidates: Vec::new(),
    };
    let mut bytes = Cow::Borrowed(name);
    if let Some(unescaped) = options.unescape.and_then(|of| unescaped(options, of, name)) {
        bytes = Cow::Owned(unescaped);
        new.reason = Reason::Escaped;
        // Text beside bytes of a charset: neither reading would be right for both.
        let is_text = |name: &[u8]| std::str::from_utf8(name).is_ok();
        if !is_text(&bytes) && is_text(name) && !name.is_ascii() {
            return NameChange::Left(Reason::NoSpelling, Vec::new());
        }
    }
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) if options.from == CharsetSource::Leave => return NameChange::Keep,
        Err(_) => {
            let mut confidence = None;
            let read = if options.from == CharsetSource::Auto {
                let mut guesses = choice.guessed(&bytes);
                let is_likely = |best: &TextGuess| best.confidence >= options.least;
                if !guesses.first().is_some_and(is_likely) {
                    return unread(Reason::Unsure, candidates(options, &guesses, &bytes));
                }
                let best = guesses.remove(0);
                new.candidates = candidates(options, &guesses, &bytes);
                confidence = Some(best.confidence);
                Some((best.text, best.charset))
            } else {
                choice.named(&bytes)
            };
            let Some((text, charset)) = read else {
                return unread(Reason::Unreadable, Vec::new());
            };
            if new.reason == Reason::Target {
                new.reason = Reason::Decoded;
            }
            new.warning = warning(&text);
            new.charset = Some(charset);
            new.confidence = confidence;
            Cow::Owned(text)
        }
    };
    let text = if options.fix_double && new.reason == Reason::Target {
        match doubled(&text) {
            Some(doubled) if is_sure(options, choice, &doubled) => {
                new.reason = Reason::Doubled;
                new.confidence = Some(doubled.confidence);
                new.charset = Charset::from_label(doubled.label()).ok();
                Cow::Owned(doubled.text)
            }
            Some(doubled) if options.policy().conforms(name) => {
                let candidate = BackingName::parse(doubled.text.as_bytes());
                let candidates = candidate.ok().map(|name| Candidate {
                    name,
                    charset: Charset::from_label(doubled.label()).ok(),
                    confidence: Some(doubled.confidence),
                });
                return NameChange::Left(Reason::Unsure, candidates.into_iter().collect());
            }
            _ => text,
        }
    } else {
        text
    };
    let text = match restored(options, &text) {
        Some(restored) => {
            if new.reason == Reason::Target {
                new.reason = Reason::Mapped;
            }
            Cow::Owned(restored)
        }
        None => text,
    };
    match spelled(options, &text, name) {
        Ok(spelled) => {
            let Some(stored) = stored(options, spelled.name) else {
                return NameChange::Left(Reason::Unmappable, Vec::new());
            };
            if stored == name {
                return NameChange::Keep;
            }
            let is_respelled = new.reason == Reason::Decoded && spelled.reason != Reason::Form;
            if new.reason == Reason::Target || is_respelled {
                new.reason = spelled.reason;
            }
            if std::str::from_utf8(&stored).is_err() {
                new.reason = Reason::Encoded;
            }
            new.name = stored;
            NameChange::New(new)
        }
        Err((reason, cut)) => {
            let cut = cut.and_then(|cut| BackingName::parse(&cut).ok());
            let candidates = cut.map(|name| Candidate {
                name,
                charset: new.charset,
                confidence: new.confidence,
            });
            NameChange::Left(reason, candidates.into_iter().collect())
        }
    }
}

/// The name in the charset that names are stored in; `None` if that lacks a character, or its bytes would be UTF-8.
fn stored(options: &PlanOptions, name: Vec<u8>) -> Option<Vec<u8>> {
    if options.map.store_as.is_none() || name.is_ascii() {
        return Some(name);
    }
    let stored = options.map.stored(&VisibleName::parse(&name).ok()?).ok()?;
    (stored.as_bytes() != name).then(|| stored.as_bytes().to_vec())
}

/// The text that private-use characters stand for; `None` if there are none, or they are to stay.
fn restored(options: &PlanOptions, text: &str) -> Option<String> {
    options
        .private_use
        .filter(|_| !text.is_ascii())?
        .restored(text)
}

/// The name that escapes stand for; `None` if it has none.
fn unescaped(options: &PlanOptions, escapes: Escapes, name: &[u8]) -> Option<Vec<u8>> {
    match escapes {
        Escapes::Utf8fs => Some(options.map.escaped_spelling(name)?.as_bytes().to_vec()),
        Escapes::Percent => percent_decoded(name),
    }
}

/// A name of which no reading is taken.
fn unread(reason: Reason, candidates: Vec<Candidate>) -> NameChange {
    match candidates.as_slice() {
        [] => NameChange::Left(Reason::Unreadable, candidates),
        _ => NameChange::Left(reason, candidates),
    }
}

/// The names that these readings make of it, each once, but for those that would have control characters.
pub(super) fn candidates(
    options: &PlanOptions,
    guesses: &[TextGuess],
    name: &[u8],
) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = Vec::new();
    for guess in guesses {
        let new = spelled(options, &guess.text, name)
            .ok()
            .filter(|spelled| spelled.name != name && !adds_control(name, &spelled.name))
            .and_then(|spelled| BackingName::parse(&spelled.name).ok());
        if let Some(new) = new
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

/// The text before it was encoded again, if that is not unlikely.
fn doubled(text: &str) -> Option<Doubled> {
    doubly_encoded(text.as_bytes()).filter(|doubled| doubled.confidence >= LIKELY)
}

/// Is it sure that the name was encoded again? One name alone may be meant as it is; many of one directory are not.
fn is_sure(options: &PlanOptions, choice: &CharsetChoice, doubled: &Doubled) -> bool {
    doubled.confidence >= options.least
        || (doubled.confidence >= AMONG_OTHERS && choice.doubled >= options.least)
}

/// A name that conforms.
struct Spelled {
    name: Vec<u8>,
    /// The problem of the text, if it was not taken as it is.
    reason: Reason,
}

/// The conforming name of a text that the name on disk stands for; else why there is none, and what it would be cut to.
fn spelled(
    options: &PlanOptions,
    text: &str,
    name: &[u8],
) -> Result<Spelled, (Reason, Option<Vec<u8>>)> {
    let policy = options.policy();
    if policy.conforms(text.as_bytes()) {
        return Ok(Spelled {
            name: text.as_bytes().to_vec(),
            reason: Reason::Form,
        });
    }
    let whole = options.unlimited.spelled(text.as_bytes(), name);
    let whole = whole.filter(|whole| options.unlimited.policy.conforms(whole.as_bytes()));
    let whole = whole.ok_or((Reason::NoSpelling, None))?;
    let is_out_of_form = policy.form.is_some_and(|form| !form.holds(text));
    if policy.over_a_limit(whole.as_bytes()).is_none() {
        return Ok(Spelled {
            name: whole.as_bytes().to_vec(),
            reason: if is_out_of_form {
                Reason::Form
            } else {
                Reason::Forbidden
            },
        });
    }
    let cut = options.map.spelled(text.as_bytes(), name);
    let cut = cut.filter(|cut| policy.conforms(cut.as_bytes()));
    let cut = cut.map(|cut| cut.as_bytes().to_vec());
    match cut {
        Some(name) if options.shorten => Ok(Spelled {
            name,
            reason: Reason::TooLong,
        }),
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

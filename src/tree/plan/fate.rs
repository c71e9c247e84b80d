//! What becomes of one name, by itself.

use std::borrow::Cow;

use unicode_normalization::char::is_public_assigned;

use super::choose::Choice;
use super::line::{Candidate, Reason, Warning};
use super::wishes::{From, Wishes};
use crate::codec::Charset;
use crate::codec::guess::{Doubled, TextGuess, doubly_encoded};
use crate::names::BackingName;

/// A name that is less likely than this to have been encoded again is meant as it is.
const LIKELY: f64 = 0.25;

/// Among others that were surely encoded again, this is enough.
const AMONG_OTHERS: f64 = 0.5;

/// How often a name is looked at again: what comes of one wish may be what another is about.
const MOST_ROUNDS: usize = 4;

/// How many readings a plan lists.
const CANDIDATES: usize = 3;

/// What becomes of a name.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fate {
    /// Nothing is amiss with it.
    Keep,
    /// It gets another one.
    New(New),
    /// Something is amiss, but it stays.
    Left(Reason, Vec<Candidate>),
}

/// A new name, and why.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct New {
    pub(super) name: Vec<u8>,
    pub(super) reason: Reason,
    pub(super) warning: Option<Warning>,
    pub(super) charset: Option<Charset>,
    pub(super) confidence: Option<f64>,
    /// Other names that the guesses make of it.
    pub(super) candidates: Vec<Candidate>,
}

/// May `name` get another name? Whatever this says no to is kept.
pub(super) fn may_change(wishes: &Wishes, name: &[u8]) -> bool {
    if wishes.are_of_ill_formed_alone() {
        return std::str::from_utf8(name).is_err() || name.len() > wishes.policy().max_bytes;
    }
    !wishes.policy().conforms(name)
        || (wishes.fix_double && !name.is_ascii())
        || (wishes.unescape && name.contains(&b'%'))
}

/// What becomes of `name`, were it alone in its directory. A new name conforms, and is kept by the same wishes. It has no
/// control character that the name has not, unless that is allowed (law T8).
pub(super) fn fate(wishes: &Wishes, choice: &Choice, name: &[u8]) -> Fate {
    if !may_change(wishes, name) {
        return Fate::Keep;
    }
    match settled(wishes, choice, name) {
        Fate::New(new) if !wishes.allow_control && adds_control(name, &new.name) => {
            Fate::Left(Reason::Control, new.candidates)
        }
        fate @ (Fate::Keep | Fate::New(_) | Fate::Left(..)) => fate,
    }
}

fn settled(wishes: &Wishes, choice: &Choice, name: &[u8]) -> Fate {
    let mut fate = once(wishes, choice, name);
    for _ in 0..MOST_ROUNDS {
        let Fate::New(new) = &mut fate else {
            return fate;
        };
        if !may_change(wishes, &new.name) {
            return fate;
        }
        let Fate::New(next) = once(wishes, choice, &new.name) else {
            return fate;
        };
        if next.name == name {
            return Fate::Keep;
        }
        new.name = next.name;
        new.warning = new.warning.or(next.warning);
        new.charset = new.charset.or(next.charset);
        new.confidence = match (new.confidence, next.confidence) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
    Fate::Left(Reason::NoSpelling, Vec::new())
}

fn once(wishes: &Wishes, choice: &Choice, name: &[u8]) -> Fate {
    let mut new = New {
        name: Vec::new(),
        // Until something else is found; then it is about the characters, or the form.
        reason: Reason::Target,
        warning: None,
        charset: None,
        confidence: None,
        candidates: Vec::new(),
    };
    let mut bytes = Cow::Borrowed(name);
    if wishes.unescape
        && name.contains(&b'%')
        && let Some(escaped) = wishes.map.escaped_spelling(name)
    {
        bytes = Cow::Owned(escaped.as_bytes().to_vec());
        new.reason = Reason::Escaped;
    }
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let mut confidence = None;
            let read = if wishes.from == From::Auto {
                let mut guesses = choice.guessed(&bytes);
                let is_likely = |best: &TextGuess| best.confidence >= wishes.least;
                if !guesses.first().is_some_and(is_likely) {
                    return unread(Reason::Unsure, candidates(wishes, &guesses, &bytes));
                }
                let best = guesses.remove(0);
                new.candidates = candidates(wishes, &guesses, &bytes);
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
    let text = if wishes.fix_double && new.reason == Reason::Target {
        match doubled(&text) {
            Some(doubled) if is_sure(wishes, choice, &doubled) => {
                new.reason = Reason::Doubled;
                new.confidence = Some(doubled.confidence);
                new.charset = Charset::from_label(&doubled.route.to_string()).ok();
                Cow::Owned(doubled.text)
            }
            Some(doubled) if wishes.policy().conforms(name) => {
                let candidate = BackingName::parse(doubled.text.as_bytes());
                let candidates = candidate.ok().map(|name| Candidate {
                    name,
                    charset: Charset::from_label(&doubled.route.to_string()).ok(),
                    confidence: Some(doubled.confidence),
                });
                return Fate::Left(Reason::Unsure, candidates.into_iter().collect());
            }
            _ => text,
        }
    } else {
        text
    };
    match spelled(wishes, &text, name) {
        Ok(spelled) if spelled.name.as_slice() == name => Fate::Keep,
        Ok(spelled) => {
            new.name = spelled.name;
            if new.reason == Reason::Target {
                new.reason = spelled.reason;
            }
            Fate::New(new)
        }
        Err((reason, cut)) => {
            let cut = cut.and_then(|cut| BackingName::parse(&cut).ok());
            let candidates = cut.map(|name| Candidate {
                name,
                charset: new.charset,
                confidence: new.confidence,
            });
            Fate::Left(reason, candidates.into_iter().collect())
        }
    }
}

/// A name of which no reading is taken.
fn unread(reason: Reason, candidates: Vec<Candidate>) -> Fate {
    match candidates.as_slice() {
        [] => Fate::Left(Reason::Unreadable, candidates),
        _ => Fate::Left(reason, candidates),
    }
}

/// The names that these readings make of it, each once, but for those that would have control characters.
pub(super) fn candidates(wishes: &Wishes, guesses: &[TextGuess], name: &[u8]) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = Vec::new();
    for guess in guesses {
        let new = spelled(wishes, &guess.text, name)
            .ok()
            .filter(|spelled| !adds_control(name, &spelled.name))
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

/// One name alone may be meant; many of one directory are not.
fn is_sure(wishes: &Wishes, choice: &Choice, doubled: &Doubled) -> bool {
    doubled.confidence >= wishes.least
        || (doubled.confidence >= AMONG_OTHERS && choice.doubled >= wishes.least)
}

/// A name that conforms.
struct Spelled {
    name: Vec<u8>,
    /// What was amiss with the text, if it was not taken as it is.
    reason: Reason,
}

/// The conforming name of a text that the name on disk stands for; else why there is none, and what it would be cut to.
fn spelled(wishes: &Wishes, text: &str, name: &[u8]) -> Result<Spelled, (Reason, Option<Vec<u8>>)> {
    let policy = wishes.policy();
    if policy.conforms(text.as_bytes()) {
        return Ok(Spelled {
            name: text.as_bytes().to_vec(),
            reason: Reason::Form,
        });
    }
    let whole = wishes.unlimited.spelled(text.as_bytes(), name);
    let whole = whole.filter(|whole| wishes.unlimited.policy.conforms(whole.as_bytes()));
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
    let cut = wishes.map.spelled(text.as_bytes(), name);
    let cut = cut.filter(|cut| policy.conforms(cut.as_bytes()));
    let cut = cut.map(|cut| cut.as_bytes().to_vec());
    match cut {
        Some(name) if wishes.shorten => Ok(Spelled {
            name,
            reason: Reason::TooLong,
        }),
        cut => Err((Reason::WouldBeTooLong, cut)),
    }
}

/// What is suspicious about a text that bytes were decoded to.
fn warning(text: &str) -> Option<Warning> {
    let mut pairs = text.chars().zip(text.chars().skip(1));
    // C0 and C1 as Latin-1 reads them, and a continuation byte.
    if pairs.any(|(lead, next)| matches!(lead, 'À' | 'Á') && matches!(next, '\u{80}'..='\u{BF}'))
    {
        return Some(Warning::Overlong);
    }
    let is_added = |c: char| !c.is_ascii() && is_control(c);
    text.chars().any(is_added).then_some(Warning::Control)
}

/// Has the new name a control character, noncharacter or unassigned code point that the old one has not?
fn adds_control(old: &[u8], new: &[u8]) -> bool {
    let had = |c: char| match str::from_utf8(old) {
        Ok(old) => old.contains(c),
        Err(_) => c.is_ascii() && old.iter().any(|&byte| char::from(byte) == c),
    };
    let new = str::from_utf8(new).unwrap_or_default();
    new.chars().any(|c| is_control(c) && !had(c))
}

/// Is `c` a control character, a noncharacter or an unassigned code point, none of which a legacy name means?
fn is_control(c: char) -> bool {
    let is_private = matches!(c, '\u{E000}'..='\u{F8FF}' | '\u{F0000}'..='\u{FFFFD}' | '\u{100000}'..='\u{10FFFD}');
    c.is_control() || !is_private && !is_public_assigned(c)
}

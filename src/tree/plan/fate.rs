//! What becomes of one name, by itself.

use std::borrow::Cow;

use super::choose::Choice;
use super::line::{Candidate, Reason, Warning};
use super::wishes::Wishes;
use crate::codec::Charset;
use crate::codec::guess::{Doubled, doubly_encoded};
use crate::names::BackingName;

/// A name that is less likely than this to have been encoded again is meant as it is.
const LIKELY: f64 = 0.25;

/// Among others that were surely encoded again, this is enough.
const AMONG_OTHERS: f64 = 0.5;

/// How often a name is looked at again: what comes of one wish may be what another is about.
const MOST_ROUNDS: usize = 4;

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

/// What becomes of `name`, were it alone in its directory. A new name conforms, and is kept by the same wishes.
pub(super) fn fate(wishes: &Wishes, choice: &Choice, name: &[u8]) -> Fate {
    if !may_change(wishes, name) {
        return Fate::Keep;
    }
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
            let mut charsets = choice.charsets.iter();
            let read = charsets.find_map(|(charset, confidence)| {
                Some((charset.decode_reversibly(&bytes)?, *charset, *confidence))
            });
            let Some((text, charset, confidence)) = read else {
                return unread(wishes, choice, &bytes);
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

/// What nothing that is tried takes.
fn unread(wishes: &Wishes, choice: &Choice, bytes: &[u8]) -> Fate {
    let candidates = candidates(wishes, choice, bytes);
    if candidates.is_empty() || choice.charsets.iter().any(|(_, guessed)| guessed.is_none()) {
        Fate::Left(Reason::Unreadable, candidates)
    } else {
        Fate::Left(Reason::Unsure, candidates)
    }
}

/// The names that the other readings make of it, each once.
pub(super) fn candidates(wishes: &Wishes, choice: &Choice, bytes: &[u8]) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = Vec::new();
    for (charset, confidence) in choice.told() {
        let name = charset
            .decode_reversibly(bytes)
            .and_then(|text| spelled(wishes, &text, bytes).ok())
            .and_then(|spelled| BackingName::parse(&spelled.name).ok());
        let Some(name) = name else {
            continue;
        };
        if candidates.iter().all(|other| other.name != name) {
            candidates.push(Candidate {
                name,
                charset: Some(charset),
                confidence: Some(confidence),
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
    let is_control = |c: char| matches!(c, '\u{80}'..='\u{9F}');
    let mut last = ' ';
    let mut found = None;
    for c in text.chars() {
        // C0 and C1 as Latin-1 reads them, and a continuation byte.
        if matches!(last, 'À' | 'Á') && matches!(c, '\u{80}'..='\u{BF}') {
            return Some(Warning::Overlong);
        }
        if is_control(c) {
            found = Some(Warning::Control);
        }
        last = c;
    }
    found
}

//! Conforming names of texts, and what is suspicious about a text.

use super::plan_options::PlanOptions;
use crate::codec::charset::is_meaningless;
use crate::codec::guess::TextGuess;
use crate::names::BackingName;
use crate::records::{Candidate, Reason, Warning};

/// Most readings that a plan lists.
const CANDIDATES: usize = 3;

/// The name in the charset that names are stored in; `None` if that lacks a character, or its bytes would be UTF-8.
pub(super) fn stored(options: &PlanOptions, name: BackingName) -> Option<BackingName> {
    if options.map.store_as.is_none() || name.as_bytes().is_ascii() {
        return Some(name);
    }
    let stored = options.map.stored(&name.as_visible()).ok()?;
    (stored != name).then_some(stored)
}

/// The text that private-use characters stand for; `None` if there are none, or they are to stay.
pub(super) fn restored(options: &PlanOptions, text: &str) -> Option<String> {
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
pub(super) fn spelled(
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
pub(super) fn warning(text: &str) -> Option<Warning> {
    let mut pairs = text.chars().zip(text.chars().skip(1));
    // C0 and C1 as Latin-1 reads them, and a continuation byte.
    if pairs.any(|(lead, next)| matches!(lead, 'À' | 'Á') && matches!(next, '\u{80}'..='\u{BF}'))
    {
        return Some(Warning::Overlong);
    }
    let mut beyond_ascii = text.chars().filter(|c| !c.is_ascii());
    beyond_ascii.any(is_meaningless).then_some(Warning::Control)
}

/// Returns true if the new name has a control character, noncharacter or unassigned code point that the old one has not.
pub(super) fn adds_control(old: &[u8], new: &[u8]) -> bool {
    let new = str::from_utf8(new).unwrap_or_default();
    new.chars()
        .any(|c| is_meaningless(c) && !has_character(old, c))
}

fn has_character(name: &[u8], c: char) -> bool {
    match str::from_utf8(name) {
        Ok(text) => text.contains(c),
        Err(_) => c.is_ascii() && name.iter().any(|&byte| char::from(byte) == c),
    }
}

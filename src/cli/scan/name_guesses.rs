//! Guesses at the text of names.

use crate::codec::guess::{Guess, Guesser, doubly_encoded};
use crate::records::{Finding, Sampled};

/// Most readings of a name.
const MOST: usize = 3;

/// Least likelihood of a reading.
const LEAST: f64 = 0.005;

/// Guesses at the ill-formed names of a directory, or of all.
#[derive(Debug, Default)]
pub(super) struct NameGuesses(Vec<Guess>);

/// A way to read a name.
pub(super) struct Reading {
    /// The charset, or the one that it was taken for when it was encoded again.
    pub(super) charset: &'static str,
    /// The text.
    pub(super) text: String,
    /// The likelihood.
    pub(super) confidence: f64,
    /// The evidence of the guess.
    pub(super) basis: &'static str,
}

impl NameGuesses {
    pub(super) fn of(guesser: Option<&Guesser>) -> Self {
        Self(guesser.map(Guesser::guesses).unwrap_or_default())
    }

    pub(super) fn guesses(&self) -> &[Guess] {
        &self.0
    }
}

/// Returns how the name may be read: as the names of its directory are, then as those of all; no text twice.
pub(super) fn of_name(
    sample: &Sampled,
    own: Option<&NameGuesses>,
    all: &NameGuesses,
) -> Vec<Reading> {
    let has = |finding| sample.found.iter().any(|found| found.finding == finding);
    let mut readings: Vec<Reading> = Vec::new();
    if has(Finding::DoublyEncoded)
        && let Some(doubled) = doubly_encoded(sample.name.as_bytes())
    {
        readings.push(Reading {
            charset: doubled.route.label(),
            text: doubled.text,
            confidence: doubled.confidence,
            basis: "by itself",
        });
    }
    let own = own.map(|own| ("by its directory", own));
    let guesses = own.into_iter().chain([("by all names", all)]);
    let guesses = guesses.flat_map(|(basis, of)| of.0.iter().map(move |guess| (basis, guess)));
    let is_worth = |guess: &Guess| has(Finding::IllFormed) && guess.confidence >= LEAST;
    for (basis, guess) in guesses.filter(|(_, guess)| is_worth(guess)) {
        if readings.len() == MOST {
            break;
        }
        let text = guess.charset.decode_reversibly(sample.name.as_bytes());
        let new = text.filter(|text| readings.iter().all(|old| old.text != *text));
        readings.extend(new.map(|text| Reading {
            charset: guess.charset.label(),
            text,
            confidence: guess.confidence,
            basis,
        }));
    }
    readings
}

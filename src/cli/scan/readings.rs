//! What names may mean.

use crate::codec::guess::{Guess, Guesser, doubly_encoded};
use crate::tree::scan::{Finding, Sampled};

/// Readings of a name that are told.
const MOST: usize = 3;

/// Readings less likely than this are not told.
const WORTH_TELLING: f64 = 0.005;

/// How ill-formed names of a directory, or of all, are likely to be read.
#[derive(Debug, Default)]
pub(super) struct Readings(Vec<Guess>);

/// One way to read a name.
pub(super) struct Reading {
    /// In which charset, or what it was taken for when it was encoded again.
    pub(super) charset: &'static str,
    /// What it says then.
    pub(super) text: String,
    /// How likely that is.
    pub(super) confidence: f64,
    /// By what it was guessed.
    pub(super) basis: &'static str,
}

impl Readings {
    pub(super) fn of(guesser: Option<&Guesser>) -> Self {
        Self(guesser.map(Guesser::guesses).unwrap_or_default())
    }

    pub(super) fn guesses(&self) -> &[Guess] {
        &self.0
    }
}

/// How the name may be read: as the names of its directory are, then as those of all; no text twice.
pub(super) fn of_name(sample: &Sampled, own: Option<&Readings>, all: &Readings) -> Vec<Reading> {
    let has = |finding| sample.found.iter().any(|found| found.finding == finding);
    let mut readings: Vec<Reading> = Vec::new();
    if has(Finding::DoublyEncoded)
        && let Some(doubled) = doubly_encoded(&sample.name)
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
    let is_worth = |guess: &Guess| has(Finding::IllFormed) && guess.confidence >= WORTH_TELLING;
    for (basis, guess) in guesses.filter(|(_, guess)| is_worth(guess)) {
        if readings.len() == MOST {
            break;
        }
        let text = guess.charset.decode_reversibly(&sample.name);
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

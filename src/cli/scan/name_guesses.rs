//! Guesses at the text of names.

use std::cell::OnceCell;

use crate::codec::guess::{Guess, Guesser, Mixture, doubly_encoded};
use crate::records::{Finding, Sampled};

/// Most readings of a name.
const MOST: usize = 3;

/// Least likelihood of a reading.
const LEAST: f64 = 0.005;

/// Guesses at the ill-formed names of a directory, or of all.
#[derive(Debug, Default)]
pub(super) struct NameGuesses<'g> {
    guesser: Option<&'g Guesser>,
    charsets: Vec<Guess>,
    mixture: OnceCell<Mixture>,
}

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

impl<'g> NameGuesses<'g> {
    pub(super) fn of(guesser: Option<&'g Guesser>) -> Self {
        Self {
            guesser,
            charsets: guesser.map(Guesser::charsets).unwrap_or_default(),
            mixture: OnceCell::new(),
        }
    }

    /// The charsets, without examples.
    pub(super) fn charsets(&self) -> &[Guess] {
        &self.charsets
    }

    fn mixture(&self) -> &Mixture {
        self.mixture.get_or_init(|| {
            let mixture = Mixture::default();
            self.guesser
                .map_or(mixture.clone(), |names| mixture.with(names))
        })
    }
}

/// Returns how the name may be read: with the names of its directory as evidence, where those are known, else with all names.
pub(super) fn of_name(
    sample: &Sampled,
    own: Option<&NameGuesses<'_>>,
    all: &NameGuesses<'_>,
) -> Vec<Reading> {
    let has = |finding| sample.found.iter().any(|found| found.finding == finding);
    let name = sample.name.as_bytes();
    let mut readings: Vec<Reading> = Vec::new();
    if has(Finding::DoublyEncoded)
        && let Some(doubled) = doubly_encoded(name)
    {
        readings.push(Reading {
            charset: doubled.route.label(),
            text: doubled.text,
            confidence: doubled.confidence,
            basis: "by itself",
        });
    }
    if has(Finding::IllFormed) {
        let (basis, names) = own.map_or(("by all names", all), |own| ("by its directory", own));
        let texts = names.mixture().read(name).into_iter();
        let texts = texts.filter(|text| text.confidence >= LEAST).take(MOST);
        readings.extend(texts.map(|text| Reading {
            charset: text.charset.label(),
            text: text.text,
            confidence: text.confidence,
            basis,
        }));
    }
    readings
}

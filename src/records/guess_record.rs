//! Guesses at charsets, as `utf8fs explain --guess --json` and `utf8fs scan --json` print them.

use serde::{Deserialize, Serialize};

use super::Name;
use crate::codec::Charset;
use crate::codec::guess::{DoubledNames, Guess};

/// A guess at what names are written in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "guess", rename_all = "kebab-case", deny_unknown_fields)]
pub enum GuessRecord {
    /// Ill-formed names are likely text of a charset.
    Charset {
        /// The charset.
        charset: Charset,
        /// The others that read the names alike.
        alike: Vec<Charset>,
        /// The likelihood, 0.0..=1.0.
        confidence: f64,
        /// Ill-formed names that it decodes reversibly.
        read: u64,
        /// All ill-formed names.
        of: u64,
        /// Some of them.
        examples: Vec<ReadName>,
    },
    /// Well-formed names are likely UTF-8 that was encoded again.
    DoublyEncoded {
        /// The likelihood, 0.0..=1.0.
        confidence: f64,
        /// Names that were likely encoded again.
        names: u64,
        /// Names that are not ASCII.
        of: u64,
        /// Some of them.
        examples: Vec<DoubledName>,
    },
}

/// A name, and its text in a charset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadName {
    /// The name.
    pub name: Name,
    /// Its text; `None` if the charset does not decode it reversibly.
    pub text: Option<Name>,
    /// The likelihood of that text, by all charsets that read the name so, 0.0..=1.0.
    pub confidence: f64,
}

/// A name, and its text before it was encoded again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DoubledName {
    /// The name.
    pub name: Name,
    /// The text.
    pub text: Name,
    /// The charsets that it was taken for, the last first.
    pub route: String,
    /// The number of times that it was encoded, 2 or more.
    pub times: usize,
    /// The likelihood, 0.0..=1.0.
    pub confidence: f64,
}

/// Returns a likelihood in percent, rounded down: 0.896 does not reach a limit of 0.9. Nothing is certain.
pub fn percent(confidence: f64) -> String {
    format!("{} %", (confidence * 100.0).floor().clamp(0.0, 99.0))
}

impl From<&Guess> for GuessRecord {
    fn from(guess: &Guess) -> Self {
        let examples = guess.examples.iter().map(|example| ReadName {
            name: example.name.clone().into(),
            text: example.text.clone().map(Name::from),
            confidence: example.confidence,
        });
        Self::Charset {
            charset: guess.charset,
            alike: guess.alike.clone(),
            confidence: guess.confidence,
            read: guess.read,
            of: guess.of,
            examples: examples.collect(),
        }
    }
}

impl From<&DoubledNames> for GuessRecord {
    fn from(doubled: &DoubledNames) -> Self {
        let examples = doubled.examples.iter().map(|example| DoubledName {
            name: example.name.clone().into(),
            text: example.text.clone().into(),
            route: example.labels(),
            times: example.times(),
            confidence: example.confidence,
        });
        Self::DoublyEncoded {
            confidence: doubled.confidence,
            names: doubled.names,
            of: doubled.of,
            examples: examples.collect(),
        }
    }
}

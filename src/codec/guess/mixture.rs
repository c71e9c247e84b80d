//! Names of several charsets and languages side by side: the shares of each, and what one name says with its siblings as
//! evidence.

use std::collections::{HashMap, HashSet};

use super::Guesser;
use super::weigh::{Candidates, EVIDENCE, NO_CHARSET, Readings, log_sum, noise};
use crate::codec::Charset;

/// The prior counts as much as this many names.
const PRIOR_NAMES: f64 = 1.0;

/// How much of a tree may be unlike the rest of it: the share of the general prior in that of a directory.
const UNLIKE: f64 = 0.1;

/// Rounds of expectation maximization; the shares hardly change after them.
const ROUNDS: usize = 8;

/// A component is left out for a name that it explains worse than the best one by this many nats.
const NEGLIGIBLE: f64 = 40.0;

/// The share of the siblings counts this many times, at most as 1, since a directory may hold names of two charsets.
const SUPPORT: f64 = 1.5;

/// A name of `n` letters beyond ASCII can say no more by itself than `1 - DOUBTFUL_LETTERS / n`.
const DOUBTFUL_LETTERS: f64 = 0.8;

/// Shares of charsets and languages among some names.
#[derive(Debug, Clone)]
pub struct Mixture {
    /// By component: its prior, of the sum 1.
    prior: Vec<f64>,
    /// By component: the number of names, each shared out by likelihood.
    names: Vec<f64>,
}

/// One text that a name may stand for.
#[derive(Debug, Clone, PartialEq)]
pub struct TextGuess {
    /// The text.
    pub text: String,
    /// The likeliest of the charsets that read it.
    pub charset: Charset,
    /// The probability of this text, by all charsets that read it, 0.0..=1.0.
    pub confidence: f64,
}

/// A name as each component reads it.
struct NameReadings {
    /// The readings that are not far worse than the best. None has control characters where another has none (law T8).
    readings: Vec<Reading>,
    /// The cost of the name in no charset.
    noise: f64,
}

/// A name as one component reads it.
struct Reading {
    component: usize,
    charset: Charset,
    /// An index into [`Readings`].
    text: usize,
    /// The negative logarithm of the probability of the name.
    cost: f64,
}

impl Default for Mixture {
    /// What is likely before any name is seen.
    fn default() -> Self {
        let prior: Vec<f64> = Candidates::get()
            .components()
            .map(|component| component.prior.exp())
            .collect();
        let names = vec![0.0; prior.len()];
        Self { prior, names }
    }
}

impl Mixture {
    /// The mixture of a part of these names, such as one directory of a tree, before the names of that part are seen.
    #[must_use]
    pub fn part(&self) -> Self {
        let whole: f64 = PRIOR_NAMES + self.names.iter().sum::<f64>();
        let mut part = Self::default();
        let components = part.prior.iter_mut().zip(&self.prior).zip(&self.names);
        for ((prior, before), names) in components {
            *prior = UNLIKE * *prior + (1.0 - UNLIKE) * (PRIOR_NAMES * before + names) / whole;
        }
        part
    }

    /// Learns from the ill-formed names of a guesser, which are not known yet.
    #[must_use]
    pub fn with(mut self, guesser: &Guesser) -> Self {
        let mut texts = Readings::default();
        let mut words = HashSet::new();
        let names: Vec<NameReadings> = guesser
            .sample
            .names()
            .filter(|name| words.insert(words_beyond_ascii(name)))
            .map(|name| NameReadings::new(name, &mut texts))
            .collect();
        let mut parts: Vec<Vec<f64>> = names
            .iter()
            .map(|name| self.parts(name, EVIDENCE, None))
            .collect();
        for _ in 0..ROUNDS {
            self.names.fill(0.0);
            for (name, parts) in names.iter().zip(&parts) {
                for (reading, part) in name.readings.iter().zip(parts) {
                    if let Some(count) = self.names.get_mut(reading.component) {
                        *count += part;
                    }
                }
            }
            for (name, parts) in names.iter().zip(&mut parts) {
                *parts = self.parts(name, EVIDENCE, Some(parts));
            }
        }
        self
    }

    /// The texts that a name may stand for, likeliest first. What the name itself contributed to the mixture does not count.
    ///
    /// A short name needs siblings: as far as its own letters are in doubt, the confidence is the share of siblings in the same
    /// charset and language.
    #[must_use]
    pub fn read(&self, name: &[u8]) -> Vec<TextGuess> {
        let readings = NameReadings::new(name, &mut Readings::default());
        let own = self.parts(&readings, EVIDENCE, None);
        let parts = self.parts(&readings, EVIDENCE, Some(&own));
        let support = self.parts(&readings, 0.0, Some(&own));
        let doubt = doubt(name);
        let mut sums: HashMap<usize, TextSum> = HashMap::new();
        for ((reading, part), support) in readings.readings.iter().zip(parts).zip(support) {
            let sum = sums.entry(reading.text).or_default();
            sum.probability += part;
            sum.support += support;
            if sum.likeliest.is_none_or(|(most, _)| part > most) {
                sum.likeliest = Some((part, reading.charset));
            }
        }
        let mut guesses: Vec<TextGuess> = sums
            .into_values()
            .filter_map(|sum| {
                let (_, charset) = sum.likeliest?;
                Some(TextGuess {
                    text: charset.decode_reversibly(name)?,
                    charset,
                    confidence: sum.probability.min(
                        (1.0 - doubt) * sum.probability + doubt * (SUPPORT * sum.support).min(1.0),
                    ),
                })
            })
            .collect();
        guesses.sort_by(|a, b| {
            let by_confidence = b.confidence.total_cmp(&a.confidence);
            by_confidence.then_with(|| a.text.cmp(&b.text))
        });
        guesses
    }

    /// The probability of each reading of a name, without what the name itself contributed. Costs count as far as `evidence`.
    fn parts(&self, name: &NameReadings, evidence: f64, own: Option<&Vec<f64>>) -> Vec<f64> {
        let weights: Vec<f64> = name
            .readings
            .iter()
            .enumerate()
            .map(|(index, reading)| {
                let at = |all: &[f64]| all.get(reading.component).copied().unwrap_or_default();
                let own = own
                    .and_then(|own| own.get(index))
                    .copied()
                    .unwrap_or_default();
                let names = (at(&self.names) - own).max(0.0);
                (PRIOR_NAMES * at(&self.prior) + names).ln() - evidence * reading.cost
            })
            .collect();
        let share: f64 = PRIOR_NAMES + self.names.iter().sum::<f64>();
        let nothing = (share * NO_CHARSET).ln() - evidence * name.noise;
        let whole = log_sum(weights.iter().copied().chain([nothing]));
        weights
            .iter()
            .map(|weight| (weight - whole).exp())
            .collect()
    }
}

/// A text, by all components that read it.
#[derive(Default)]
struct TextSum {
    probability: f64,
    /// The share of the siblings.
    support: f64,
    likeliest: Option<(f64, Charset)>,
}

impl NameReadings {
    fn new(name: &[u8], texts: &mut Readings) -> Self {
        let mut text = None;
        let mut charset = None;
        let mut readings: Vec<Reading> = Vec::new();
        for (component, of) in Candidates::get().components().enumerate() {
            if charset != Some(of.charset) {
                charset = Some(of.charset);
                text = texts.index(of.charset, name);
            }
            if let Some(text) = text {
                readings.push(Reading {
                    component,
                    charset: of.charset,
                    text,
                    cost: texts.cost(text, of.language),
                });
            }
        }
        if readings
            .iter()
            .any(|reading| !texts.is_meaningless(reading.text))
        {
            readings.retain(|reading| !texts.is_meaningless(reading.text));
        }
        let costs = readings.iter().map(|reading| reading.cost);
        let least = costs.fold(f64::INFINITY, f64::min);
        readings.retain(|reading| reading.cost < least + NEGLIGIBLE);
        Self {
            readings,
            noise: noise(name),
        }
    }
}

/// The words of a name that are not ASCII. Names that share them say the same about their charset.
fn words_beyond_ascii(name: &[u8]) -> Vec<&[u8]> {
    let is_letter = |byte: &u8| !byte.is_ascii() || byte.is_ascii_alphabetic();
    let words = name.split(|byte| !is_letter(byte));
    words.filter(|word| !word.is_ascii()).collect()
}

/// The share of doubt about what a name says by itself, 0.0..=1.0: chance makes short words look right more often.
fn doubt(name: &[u8]) -> f64 {
    let words = words_beyond_ascii(name);
    let weight = |byte: &u8| if byte.is_ascii() { 1.0 } else { 2.0 };
    let letters: f64 = words.iter().flat_map(|word| word.iter().map(weight)).sum();
    (DOUBTFUL_LETTERS / letters).min(1.0)
}

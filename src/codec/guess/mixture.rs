//! Names of several charsets and languages side by side: the shares of each, and what one name says with its siblings as
//! evidence.

use std::collections::HashMap;

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

/// What one component makes of a name.
struct Reading {
    component: usize,
    charset: Charset,
    /// An index into [`Readings`].
    text: usize,
    /// The logarithm of the probability of the name, weighed as evidence.
    likelihood: f64,
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
        let names: Vec<(Vec<Reading>, f64)> = guesser
            .sample
            .names()
            .map(|name| (readings(name, &mut texts), nothing(name)))
            .collect();
        let mut parts: Vec<Vec<f64>> = names
            .iter()
            .map(|(readings, nothing)| self.parts(readings, *nothing, None))
            .collect();
        for _ in 0..ROUNDS {
            self.names.fill(0.0);
            for ((readings, _), parts) in names.iter().zip(&parts) {
                for (reading, part) in readings.iter().zip(parts) {
                    if let Some(count) = self.names.get_mut(reading.component) {
                        *count += part;
                    }
                }
            }
            for ((readings, nothing), parts) in names.iter().zip(&mut parts) {
                *parts = self.parts(readings, *nothing, Some(parts));
            }
        }
        self
    }

    /// The texts that a name may stand for, likeliest first. What the name itself contributed to the mixture does not count.
    #[must_use]
    pub fn read(&self, name: &[u8]) -> Vec<TextGuess> {
        let mut texts = Readings::default();
        let (readings, nothing) = (readings(name, &mut texts), nothing(name));
        let own = self.parts(&readings, nothing, None);
        let parts = self.parts(&readings, nothing, Some(&own));
        let mut sums: HashMap<usize, (f64, f64, Charset)> = HashMap::new();
        for (reading, part) in readings.iter().zip(parts) {
            let (sum, most, charset) =
                sums.entry(reading.text)
                    .or_insert((0.0, 0.0, reading.charset));
            *sum += part;
            if part > *most {
                (*most, *charset) = (part, reading.charset);
            }
        }
        let mut guesses: Vec<TextGuess> = sums
            .into_values()
            .filter_map(|(confidence, _, charset)| {
                Some(TextGuess {
                    text: charset.decode_reversibly(name)?,
                    charset,
                    confidence,
                })
            })
            .collect();
        guesses.sort_by(|a, b| {
            let by_confidence = b.confidence.total_cmp(&a.confidence);
            by_confidence.then_with(|| a.text.cmp(&b.text))
        });
        guesses
    }

    /// The probability of each reading of a name, without what the name itself contributed.
    fn parts(&self, readings: &[Reading], nothing: f64, own: Option<&Vec<f64>>) -> Vec<f64> {
        let weights: Vec<f64> = readings
            .iter()
            .enumerate()
            .map(|(index, reading)| {
                let at = |all: &[f64]| all.get(reading.component).copied().unwrap_or_default();
                let own = own
                    .and_then(|own| own.get(index))
                    .copied()
                    .unwrap_or_default();
                let names = (at(&self.names) - own).max(0.0);
                (PRIOR_NAMES * at(&self.prior) + names).ln() + reading.likelihood
            })
            .collect();
        let share: f64 = PRIOR_NAMES + self.names.iter().sum::<f64>();
        let whole = log_sum(weights.iter().copied().chain([share.ln() + nothing]));
        weights
            .iter()
            .map(|weight| (weight - whole).exp())
            .collect()
    }
}

/// The logarithm of the probability of a name in no charset.
fn nothing(name: &[u8]) -> f64 {
    NO_CHARSET.ln() - EVIDENCE * noise(name)
}

/// The readings of a name that are not far worse than the best.
fn readings(name: &[u8], texts: &mut Readings) -> Vec<Reading> {
    let mut text = None;
    let mut charset = None;
    let mut all: Vec<Reading> = Vec::new();
    for (component, of) in Candidates::get().components().enumerate() {
        if charset != Some(of.charset) {
            charset = Some(of.charset);
            text = texts.index(of.charset, name);
        }
        if let Some(text) = text {
            all.push(Reading {
                component,
                charset: of.charset,
                text,
                likelihood: -EVIDENCE * texts.cost(text, of.language),
            });
        }
    }
    let best = all.iter().map(|reading| reading.likelihood);
    let best = best.fold(f64::NEG_INFINITY, f64::max);
    all.retain(|reading| reading.likelihood > best - NEGLIGIBLE);
    all
}

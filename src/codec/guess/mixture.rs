//! Names of several charsets and languages side by side: the shares of each, and what one name says with its siblings as
//! evidence.

use std::collections::HashMap;

use super::weigh::{Candidate, Candidates, EVIDENCE, NO_CHARSET, ScoredTexts, noise};
use super::{Guesser, may_deceive, script};
use crate::codec::Charset;

/// The prior counts as much as this many names.
const PRIOR_NAMES: f64 = 1.0;

/// The share of the general prior in that of a directory: a part of a tree may be unlike the rest.
const UNLIKE: f64 = 0.1;

/// Rounds of expectation maximization. In further ones, two names of a directory confirm each other's mistakes.
const ROUNDS: usize = 2;

/// A component is left out for a name that it explains worse than the best one by this many nats.
const NEGLIGIBLE: f64 = 30.0;

/// The share of the siblings counts this many times, at most as 1, since a directory may hold names of two charsets.
const SUPPORT: f64 = 1.3;

/// A text can say no more by itself than `1 - DOUBTFUL_LETTERS / n`, where `n` counts the letters of its words beyond ASCII: each twice,
/// an ASCII one half, signs not at all.
const DOUBTFUL_LETTERS: f64 = 0.8;

/// Shares of charsets and languages among some names. A component is a charset and a language that is written in it.
#[derive(Debug, Clone)]
pub struct Mixture {
    /// The prior of each component; their sum is 1.
    prior: Vec<f64>,
    /// The number of names of each component, each name shared out by likelihood.
    names: Vec<f64>,
    /// The prior of no charset on offer, as a share of all.
    prior_of_none: f64,
    /// The number of names in no charset on offer.
    names_of_none: f64,
}

/// A text that a name may stand for.
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
    /// The likelihood of the name in no charset.
    noise: f64,
}

/// A name as one component reads it.
struct Reading {
    component: usize,
    candidate: &'static Candidate,
    /// An index into [`ScoredTexts`].
    text: usize,
    /// The likelihood of the name, up to 1.0.
    likelihood: f64,
}

impl Default for Mixture {
    /// The prior before any name is seen.
    fn default() -> Self {
        let rows = Candidates::get().rows.iter();
        let priors = rows.flat_map(|row| {
            let shares = row.languages.iter();
            shares.map(|(_, share)| (row.prior + share).exp())
        });
        let prior: Vec<f64> = priors.collect();
        let names = vec![0.0; prior.len()];
        Self {
            prior,
            names,
            prior_of_none: NO_CHARSET,
            names_of_none: 0.0,
        }
    }
}

impl Mixture {
    /// The mixture of a part of these names, such as one directory of a tree, before the names of that part are seen.
    #[must_use]
    pub fn part(&self) -> Self {
        let whole = self.whole();
        let mut part = Self::default();
        let share = |usual: f64, before: f64, names: f64| {
            UNLIKE * usual + (1.0 - UNLIKE) * (PRIOR_NAMES * before + names) / whole
        };
        part.prior_of_none = share(NO_CHARSET, self.prior_of_none, self.names_of_none);
        let components = part.prior.iter_mut().zip(&self.prior).zip(&self.names);
        for ((prior, before), names) in components {
            *prior = share(*prior, *before, *names);
        }
        part
    }

    /// Learns from the ill-formed names of a guesser, which are not known yet.
    #[must_use]
    pub fn with(self, guesser: &Guesser) -> Self {
        self.learn(guesser, usize::MAX).0
    }

    /// Learns from as many names of a guesser, and returns the likeliest text of each.
    #[must_use]
    pub fn with_texts(self, guesser: &Guesser, most: usize) -> (Self, Vec<(&[u8], TextGuess)>) {
        let (mixture, names, readings) = self.learn(guesser, most);
        let read = |(name, readings)| {
            let mut texts = mixture.texts(name, readings);
            (!texts.is_empty()).then(|| (name, texts.swap_remove(0)))
        };
        let texts = names.into_iter().zip(&readings).filter_map(read).collect();
        (mixture, texts)
    }

    fn learn(mut self, guesser: &Guesser, most: usize) -> (Self, Vec<&[u8]>, Vec<NameReadings>) {
        let mut texts = ScoredTexts::default();
        let witnesses = guesser.sample.witnesses();
        let witnesses = witnesses.filter(|name| !may_deceive(name));
        let all: Vec<&[u8]> = witnesses.take(most).collect();
        let names = all.iter().map(|name| NameReadings::new(name, &mut texts));
        let names: Vec<NameReadings> = names.collect();
        let mut parts: Vec<Vec<f64>> = names.iter().map(|name| self.parts(name, &[])).collect();
        for _ in 0..ROUNDS {
            self.names.fill(0.0);
            self.names_of_none = 0.0;
            for (name, parts) in names.iter().zip(&parts) {
                self.names_of_none += rest(parts);
                for (reading, part) in name.readings.iter().zip(parts) {
                    if let Some(count) = self.names.get_mut(reading.component) {
                        *count += part;
                    }
                }
            }
            for (name, parts) in names.iter().zip(&mut parts) {
                *parts = self.parts(name, parts);
            }
        }
        (self, all, names)
    }

    /// The texts that a name may stand for, likeliest first. What the name itself contributed to the mixture does not count.
    ///
    /// A short name needs siblings: as far as its own letters leave doubt, the confidence is the share of siblings in
    /// the same charset and language.
    #[must_use]
    pub fn read(&self, name: &[u8]) -> Vec<TextGuess> {
        self.texts(name, &NameReadings::new(name, &mut ScoredTexts::default()))
    }

    fn texts(&self, name: &[u8], readings: &NameReadings) -> Vec<TextGuess> {
        let own = self.parts(readings, &[]);
        let parts = self.parts(readings, &own);
        let weights = self.weights(readings, &own);
        let whole: f64 = self.weight_of_none(&own) + weights.iter().sum::<f64>();
        let deceives = may_deceive(name);
        let mut sums: HashMap<usize, TextSum> = HashMap::new();
        for ((reading, part), weight) in readings.readings.iter().zip(parts).zip(weights) {
            let sum = sums.entry(reading.text).or_default();
            sum.probability += part;
            sum.support += weight / whole;
            if sum.likeliest.is_none_or(|(most, _)| part > most) {
                sum.likeliest = Some((part, reading.candidate));
            }
        }
        let mut guesses: Vec<TextGuess> = sums
            .into_values()
            .filter_map(|sum| {
                let (_, candidate) = sum.likeliest?;
                let text = candidate.read(name)?;
                let doubt = if deceives { 1.0 } else { doubt(&text) };
                Some(TextGuess {
                    text,
                    charset: candidate.charset,
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

    /// The number of names, and of what stands for the prior.
    fn whole(&self) -> f64 {
        PRIOR_NAMES + self.names.iter().sum::<f64>() + self.names_of_none
    }

    /// The number of names in no charset, without what the name itself contributed, `own` for its readings.
    fn weight_of_none(&self, own: &[f64]) -> f64 {
        let own = if own.is_empty() { 0.0 } else { rest(own) };
        let names = PRIOR_NAMES * self.prior_of_none + (self.names_of_none - own).max(0.0);
        names.max(NO_CHARSET * self.whole())
    }

    /// The number of names in the charset and language of each reading, without what the name itself contributed, `own`.
    fn weights(&self, name: &NameReadings, own: &[f64]) -> Vec<f64> {
        let weight = |(reading, own): (&Reading, f64)| {
            let at = |all: &[f64]| all.get(reading.component).copied().unwrap_or_default();
            PRIOR_NAMES * at(&self.prior) + (at(&self.names) - own).max(0.0)
        };
        let own = own.iter().copied().chain(std::iter::repeat(0.0));
        name.readings.iter().zip(own).map(weight).collect()
    }

    /// The probability of each reading of a name, without what the name itself contributed.
    fn parts(&self, name: &NameReadings, own: &[f64]) -> Vec<f64> {
        let mut parts = self.weights(name, own);
        for (part, reading) in parts.iter_mut().zip(&name.readings) {
            *part *= reading.likelihood;
        }
        let whole = self.weight_of_none(own) * name.noise + parts.iter().sum::<f64>();
        parts.iter_mut().for_each(|part| *part /= whole);
        parts
    }
}

/// A text, by all components that read it.
#[derive(Default)]
struct TextSum {
    probability: f64,
    /// The share of the siblings.
    support: f64,
    likeliest: Option<(f64, &'static Candidate)>,
}

impl NameReadings {
    fn new(name: &[u8], texts: &mut ScoredTexts) -> Self {
        let mut readings: Vec<(Reading, f64)> = Vec::new();
        let mut first = 0;
        for candidate in &Candidates::get().rows {
            if let Some(text) = texts.index(candidate, name) {
                for (component, (language, _)) in (first..).zip(&candidate.languages) {
                    let reading = Reading {
                        component,
                        candidate,
                        text,
                        likelihood: 0.0,
                    };
                    readings.push((reading, texts.cost(text, *language)));
                }
            }
            first += candidate.languages.len();
        }
        let is_meant = |reading: &(Reading, f64)| !texts.is_meaningless(reading.0.text);
        if readings.iter().any(is_meant) {
            readings.retain(is_meant);
        }
        let costs = readings.iter().map(|(_, cost)| *cost);
        let least = costs.fold(f64::INFINITY, f64::min);
        let noise = noise(name, least);
        let least = least.min(noise);
        let likelihood = |cost: f64| (EVIDENCE * (least - cost)).exp();
        readings.retain(|(_, cost)| *cost < least + NEGLIGIBLE);
        Self {
            noise: likelihood(noise),
            readings: readings
                .into_iter()
                .map(|(reading, cost)| Reading {
                    likelihood: likelihood(cost),
                    ..reading
                })
                .collect(),
        }
    }
}

/// The probability of no charset on offer, of the probabilities of a name's readings.
fn rest(parts: &[f64]) -> f64 {
    (1.0 - parts.iter().sum::<f64>()).max(0.0)
}

/// The share of doubt about what a text says by itself, 0.0..=1.0: chance makes short words look right more often.
fn doubt(text: &str) -> f64 {
    let words = text.split(|c: char| c.is_ascii() && !c.is_ascii_alphabetic());
    let words = words.filter(|word| !word.is_ascii());
    let weight = |c: char| match script::of(c, None) {
        Some(_) if c.is_ascii() => 0.5,
        Some(_) => 2.0,
        None => 0.0,
    };
    let letters: f64 = words.flat_map(str::chars).map(weight).sum();
    (DOUBTFUL_LETTERS / letters).min(1.0)
}

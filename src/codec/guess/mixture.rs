//! Names of several charsets and languages side by side: the shares of each, and what one name says with its siblings as
//! evidence.

use std::collections::HashMap;

use super::weigh::{CANDIDATES, Candidate, EVIDENCE, NO_CHARSET, ScoredTexts, noise};
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

/// Shares of charsets and languages among some names. A component is a charset and a language that is written in it; the last one is
/// no charset on offer.
#[derive(Debug, Clone)]
pub struct Mixture {
    /// The prior of each component.
    prior: Vec<f64>,
    /// The number of names of each component, each name shared out by likelihood.
    names: Vec<f64>,
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

/// A name as one component reads it.
struct Reading {
    component: usize,
    /// The text, by its index in [`ScoredTexts`], and the charset; `None` for no charset.
    text: Option<(usize, &'static Candidate)>,
    /// The likelihood of the name, up to 1.0.
    likelihood: f64,
}

impl Default for Mixture {
    /// The prior before any name is seen.
    fn default() -> Self {
        let rows = CANDIDATES.rows.iter();
        let priors = rows.flat_map(|row| {
            let shares = row.languages.iter();
            shares.map(|(_, share)| (row.prior + share).exp())
        });
        let prior: Vec<f64> = priors.chain([NO_CHARSET]).collect();
        let names = vec![0.0; prior.len()];
        Self { prior, names }
    }
}

impl Mixture {
    /// The mixture of so many of all names, such as those of one directory of a tree, before the names of that part are seen. A part
    /// that has most of the names goes by itself, since they are all that was learnt from.
    pub fn part(&self, names: u64, all: u64) -> Self {
        let whole = self.whole();
        let mut part = Self::default();
        if names.saturating_mul(2) >= all {
            return part;
        }
        let components = part.prior.iter_mut().zip(&self.prior).zip(&self.names);
        for ((prior, before), names) in components {
            *prior = UNLIKE * *prior + (1.0 - UNLIKE) * (PRIOR_NAMES * before + names) / whole;
        }
        part
    }

    /// Learns from the ill-formed names of a guesser, which are not known yet.
    pub fn with(self, guesser: &Guesser) -> Self {
        self.learn(guesser, usize::MAX).0
    }

    /// Learns from as many names of a guesser, and returns the likeliest text of each.
    pub fn with_texts(self, guesser: &Guesser, most: usize) -> (Self, Vec<(&[u8], TextGuess)>) {
        let (mixture, names, readings) = self.learn(guesser, most);
        let read = |(name, readings): (_, &Vec<_>)| {
            let mut texts = mixture.texts(name, readings);
            (!texts.is_empty()).then(|| (name, texts.swap_remove(0)))
        };
        let texts = names.into_iter().zip(&readings).filter_map(read).collect();
        (mixture, texts)
    }

    fn learn(mut self, guesser: &Guesser, most: usize) -> (Self, Vec<&[u8]>, Vec<Vec<Reading>>) {
        let mut texts = ScoredTexts::default();
        let witnesses = guesser.sample.witnesses();
        let witnesses = witnesses.filter(|name| !may_deceive(name));
        let all: Vec<&[u8]> = witnesses.take(most).collect();
        let names = all.iter().map(|name| readings(name, &mut texts));
        let names: Vec<Vec<Reading>> = names.collect();
        let mut parts: Vec<Vec<f64>> = names.iter().map(|name| self.parts(name, &[])).collect();
        for _ in 0..ROUNDS {
            self.names.fill(0.0);
            for (reading, part) in names.iter().flatten().zip(parts.iter().flatten()) {
                if let Some(count) = self.names.get_mut(reading.component) {
                    *count += part;
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
    pub fn read(&self, name: &[u8]) -> Vec<TextGuess> {
        self.texts(name, &readings(name, &mut ScoredTexts::default()))
    }

    fn texts(&self, name: &[u8], readings: &[Reading]) -> Vec<TextGuess> {
        let own = self.parts(readings, &[]);
        let parts = self.parts(readings, &own);
        let weights = self.weights(readings, &own);
        let whole: f64 = weights.iter().sum();
        let deceives = may_deceive(name);
        let mut sums: HashMap<usize, TextSum> = HashMap::new();
        for ((reading, part), weight) in readings.iter().zip(parts).zip(weights) {
            let Some((text, candidate)) = reading.text else {
                continue;
            };
            let sum = sums.entry(text).or_default();
            sum.probability += part;
            sum.support += weight / whole;
            if sum.likeliest.is_none_or(|(most, _)| part > most) {
                sum.likeliest = Some((part, candidate));
            }
        }
        let mut guesses: Vec<TextGuess> = sums
            .into_values()
            .filter_map(|sum| {
                let (_, candidate) = sum.likeliest?;
                let text = candidate.charset.decode_reversibly(name)?;
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
        PRIOR_NAMES + self.names.iter().sum::<f64>()
    }

    /// The number of names in the charset and language of each reading, without what the name itself contributed, `own`. A small part
    /// of all is in no charset, whatever the others are in.
    fn weights(&self, readings: &[Reading], own: &[f64]) -> Vec<f64> {
        let least_of_none = NO_CHARSET * self.whole();
        let weight = |(reading, own): (&Reading, f64)| {
            let at = |all: &[f64]| all.get(reading.component).copied().unwrap_or_default();
            let names = PRIOR_NAMES * at(&self.prior) + (at(&self.names) - own).max(0.0);
            match reading.text {
                Some(_) => names,
                None => names.max(least_of_none),
            }
        };
        let own = own.iter().copied().chain(std::iter::repeat(0.0));
        readings.iter().zip(own).map(weight).collect()
    }

    /// The probability of each reading of a name, without what the name itself contributed.
    fn parts(&self, readings: &[Reading], own: &[f64]) -> Vec<f64> {
        let mut parts = self.weights(readings, own);
        for (part, reading) in parts.iter_mut().zip(readings) {
            *part *= reading.likelihood;
        }
        let whole: f64 = parts.iter().sum();
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

/// Reads a name as each component does, no charset last. Readings that are far worse than the best are left out, and those with
/// control characters where another has none (law T8).
fn readings(name: &[u8], texts: &mut ScoredTexts) -> Vec<Reading> {
    let mut costs: Vec<(usize, (usize, &Candidate), f64)> = Vec::new();
    let mut first = 0;
    for candidate in &CANDIDATES.rows {
        if let Some(text) = texts.index(candidate, name) {
            for (component, (language, _)) in (first..).zip(&candidate.languages) {
                let cost = texts.cost(text, *language);
                costs.push((component, (text, candidate), cost));
            }
        }
        first += candidate.languages.len();
    }
    let is_meant = |&(_, (text, _), _): &_| !texts.is_meaningless(text);
    if costs.iter().any(is_meant) {
        costs.retain(is_meant);
    }
    let least = costs.iter().map(|(_, _, cost)| *cost);
    let least = least.fold(f64::INFINITY, f64::min);
    let noise = noise(name, least);
    let least = least.min(noise);
    costs.retain(|(_, _, cost)| *cost < least + NEGLIGIBLE);
    let costs = costs
        .into_iter()
        .map(|(component, text, cost)| (component, Some(text), cost));
    costs
        .chain([(first, None, noise)])
        .map(|(component, text, cost)| Reading {
            component,
            text,
            likelihood: (EVIDENCE * (least - cost)).exp(),
        })
        .collect()
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

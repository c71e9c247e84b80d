//! Every charset on offer reads a sample of names; what it reads is weighed.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::model;
use super::scored_text::ScoredText;
use super::{Guess, Guesser};
use crate::codec::Charset;

/// The share of names in another language than most.
const FOREIGN: f64 = 0.1;
/// The share of names in another charset than most, or in none.
const STRAY: f64 = 0.02;
/// The cost, in nats, of a byte of no charset; names of any language cost less.
const NOISE: f64 = 8.0;
const ASCII_NOISE: f64 = 3.5;
/// ... and of the first byte of a letter of Latin languages in UTF-8, behind a letter and without its second. Legacy charsets have
/// capitals, signs and other scripts there.
const CUT_LETTER: f64 = 3.0;
/// Probability that names are in no charset on offer.
pub(super) const NO_CHARSET: f64 = 1e-3;
/// Letters of a word hang together more than pairs show, names of a directory likewise: evidence counts this part.
pub(super) const EVIDENCE: f64 = 0.85;
/// The cost of the e-fold of names that a charset does not read, beyond what the sample shows.
const UNREAD: f64 = 3.0;

pub(super) struct Candidate {
    pub(super) charset: Charset,
    /// Logarithm of its probability before any name is seen.
    pub(super) prior: f64,
    /// Indices into the model, and logarithms of the shares of languages written in it.
    pub(super) languages: Vec<(usize, f64)>,
    /// The meaning of each byte alone; empty where a byte does not always mean the same.
    bytes: Vec<Option<char>>,
}

/// The charsets on offer, with all that is known of them before.
pub(super) struct Candidates {
    pub(super) rows: Vec<Candidate>,
    /// A bit, at each byte, for each single-byte charset that assigns it no character.
    unassigned: Vec<u64>,
}

pub(super) static CANDIDATES: LazyLock<Candidates> = LazyLock::new(|| {
    let rows: Vec<Candidate> = Charset::all().map(candidate).collect();
    let lacking = |byte: usize| {
        let lacks = rows.iter().map(|row| row.bytes.get(byte) == Some(&None));
        let lacks = lacks.enumerate();
        lacks.fold(0, |bits, (index, lacks)| bits | u64::from(lacks) << index)
    };
    let unassigned = (0..=0xFF).map(lacking).collect();
    Candidates { rows, unassigned }
});

impl Candidates {
    /// Adds one for each candidate that does not decode the name reversibly.
    pub(super) fn count_unread(&self, name: &[u8], unread: &mut [u64]) {
        let start = name.iter().position(|byte| !byte.is_ascii());
        let name = start
            .and_then(|start| name.get(start..))
            .unwrap_or_default();
        let lacking = name
            .iter()
            .filter_map(|byte| self.unassigned.get(usize::from(*byte)))
            .fold(0, |all, some| all | some);
        for (index, (row, count)) in self.rows.iter().zip(unread).enumerate() {
            let fails = if row.bytes.is_empty() {
                !row.charset.gives_back(name)
            } else {
                lacking >> index & 1 == 1
            };
            *count += u64::from(fails);
        }
    }
}

/// Returns how many names a language writes, against the others.
fn weight(language: &str) -> f64 {
    match language {
        "ru" | "zh-hans" => 10.0,
        "de" | "fr" | "es" => 6.0,
        "pt" => 4.0,
        "it" | "pl" => 3.0,
        "sv" | "nl" | "cs" | "tr" | "uk" => 2.0,
        _ => 1.0,
    }
}

fn candidate(charset: Charset) -> Candidate {
    let (prior, languages) = charset.prior();
    let total: f64 = languages.clone().map(weight).sum();
    let is_multi_byte = charset.max_len() > 1;
    let weights: f64 = Charset::all().map(|charset| charset.prior().0).sum();
    Candidate {
        charset,
        prior: (prior / weights).ln(),
        languages: languages
            .filter_map(|code| {
                let index = model::LANGUAGES.iter().position(|row| row.code == code)?;
                Some((index, (weight(code) / total).ln()))
            })
            .collect(),
        bytes: (0..=255)
            .filter(|_| !is_multi_byte)
            .map(|byte: u8| charset.decode(&[byte]).ok()?.chars().next())
            .collect(),
    }
}

/// Weighs these names of a guesser under every charset; best first, without examples.
pub(super) fn guesses(names: &[&[u8]], guesser: &Guesser) -> Vec<Guess> {
    let candidates = &CANDIDATES.rows;
    let mut texts = ScoredTexts::default();
    let mut read = |row: &Candidate, name: &&[u8]| {
        let text = texts.index(row, name)?;
        let languages = row.languages.iter();
        // Whichever of the charset's languages it is in.
        let any = log_sum(languages.map(|(language, share)| share - texts.cost(text, *language)));
        Some((text, any))
    };
    let mut read_all = |row| names.iter().map(|name| read(row, name)).collect();
    let readings: Vec<Vec<Reading>> = candidates.iter().map(&mut read_all).collect();
    let noise_of = |(name, bytes): (usize, &&[u8])| {
        let likeliest = of_name(&readings, name).flatten().map(|(_, any)| any);
        noise(bytes, -likeliest.fold(f64::NEG_INFINITY, f64::max))
    };
    let noises: Vec<f64> = names.iter().enumerate().map(noise_of).collect();
    let strays = strays(candidates, &readings, &noises);
    let mut weighed: Vec<(f64, &Candidate, u64, Key)> = Vec::with_capacity(candidates.len());
    for ((row, read), unread) in candidates.iter().zip(readings).zip(&guesser.unread) {
        let evidence =
            evidence(row, read.iter().zip(&strays), &mut texts) - UNREAD * (*unread as f64).ln_1p();
        let of_names = read.into_iter().map(|reading| Some(reading?.0)).collect();
        let key = (of_names, *unread, meaning(row, &guesser.seen));
        weighed.push((row.prior + EVIDENCE * evidence, row, *unread, key));
    }
    let nothing = NO_CHARSET.ln() - EVIDENCE * noises.iter().sum::<f64>();
    let whole = log_sum(weighed.iter().map(|row| row.0).chain([nothing]));
    weighed.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut guesses: Vec<(Key, Guess)> = Vec::new();
    for (weight, row, unread, key) in weighed {
        let confidence = (weight - whole).exp();
        if let Some((_, guess)) = guesses.iter_mut().find(|(known, _)| *known == key) {
            guess.alike.push(row.charset);
            guess.confidence += confidence;
            continue;
        }
        let guess = Guess {
            charset: row.charset,
            alike: Vec::new(),
            confidence,
            read: guesser.ill_formed - unread,
            of: guesser.ill_formed,
            examples: Vec::new(),
        };
        guesses.push((key, guess));
    }
    let mut guesses: Vec<Guess> = guesses.into_iter().map(|(_, guess)| guess).collect();
    guesses.retain(|guess| guess.read > 0);
    guesses.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    for guess in &mut guesses {
        guess.confidence = guess.confidence.min(1.0);
    }
    guesses
}

/// The features that tell charsets apart: readings of the sample, number of unread names, and meaning of each byte
/// seen.
type Key = (Vec<Option<usize>>, u64, Vec<Option<char>>);

/// Returns the meanings of the bytes seen, one by one; nothing for a charset in which they have no meaning alone.
fn meaning(row: &Candidate, seen: &[u64; 4]) -> Vec<Option<char>> {
    let is_seen = |byte: usize| {
        seen.get(byte >> 6)
            .is_some_and(|bits| bits >> (byte & 63) & 1 == 1)
    };
    let bytes = row.bytes.iter().enumerate();
    let seen = bytes.filter(|(byte, _)| is_seen(*byte));
    seen.map(|(_, meaning)| *meaning).collect()
}

/// A name in a charset, if that reads it: the index of its text, and the log probability of that in any language.
type Reading = Option<(usize, f64)>;

/// The readings of one name, by candidate.
fn of_name(readings: &[Vec<Reading>], name: usize) -> impl Iterator<Item = Reading> {
    readings
        .iter()
        .map(move |read| read.get(name).copied().flatten())
}

/// Returns the log probability of each name in a charset other than that of most names.
fn strays(candidates: &[Candidate], readings: &[Vec<Reading>], noises: &[f64]) -> Vec<f64> {
    let stray = |(name, noise): (usize, &f64)| {
        let rows = candidates.iter().zip(of_name(readings, name));
        let parts = rows.filter_map(|(row, reading)| Some(row.prior + reading?.1));
        STRAY.ln() + log_sum(parts.chain([NO_CHARSET.ln() - noise]))
    };
    noises.iter().enumerate().map(stray).collect()
}

/// Returns the log probability of the names in this charset, each with its reading and the log probability of a stray.
fn evidence<'n>(
    row: &Candidate,
    names: impl Iterator<Item = (&'n Reading, &'n f64)>,
    texts: &mut ScoredTexts,
) -> f64 {
    let mut sums: Vec<f64> = row.languages.iter().map(|(_, share)| *share).collect();
    for (reading, stray) in names {
        let Some((text, any)) = *reading else {
            sums.iter_mut().for_each(|sum| *sum += stray);
            continue;
        };
        for (sum, (language, _)) in sums.iter_mut().zip(&row.languages) {
            let cost = texts.cost(text, *language);
            let mixed = log_sum([(1.0 - FOREIGN).ln() - cost, FOREIGN.ln() + any].into_iter());
            *sum += log_sum([(1.0 - STRAY).ln() + mixed, *stray].into_iter());
        }
    }
    log_sum(sums.into_iter())
}

/// The cost of a name in no charset on offer: bytes without a meaning, or UTF-8 that was cut, or put beside other bytes. That is not
/// weighed where those bytes alone cost more than the `least` reading.
pub(super) fn noise(name: &[u8], least: f64) -> f64 {
    let cost = |byte: &u8| if byte.is_ascii() { ASCII_NOISE } else { NOISE };
    let bytes: f64 = name.iter().map(cost).sum();
    let (mut text, mut rest, mut is_utf8) = (String::new(), 0.0, false);
    for chunk in name.utf8_chunks() {
        text.push_str(chunk.valid());
        let is_cut_letter = match chunk.invalid() {
            [0xC3] => text.ends_with(|c: char| c.is_ascii_alphabetic()),
            [0xC4..=0xC5] => text.ends_with(|c: char| c.is_ascii_lowercase()),
            _ => false,
        };
        rest += if is_cut_letter {
            CUT_LETTER
        } else {
            chunk.invalid().iter().map(cost).sum()
        };
        is_utf8 |= is_cut_letter || !chunk.valid().is_ascii();
    }
    if !is_utf8 || rest >= least {
        return bytes;
    }
    let text = ScoredText::new(&text);
    let costs = model::LANGUAGES.iter().map(|language| text.cost(language));
    bytes.min(rest + costs.fold(f64::INFINITY, f64::min))
}

/// Each different text once, however many charsets read it.
#[derive(Default)]
pub(super) struct ScoredTexts {
    indices: HashMap<String, usize>,
    readings: Vec<(ScoredText, Vec<Option<f64>>)>,
}

impl ScoredTexts {
    pub(super) fn index(&mut self, candidate: &Candidate, name: &[u8]) -> Option<usize> {
        let text = candidate.charset.decode_reversibly(name)?;
        let next = self.readings.len();
        let index = *self.indices.entry(text).or_insert_with_key(|text| {
            let costs = vec![None; model::LANGUAGES.len()];
            self.readings.push((ScoredText::new(text), costs));
            next
        });
        Some(index)
    }

    pub(super) fn is_meaningless(&self, reading: usize) -> bool {
        let reading = self.readings.get(reading);
        reading.is_some_and(|(reading, _)| reading.is_meaningless)
    }

    pub(super) fn cost(&mut self, reading: usize, language: usize) -> f64 {
        let cost = |(text, costs): &mut (ScoredText, Vec<Option<f64>>)| {
            let known = costs.get_mut(language)?;
            let model = model::LANGUAGES.get(language)?;
            Some(*known.get_or_insert_with(|| text.cost(model)))
        };
        let cost = self.readings.get_mut(reading).and_then(cost);
        cost.unwrap_or(f64::INFINITY)
    }
}

/// The logarithm of a sum, of the logarithms of its parts.
pub(super) fn log_sum(parts: impl Iterator<Item = f64>) -> f64 {
    let (mut most, mut sum) = (f64::NEG_INFINITY, 0.0);
    for part in parts {
        if part > most {
            sum = sum * (most - part).exp() + 1.0;
            most = part;
        } else if part > f64::NEG_INFINITY {
            sum += (part - most).exp();
        }
    }
    most + sum.ln()
}

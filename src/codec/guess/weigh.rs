//! Every charset on offer reads a sample of names; what it reads is weighed.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::model::{self, Language};
use super::pairs::Pairs;
use super::prior::{LANGUAGES, PRIORS};
use super::scored_text::ScoredText;
use crate::codec::Charset;

/// Charsets in which a byte does not always mean the same.
pub(super) const MULTI_BYTE: [&str; 6] =
    ["shift_jis", "euc-jp", "euc-kr", "gbk", "gb18030", "big5"];

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

/// Charsets that read the names alike.
pub(super) struct Group {
    pub(super) charset: Charset,
    pub(super) alike: Vec<Charset>,
    pub(super) confidence: f64,
    pub(super) unread: u64,
}

pub(super) struct Candidate {
    pub(super) charset: Charset,
    /// Present where a byte does not always mean the same.
    pairs: Option<Pairs>,
    /// Logarithm of its probability before any name is seen.
    prior: f64,
    /// Indices into the model, and logarithms of the shares of languages written in it.
    languages: Vec<(usize, f64)>,
    /// The meaning of each byte alone; empty where a byte does not always mean the same.
    bytes: Vec<Option<char>>,
}

impl Candidate {
    /// Returns the text of a name, if the charset gives the name back.
    pub(super) fn read(&self, name: &[u8]) -> Option<String> {
        if let Some(pairs) = &self.pairs {
            let text = || self.charset.decode(name).ok();
            return pairs.read(name).then(text).flatten();
        }
        let mut text = String::with_capacity(2 * name.len());
        for byte in name {
            text.push((*self.bytes.get(usize::from(*byte))?)?);
        }
        Some(text)
    }
}

/// A charset, and a language that is written in it.
pub(super) struct Component<'c> {
    pub(super) candidate: &'c Candidate,
    /// An index into the model.
    pub(super) language: usize,
    /// Logarithm of its probability before any name is seen.
    pub(super) prior: f64,
}

/// The charsets on offer, with all that is known of them before.
pub(super) struct Candidates {
    rows: Vec<Candidate>,
    /// A bit, at each byte, for each single-byte charset that assigns it no character.
    unassigned: Vec<u64>,
}

impl Candidates {
    pub(super) fn get() -> &'static Self {
        static CANDIDATES: OnceLock<Candidates> = OnceLock::new();
        CANDIDATES.get_or_init(Self::new)
    }

    fn new() -> Self {
        let rows: Vec<Candidate> = Charset::all().filter_map(candidate).collect();
        let unassigned = (0..=255)
            .map(|byte: u8| {
                let lacks = |row: &&Candidate| {
                    row.pairs.is_none()
                        && row.bytes.get(usize::from(byte)).is_none_or(Option::is_none)
                };
                bits(rows.iter().map(|row| lacks(&row)))
            })
            .collect();
        Self { rows, unassigned }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Each charset with each of its languages, one charset after the other.
    pub(super) fn components(&self) -> impl Iterator<Item = Component<'_>> {
        self.rows.iter().flat_map(|row| {
            row.languages
                .iter()
                .map(move |(language, share)| Component {
                    candidate: row,
                    language: *language,
                    prior: row.prior + share,
                })
        })
    }

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
            let fails = match &row.pairs {
                Some(pairs) => !pairs.read(name),
                None => lacking >> index & 1 == 1,
            };
            *count += u64::from(fails);
        }
    }
}

fn bits(flags: impl Iterator<Item = bool>) -> u64 {
    flags
        .enumerate()
        .fold(0, |bits, (index, flag)| bits | (u64::from(flag) << index))
}

fn candidate(charset: Charset) -> Option<Candidate> {
    let prior = PRIORS.iter().find(|prior| prior.label == charset.label())?;
    let weight = |code: &str| {
        LANGUAGES
            .iter()
            .find(|row| row.0 == code)
            .map_or(1.0, |row| row.1)
    };
    let total: f64 = prior.languages.split(' ').map(weight).sum();
    let is_multi_byte = MULTI_BYTE.contains(&prior.label);
    let weights: f64 = PRIORS.iter().map(|prior| prior.weight).sum();
    Some(Candidate {
        charset,
        pairs: is_multi_byte.then(|| Pairs::new(charset)),
        prior: (prior.weight / weights).ln(),
        languages: prior
            .languages
            .split(' ')
            .filter_map(|code| {
                let index = model::languages().iter().position(|row| row.code == code)?;
                Some((index, (weight(code) / total).ln()))
            })
            .collect(),
        bytes: (0..=255)
            .filter(|_| !is_multi_byte)
            .map(|byte: u8| charset.decode_reversibly(&[byte])?.chars().next())
            .collect(),
    })
}

/// Weighs the sampled names under every charset; best first.
pub(super) fn groups(names: &[&[u8]], unread: &[u64], seen: &[u64; 4]) -> Vec<Group> {
    let candidates = &Candidates::get().rows;
    let mut readings = ScoredTexts::default();
    let reads: Vec<Vec<Option<usize>>> = candidates
        .iter()
        .map(|row| names.iter().map(|name| readings.index(row, name)).collect())
        .collect();
    let mut in_any_language = |row: &Candidate, read: &Vec<Option<usize>>| {
        let any = |reading: &Option<usize>| Some(in_any_language(row, (*reading)?, &mut readings));
        read.iter().map(any).collect::<Vec<Option<f64>>>()
    };
    let rows = candidates.iter().zip(&reads);
    let anys: Vec<Vec<Option<f64>>> = rows.map(|(row, read)| in_any_language(row, read)).collect();
    let noise_of = |(index, name): (usize, &&[u8])| {
        let anys = anys.iter().filter_map(|any| any.get(index).copied()?);
        noise(name, -anys.fold(f64::NEG_INFINITY, f64::max))
    };
    let noises: Vec<f64> = names.iter().enumerate().map(noise_of).collect();
    let strays = strays(candidates, &anys, &noises);
    let mut weighed: Vec<(f64, &Candidate, u64, Key)> = Vec::with_capacity(candidates.len());
    for (((row, read), any), unread) in candidates.iter().zip(reads).zip(anys).zip(unread) {
        let evidence = evidence(row, read.iter().zip(any).zip(&strays), &mut readings)
            - UNREAD * float(*unread).ln_1p();
        let key = (read, *unread, meaning(row, seen));
        weighed.push((row.prior + EVIDENCE * evidence, row, *unread, key));
    }
    let nothing = NO_CHARSET.ln() - EVIDENCE * noises.iter().sum::<f64>();
    let whole = log_sum(weighed.iter().map(|row| row.0).chain([nothing]));
    weighed.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut keys: HashMap<Key, usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (weight, row, unread, key) in weighed {
        let confidence = (weight - whole).exp();
        let next = groups.len();
        if let Some(group) = keys.get(&key).and_then(|index| groups.get_mut(*index)) {
            group.alike.push(row.charset);
            group.confidence += confidence;
            continue;
        }
        keys.insert(key, next);
        groups.push(Group {
            charset: row.charset,
            alike: Vec::new(),
            confidence,
            unread,
        });
    }
    groups.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    for group in &mut groups {
        group.confidence = group.confidence.min(1.0);
    }
    groups
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

/// Returns the log probability of each name in a charset other than that of most names. `anys` are the log
/// probabilities of its readings, by candidate.
fn strays(candidates: &[Candidate], anys: &[Vec<Option<f64>>], noises: &[f64]) -> Vec<f64> {
    let stray = |(name, noise): (usize, &f64)| {
        let rows = candidates.iter().zip(anys);
        let parts = rows.filter_map(|(row, any)| Some(row.prior + any.get(name).copied()??));
        STRAY.ln() + log_sum(parts.chain([NO_CHARSET.ln() - noise]))
    };
    noises.iter().enumerate().map(stray).collect()
}

/// The logarithm of the probability of a reading, whichever of the charset's languages it is in.
fn in_any_language(row: &Candidate, reading: usize, readings: &mut ScoredTexts) -> f64 {
    let languages = row.languages.iter();
    log_sum(languages.map(|(language, share)| share - readings.cost(reading, *language)))
}

/// Returns the log probability of the names in this charset. For each name, combines its readings, their log
/// probabilities in any language, and that of a stray.
fn evidence<'n>(
    row: &Candidate,
    names: impl Iterator<Item = ((&'n Option<usize>, Option<f64>), &'n f64)>,
    readings: &mut ScoredTexts,
) -> f64 {
    let mut sums: Vec<f64> = row.languages.iter().map(|(_, share)| *share).collect();
    for ((reading, any), stray) in names {
        let Some((reading, any)) = reading.zip(any) else {
            sums.iter_mut().for_each(|sum| *sum += stray);
            continue;
        };
        for (sum, (language, _)) in sums.iter_mut().zip(&row.languages) {
            let cost = readings.cost(reading, *language);
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
    let costs = model::languages()
        .iter()
        .map(|language| text.cost(language));
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
        let text = candidate.read(name)?;
        let next = self.readings.len();
        let index = *self.indices.entry(text).or_insert_with_key(|text| {
            let costs = vec![None; model::languages().len()];
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
        let languages = model::languages();
        let (Some((reading, costs)), Some(model)) =
            (self.readings.get_mut(reading), languages.get(language))
        else {
            return f64::INFINITY;
        };
        let cost = |reading: &ScoredText, model: &Language| reading.cost(model);
        match costs.get_mut(language) {
            Some(known) => *known.get_or_insert_with(|| cost(reading, model)),
            None => cost(reading, model),
        }
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

/// A count as a factor; beyond four thousand millions it makes no difference.
fn float(count: u64) -> f64 {
    u32::try_from(count).map_or(f64::from(u32::MAX), f64::from)
}

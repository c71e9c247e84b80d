//! Guesses in which charset names are written: a suggestion with a confidence, never an action.
//!
//! Names are not pages. They are short, their ASCII part says little, and DOS and Macintosh charsets are as likely as
//! those of the web. So every charset on offer reads the names, and each reading is weighed. Letters are weighed by
//! the languages written in the charset: how often one follows another, and what starts and ends a word. Capitals
//! within words, mixed scripts and odd signs count against it. Charsets that read all names alike are one guess.
//!
//! ```
//! use utf8fs::codec::guess::Guesser;
//! let mut guesser = Guesser::default();
//! guesser.add(b"\xF0\xF2\xE9\xF7\xE5\xF4.txt");
//! let best = &guesser.guesses()[0];
//! assert_eq!(best.charset.label(), "koi8-r");
//! assert_eq!(best.examples[0].text.as_deref(), Some("ПРИВЕТ.txt"));
//! ```
//!
//! Names may also be too well-formed: UTF-8 that was taken for Latin-1 and encoded again ([`doubly_encoded`]).

mod doubled;
mod mixture;
mod model;
mod sample;
mod scored_text;
mod script;
mod symbol;
#[cfg(test)]
mod tests;
mod weigh;

use super::{Charset, Encoding, Malformed};
pub use doubled::{Doubled, doubly_encoded};
pub use mixture::{Mixture, TextGuess};
pub use sample::Sample;
use weigh::CANDIDATES;

/// The least confidence in a text that is taken, unless people ask for another one.
pub const CERTAIN: f64 = 0.9;

/// A name that is less likely than this to have been encoded twice is no sign of it.
const LIKELY: f64 = 0.25;

/// The most names that are weighed to tell the charset of all; more tell hardly more.
const WITNESSES: usize = 64;

/// Number of names that a guess shows.
const EXAMPLES: usize = 8;

/// Ill-formed names, and what is needed of them to guess their charset.
///
/// Takes any number of names in bounded memory. All are counted, and a sample of 256 different ones is weighed. The
/// sample depends neither on their order nor on who added them.
#[derive(Debug, Clone, Default)]
pub struct Guesser {
    /// Number of ill-formed names.
    pub ill_formed: u64,
    /// Number of well-formed names.
    pub well_formed: u64,
    /// Number of ill-formed names that each charset does not decode reversibly; empty where there were none. The order of the
    /// charsets is that of this version of the program.
    pub unread: Vec<u64>,
    /// The bytes of ill-formed names, one bit each.
    pub seen: [u64; 4],
    /// Ill-formed names.
    pub sample: Sample,
    /// Number of well-formed names that are not ASCII.
    pub beyond_ascii: u64,
    /// Number of those that may have been encoded twice.
    pub undone: u64,
    /// Some of them.
    pub doubled: Sample,
}

/// May the name be meant to slip a `/`, a `.`, a `\` or a NUL past a check of UTF-8? It has one in an overlong form. Some
/// pairs of East Asian charsets have the same bytes.
pub fn may_deceive(name: &[u8]) -> bool {
    let special = [0, b'.', b'/', b'\\'].map(|byte| Malformed::Overlong(byte.into()));
    Encoding::Utf8
        .ill_formed(name)
        .any(|error| special.contains(&error.kind))
}

/// A way to read the names.
#[derive(Debug, Clone, PartialEq)]
pub struct Guess {
    /// The charset, or the most usual of those that read all the names alike.
    pub charset: Charset,
    /// The others that read them alike, most usual first.
    pub alike: Vec<Charset>,
    /// Probability of this reading, 0.0..=1.0. All guesses together have 1.0 or less; the rest is for no charset on
    /// offer. Rates the reading, not which of the charsets that agree on it is meant.
    pub confidence: f64,
    /// Number of ill-formed names that it decodes reversibly, 0..=`of`.
    pub read: u64,
    /// Number of ill-formed names added.
    pub of: u64,
    /// Some of the names, at most eight, the same for every guess.
    pub examples: Vec<Example>,
}

/// A name and how a guess reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct Example {
    /// The name as added; the first 1024 bytes if it is longer.
    pub name: Box<[u8]>,
    /// Its text; `None` if the charset does not decode it reversibly.
    pub text: Option<String>,
    /// Probability of that text, over all charsets that read the name so, with the other names as evidence; 0 if
    /// there is none.
    pub confidence: f64,
}

/// The names of a directory or tree that look like UTF-8 encoded again.
#[derive(Debug, Clone, PartialEq)]
pub struct DoubledNames {
    /// Number of names that are likely encoded twice, 1..=`of`; estimated from a sample where more than 256 can be
    /// undone.
    pub names: u64,
    /// Number of well-formed names that are not ASCII.
    pub of: u64,
    /// Probability that these were encoded again, 0.0..=1.0; no less than that of the likeliest name.
    pub confidence: f64,
    /// Some of them, at most eight.
    pub examples: Vec<Doubled>,
}

/// Returns the guesses that are likely enough to be shown: of a hundredth or more, at most five.
pub fn likely(guesses: &[Guess]) -> impl Iterator<Item = &Guess> {
    let likely = guesses.iter().filter(|guess| guess.confidence >= 0.01);
    likely.take(5)
}

impl Guesser {
    /// Adds a name, of a file or of anything else. Well-formed UTF-8 needs no guess, but may have been encoded
    /// twice ([`Self::doubled`]).
    ///
    /// Takes time in proportion to the name's length.
    pub fn add(&mut self, name: &[u8]) {
        if let Ok(text) = std::str::from_utf8(name) {
            self.add_well_formed(text);
            return;
        }
        self.ill_formed += 1;
        for byte in name {
            if let Some(bits) = self.seen.get_mut(usize::from(*byte >> 6)) {
                *bits |= 1 << (byte & 63);
            }
        }
        self.unread.resize(CANDIDATES.rows.len(), 0);
        CANDIDATES.count_unread(name, &mut self.unread);
        self.sample.add(name);
    }

    /// Adds all that the other was given. In whichever order and grouping parts are merged, the guesses are the same.
    pub fn merge(&mut self, other: &Self) {
        self.ill_formed += other.ill_formed;
        self.well_formed += other.well_formed;
        self.unread.resize(CANDIDATES.rows.len(), 0);
        for (mine, theirs) in self.unread.iter_mut().zip(&other.unread) {
            *mine += theirs;
        }
        for (mine, theirs) in self.seen.iter_mut().zip(other.seen) {
            *mine |= theirs;
        }
        self.sample.merge(&other.sample);
        self.beyond_ascii += other.beyond_ascii;
        self.undone += other.undone;
        self.doubled.merge(&other.doubled);
    }

    /// Can any names have made this guesser, which came from elsewhere?
    pub fn is_sound(&self) -> bool {
        let counts = &self.unread;
        (counts.is_empty() || counts.len() == CANDIDATES.rows.len())
            && counts.iter().all(|count| *count <= self.ill_formed)
            && self.beyond_ascii <= self.well_formed
            && self.undone <= self.beyond_ascii
    }

    /// Every reading that takes at least one of the ill-formed names, best first; none if there are no such names.
    pub fn guesses(&self) -> Vec<Guess> {
        self.guesses_by(&Mixture::default().with(self))
    }

    /// Returns [`Self::guesses`], where the mixture of the names is known already.
    pub fn guesses_by(&self, mixture: &Mixture) -> Vec<Guess> {
        let mut guesses = self.charsets();
        for name in self.sample.names().take(EXAMPLES) {
            let texts = mixture.read(name);
            for guess in &mut guesses {
                let text = guess.charset.decode_reversibly(name);
                let known = texts
                    .iter()
                    .find(|known| Some(&known.text) == text.as_ref());
                guess.examples.push(Example {
                    name: name.into(),
                    confidence: known.map_or(0.0, |known| known.confidence),
                    text,
                });
            }
        }
        guesses
    }

    /// Returns [`Self::guesses`] without examples, which takes less time.
    pub fn charsets(&self) -> Vec<Guess> {
        if self.ill_formed == 0 {
            return Vec::new();
        }
        let witnesses: Vec<&[u8]> = self.sample.witnesses().take(WITNESSES).collect();
        weigh::guesses(&witnesses, self)
    }

    /// Which well-formed names look like UTF-8 encoded twice or more; `None` if none do.
    ///
    /// Such names come in directories: one alone may be meant, a hundred are not.
    pub fn doubled(&self) -> Option<DoubledNames> {
        let sampled = self.doubled.names().filter_map(doubly_encoded);
        let mut likely: Vec<Doubled> = sampled.collect();
        let count = |names: &[Doubled]| u64::try_from(names.len()).unwrap_or(u64::MAX);
        let of_sample = count(&likely);
        likely.retain(|name| name.confidence >= LIKELY);
        likely.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        let likeliest = likely.first()?.confidence;
        // That all are meant: each at its own odds, but names of a directory are not independent.
        let meant = likely.iter().map(|name| (1.0 - name.confidence).ln());
        let meant = meant.sum::<f64>() * 0.5;
        Some(DoubledNames {
            names: (self.undone * count(&likely)).div_ceil(of_sample),
            of: self.beyond_ascii,
            confidence: likeliest.max(1.0 - meant.exp()),
            examples: likely.into_iter().take(EXAMPLES).collect(),
        })
    }

    fn add_well_formed(&mut self, text: &str) {
        self.well_formed += 1;
        if text.is_ascii() {
            return;
        }
        self.beyond_ascii += 1;
        if doubled::is_undone(text) {
            self.undone += 1;
            self.doubled.add(text.as_bytes());
        }
    }
}

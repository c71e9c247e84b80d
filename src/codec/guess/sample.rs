//! A sample of names that depends neither on their order nor on who added them.

use std::collections::{BTreeMap, HashSet};

/// Number of different names that are weighed; more add nothing.
const SIZE: usize = 256;

/// The most bytes of a name that are weighed, in an overlong one.
const WEIGHED: usize = 1024;

/// The names with the smallest hashes.
#[derive(Debug, Clone, Default)]
pub struct Sample(BTreeMap<u64, Box<[u8]>>);

impl Sample {
    /// Adds a name.
    pub fn add(&mut self, name: &[u8]) {
        let hash = hash(name);
        if self.has_room(hash) {
            self.keep(hash, clipped(name));
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (hash, name) in &other.0 {
            self.keep(*hash, name);
        }
    }

    /// Returns the names with their hashes. The hash of a long name is not that of what is kept of it.
    pub fn hashed(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.0.iter().map(|(hash, name)| (*hash, name.as_ref()))
    }

    /// Makes a sample of such names.
    pub fn of(names: impl IntoIterator<Item = (u64, Box<[u8]>)>) -> Self {
        let mut sample = Self::default();
        for (hash, name) in names {
            sample.keep(hash, clipped(&name));
        }
        sample
    }

    /// Returns the names, in an order that depends on nothing else.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.0.values().map(AsRef::as_ref)
    }

    /// Names of which no two have the same words beyond ASCII: those say the same about their charset.
    pub(super) fn witnesses(&self) -> impl Iterator<Item = &[u8]> {
        let mut words = HashSet::new();
        self.names()
            .filter(move |name| words.insert(words_beyond_ascii(name)))
    }

    fn has_room(&self, hash: u64) -> bool {
        self.0.len() < SIZE
            || self
                .0
                .last_key_value()
                .is_none_or(|(last, _)| hash <= *last)
    }

    fn keep(&mut self, hash: u64, name: &[u8]) {
        let kept = self.0.entry(hash).or_insert_with(|| name.into());
        if *name < **kept {
            *kept = name.into();
        }
        if self.0.len() > SIZE {
            self.0.pop_last();
        }
    }
}

/// The words of a name that are not ASCII.
pub(super) fn words_beyond_ascii(name: &[u8]) -> Vec<&[u8]> {
    let is_letter = |byte: &u8| !byte.is_ascii() || byte.is_ascii_alphabetic();
    let words = name.split(|byte| !is_letter(byte));
    words.filter(|word| !word.is_ascii()).collect()
}

/// FNV-1a with a last stirring: the same for a name wherever and whenever it is met.
fn hash(name: &[u8]) -> u64 {
    let sum = name.iter().fold(0xCBF2_9CE4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    });
    let stirred = (sum ^ (sum >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    stirred ^ (stirred >> 29)
}

/// The name, or its first kilobyte, if there is one cut after a byte that is no part of a longer character in any charset.
fn clipped(name: &[u8]) -> &[u8] {
    let Some(start) = name.get(..WEIGHED).filter(|start| start.len() < name.len()) else {
        return name;
    };
    let whole = start.iter().rposition(|byte| *byte < 0x30);
    whole
        .and_then(|last| start.get(..=last))
        .filter(|start| !start.is_ascii())
        .unwrap_or(start)
}

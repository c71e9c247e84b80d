//! The charset that the names of a directory are likely written in, by themselves and by those of the whole tree.

use super::plan_options::PlanOptions;
use crate::codec::guess::{Guesser, Mixture, TextGuess};
use crate::names::CharsetSource;
use crate::tree::entry_list::EntryList;

/// Most names of a directory that are weighed: more tell hardly more, and a tree has many directories.
const WEIGHED: usize = 64;

/// The evidence of the names of a whole tree for their charsets.
#[derive(Debug, Clone, Default)]
pub struct TreeGuess {
    mixture: Mixture,
    ill_formed: u64,
    doubled: f64,
}

impl TreeGuess {
    /// Learns from these names.
    #[must_use]
    pub fn of(names: &Guesser) -> Self {
        Self {
            mixture: Mixture::default().with(names),
            ill_formed: names.ill_formed,
            doubled: names.doubled().map_or(0.0, |doubled| doubled.confidence),
        }
    }

    /// The mixture of one directory, `ill_formed` of whose names are not UTF-8. One that has most of the tree's names goes by
    /// itself, since they are all that the tree was learnt from.
    fn directory(&self, names: &Guesser, ill_formed: u64) -> Mixture {
        let before = match ill_formed.saturating_mul(2) >= self.ill_formed {
            true => Mixture::default(),
            false => self.mixture.part(),
        };
        before.with(names)
    }
}

/// Some of the names of a directory that say something, which do not depend on their order.
fn sampled(listing: &EntryList) -> Guesser {
    let all = listing.iter().map(|entry| entry.name);
    let (mut text, mut bytes): (Vec<&[u8]>, Vec<&[u8]>) = all
        .filter(|name| !name.is_ascii())
        .partition(|name| std::str::from_utf8(name).is_ok());
    let mut names = Guesser::new();
    for all in [&mut text, &mut bytes] {
        if all.len() > WEIGHED {
            all.select_nth_unstable_by_key(WEIGHED, |name| (hash(name), *name));
            all.truncate(WEIGHED);
        }
        all.iter().for_each(|name| names.add(name));
    }
    names
}

/// Returns the FNV-1a hash, which is the same for a name wherever it is met.
fn hash(name: &[u8]) -> u64 {
    name.iter().fold(0xCBF2_9CE4_8422_2325, |sum, &octet| {
        (sum ^ u64::from(octet)).wrapping_mul(0x0100_0000_01B3)
    })
}

/// The charsets of one directory.
#[derive(Debug, Clone, Default)]
pub(super) struct CharsetChoice {
    /// The charsets that the names are likely written in, where that was guessed.
    mixture: Option<Mixture>,
    /// The likelihood that names which look encoded again were encoded again.
    pub(super) doubled: f64,
}

impl CharsetChoice {
    /// Returns the charsets that are tried on the names of a directory.
    pub(super) fn of(options: &PlanOptions, tree: &TreeGuess, listing: &EntryList) -> Self {
        let mut choice = Self::default();
        if options.needs_guesses() {
            let names = sampled(listing);
            if options.fix_double {
                choice.doubled = names.doubled().map_or(0.0, |doubled| doubled.confidence);
                choice.doubled = choice.doubled.max(tree.doubled);
            }
            if options.from == CharsetSource::Auto {
                let is_ill_formed = |name: &[u8]| std::str::from_utf8(name).is_err();
                let ill_formed = listing.iter().filter(|entry| is_ill_formed(entry.name));
                let ill_formed = u64::try_from(ill_formed.count()).unwrap_or(u64::MAX);
                choice.mixture = Some(tree.directory(&names, ill_formed));
            }
        }
        choice
    }

    /// Has people choose from what these names may be.
    pub(super) fn guess_others<'n>(
        &mut self,
        tree: &TreeGuess,
        left: impl Iterator<Item = &'n [u8]>,
    ) {
        let mut names = Guesser::new();
        left.for_each(|name| names.add(name));
        self.mixture = Some(tree.directory(&names, names.ill_formed));
    }

    /// The texts that a name may stand for, likeliest first; none where nothing was guessed.
    pub(super) fn guessed(&self, name: &[u8]) -> Vec<TextGuess> {
        let mixture = self.mixture.as_ref();
        mixture.map_or_else(Vec::new, |mixture| mixture.read(name))
    }
}

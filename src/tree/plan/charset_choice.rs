//! The charset that the names of a directory are likely written in, by themselves and by those of the whole tree.

use super::plan_options::PlanOptions;
use crate::codec::guess::{Guesser, Mixture, Sample, TextGuess};
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
            doubled: doubled(names),
        }
    }

    /// The mixture of one directory, `ill_formed` of whose names are not UTF-8.
    fn directory(&self, names: &Guesser, ill_formed: u64) -> Mixture {
        self.mixture.part(ill_formed, self.ill_formed).with(names)
    }
}

/// Returns the confidence that names were encoded again.
fn doubled(names: &Guesser) -> f64 {
    names.doubled().map_or(0.0, |doubled| doubled.confidence)
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
    /// Returns the charsets that are tried on the names of a directory. Some of its names are weighed, which do not depend on their
    /// order.
    pub(super) fn of(options: &PlanOptions, tree: &TreeGuess, listing: &EntryList) -> Self {
        let mut choice = Self::default();
        if !options.needs_guesses() {
            return choice;
        }
        let (mut text, mut bytes, mut ill_formed) = (Sample::default(), Sample::default(), 0);
        let names = listing.iter().map(|entry| entry.name);
        for name in names.filter(|name| !name.is_ascii()) {
            if std::str::from_utf8(name).is_ok() {
                text.add(name);
            } else {
                bytes.add(name);
                ill_formed += 1;
            }
        }
        let mut names = Guesser::new();
        for sample in [text, bytes] {
            let sample = sample.names().take(WEIGHED);
            sample.for_each(|name| names.add(name));
        }
        if options.fix_double {
            choice.doubled = doubled(&names).max(tree.doubled);
        }
        if options.from == CharsetSource::Auto {
            choice.mixture = Some(tree.directory(&names, ill_formed));
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

//! The charsets that names are likely written in: those of a whole tree, or of one of its directories.

use std::borrow::Cow;

use super::plan_options::PlanOptions;
use crate::codec::guess::{Guesser, Mixture, Sample};
use crate::names::CharsetSource;
use crate::tree::entry_list::EntryList;

/// Most names of a directory that are weighed: more tell hardly more, and a tree has many directories.
const WEIGHED: usize = 64;

/// The charsets that some names are likely written in.
#[derive(Debug, Clone, Default)]
pub struct CharsetChoice {
    pub(super) mixture: Mixture,
    /// The number of names of the whole tree that are not UTF-8.
    ill_formed: u64,
    /// The likelihood that names which look encoded again were encoded again.
    pub(super) doubled: f64,
}

impl CharsetChoice {
    /// Learns from the names of a whole tree.
    pub fn of(names: &Guesser) -> Self {
        Self {
            mixture: Mixture::default().with(names),
            ill_formed: names.ill_formed,
            doubled: doubled(names),
        }
    }

    /// Returns the charsets that are tried on the names of a directory. Some of its names are weighed, which do not depend on their
    /// order.
    pub(super) fn of_directory(&self, options: &PlanOptions, listing: &EntryList) -> Cow<'_, Self> {
        if !options.needs_guesses() {
            return Cow::Borrowed(self);
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
        let mut names = Guesser::default();
        for sample in [text, bytes] {
            let sample = sample.names().take(WEIGHED);
            sample.for_each(|name| names.add(name));
        }
        let mut choice = self.clone();
        if options.fix_double {
            choice.doubled = doubled(&names).max(self.doubled);
        }
        if options.from == CharsetSource::Auto {
            choice.mixture = self.part(&names, ill_formed);
        }
        Cow::Owned(choice)
    }

    /// Returns the mixture of some names of the tree, `ill_formed` of which are not UTF-8.
    pub(super) fn part(&self, names: &Guesser, ill_formed: u64) -> Mixture {
        self.mixture.part(ill_formed, self.ill_formed).with(names)
    }
}

/// Returns the confidence that names were encoded again.
fn doubled(names: &Guesser) -> f64 {
    names.doubled().map_or(0.0, |doubled| doubled.confidence)
}

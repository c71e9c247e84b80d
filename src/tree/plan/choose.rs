//! In which charset the names of a directory are likely written, by themselves and by those of the whole tree.

use super::listing::Listing;
use super::wishes::{From, Wishes};
use crate::codec::Charset;
use crate::codec::guess::{Guess, Guesser};

/// How likely the charset of another directory is that none of the tree's guesses has.
const STRANGER: f64 = 0.02;

/// How many names of a directory are weighed: more tell hardly more, and a tree has many directories.
const WEIGHED: usize = 64;

/// How many other readings are told.
const TOLD: usize = 3;

/// What the names of a whole tree say of their charset.
#[derive(Debug, Clone, Default)]
pub struct TreeGuess {
    groups: Vec<Group>,
    ill_formed: u64,
    doubled: f64,
}

/// Charsets that read all names alike.
#[derive(Debug, Clone)]
struct Group {
    charsets: Vec<Charset>,
    confidence: f64,
}

impl TreeGuess {
    /// What these names say.
    #[must_use]
    pub fn of(names: &Guesser) -> Self {
        let groups = names.guesses().into_iter().map(|guess| Group {
            charsets: charsets(&guess).collect(),
            confidence: guess.confidence,
        });
        Self {
            groups: groups.collect(),
            ill_formed: names.ill_formed(),
            doubled: names.doubled().map_or(0.0, |doubled| doubled.confidence),
        }
    }

    /// The likeliest charset, and how likely it is; `None` where there are no ill-formed names.
    #[must_use]
    pub fn best(&self) -> Option<(Charset, f64)> {
        let group = self.groups.first()?;
        Some((*group.charsets.first()?, group.confidence))
    }
}

/// Some of the names of a directory that say something, which do not depend on their order.
fn sampled(listing: &Listing) -> Guesser {
    let told = listing.iter().map(|entry| entry.name);
    let (mut text, mut bytes): (Vec<&[u8]>, Vec<&[u8]>) = told
        .filter(|name| !name.is_ascii())
        .partition(|name| std::str::from_utf8(name).is_ok());
    let mut names = Guesser::new();
    for all in [&mut text, &mut bytes] {
        if all.len() > WEIGHED {
            all.select_nth_unstable_by_key(WEIGHED, |name| (stirred(name), *name));
            all.truncate(WEIGHED);
        }
        all.iter().for_each(|name| names.add(name));
    }
    names
}

/// FNV-1a: the same for a name wherever it is met.
fn stirred(name: &[u8]) -> u64 {
    name.iter().fold(0xCBF2_9CE4_8422_2325, |sum, &octet| {
        (sum ^ u64::from(octet)).wrapping_mul(0x0100_0000_01B3)
    })
}

fn charsets(guess: &Guess) -> impl Iterator<Item = Charset> {
    std::iter::once(guess.charset).chain(guess.alike.iter().copied())
}

/// The charsets of one directory.
#[derive(Debug, Clone, Default)]
pub(super) struct Choice {
    /// Those that are tried in turn, with how likely each is if it was guessed.
    pub(super) charsets: Vec<(Charset, Option<f64>)>,
    /// Other readings, the likeliest first, for people to choose from.
    pub(super) others: Vec<(Charset, f64)>,
    /// How likely it is that what looks as if encoded again was encoded again.
    pub(super) doubled: f64,
}

impl Choice {
    /// What is tried on the names of a directory.
    pub(super) fn of(wishes: &Wishes, tree: &TreeGuess, listing: &Listing) -> Self {
        let mut choice = Self::default();
        if wishes.needs_guesses() {
            let names = sampled(listing);
            if wishes.fix_double {
                choice.doubled = names.doubled().map_or(0.0, |doubled| doubled.confidence);
                choice.doubled = choice.doubled.max(tree.doubled);
            }
            if wishes.from == From::Auto {
                let is_ill_formed = |name: &[u8]| std::str::from_utf8(name).is_err();
                let ill_formed = listing.iter().filter(|entry| is_ill_formed(entry.name));
                let ill_formed = u64::try_from(ill_formed.count()).unwrap_or(u64::MAX);
                choice.others = weighed(tree, &names, ill_formed);
                let best = choice.others.first().copied();
                let sure = best.filter(|(_, confidence)| *confidence >= wishes.least);
                let sure = sure.map(|(charset, confidence)| (charset, Some(confidence)));
                choice.charsets = sure.into_iter().collect();
            }
        }
        if let From::Charsets(charsets) = &wishes.from {
            choice.charsets = charsets.iter().map(|charset| (*charset, None)).collect();
        }
        choice
    }

    /// What is tried on a name that is in no directory.
    pub(super) fn alone(wishes: &Wishes, tree: &TreeGuess) -> Self {
        let mut choice = Self::of(wishes, tree, &Listing::default());
        if wishes.from == From::Auto
            && let Some((charset, confidence)) = tree.best()
            && confidence >= wishes.least
        {
            choice.charsets.push((charset, Some(confidence)));
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
        self.others = weighed(tree, &names, names.ill_formed());
    }

    /// The other readings that are told to people.
    pub(super) fn told(&self) -> impl Iterator<Item = (Charset, f64)> {
        self.others.iter().copied().take(TOLD)
    }
}

/// The readings of a directory's names, the likeliest first: by themselves, and by what the tree's names are written in where
/// this directory has but a small part of them.
fn weighed(tree: &TreeGuess, names: &Guesser, ill_formed: u64) -> Vec<(Charset, f64)> {
    let guesses = names.guesses();
    let has_most = ill_formed.saturating_mul(2) >= tree.ill_formed;
    let rest = guesses.iter().map(|guess| guess.confidence).sum::<f64>();
    let mut sum = (1.0 - rest).max(0.0) * STRANGER;
    let mut all: Vec<(Charset, f64)> = Vec::with_capacity(guesses.len());
    for guess in &guesses {
        let agreeing = tree.groups.iter().filter_map(|group| {
            let mut both = group
                .charsets
                .iter()
                .filter(|one| charsets(guess).any(|c| c == **one));
            both.next().map(|charset| (*charset, group.confidence))
        });
        let agreeing = agreeing.max_by(|one, other| one.1.total_cmp(&other.1));
        let (charset, likely) = agreeing.unwrap_or((guess.charset, 0.0));
        let likely = if has_most {
            STRANGER
        } else {
            likely.max(STRANGER)
        };
        let weight = guess.confidence * likely;
        sum += weight;
        all.push((charset, weight));
    }
    for (_, weight) in &mut all {
        *weight /= sum.max(f64::MIN_POSITIVE);
    }
    all.sort_by(|one, other| other.1.total_cmp(&one.1));
    all
}

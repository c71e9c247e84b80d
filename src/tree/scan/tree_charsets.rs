//! The charsets of a tree, whose names may be in several.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::codec::Charset;
use crate::codec::guess::{CERTAIN, Guess, Mixture, TextGuess};
use crate::records::{CharsetTotal, Directory, Name, ReadName, Tally};

/// Names that are read to tell whether a tree mixes charsets.
const READ: usize = 128;

/// Names that are read of a directory of such a tree.
const READ_OF_DIRECTORY: usize = 16;

/// A charset of fewer names than one in so many is none of the tree's: some readings are wrong.
const RARE: usize = 50;

/// Examples of each total.
const EXAMPLES: usize = 2;

/// The charsets of the ill-formed names of a tree.
#[derive(Debug, Default)]
pub struct TreeCharsets {
    /// The charsets that all names together may be in.
    pub guesses: Vec<Guess>,
    /// If the names are in several charsets: the worst directories by charset, those with the most names first.
    pub totals: Vec<CharsetTotal>,
    /// The charsets of each of these directories.
    directories: BTreeMap<Name, Vec<Charset>>,
}

/// Names and their likely texts.
type Texts<'n> = Vec<(&'n [u8], TextGuess)>;

impl TreeCharsets {
    /// Reads the names that the tally kept.
    pub fn of(tally: &Tally) -> Self {
        let mut all = Self::default();
        let ill_formed = tally.guesser.ill_formed;
        if ill_formed == 0 {
            return all;
        }
        let (mixture, texts) = Mixture::default().with_texts(&tally.guesser, READ);
        all.guesses = tally.guesser.guesses_by(&mixture);
        if cover(texts).len() < 2 {
            return all;
        }
        for directory in &tally.worst {
            let count = directory.counts.ill_formed;
            let Some(names) = directory.guesser.as_deref().filter(|_| count > 0) else {
                continue;
            };
            let before = mixture.part(count, ill_formed);
            let mut shares = cover(before.with_texts(names, READ_OF_DIRECTORY).1);
            let sure: usize = shares.iter().map(|(_, names)| names.len()).sum();
            let read = usize::try_from(count)
                .unwrap_or(usize::MAX)
                .min(READ_OF_DIRECTORY);
            if sure * 2 < read {
                shares.clear();
            }
            all.add(directory, &shares);
        }
        all.totals.sort_by_key(|total| Reverse(total.names));
        all
    }

    /// Returns the charsets of a directory; none if all names of the tree are in one, or most of its texts are uncertain.
    pub fn of_directory(&self, directory: &Directory) -> &[Charset] {
        let charsets = self.directories.get(&directory.path);
        charsets.map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, directory: &Directory, shares: &[(Charset, Texts<'_>)]) {
        let charsets: Vec<Charset> = shares.iter().map(|(charset, _)| *charset).collect();
        let is_mixed = charsets.len() > 1;
        let is_same = |total: &&mut CharsetTotal| {
            total.charsets == charsets || is_mixed && total.charsets.len() > 1
        };
        let total = match self.totals.iter_mut().find(is_same) {
            Some(total) => total,
            None => {
                let each = if is_mixed { 1 } else { EXAMPLES };
                let names = shares.iter().flat_map(|(_, names)| names.iter().take(each));
                let examples = names.map(|(name, guess)| ReadName {
                    name: name.to_vec().into(),
                    text: Some(guess.text.clone().into()),
                    confidence: guess.confidence,
                });
                self.totals.push_mut(CharsetTotal {
                    examples: examples.collect(),
                    ..CharsetTotal::default()
                })
            }
        };
        total.directories += 1;
        total.names += directory.counts.ill_formed;
        for charset in &charsets {
            if !total.charsets.contains(charset) {
                total.charsets.push(*charset);
            }
        }
        self.directories.insert(directory.path.clone(), charsets);
    }
}

/// Returns as few charsets as read nearly all names whose texts are certain, the most usual first, each with its names.
fn cover(mut names: Texts<'_>) -> Vec<(Charset, Texts<'_>)> {
    names.retain(|(_, guess)| guess.confidence >= CERTAIN);
    let all = names.len();
    let mut shares = Vec::new();
    while let Some(charset) = most_usual(&names) {
        let (read, rest): (Texts<'_>, _) = names.into_iter().partition(|name| reads(charset, name));
        if read.len() * RARE < all {
            break;
        }
        shares.push((charset, read));
        names = rest;
    }
    shares
}

/// Returns the charset that reads the most names, and of several the one that is the likeliest of most.
fn most_usual(names: &Texts<'_>) -> Option<Charset> {
    let likeliest = |charset: &Charset| {
        let names = names.iter();
        names.filter(|(_, guess)| guess.charset == *charset).count()
    };
    let read = |charset: &Charset| names.iter().filter(|name| reads(*charset, name)).count();
    let charsets = Charset::all().rev();
    let charsets = charsets.filter(|charset| likeliest(charset) > 0);
    charsets.max_by_key(|charset| (read(charset), likeliest(charset)))
}

fn reads(charset: Charset, (name, guess): &(&[u8], TextGuess)) -> bool {
    charset.decode_reversibly(name).as_ref() == Some(&guess.text)
}

//! What a scan gathers: numbers, the worst directories, samples. All of it merges exactly, and all but the numbers is bounded.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Finding, Found};
use crate::codec::guess::Guesser;

/// How much is kept of what could be told without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Worst directories, with guesses of their own.
    pub worst: usize,
    /// Worst directories, by their numbers alone.
    pub on_map: usize,
    /// Names for each kind of each finding.
    pub samples: usize,
    /// Directories that could not be read, and that were left out.
    pub failures: usize,
}

/// Numbers of entries, of a directory or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// All of them; each is one of the three below.
    pub entries: u64,
    /// In ASCII.
    pub ascii: u64,
    /// Well-formed, beyond ASCII.
    pub beyond_ascii: u64,
    /// Ill-formed.
    pub ill_formed: u64,
    /// With an offence.
    pub offending: u64,
    /// With findings that are no offences, and no offence.
    pub remarked: u64,
    /// With each finding, by their order in [`Finding::ALL`].
    pub(super) found: [u64; Finding::ALL.len()],
}

impl Counts {
    /// How many have that finding.
    #[must_use]
    pub fn of(&self, finding: Finding) -> u64 {
        self.found
            .get(finding as usize)
            .copied()
            .unwrap_or_default()
    }

    /// How many have any finding.
    #[must_use]
    pub fn troubled(&self) -> u64 {
        self.offending + self.remarked
    }

    pub(super) fn add_finding(&mut self, finding: Finding) {
        if let Some(count) = self.found.get_mut(finding as usize) {
            *count += 1;
        }
    }

    fn add(&mut self, other: &Self) {
        self.entries += other.entries;
        self.ascii += other.ascii;
        self.beyond_ascii += other.beyond_ascii;
        self.ill_formed += other.ill_formed;
        self.offending += other.offending;
        self.remarked += other.remarked;
        for (mine, theirs) in self.found.iter_mut().zip(other.found) {
            *mine += theirs;
        }
    }
}

/// A directory, with what lies right in it.
#[derive(Debug, Clone, Default)]
pub struct Directory {
    /// Which root it lies below.
    pub root: usize,
    /// Its path from there; empty for the root.
    pub path: Vec<u8>,
    /// Of its entries.
    pub counts: Counts,
    /// What there is to guess; `None` where there is nothing, or where only numbers are kept.
    pub guesser: Option<Box<Guesser>>,
}

impl Directory {
    fn rank(&self) -> (Reverse<u64>, Reverse<u64>, usize, &[u8]) {
        let Counts {
            offending,
            remarked,
            ..
        } = self.counts;
        (Reverse(offending), Reverse(remarked), self.root, &self.path)
    }
}

impl PartialEq for Directory {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Directory {}

impl PartialOrd for Directory {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The worst first: by offences, then by remarks, then by path.
impl Ord for Directory {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// A name that stands for others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sampled {
    /// Of its path: samples are the names of the smallest numbers, whoever met them.
    pub(super) hash: u64,
    /// Which root it lies below.
    pub root: usize,
    /// The path of its directory from there.
    pub directory: Vec<u8>,
    /// The name.
    pub name: Vec<u8>,
    /// All that was found in it.
    pub found: Vec<Found>,
    /// A sibling that it collides with.
    pub like: Option<Vec<u8>>,
}

/// A directory that could not be read, or was not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Failure {
    /// Which root it lies below.
    pub root: usize,
    /// Its path from there.
    pub path: Vec<u8>,
    /// The errno; 0 for directories that were left out.
    pub errno: i32,
}

/// Failures: all are counted, the first by path are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failures {
    /// How many there are.
    pub count: u64,
    /// The first of them.
    pub first: BTreeSet<Failure>,
}

impl Failures {
    pub(super) fn add(&mut self, failure: Failure, most: usize) {
        self.count += 1;
        keep(&mut self.first, failure, most);
    }

    fn merge(&mut self, other: Self, most: usize) {
        self.count += other.count;
        for failure in other.first {
            keep(&mut self.first, failure, most);
        }
    }
}

/// Failures above where a tree is shared out that are kept: all of them, but in a tree that is unreadable as such.
const ABOVE: usize = 10_000;

/// What a scan gathered.
#[derive(Debug, Clone)]
pub struct Tally {
    pub(super) kept: Kept,
    /// Directories that were read.
    pub directories: u64,
    /// Those of them in which something was found.
    pub troubled_directories: u64,
    /// Of all entries.
    pub counts: Counts,
    /// Entries by finding and kind; one with two kinds of a finding is counted in both.
    pub kinds: BTreeMap<(Finding, &'static str), u64>,
    /// What there is to guess of all names together.
    pub guesser: Guesser,
    /// The directories with the most offences, worst first.
    pub worst: BTreeSet<Directory>,
    /// More of them, without anything to guess from.
    pub on_map: BTreeSet<Directory>,
    /// Names with each kind of each finding.
    pub samples: BTreeMap<(Finding, &'static str), BTreeSet<Sampled>>,
    /// What could not be read, or not to its end.
    pub unread: Failures,
    /// What could not be read of that which is read for every part of a tree; the same in each, as a rule.
    pub(super) above: Failures,
    /// Directories on other mounts that were left out.
    pub left_out: Failures,
    /// Directories that were gone, or something else, when they were to be read.
    pub vanished: u64,
}

impl Tally {
    /// Nothing yet. Only tallies that keep as much of everything can be merged exactly.
    #[must_use]
    pub fn new(kept: Kept) -> Self {
        Self {
            kept,
            directories: 0,
            troubled_directories: 0,
            counts: Counts::default(),
            kinds: BTreeMap::new(),
            guesser: Guesser::new(),
            worst: BTreeSet::new(),
            on_map: BTreeSet::new(),
            samples: BTreeMap::new(),
            unread: Failures::default(),
            above: Failures::default(),
            left_out: Failures::default(),
            vanished: 0,
        }
    }

    /// Adds what another gathered of other directories.
    pub fn merge(&mut self, other: Self) {
        let kept = self.kept;
        self.directories += other.directories;
        self.troubled_directories += other.troubled_directories;
        self.counts.add(&other.counts);
        for (kind, count) in other.kinds {
            *self.kinds.entry(kind).or_default() += count;
        }
        self.guesser.merge(other.guesser);
        for directory in other.worst {
            keep(&mut self.worst, directory, kept.worst);
        }
        for directory in other.on_map {
            keep(&mut self.on_map, directory, kept.on_map);
        }
        for (kind, samples) in other.samples {
            let mine = self.samples.entry(kind).or_default();
            for sample in samples {
                keep(mine, sample, kept.samples);
            }
        }
        self.unread.merge(other.unread, kept.failures);
        self.above.merge(other.above, ABOVE);
        self.left_out.merge(other.left_out, kept.failures);
        self.vanished += other.vanished;
    }

    /// Adds a directory that was read.
    pub(super) fn add(&mut self, mut directory: Directory) {
        self.directories += 1;
        self.counts.add(&directory.counts);
        let guesser = directory.guesser.take();
        if directory.counts.troubled() > 0 {
            self.troubled_directories += 1;
            if has_room(&self.on_map, &directory, self.kept.on_map) {
                keep(&mut self.on_map, directory.clone(), self.kept.on_map);
            }
            if has_room(&self.worst, &directory, self.kept.worst) {
                directory.guesser.clone_from(&guesser);
                keep(&mut self.worst, directory, self.kept.worst);
            }
        }
        if let Some(guesser) = guesser {
            self.guesser.merge(*guesser);
        }
    }

    /// Counts a kind of a finding. Where a name with that number would be kept as a sample, it is.
    pub(super) fn add_kind(&mut self, found: &Found, hash: u64, sample: impl Fn() -> Sampled) {
        let kind = (found.finding, found.kind);
        *self.kinds.entry(kind).or_default() += 1;
        let samples = self.samples.entry(kind).or_default();
        if samples.len() < self.kept.samples || samples.last().is_some_and(|last| hash <= last.hash)
        {
            keep(samples, sample(), self.kept.samples);
        }
    }

    /// Adds what the scan of another part of the same tree gathered: what could not be read for both is counted once.
    pub fn merge_part(&mut self, mut other: Self) {
        let above = std::mem::take(&mut other.above);
        self.merge(other);
        let mine = std::mem::take(&mut self.above);
        let is_whole = |failures: &Failures| failures.first.len() < ABOVE;
        let all_are_there = is_whole(&mine) && is_whole(&above);
        let most = mine.count.max(above.count);
        let mut first = mine.first;
        for failure in above.first {
            // They are sorted by root and path: the one of that path, if there is one, comes first from there on.
            let from = Failure {
                errno: i32::MIN,
                ..failure.clone()
            };
            let next = first.range(from..).next();
            let is_known =
                next.is_some_and(|next| (next.root, &next.path) == (failure.root, &failure.path));
            if !is_known {
                keep(&mut first, failure, ABOVE);
            }
        }
        let distinct = u64::try_from(first.len()).unwrap_or(u64::MAX);
        self.above = Failures {
            count: if all_are_there { distinct } else { most },
            first,
        };
    }

    /// Counts what could not be read for every part among what could not be read. To be called last.
    pub fn settle(&mut self) {
        let above = std::mem::take(&mut self.above);
        self.unread.merge(above, self.kept.failures);
    }

    pub(super) fn add_above(&mut self, failure: Failure) {
        self.above.add(failure, ABOVE);
    }

    pub(super) fn keep_sample(&mut self, kind: (Finding, &'static str), sample: Sampled) {
        keep(
            self.samples.entry(kind).or_default(),
            sample,
            self.kept.samples,
        );
    }

    pub(super) fn keep_worst(&mut self, directory: Directory) {
        keep(&mut self.worst, directory, self.kept.worst);
    }

    pub(super) fn keep_on_map(&mut self, directory: Directory) {
        keep(&mut self.on_map, directory, self.kept.on_map);
    }

    /// How many failures of a kind are kept.
    pub(super) fn kept_failures(&self) -> usize {
        self.kept.failures
    }
}

fn has_room<T: Ord>(kept: &BTreeSet<T>, new: &T, most: usize) -> bool {
    kept.len() < most || kept.last().is_some_and(|last| new < last)
}

fn keep<T: Ord>(kept: &mut BTreeSet<T>, new: T, most: usize) {
    if has_room(kept, &new, most) {
        kept.insert(new);
        if kept.len() > most {
            kept.pop_last();
        }
    }
}

//! The tally of a scan: numbers, the worst directories, samples. All of it merges exactly, and all but the numbers is bounded.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;

use strum::VariantArray;

use crate::records::{
    Counts, Directory, Failure, Failures, Finding, Found, KindLabel, Name, Sampled, Tally,
};

/// Worst directories that are kept with guesses of their own.
const WORST: usize = 100;

/// Worst directories that are kept by their numbers alone.
const ON_MAP: usize = 20_000;

/// Names that are kept for each kind of each finding.
const SAMPLES: usize = 400;

/// Directories that are kept of those that could not be read, and of those that were left out.
const FAILURES: usize = 100;

/// Adds to a number, which a report that somebody altered cannot make overflow.
fn add(mine: &mut u64, theirs: u64) {
    *mine = mine.saturating_add(theirs);
}

impl Counts {
    /// Returns how many have any finding.
    pub fn troubled(&self) -> u64 {
        self.offending.saturating_add(self.remarked)
    }

    /// Counts a name with findings.
    pub(super) fn add_troubled(&mut self, found: &[Found], offends: bool) {
        let count = match offends {
            true => &mut self.offending,
            false => &mut self.remarked,
        };
        *count += 1;
        for &finding in Finding::VARIANTS {
            if found.iter().any(|found| found.finding == finding) {
                *self.found.of(finding) += 1;
            }
        }
    }

    fn add(&mut self, other: &Self) {
        add(&mut self.entries, other.entries);
        add(&mut self.ascii, other.ascii);
        add(&mut self.beyond_ascii, other.beyond_ascii);
        add(&mut self.ill_formed, other.ill_formed);
        add(&mut self.offending, other.offending);
        add(&mut self.remarked, other.remarked);
        for (finding, count) in other.found.rows() {
            add(self.found.of(finding), count);
        }
    }
}

impl Failures {
    /// Adds a failure.
    pub(super) fn add(&mut self, failure: Failure) {
        add(&mut self.count, 1);
        keep(&mut self.first, [failure], FAILURES);
    }

    fn merge(&mut self, other: Self) {
        add(&mut self.count, other.count);
        keep(&mut self.first, other.first, FAILURES);
    }
}

impl Tally {
    /// Adds the tally of other directories. A directory that is read for every part of a tree, and that several could not read,
    /// is counted once.
    pub fn merge(&mut self, other: Self) {
        add(&mut self.directories, other.directories);
        add(&mut self.troubled_directories, other.troubled_directories);
        self.counts.add(&other.counts);
        for (kind, count) in other.kinds {
            add(self.kinds.entry(kind).or_default(), count);
        }
        self.guesser.merge(&other.guesser);
        keep(&mut self.worst, other.worst, WORST);
        keep(&mut self.on_map, other.on_map, ON_MAP);
        for (kind, samples) in other.samples {
            keep(self.samples.entry(kind).or_default(), samples, SAMPLES);
        }
        self.unread.merge(other.unread);
        for (path, errno) in other.above {
            let mine = self.above.entry(path).or_insert(errno);
            *mine = errno.min(*mine);
        }
        self.left_out.merge(other.left_out);
        add(&mut self.vanished, other.vanished);
    }

    /// Adds a directory that was read. Without a finding it needs no path.
    pub(super) fn add(&mut self, directory: Directory) {
        self.directories += 1;
        self.counts.add(&directory.counts);
        if let Some(guesser) = &directory.guesser {
            self.guesser.merge(guesser);
        }
        if directory.counts.troubled() > 0 {
            self.troubled_directories += 1;
            let on_map = Directory {
                path: directory.path.clone(),
                guesser: None,
                ..directory
            };
            keep(&mut self.on_map, [on_map], ON_MAP);
            keep(&mut self.worst, [directory], WORST);
        }
    }

    /// Counts the kinds of the findings of a name. Where a name with that hash would be kept as a sample, it is.
    pub(super) fn add_kinds(&mut self, found: &[Found], hash: u64, sample: impl Fn() -> Sampled) {
        for found in found {
            let kind = (found.finding, found.kind);
            *self.kinds.entry(kind).or_default() += 1;
            let samples = self.samples.entry(kind).or_default();
            if samples.len() < SAMPLES || samples.last().is_some_and(|last| hash <= last.hash) {
                keep(samples, [sample()], SAMPLES);
            }
        }
    }

    /// Returns the directories that could not be read, with those that are read for every part.
    pub fn all_unread(&self) -> Failures {
        let mut all = self.unread.clone();
        for (path, &errno) in &self.above {
            let path = path.clone();
            all.add(Failure { path, errno });
        }
        all
    }
}

/// Adds to the smallest `most`.
fn keep<T: Ord>(kept: &mut BTreeSet<T>, new: impl IntoIterator<Item = T>, most: usize) {
    kept.extend(new);
    while kept.len() > most {
        kept.pop_last();
    }
}

impl Directory {
    /// The worst first: by offences, then by remarks, then by path.
    fn rank(&self) -> (Reverse<[u64; 2]>, &Name) {
        let counts = &self.counts;
        (Reverse([counts.offending, counts.remarked]), &self.path)
    }
}

impl PartialEq for Directory {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Directory {}

impl PartialOrd for Directory {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Directory {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl Found {
    /// Returns a finding in the whole name.
    pub(super) fn whole(finding: Finding, kind: &'static str) -> Self {
        Self {
            finding,
            kind: KindLabel(kind),
            offset: None,
            length: None,
        }
    }
}

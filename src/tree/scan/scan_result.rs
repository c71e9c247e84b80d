//! The tally of a scan: numbers, the worst directories, samples. All of it merges exactly, and all but the numbers is bounded.

use std::collections::BTreeSet;

use crate::records::{Counts, Directory, Failure, Failures, Found, Kept, Sampled, Tally};

/// Adds to a number, which a report that somebody altered cannot make overflow.
fn add(mine: &mut u64, theirs: u64) {
    *mine = mine.saturating_add(theirs);
}

impl Counts {
    /// Returns how many have any finding.
    #[must_use]
    pub fn troubled(&self) -> u64 {
        self.offending.saturating_add(self.remarked)
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
    fn add(&mut self, failure: Failure, most: usize) {
        add(&mut self.count, 1);
        keep(&mut self.first, failure, most);
    }

    fn merge(&mut self, other: Self, most: usize) {
        add(&mut self.count, other.count);
        for failure in other.first {
            keep(&mut self.first, failure, most);
        }
    }
}

impl Tally {
    /// Returns a tally of nothing. Only tallies that keep as much of everything can be merged exactly.
    #[must_use]
    pub fn new(kept: Kept) -> Self {
        Self {
            kept,
            ..Self::default()
        }
    }

    /// Adds the tally of other directories. A directory that is read for every part of a tree, and that several could not read,
    /// is counted once.
    pub fn merge(&mut self, other: Self) {
        let kept = self.kept;
        add(&mut self.directories, other.directories);
        add(&mut self.troubled_directories, other.troubled_directories);
        self.counts.add(&other.counts);
        for (kind, count) in other.kinds {
            add(self.kinds.entry(kind).or_default(), count);
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
        for (place, errno) in other.above {
            let mine = self.above.entry(place).or_insert(errno);
            *mine = errno.min(*mine);
        }
        self.left_out.merge(other.left_out, kept.failures);
        add(&mut self.vanished, other.vanished);
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

    /// Counts directories that are read for every part among those that could not be read. To be called last.
    pub fn settle(&mut self) {
        for ((root, path), errno) in std::mem::take(&mut self.above) {
            let failure = Failure { root, path, errno };
            self.unread.add(failure, self.kept.failures);
        }
    }

    /// Adds a directory that could not be read; `is_above` says that every part of the tree reads it.
    pub(super) fn add_unread(&mut self, failure: Failure, is_above: bool) {
        if is_above {
            self.above
                .insert((failure.root, failure.path), failure.errno);
        } else {
            self.unread.add(failure, self.kept.failures);
        }
    }

    /// Adds a directory on another mount.
    pub(super) fn add_left_out(&mut self, failure: Failure) {
        self.left_out.add(failure, self.kept.failures);
    }

    /// Moves all that lies below the roots behind `first_root` other roots.
    #[must_use]
    pub fn behind(mut self, first_root: usize) -> Self {
        for directories in [&mut self.worst, &mut self.on_map] {
            shift(directories, first_root, |directory| &mut directory.root);
        }
        for samples in self.samples.values_mut() {
            shift(samples, first_root, |sample| &mut sample.root);
        }
        for failures in [&mut self.unread, &mut self.left_out] {
            shift(&mut failures.first, first_root, |failure| &mut failure.root);
        }
        let above = std::mem::take(&mut self.above).into_iter();
        let above =
            above.map(|((root, path), errno)| ((root.saturating_add(first_root), path), errno));
        self.above = above.collect();
        self
    }
}

/// Adds `more` to the index of the root of each.
fn shift<T: Ord>(all: &mut BTreeSet<T>, more: usize, root: impl Fn(&mut T) -> &mut usize) {
    let shifted = std::mem::take(all).into_iter().map(|mut one| {
        let root = root(&mut one);
        *root = root.saturating_add(more);
        one
    });
    all.extend(shifted);
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

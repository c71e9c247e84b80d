//! The numbers of a plan, and its summary: the entries of the largest directories, by the cause of their change.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::directory_plan::DirectoryPlan;
use crate::names::BackingName;
use crate::records::{PlanLine, Reason, Unplanned};

/// Directories that are listed one by one.
const DIRECTORIES: usize = 10;

/// The numbers of a plan.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanCounts {
    /// Directories that were planned.
    pub directories: u64,
    /// Entries in them.
    pub entries: u64,
    /// Entries that get another name.
    pub renamed: u64,
    /// Links that get another target.
    pub retargeted: u64,
    /// Files that are set aside.
    pub set_aside: u64,
    /// Entries that stay although something is amiss with them, and directories that could not be read.
    pub rest: Unplanned,
    /// Entries that stay since their new names would have control characters.
    pub control: u64,
    /// Entries that stay since no name conforms.
    pub unspelled: u64,
}

impl PlanCounts {
    /// Adds a directory.
    pub fn add(&mut self, plan: &DirectoryPlan) {
        self.directories += 1;
        self.entries += u64::try_from(plan.entries).unwrap_or(u64::MAX);
        for line in &plan.lines {
            let left_for = |reason| line.is_left() && line.reason == reason;
            self.renamed += u64::from(line.new.is_some());
            self.retargeted += u64::from(line.new_target.is_some());
            self.set_aside += u64::from(line.same_as.is_some());
            self.rest.left += u64::from(line.is_left());
            self.control += u64::from(left_for(Reason::Control));
            self.unspelled += u64::from(left_for(Reason::NoSpelling));
        }
    }
}

/// The entries of a tree that a plan changes or leaves.
#[derive(Debug, Default)]
pub struct PlanSummary {
    /// The directories with the most such entries, the largest first, by that number and the path.
    pub largest: BTreeMap<(Reverse<u64>, Vec<u8>), DirectorySummary>,
    /// The number of the other directories, and their entries together.
    pub others: (u64, DirectorySummary),
}

/// The entries of a directory, or of several.
#[derive(Debug, Default)]
pub struct DirectorySummary {
    /// The number of all entries.
    pub entries: usize,
    /// The entries that are changed or left, by the cause.
    pub causes: BTreeMap<String, Cause>,
}

/// The entries with the same cause.
#[derive(Debug, Default)]
pub struct Cause {
    /// Their number.
    pub entries: u64,
    /// The number of those of which the charset was guessed.
    pub guessed: u64,
    /// The sum of the confidences of these.
    pub confidence: f64,
    /// The first entry by its name, and what becomes of it.
    pub sample: Option<(BackingName, String)>,
}

impl PlanSummary {
    /// Adds the directory at a path.
    pub fn add(&mut self, path: Vec<u8>, directory: DirectorySummary) {
        let rank = (Reverse(directory.affected()), path);
        self.largest.insert(rank, directory);
        if self.largest.len() > DIRECTORIES
            && let Some((_, smallest)) = self.largest.pop_last()
        {
            self.others.0 += 1;
            self.others.1.merge(smallest);
        }
    }

    /// Has it samples that stand for other entries, too?
    pub fn hides_names(&self) -> bool {
        let all = self.largest.values().chain([&self.others.1]);
        let mut causes = all.flat_map(|directory| directory.causes.values());
        causes.any(|cause| cause.entries > 1)
    }
}

impl DirectorySummary {
    /// Returns the summary of those lines of a directory that `has` takes.
    pub fn of(plan: &DirectoryPlan, has: impl Fn(&PlanLine) -> bool) -> Self {
        let mut causes: BTreeMap<String, Cause> = BTreeMap::new();
        for line in plan.lines.iter().filter(|line| has(line)) {
            causes.entry(line.cause(None)).or_default().add(line);
        }
        Self {
            entries: plan.entries,
            causes,
        }
    }

    /// Returns the number of entries that are changed or left.
    pub fn affected(&self) -> u64 {
        self.causes.values().map(|cause| cause.entries).sum()
    }

    fn merge(&mut self, other: Self) {
        self.entries += other.entries;
        for (text, cause) in other.causes {
            self.causes.entry(text).or_default().merge(cause);
        }
    }
}

impl Cause {
    fn add(&mut self, line: &PlanLine) {
        self.entries += 1;
        if let Some(confidence) = line.confidence.filter(|_| !line.is_left()) {
            self.guessed += 1;
            self.confidence += confidence;
        }
        if self.sample.as_ref().is_none_or(|(old, _)| line.old < *old) {
            self.sample = Some((line.old.clone(), line.change()));
        }
    }

    fn merge(&mut self, other: Self) {
        self.entries += other.entries;
        self.guessed += other.guessed;
        self.confidence += other.confidence;
        let samples = [self.sample.take(), other.sample].into_iter().flatten();
        self.sample = samples.min();
    }
}

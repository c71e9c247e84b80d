//! The numbers of a plan.

use super::directory_plan::DirectoryPlan;
use crate::records::Reason;
use crate::tree::undo_journal::Unplanned;

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

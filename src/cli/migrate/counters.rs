//! The numbers of a migration.

use crate::records::Reason;
use crate::tree::plan::DirectoryPlan;
use crate::tree::undo_journal::Unplanned;

/// The numbers of a migration.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Directories that were read, and entries in them.
    pub(super) directories: u64,
    pub(super) entries: u64,
    /// Entries that get another name, another target, or are set aside, in the plan.
    pub(super) renamed: u64,
    pub(super) retargeted: u64,
    pub(super) set_aside: u64,
    /// Entries with which something is amiss, and which stay, and directories that could not be read.
    pub(super) rest: Unplanned,
    /// Left entries whose new names would have control characters.
    pub(super) control: u64,
    /// Left entries for which no name conforms.
    pub(super) unspelled: u64,
    /// Journals by which something may have been done.
    pub(super) begun: u64,
    /// Steps that were done, of so many.
    pub(super) done: u64,
    pub(super) all: u64,
    /// Steps that failed.
    pub(super) failed: u64,
    /// The directory that was worked on last.
    pub(super) directory: Vec<u8>,
}

impl Counters {
    /// Returns how much was left and not read so far, before a journal is whole.
    pub(super) fn unplanned(&self) -> Unplanned {
        Unplanned {
            left: self.rest.left + self.failed,
            ..self.rest
        }
    }

    /// Counts what an earlier run left and did not read.
    pub(super) fn add_unplanned(&mut self, unplanned: Unplanned) {
        self.rest.left += unplanned.left;
        self.rest.unread += unplanned.unread;
    }

    /// Counts what was planned.
    pub(super) fn add_planned(&mut self, plan: &DirectoryPlan) {
        self.directories += 1;
        self.entries += u64::try_from(plan.entries).unwrap_or(u64::MAX);
        if plan.lines.is_empty() {
            return;
        }
        self.directory = plan.path();
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

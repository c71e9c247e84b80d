//! The plan of a directory, by the planner or from a file.

use crate::names::BackingName;
use crate::records::PlanLine;
use crate::tree::change::join_path;

/// The plan of a directory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DirectoryPlan {
    /// The number of its entries, or of those that the plan's file speaks of.
    pub entries: usize,
    /// The entries that change, or with which something is amiss.
    pub lines: Vec<PlanLine>,
}

impl DirectoryPlan {
    /// Returns the directory; the root where there are no lines.
    #[must_use]
    pub fn directory(&self) -> &[BackingName] {
        self.lines.first().map_or(&[], |line| &line.directory)
    }

    /// Returns its path from the root of the tree.
    #[must_use]
    pub fn path(&self) -> Vec<u8> {
        join_path(self.directory())
    }
}

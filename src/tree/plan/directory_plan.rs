//! The plan of a directory, by the planner or from a file.

use crate::records::{PlanLine, TreePath};
use crate::tree::change::join_path;

/// The plan of a directory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DirectoryPlan {
    /// The directory; the root where there are no lines.
    pub directory: TreePath,
    /// Its inode number; 0 where there are no lines.
    pub inode: u64,
    /// The number of its entries, or of those that the plan's file speaks of.
    pub entries: usize,
    /// The entries that change, or with which something is amiss.
    pub lines: Vec<PlanLine>,
}

impl DirectoryPlan {
    /// Returns the path of the directory from the root of the tree.
    #[must_use]
    pub fn path(&self) -> Vec<u8> {
        join_path(&*self.directory)
    }
}

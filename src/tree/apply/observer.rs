//! The reports of a migration while it is done, and of its end.

use crate::names::BackingName;
use crate::records::Outcome;
use crate::tree::change::TreePath;
use crate::tree::undo_journal::Skipped;

/// A movement of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Movement<'a> {
    /// To another name in its directory.
    To(&'a BackingName),
    /// Aside, into the directory of the migration's.
    Aside,
    /// Back from there, to this name.
    Back(&'a BackingName),
    /// To another target; the entry keeps its name.
    Target(&'a [u8]),
}

/// An observer of the execution of a migration. Called by several threads at a time.
pub trait Observer: Sync {
    /// A directory was finished; the outcome so far.
    fn progress(&self, _outcome: Outcome, _directory: &TreePath) {}

    /// A step was made, or would be where nothing is written.
    fn step(&self, _directory: &TreePath, _name: &BackingName, _movement: Movement<'_>) {}

    /// An entry was left as it is (law T3).
    fn skipped(&self, _skipped: &Skipped) {}

    /// The time of a directory could not be put back (law T6), by this errno.
    fn time_lost(&self, _directory: &TreePath, _errno: i32) {}

    /// Returns true if it is to stop. Asked between any two renames; chains of renames that depend on each other are brought to their
    /// end.
    fn is_over(&self) -> bool {
        false
    }
}

/// When a step was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    /// This run did it.
    Now,
    /// This run found it done.
    Before,
}

impl Outcome {
    /// Returns the number of steps that were done then.
    pub(super) fn steps(&mut self, done: Done) -> &mut u64 {
        match done {
            Done::Now => &mut self.done,
            Done::Before => &mut self.before,
        }
    }
}

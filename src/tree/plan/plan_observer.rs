//! The reports of planning.

use std::io;

use crate::tree::tree_walk::Place;

/// An observer of the planning of a tree. Called by several threads at a time.
pub trait PlanObserver: Sync {
    /// A directory could not be read; nothing is planned in it (law T3).
    fn unread(&self, _place: &Place, _error: &io::Error) {}

    /// A directory on another mount is left out of the plan.
    fn left_out(&self, _place: &Place) {}

    /// Returns true if planning is to stop. Asked between any two directories.
    fn is_over(&self) -> bool {
        false
    }
}

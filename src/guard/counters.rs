//! Numbers of what happened.

use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers of what happened.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Events that the kernel reported.
    pub(super) events: AtomicU64,
    /// Directories that were renamed, anywhere on the filesystem.
    pub(super) moves: AtomicU64,
    /// Times that it could not keep all of them.
    pub(super) overflows: AtomicU64,
    /// Scans that were finished.
    pub(super) scans: AtomicU64,
    /// Entries that were renamed.
    pub(super) renamed: AtomicU64,
    /// Entries that were to be renamed and are left.
    pub(super) left: AtomicU64,
    /// Milliseconds between the making of the last offending name and its event.
    pub(super) lag: AtomicU64,
}

/// Adds to a counter.
pub(super) fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

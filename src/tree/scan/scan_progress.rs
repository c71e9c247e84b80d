//! The progress of a scan.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::records::Directory;

/// The progress of a scan.
#[derive(Debug, Default)]
pub struct Reached {
    /// The number of directories that were read.
    pub directories: AtomicU64,
    /// The number of entries that were seen in them.
    pub entries: AtomicU64,
    /// The number of entries that offend.
    pub offending: AtomicU64,
    /// A directory that was read lately, as a path.
    place: Mutex<Vec<u8>>,
    is_over: AtomicBool,
}

impl Reached {
    /// Returns a directory that was read lately.
    #[must_use]
    pub fn place(&self) -> Vec<u8> {
        self.place.lock().clone()
    }

    /// Ends the scan before its end: what was read is reported.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, directory: &Directory, path: impl FnOnce() -> Vec<u8>) {
        /// Number of directories between two places.
        const NOW_AND_THEN: u64 = 64;
        let before = self.directories.fetch_add(1, Ordering::Relaxed);
        let counts = &directory.counts;
        self.entries.fetch_add(counts.entries, Ordering::Relaxed);
        self.offending
            .fetch_add(counts.offending, Ordering::Relaxed);
        if before.is_multiple_of(NOW_AND_THEN)
            && let Some(mut place) = self.place.try_lock()
        {
            *place = path();
        }
    }
}

//! What the filesystem holds at a moment, for those who look after it.

use std::sync::atomic::Ordering;

use super::Utf8Fs;
use super::audit::Counts;
pub use super::descriptors::Shares;

/// What the filesystem holds. Taken piece by piece while requests are served, so that the pieces need not fit each other.
#[derive(Debug, Clone, Copy)]
pub struct State {
    /// Inodes that were looked up and not forgotten, with the root.
    pub inodes: usize,
    /// Open files.
    pub open_files: usize,
    /// Open directories.
    pub open_directories: usize,
    /// Who has the process's descriptors.
    pub descriptors: Shares,
    /// Directories with an index of visible names; one that was read anew counts twice for a while.
    pub indexes: usize,
    /// Bytes that these take, about.
    pub index_bytes: usize,
    /// How often a directory was read for its index.
    pub index_readings: u64,
    /// Offences since the mount.
    pub offences: Counts,
}

impl Utf8Fs {
    /// What it holds now. Waits for nobody who works on a request, but for a few instructions at a time.
    #[must_use]
    pub fn state(&self) -> State {
        let (indexes, index_bytes) = self.indexed.size();
        State {
            inodes: self.inodes.count.load(Ordering::Relaxed) + 1,
            open_files: self.files.count(),
            open_directories: self.directories.count(),
            descriptors: self.inodes.descriptors.shares(),
            indexes,
            index_bytes,
            index_readings: self.indexed.readings.load(Ordering::Relaxed),
            offences: self.auditor.counts(),
        }
    }
}

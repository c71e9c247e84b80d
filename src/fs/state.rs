//! The numbers that the filesystem counts, for those who look after it.

use std::sync::atomic::Ordering;

use super::Utf8Fs;
use super::audit::Counts;
use crate::records::{DescriptorCounts, IndexCounts, OpenCounts};

/// The numbers at a moment. Taken piece by piece while requests are served, so that the pieces need not fit each other.
#[derive(Debug, Clone, Copy)]
pub struct State {
    /// Inodes that were looked up and not forgotten, with the root.
    pub inodes: usize,
    /// Open files and directories.
    pub open: OpenCounts,
    /// The process's descriptors.
    pub descriptors: DescriptorCounts,
    /// Indexes of visible names.
    pub indexes: IndexCounts,
    /// Offences since the mount.
    pub offences: Counts,
}

impl Utf8Fs {
    /// Returns the numbers of now. Waits for nobody who works on a request, but for a few instructions at a time.
    #[must_use]
    pub fn state(&self) -> State {
        State {
            inodes: self.inodes.count.load(Ordering::Relaxed) + 1,
            open: OpenCounts {
                files: self.files.count(),
                directories: self.directories.count(),
            },
            descriptors: self.inodes.descriptors.counts(),
            indexes: self.indexed.counts(),
            offences: self.settings.auditor.counts(),
        }
    }
}

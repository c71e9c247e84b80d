//! Counters of a migration, by several threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::tree::undo_journal::Unplanned;

/// A number that only grows.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(super) fn add_len(&self, more: usize) {
        self.add(u64::try_from(more).unwrap_or(u64::MAX));
    }

    pub(super) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of a migration.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Directories that were read, and entries in them.
    pub(super) directories: Count,
    pub(super) entries: Count,
    /// Entries that get another name, another target, or are set aside, in the plan.
    pub(super) renamed: Count,
    pub(super) retargeted: Count,
    pub(super) set_aside: Count,
    /// Entries with which something is amiss, and which stay.
    pub(super) left: Count,
    /// Left entries whose new names would have control characters.
    pub(super) control: Count,
    /// Left entries for which no name conforms.
    pub(super) unspelled: Count,
    /// Directories that could not be read.
    pub(super) unread: Count,
    /// Journals by which something may have been done.
    pub(super) begun: Count,
    /// Steps that were done, of so many.
    pub(super) done: Count,
    pub(super) all: Count,
    /// Steps that failed.
    pub(super) failed: Count,
    /// The directory that was worked on last.
    directory: Mutex<Vec<u8>>,
}

impl Counters {
    /// Returns how much was left and not read so far, before a journal is whole.
    pub(super) fn unplanned(&self) -> Unplanned {
        Unplanned {
            left: self.left.get() + self.failed.get(),
            unread: self.unread.get(),
        }
    }

    /// Counts what an earlier run left and did not read.
    pub(super) fn add_unplanned(&self, unplanned: Unplanned) {
        self.left.add(unplanned.left);
        self.unread.add(unplanned.unread);
    }

    pub(super) fn enter(&self, path: Vec<u8>) {
        *self
            .directory
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = path;
    }

    pub(super) fn directory(&self) -> Vec<u8> {
        self.directory
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

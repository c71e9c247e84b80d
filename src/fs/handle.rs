//! Open files and directories.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

use super::FsError;
use super::descriptors::Taken;
use super::inode::{Inode, OpenInode};
use super::listed_names::ListedNames;
use crate::backing::Entries;

/// A file that a program has open.
#[derive(Debug)]
pub struct OpenFile {
    /// The backing file, opened as the program opened it.
    pub(super) fd: Arc<OwnedFd>,
    /// Its inode, which can be reached by this file as long as it is open: also one without a name.
    pub(super) inode: Arc<Inode>,
    /// User and group of the opener, who therefore writes to it.
    pub(super) opener: (u32, u32),
    pub(super) _taken: Taken,
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.inode.closed(&self.fd);
    }
}

/// A directory that a program has open.
#[derive(Debug)]
pub struct OpenDirectory {
    /// The entries, as far as they were read. Taken before any lock of an inode.
    pub(super) stream: Mutex<Entries>,
    /// The names that were listed. Taken after `stream`.
    pub(super) listed: Mutex<ListedNames>,
    /// The directory.
    pub(super) at: OpenInode,
    /// The thread that opened it.
    pub(super) pid: u32,
    pub(super) _taken: Taken,
}

/// Handles of one kind, by number.
#[derive(Debug)]
pub(super) struct Handles<T> {
    next: AtomicU64,
    open: RwLock<HashMap<u64, Arc<T>>>,
}

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Self {
            next: AtomicU64::new(1),
            open: RwLock::default(),
        }
    }
}

impl<T> Handles<T> {
    pub(super) fn add(&self, handle: T) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.open.write().insert(number, Arc::new(handle));
        number
    }

    /// Returns true if `test` is true of one of them.
    pub(super) fn any(&self, test: impl Fn(&T) -> bool) -> bool {
        self.open.read().values().any(|handle| test(handle))
    }

    pub(super) fn get(&self, number: u64) -> Result<Arc<T>, FsError> {
        self.open.read().get(&number).cloned().ok_or(FsError::Stale)
    }

    /// Returns the number of open ones.
    pub(super) fn count(&self) -> usize {
        self.open.read().len()
    }

    pub(super) fn remove(&self, number: u64) -> Option<Arc<T>> {
        self.open.write().remove(&number)
    }
}

//! Open files and directories.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::FsError;
use super::descriptors::Taken;
use super::given::Given;
use super::inode::{Inode, OpenAs};
use crate::backing::Entries;

/// A file that a program has open.
#[derive(Debug)]
pub struct OpenFile {
    /// The backing file, opened as the program opened it.
    pub(super) fd: Arc<OwnedFd>,
    /// Its inode, which can be reached by this file as long as it is open: also one without a name.
    pub(super) inode: Arc<Inode>,
    /// Who opened it, and writes to it therefore: user and group.
    pub(super) opener: (u32, u32),
    _taken: Taken,
}

impl OpenFile {
    pub(super) fn new(
        fd: Arc<OwnedFd>,
        inode: Arc<Inode>,
        opener: (u32, u32),
        how: OpenAs,
        taken: Taken,
    ) -> Self {
        inode.opened(&fd, how);
        Self {
            fd,
            inode,
            opener,
            _taken: taken,
        }
    }

    /// What tells its inode from every other.
    pub(super) fn identity(&self) -> (u64, u64) {
        (self.inode.number, self.inode.generation())
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.inode.closed(&self.fd);
    }
}

/// A directory that a program has open.
#[derive(Debug)]
pub struct OpenDirectory {
    /// Where the reading of it stands. Taken before any lock of an inode.
    pub(super) stream: Mutex<Entries>,
    /// Taken after `stream`.
    pub(super) given: Mutex<Given>,
    /// The directory and its descriptor.
    pub(super) inode: Arc<Inode>,
    pub(super) fd: Arc<OwnedFd>,
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
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        open.insert(number, Arc::new(handle));
        number
    }

    pub(super) fn get(&self, number: u64) -> Result<Arc<T>, FsError> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.get(&number).map(Arc::clone).ok_or(FsError::Stale)
    }

    /// How many are open.
    pub(super) fn count(&self) -> usize {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.len()
    }

    pub(super) fn remove(&self, number: u64) -> Option<Arc<T>> {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        open.remove(&number)
    }
}

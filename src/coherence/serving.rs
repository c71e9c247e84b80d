//! The choice of who serves the reads and writes of an open file: the kernel by itself, or we.
//!
//! The kernel wants all opens of an inode to agree. While it serves one of them, it must serve each from the same
//! backing file; while one has pages in its cache, it may serve none. So the first open of an inode decides for those
//! that come before the last is closed. The kernel is done with an open file before it sends the release, so that our
//! count is never less than its own.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::fs::{InodeId, Opened};

const SHARDS: usize = 16;

/// The server of an open file. `I` is the kernel's id of a backing file.
#[derive(Debug, PartialEq, Eq)]
pub enum Way<I> {
    /// The kernel, from this backing file.
    Kernel(Arc<I>),
    /// Mapped from this backing file by the kernel, but read and written by us without its cache.
    KernelButAsked(Arc<I>),
    /// The daemon, through the kernel's cache.
    Cached,
    /// The daemon, without the kernel's cache.
    Asked,
}

#[derive(Debug)]
struct Served<I> {
    opens: u64,
    /// The backing file that the kernel serves it from, and whether it does so as root; `None` where we do.
    by_kernel: Option<(Arc<I>, bool)>,
}

/// The inodes that are open, and who serves them.
#[derive(Debug)]
pub struct Serving<I> {
    /// Held while the kernel is told of a backing file, which does not wait for anything.
    shards: [Mutex<HashMap<InodeId, Served<I>>>; SHARDS],
}

impl<I> Default for Serving<I> {
    fn default() -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
        }
    }
}

impl<I> Serving<I> {
    /// Decides how a file that was opened is served, until [`leave`](Self::leave). Where the kernel could do it, and knows no
    /// backing file of the inode yet, `tell` tells it; we serve what it does not take.
    pub fn enter(&self, opened: &Opened, tell: impl FnOnce() -> io::Result<I>) -> Way<I> {
        let Opened { stat, writes, .. } = opened;
        // The kernel would write to the backing file where it may only be appended to. Of an empty file it is told too, though there
        // is nothing to read: who writes to it comes later, as to a log that is followed from its start.
        let is_ours = stat.is_append_only;
        // What the kernel does by itself for this file may use what is kept for root.
        let is_as_root = opened.identity.is_some_and(|(uid, _)| uid == 0);
        let mut served = self.shard(opened.inode).lock();
        let served = served.entry(opened.inode).or_insert_with(|| {
            let told = (!is_ours).then(tell).transpose();
            let told = told.inspect_err(|error| log::trace!("served by ourselves: {error}"));
            let told = told.ok().flatten();
            Served {
                opens: 0,
                by_kernel: told.map(|id| (Arc::new(id), is_as_root)),
            }
        });
        served.opens += 1;
        // Only here it is known who writes, by which set-id bits go or stay.
        let may_write = !stat.is_append_only && !stat.has_set_id();
        match &served.by_kernel {
            Some((id, as_root)) if !writes || may_write && *as_root == is_as_root => {
                Way::Kernel(Arc::clone(id))
            }
            Some((id, _)) => Way::KernelButAsked(Arc::clone(id)),
            None if stat.is_append_only && *writes => Way::Asked,
            None => Way::Cached,
        }
    }

    /// Takes note that an open file of the inode is closed.
    pub fn leave(&self, inode: InodeId) {
        let mut served = self.shard(inode).lock();
        let Some(known) = served.get_mut(&inode) else {
            return;
        };
        known.opens -= 1;
        let last = match known.opens {
            0 => served.remove(&inode),
            _ => None,
        };
        drop(served);
        // What the kernel knows the backing file by ends with it, and is taken back where no lock is held.
        drop(last);
    }

    fn shard(&self, inode: InodeId) -> &Mutex<HashMap<InodeId, Served<I>>> {
        let [first, ..] = &self.shards;
        let index = usize::try_from(inode.0 % SHARDS as u64).unwrap_or(0);
        self.shards.get(index).unwrap_or(first)
    }
}

#[cfg(test)]
mod tests;

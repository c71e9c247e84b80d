//! The choice of who serves the reads and writes of an open file: the kernel by itself, or we.
//!
//! The kernel wants all opens of an inode to agree. While it serves one of them, it must serve each from the same
//! backing file; while one has pages in its cache, it may serve none. So the first open of an inode decides for those
//! that come before the last is closed. The kernel is done with an open file before it sends the release, so that our
//! count is never less than its own.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::fs::{InodeId, Opened};

const SHARDS: usize = 16;

/// The best server of an open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    /// The kernel, from the backing file.
    Kernel,
    /// The same, but each write is to come to us: only here it is known who writes.
    KernelButWrites,
    /// The daemon: the kernel would write to the backing file where it may only be appended to.
    Us,
}

impl Wish {
    fn of(opened: &Opened) -> Self {
        let stat = &opened.stat;
        if stat.is_append_only {
            Self::Us
        } else if stat.has_set_id() {
            Self::KernelButWrites
        } else if stat.size == 0 && !opened.writes {
            // There is nothing to read that would be worth telling the kernel of the file.
            Self::Us
        } else {
            Self::Kernel
        }
    }
}

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
enum By<I> {
    Kernel { id: Arc<I>, as_root: bool },
    Us,
}

#[derive(Debug)]
struct Served<I> {
    opens: u64,
    by: By<I>,
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
        let wish = Wish::of(opened);
        // What the kernel does by itself for this file may use what is kept for root.
        let is_as_root = opened.identity.is_some_and(|(uid, _)| uid == 0);
        let mut served = self.shard(opened.inode).lock();
        let served = match served.entry(opened.inode) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let by = match wish {
                    Wish::Us => By::Us,
                    Wish::Kernel | Wish::KernelButWrites => match tell() {
                        Ok(id) => By::Kernel {
                            id: Arc::new(id),
                            as_root: is_as_root,
                        },
                        Err(error) => {
                            log::trace!("served by ourselves: {error}");
                            By::Us
                        }
                    },
                };
                new.insert(Served { opens: 0, by })
            }
        };
        served.opens += 1;
        match &served.by {
            By::Kernel { id, as_root } => {
                let alike = wish == Wish::Kernel && *as_root == is_as_root;
                if alike || !opened.writes {
                    Way::Kernel(Arc::clone(id))
                } else {
                    Way::KernelButAsked(Arc::clone(id))
                }
            }
            By::Us if wish == Wish::Us && opened.writes => Way::Asked,
            By::Us => Way::Cached,
        }
    }

    /// Takes note that an open file of the inode is closed.
    pub fn leave(&self, inode: InodeId) {
        let last = {
            let mut served = self.shard(inode).lock();
            match served.entry(inode) {
                Entry::Occupied(mut known) if known.get().opens > 1 => {
                    known.get_mut().opens -= 1;
                    None
                }
                Entry::Occupied(known) => Some(known.remove()),
                Entry::Vacant(_) => None,
            }
        };
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

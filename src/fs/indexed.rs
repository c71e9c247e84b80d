//! All directories that have an index of visible names, and the memory that these take together.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::inode::Inode;
use crate::records::IndexCounts;

/// Bytes that all indexes together may take.
const MOST_BYTES: usize = 256 << 20;

/// A queue of directories that is not worth sweeping.
const SHORT_QUEUE: usize = 512;

/// Memory that an index counts for beside its names.
pub(super) const EMPTY_BYTES: usize = 512;

/// All directories that have an index, and the bytes these take.
#[derive(Debug, Default)]
pub(super) struct IndexedDirectories {
    all: Mutex<Indexed>,
    /// Number of readings of directories.
    pub(super) readings: AtomicU64,
}

#[derive(Debug, Default)]
struct Indexed {
    /// By the number of their notes, so oldest first, each with the bytes that its index was noted with.
    queue: BTreeMap<u64, (Weak<Inode>, usize)>,
    /// The number of the last note.
    last: u64,
    bytes: usize,
    /// Length of the queue at which forgotten entries are taken out.
    sweep_at: usize,
}

impl IndexedDirectories {
    /// Counts them.
    pub(super) fn counts(&self) -> IndexCounts {
        let indexed = self.all.lock();
        IndexCounts {
            directories: indexed.queue.len(),
            bytes: indexed.bytes,
            readings: self.readings.load(Ordering::Relaxed),
        }
    }

    /// Notes a new index, or one that has grown, in place of what was noted of it. Drops the oldest ones while all together
    /// are too large.
    pub(super) fn note(&self, directory: &Arc<Inode>, bytes: usize) {
        let indexed = &mut *self.all.lock();
        indexed.last += 1;
        let number = indexed.last;
        let listed = directory.as_directory();
        let before = listed.map_or(0, |listed| listed.noted.swap(number, Ordering::Relaxed));
        let before = indexed.queue.remove(&before);
        indexed.bytes -= before.map_or(0, |(_, bytes)| bytes);
        let bytes = bytes + EMPTY_BYTES;
        let noted = (Arc::downgrade(directory), bytes);
        indexed.queue.insert(number, noted);
        indexed.bytes += bytes;
        // Those that were forgotten are taken out whenever the queue has become twice as long.
        let queue = &mut indexed.queue;
        if queue.len() > indexed.sweep_at {
            queue.retain(|_, (directory, _)| directory.strong_count() > 0);
            indexed.bytes = queue.values().map(|(_, bytes)| bytes).sum();
            indexed.sweep_at = 2 * queue.len().max(SHORT_QUEUE);
        }
        while indexed.bytes > MOST_BYTES && indexed.queue.len() > 1 {
            let Some((_, (oldest, bytes))) = indexed.queue.pop_first() else {
                break;
            };
            indexed.bytes -= bytes;
            // One that is in use right now stays until it is read again.
            let oldest = oldest.upgrade();
            if let Some(inode) = oldest.filter(|inode| !Arc::ptr_eq(inode, directory))
                && let Ok(listed) = inode.as_directory()
                && let Some(mut index) = listed.index.try_lock()
            {
                *index = None;
            }
        }
    }
}

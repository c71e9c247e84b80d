//! The names that a directory stream has given, so that it gives none for two entries.
//!
//! While a directory is read, a name may go from one entry to another: where `café` is renamed away, the legacy sibling that was
//! to be `caf%E9` becomes visible as `café`. A program that renames or removes each name as it reads would then take the second
//! entry for the first one come back, and lose a file.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// By their hashes, the names given and the backing names of the entries that they were given for. Two names of one hash cost the
/// second its best name, no more.
#[derive(Debug, Default)]
pub(super) struct Given {
    entries: HashMap<u64, u64>,
    hasher: RandomState,
}

impl Given {
    /// May `visible` be given for the entry that lies below as `backing`?
    pub(super) fn is_free(&self, visible: &[u8], backing: &[u8]) -> bool {
        self.entries
            .get(&self.hasher.hash_one(visible))
            .is_none_or(|entry| *entry == self.hasher.hash_one(backing))
    }

    /// Notes a name that is given.
    pub(super) fn note(&mut self, visible: &[u8], backing: &[u8]) {
        let entry = self.hasher.hash_one(backing);
        self.entries
            .entry(self.hasher.hash_one(visible))
            .or_insert(entry);
    }

    /// The stream is read from its start again.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }
}

//! What names a tree has: which offend, where they are, what they are likely written in.
//!
//! A [`Scan`] looks at directories, each by itself; a [`Tally`] is what it gathers. Tallies of parts merge to just the tally of
//! the whole, in whichever order and grouping, so that threads, and machines, can share the work. Memory does not
//! grow with the number of files: a directory is looked at when it was read to its end, and what is kept of all is
//! bounded.

mod close;
mod finding;
mod given;
mod listing;
mod part;
mod plain;
mod rules;
mod shard;
mod tally;
#[cfg(test)]
mod tests;
mod visitor;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

pub use finding::{Finding, Findings, Found};
pub use given::{Given, GivenError};
pub use part::{PartError, tally_json, tally_of_json};
pub use rules::Rules;
pub use shard::Shard;
pub use tally::{Counts, Directory, Failure, Failures, Kept, Sampled, Tally};
pub use visitor::{Listed, Sink, State};

/// How names are judged, what is kept of them, and who is told meanwhile.
#[derive(Debug)]
pub struct Scan<'s, S: Sink> {
    /// How names are judged.
    pub rules: Rules,
    /// How much is kept.
    pub kept: Kept,
    /// Which part is looked at.
    pub shard: Shard,
    /// Who is told of each finding.
    pub sink: &'s S,
    /// How far it is.
    pub reached: &'s Reached,
    /// What stands in front of the paths of each root.
    pub roots: Vec<Vec<u8>>,
}

/// How far a scan is, for those who wait for it.
#[derive(Debug, Default)]
pub struct Reached {
    directories: AtomicU64,
    entries: AtomicU64,
    offending: AtomicU64,
    /// A directory that was read lately, as a path.
    place: Mutex<Vec<u8>>,
    is_over: AtomicBool,
}

impl Reached {
    /// How many directories were read.
    #[must_use]
    pub fn directories(&self) -> u64 {
        self.directories.load(Ordering::Relaxed)
    }

    /// How many entries were seen in them.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries.load(Ordering::Relaxed)
    }

    /// How many of them offend.
    #[must_use]
    pub fn offending(&self) -> u64 {
        self.offending.load(Ordering::Relaxed)
    }

    /// A directory that was read lately.
    #[must_use]
    pub fn place(&self) -> Vec<u8> {
        let place = self.place.lock();
        place.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the scan before its end: what was read is told.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn add(&self, directory: &Directory, path: impl FnOnce() -> Vec<u8>) {
        /// A place is told for each so many directories.
        const NOW_AND_THEN: u64 = 64;
        let before = self.directories.fetch_add(1, Ordering::Relaxed);
        let counts = &directory.counts;
        self.entries.fetch_add(counts.entries, Ordering::Relaxed);
        self.offending
            .fetch_add(counts.offending, Ordering::Relaxed);
        if before.is_multiple_of(NOW_AND_THEN)
            && let Ok(mut place) = self.place.try_lock()
        {
            *place = path();
        }
    }
}

/// The path of `name` below `above`, either of which may be empty.
#[must_use]
pub fn joined(above: &[u8], name: &[u8]) -> Vec<u8> {
    let slash: &[u8] = match (above, name) {
        ([], _) | (_, []) | ([.., b'/'], _) => b"",
        _ => b"/",
    };
    [above, slash, name].concat()
}

//! A scan: its rules, and the sink of its findings.

use std::fmt::Debug;
use std::io;

use super::name_list::NameList;
use super::name_rules::Rules;
use super::paths::joined;
use super::scan_progress::Reached;
use super::shard::Shard;
use crate::records::{Failure, Kept, ScanEntry, Tally};

/// A scan.
#[derive(Debug)]
pub struct Scan<'s> {
    /// The rules that names are judged by.
    pub rules: Rules,
    /// The limits of the tally.
    pub kept: Kept,
    /// The part that is looked at.
    pub shard: Shard,
    /// The sink of findings.
    pub sink: &'s dyn Sink,
    /// The progress.
    pub reached: &'s Reached,
    /// The paths of the roots.
    pub roots: Vec<Vec<u8>>,
}

/// A sink of findings, while the scan goes on, by several threads.
pub trait Sink: Debug + Sync {
    /// Is anything reported at all? Else only the tally is made.
    fn reports(&self) -> bool;

    /// Appends to `out` the report of an entry with findings.
    fn entry(&self, out: &mut Vec<u8>, entry: ScanEntry<'_>);

    /// Appends to `out` the report of a directory that could not be read.
    fn unread(&self, out: &mut Vec<u8>, path: &[u8], error: &io::Error);

    /// Takes the reports that were appended. Returns `false` if nobody listens any more.
    fn take(&self, out: &[u8]) -> bool;
}

/// All that a thread has gathered.
#[derive(Debug)]
pub struct State {
    pub(super) tally: Tally,
    pub(super) names: NameList,
    /// Reports that the sink has not taken yet.
    pub(super) out: Vec<u8>,
    /// Is the directory that is being read in the part that is looked at?
    pub(super) is_ours: bool,
}

impl State {
    /// Returns the tally, once the sink took the last of the reports.
    #[must_use]
    pub fn done(self, scan: &Scan<'_>) -> Tally {
        if !self.out.is_empty() && !scan.sink.take(&self.out) {
            scan.reached.end();
        }
        self.tally
    }
}

impl Scan<'_> {
    /// Returns a state without anything gathered.
    #[must_use]
    pub fn state(&self) -> State {
        State {
            tally: Tally::new(self.kept),
            names: NameList::default(),
            out: Vec::new(),
            is_ours: false,
        }
    }

    /// Returns the path of a directory, root and all.
    #[must_use]
    pub fn path(&self, root: usize, path: &[u8]) -> Vec<u8> {
        joined(self.roots.get(root).map_or(b"", Vec::as_slice), path)
    }

    /// Adds an unreadable directory or list. `depth` is its depth below a root; 0 for what every part reads.
    pub fn add_unread(&self, state: &mut State, path: Vec<u8>, depth: usize, error: &io::Error) {
        self.sink.unread(&mut state.out, &path, error);
        let failure = Failure {
            path: path.into(),
            errno: error.raw_os_error().unwrap_or(libc::EIO),
        };
        state.tally.add_unread(failure, self.shard.is_above(depth));
    }
}

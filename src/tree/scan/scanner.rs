//! A scan: its rules, and the sink of its findings.

use std::fmt::Debug;
use std::io;

use super::name_rules::Rules;
use super::scan_progress::Reached;
use super::shard::Shard;
use crate::backing::reason;
use crate::records::{Failure, Kept, Name, ScanLine, Tally};

/// A scan.
#[derive(Debug)]
pub struct Scan<'s> {
    /// The rules that names are judged by.
    pub rules: Rules,
    /// The limits of the tally.
    pub kept: Kept,
    /// The part that is looked at.
    pub shard: Shard,
    /// The sink of findings; `None` if only the tally is made.
    pub sink: Option<&'s dyn Sink>,
    /// The progress.
    pub reached: &'s Reached,
    /// The paths of the roots.
    pub roots: Vec<Vec<u8>>,
}

/// A sink of findings, while the scan goes on, by several threads.
pub trait Sink: Debug + Sync {
    /// Takes the line of an entry with findings, or of a directory that could not be read. Returns `false` if nobody listens any
    /// more.
    fn take(&self, line: &ScanLine) -> bool;
}

impl Scan<'_> {
    /// Returns the path of a directory, root and all.
    #[must_use]
    pub fn path(&self, root: usize, path: &[u8]) -> Vec<u8> {
        joined(self.roots.get(root).map_or(b"", Vec::as_slice), path)
    }

    pub(super) fn report(&self, line: &ScanLine) {
        if self.sink.is_some_and(|sink| !sink.take(line)) {
            self.reached.end();
        }
    }

    /// Adds an unreadable directory or list. `depth` is its depth below a root; 0 for what every part reads.
    pub fn add_unread(&self, tally: &mut Tally, path: Vec<u8>, depth: usize, error: &io::Error) {
        let path = Name::from(path);
        self.report(&ScanLine::Unread {
            path: path.clone(),
            reason: reason(error),
        });
        let failure = Failure {
            path,
            errno: error.raw_os_error().unwrap_or(libc::EIO),
        };
        tally.add_unread(failure, self.shard.is_above(depth));
    }
}

/// Returns the path of `name` below `above`, either of which may be empty.
pub(super) fn joined(above: &[u8], name: &[u8]) -> Vec<u8> {
    let slash: &[u8] = match (above, name) {
        ([], _) | (_, []) | ([.., b'/'], _) => b"",
        _ => b"/",
    };
    [above, slash, name].concat()
}

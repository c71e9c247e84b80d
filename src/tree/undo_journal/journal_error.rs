//! Reasons for which a journal is not made, read, applied or undone.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use thiserror::Error;

use crate::backing::{is_read_only, reason};
use crate::names::Quoted;

/// The first thing that is tried.
pub(crate) const OPENING: &str = "open the journal";

/// Why nothing is done, or nothing more. What is wrong with single entries is reported as [`Skipped`](super::Skipped) instead.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The system refused to read or write the journal, or to look at the tree.
    #[error("cannot {what}: {}", reason(error))]
    Io {
        /// The action, such as `write the journal`.
        what: &'static str,
        /// The error of the system.
        #[source]
        error: io::Error,
    },
    /// There is a file of that name already.
    #[error("{} is there already, and a journal is never overwritten", Quoted(.0.as_os_str().as_bytes()))]
    Exists(PathBuf),
    /// Another process makes, applies or undoes this journal, or migrates this tree, one above it or one below.
    #[error(
        "another migration or a guard of this tree, or of one that it lies in or that lies in it, is at work"
    )]
    Busy,
    /// The file does not start as a journal does.
    #[error("not a utf8fs journal")]
    NotAJournal,
    /// The journal is of another version of the format.
    #[error("the journal is of version {0}, which this program does not know")]
    Version(u32),
    /// The first frame is missing, which says what tree the journal is of.
    #[error("the journal has lost its header, which says what tree it is of")]
    Headless,
    /// The journal was cut or altered before its end: what is sound of it can be undone, but not gone on with.
    #[error("the journal was cut or altered: frame {frame} is missing, at byte {offset}")]
    Incomplete {
        /// The number of the first frame that is missing, counted from 0.
        frame: u64,
        /// The offset at which it should be.
        offset: u64,
    },
    /// A job was altered since the journal was opened.
    #[error("the journal was altered just now: frame {frame}, at byte {offset}")]
    Altered {
        /// The number of its frame, counted from 0.
        frame: u64,
        /// The offset of its JSON.
        offset: u64,
    },
    /// The tree is not the one that the journal was made for: its root is another inode.
    #[error("the journal is of another tree: the root is not the directory that it was")]
    NotThisTree,
    /// The filesystem of the tree is mounted read-only.
    #[error("the filesystem is mounted read-only")]
    ReadOnly,
    /// Undoing was begun: it can be undone to its end, but no longer applied.
    #[error("undoing this migration was begun")]
    Undone,
    /// The journal is a guard's, and was to be a migration's.
    #[error("the journal is of a guard: a migration cannot go on with it")]
    OfGuard,
    /// The journal is a migration's, and was to be a guard's.
    #[error("the journal is of a migration: a guard cannot add to it")]
    OfMigration,
}

impl JournalError {
    /// Says what was tried.
    pub(crate) fn io(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::Io { what, error }
    }

    /// Refuses a tree on a filesystem that is mounted read-only.
    pub(crate) fn refuse_read_only(root: &OwnedFd) -> Result<(), Self> {
        match is_read_only(root).map_err(Self::io("look at the tree"))? {
            true => Err(Self::ReadOnly),
            false => Ok(()),
        }
    }
}

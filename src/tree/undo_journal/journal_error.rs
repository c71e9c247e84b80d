//! Reasons for which a journal is not made, read, applied or undone.

use std::fmt;
use std::io;
use std::path::PathBuf;

use std::os::unix::ffi::OsStrExt;

use crate::names::Quoted;

/// The first thing that is tried.
pub(crate) const OPENING: &str = "open the journal";

/// Why nothing is done, or nothing more. What is wrong with single entries is reported as [`Skipped`](super::Skipped) instead.
#[derive(Debug)]
pub enum JournalError {
    /// The system refused to read or write the journal, or to look at the tree.
    Io {
        /// The action, such as `write the journal`.
        what: &'static str,
        /// The error of the system.
        error: io::Error,
    },
    /// There is a file of that name already; a journal is never overwritten.
    Exists(PathBuf),
    /// Another process makes, applies or undoes this journal, or migrates this tree, one above it or one below.
    Busy,
    /// The file does not start as a journal does.
    NotAJournal,
    /// The journal is of another version of the format.
    Version(u32),
    /// The journal was cut or altered: nothing of it is believed.
    Broken {
        /// The first frame that is wrong, counted from 0; the frame behind the last one where that is missing.
        frame: u64,
        /// The offset of that frame.
        offset: u64,
        /// The fault.
        why: &'static str,
    },
    /// The tree is not the one that the journal was made for: its root is another inode.
    NotThisTree,
    /// The filesystem of the tree is mounted read-only.
    ReadOnly,
    /// Undoing was begun: it can be undone to its end, but no longer applied.
    Undone,
    /// The journal is a guard's, or was to be one and is a migration's.
    Growing,
}

impl JournalError {
    /// Says what was tried.
    pub(crate) fn io(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::Io { what, error }
    }
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { what, error } => write!(f, "cannot {what}: {error}"),
            Self::Exists(path) => write!(f, "{} is there already", Quoted(path.as_os_str().as_bytes())),
            Self::Busy => f.write_str("another migration of this tree, or of one that it lies in or that lies in it, is under way"),
            Self::NotAJournal => f.write_str("not a utf8fs journal"),
            Self::Version(version) => write!(f, "the journal is of version {version}, which this program does not know"),
            Self::Broken { frame, offset, why } => {
                write!(f, "the journal was cut or altered: frame {frame}, at byte {offset}: {why}")
            }
            Self::NotThisTree => f.write_str("the journal is of another tree: the root is not the directory that it was"),
            Self::ReadOnly => f.write_str("the filesystem is mounted read-only"),
            Self::Undone => f.write_str("undoing this migration was begun"),
            Self::Growing => f.write_str("a migration and a guard cannot have one journal"),
        }
    }
}

impl std::error::Error for JournalError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            Self::Exists(_)
            | Self::Busy
            | Self::NotAJournal
            | Self::Version(_)
            | Self::Broken { .. }
            | Self::NotThisTree
            | Self::ReadOnly
            | Self::Undone
            | Self::Growing => None,
        }
    }
}

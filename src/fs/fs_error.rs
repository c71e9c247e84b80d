//! Why an operation failed.

use std::io;

use crate::policy::{ErrnoChoice, Offence};

/// Why an operation failed: the policy said no, the system said no, or the inode is gone.
#[derive(Debug)]
pub enum FsError {
    /// The policy refuses the name, with this errno (law N9).
    Refused(i32),
    /// A system call failed; its error is unchanged.
    Io(io::Error),
    /// The kernel asks for an inode or a handle that is not there any more.
    Stale,
}

impl FsError {
    /// The error of a name that is no component of a path.
    pub(super) fn no_name(offence: Offence) -> Self {
        Self::Refused(ErrnoChoice::default().errno(offence.rule))
    }

    /// The errno for the caller.
    pub fn errno(&self) -> i32 {
        match self {
            Self::Refused(errno) => *errno,
            Self::Io(error) => error.raw_os_error().unwrap_or(libc::EIO),
            Self::Stale => libc::ESTALE,
        }
    }
}

impl From<io::Error> for FsError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<rustix::io::Errno> for FsError {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::Io(errno.into())
    }
}

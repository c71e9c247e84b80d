//! Entries that are skipped, and the reasons (law T3).

use std::io;

use thiserror::Error;

use crate::backing::reason;
use crate::names::BackingName;
use crate::tree::change::{TreePath, join_path};

/// Why an entry is left as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum SkipReason {
    /// The entry is not there any more.
    #[error("it is not there any more")]
    Gone,
    /// Another entry than was planned for is there: others have changed it since.
    #[error("it is another one than it was")]
    Changed,
    /// The name that it was to get has been taken (law T2).
    #[error("the name is taken")]
    Taken,
    /// The directory that it lies in is gone or another one, or the way to it leads over a symbolic link (law T5).
    #[error("its directory is not the one that it was")]
    Elsewhere,
    /// Something is mounted there.
    #[error("something is mounted there")]
    MountPoint,
    /// A symbolic link with several names, which cannot be given another target.
    #[error("a symbolic link that has several names cannot be changed")]
    HardLinked,
    /// The entry that the link leads to was left, or got another name than was planned for: it keeps its target.
    #[error("what it leads to was left, or got another name")]
    TargetKept,
    /// The same, but neither target leads there: it got the new one.
    #[error("what it led to was left, or got another name than its new target has")]
    Astray,
    /// Another entry, whose name it was to take or that was to take its name, was left.
    #[error("another entry that was to take or give its name was left")]
    Chained,
    /// The filesystem cannot do it without a moment at which something could be overwritten.
    #[error("this filesystem cannot do it safely")]
    Unsafe,
    /// The system refused it, by this errno.
    #[error("{}", reason(&io::Error::from_raw_os_error(*.0)))]
    System(i32),
}

/// An entry that is left as it is (law T3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The directory, by the names before the migration.
    pub directory: TreePath,
    /// Its name before the migration.
    pub name: BackingName,
    /// Why.
    pub reason: SkipReason,
}

impl Skipped {
    /// Returns its path from the root of the tree, by the names before the migration.
    pub fn path(&self) -> Vec<u8> {
        join_path(self.directory.iter().chain([&self.name]))
    }
}

/// The reason that an error of the system is for an entry.
impl From<io::Error> for SkipReason {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ENOENT) => Self::Gone,
            Some(libc::EEXIST) => Self::Taken,
            Some(errno) => Self::System(errno),
            None => Self::System(libc::EIO),
        }
    }
}

impl SkipReason {
    /// Returns the reason that an error of opening its directory is, on a way without links and mounts.
    pub(crate) fn of_directory(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EXDEV) => Self::MountPoint,
            Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP) => Self::Elsewhere,
            _ => error.into(),
        }
    }

    /// Returns the reason that an error of renameat2(2) is, which not every filesystem has.
    pub(crate) fn of_rename(error: io::Error) -> Self {
        if is_unable(&error) {
            Self::Unsafe
        } else {
            error.into()
        }
    }
}

/// Does the filesystem lack that way of renaming?
pub(crate) fn is_unable(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP)
    )
}

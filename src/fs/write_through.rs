//! Waiting for the disk, where `-o sync` or `-o dirsync` say so: the kernel does nothing about them for FUSE.

use std::io;
use std::os::fd::OwnedFd;

use super::Utf8Fs;
use crate::backing::file::{self, Sync};

/// Which changes are on the disk before they are answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waits {
    /// None: programs call fsync(2).
    #[default]
    None,
    /// Changes of names (`dirsync`).
    Names,
    /// All (`sync`).
    All,
}

impl Utf8Fs {
    /// The flag of open(2) by which each write waits, if it is to.
    pub(super) fn waiting(&self) -> i32 {
        i32::from(self.settings.waits == Waits::All) * libc::O_SYNC
    }

    /// Waits for a change in the file or directory `fd`, of names or else of all, if such are to be waited for.
    pub(super) fn settle(&self, fd: &OwnedFd, change: Waits) -> io::Result<()> {
        if self.settings.waits < change {
            return Ok(());
        }
        let open = |fd| {
            self.inodes
                .with_descriptors(|| file::reopen(fd, libc::O_RDONLY))
        };
        match (open(fd), self.inodes.root.held()) {
            (Ok(open), _) => file::fsync(open, Sync::All),
            // A symlink or device, or what must not be read: all of the filesystem then.
            (Err(_), Some(root)) => file::sync_filesystem(open(&root)?),
            (Err(error), None) => Err(error),
        }
    }
}

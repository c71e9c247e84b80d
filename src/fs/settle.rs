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
    /// Those of names (`dirsync`).
    Names,
    /// All (`sync`).
    All,
}

impl Utf8Fs {
    /// The flag of open(2) by which each write waits, if it is to.
    pub(super) fn waiting(&self) -> i32 {
        match self.waits {
            Waits::All => libc::O_SYNC,
            Waits::None | Waits::Names => 0,
        }
    }

    /// Waits for a change of names in `directory`, if that is to be waited for.
    pub(super) fn settle_names(&self, directory: &OwnedFd) -> io::Result<()> {
        match self.waits {
            Waits::None => Ok(()),
            Waits::Names | Waits::All => self.settle(directory),
        }
    }

    /// Waits for a change of attributes, if that is to be waited for.
    pub(super) fn settle_attributes(&self, fd: &OwnedFd) -> io::Result<()> {
        match self.waits {
            Waits::None | Waits::Names => Ok(()),
            Waits::All => self.settle(fd),
        }
    }

    fn settle(&self, fd: &OwnedFd) -> io::Result<()> {
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

//! Directories that somebody moves out of the backing directory while they are held are not followed there (law F2).

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::inode::{Inode, ROOT};
use super::inodes::Inodes;
use super::{FsError, Utf8Fs};
use crate::backing::Dir;

/// How long the names in a directory that was moved out of the backing directory may be seen, where changes below may go
/// unseen for longer.
const UNSEEN_OUTSIDE: Duration = Duration::from_secs(1);

impl Utf8Fs {
    /// A directory of which names are looked up or listed, and its descriptor.
    ///
    /// # Errors
    /// [`FsError::Stale`]: it is gone, or was moved out of the backing directory for longer than a change may go unseen.
    pub(super) fn open_directory(
        &self,
        number: u64,
    ) -> Result<(Arc<Inode>, Arc<OwnedFd>), FsError> {
        let (inode, fd) = self.open_inode(number)?;
        self.confine(&inode, &fd)?;
        Ok((inode, fd))
    }

    /// Sees to it that a directory has not lain outside of the backing directory for longer than a change may go unseen.
    pub(super) fn confine(&self, inode: &Inode, fd: &OwnedFd) -> Result<(), FsError> {
        let unseen = self.indexed.unseen.min(UNSEEN_OUTSIDE);
        self.inodes.confine(inode, fd, unseen)
    }

    /// A directory in which names are made or removed, and its descriptor.
    ///
    /// # Errors
    /// [`FsError::Stale`]: it is gone, or was moved out of the backing directory.
    pub(super) fn open_to_change(
        &self,
        number: u64,
    ) -> Result<(Arc<Inode>, Arc<OwnedFd>), FsError> {
        let (inode, fd) = self.open_inode(number)?;
        self.inodes.confine(&inode, &fd, Duration::ZERO)?;
        Ok((inode, fd))
    }
}

impl Inodes {
    /// Sees to it that the directory `inode`, open as `fd`, lies below the root still: somebody may have moved it out of
    /// the backing directory. Not asked again within `unseen` of the last time.
    ///
    /// # Errors
    /// [`FsError::Stale`]: it lies outside.
    pub(super) fn confine(
        &self,
        inode: &Inode,
        fd: &OwnedFd,
        unseen: Duration,
    ) -> Result<(), FsError> {
        if inode.number == ROOT {
            return Ok(());
        }
        let now = u32::try_from(self.started.elapsed().as_millis() % (1 << 32)).unwrap_or_default();
        let last = inode.confined.load(Ordering::Relaxed);
        let age = Duration::from_millis(now.wrapping_sub(last).into());
        if last != 0 && age < unseen {
            return Ok(());
        }
        if !self.is_below(fd)? {
            return Err(FsError::Stale);
        }
        inode.confined.store(now.max(1), Ordering::Relaxed);
        Ok(())
    }

    /// Does a directory lie below the root?
    fn is_below(&self, fd: &OwnedFd) -> io::Result<bool> {
        let Some(root) = self.root.held() else {
            return Ok(true);
        };
        let directory = Dir::new(fd);
        let below = || match self.is_mount_root {
            // No way leads up from what lies outside of a mount.
            true => match directory.stat_parent() {
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
                above => above.map(|_| true),
            },
            false => directory.is_below(&root),
        };
        match self.with_descriptors(below) {
            // Nobody can do anything in a directory that can't be searched, but list it.
            Err(error) if error.raw_os_error() == Some(libc::EACCES) => Ok(true),
            told => told,
        }
    }
}

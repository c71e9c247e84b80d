//! Directories that somebody moves out of the backing directory while they are held are not followed there (law F2).

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::inode::{Inode, OpenInode};
use super::inodes::Inodes;
use super::number::{Device, ROOT};
use super::{FsError, Utf8Fs};
use crate::backing::{Dir, Stat};
use crate::names::BackingName;

/// Time for which names in a directory that was moved out of the backing directory may be seen, where changes below
/// may go unseen for longer.
const UNSEEN_OUTSIDE: Duration = Duration::from_secs(1);

impl Utf8Fs {
    /// Opens an inode.
    pub(super) fn open_inode(&self, number: u64) -> Result<OpenInode, FsError> {
        let inode = self.inodes.get(number)?;
        let fd = self.inodes.fd(&inode)?;
        Ok(OpenInode {
            inode,
            fd,
            read_since: None,
        })
    }

    /// A directory of which names are looked up or listed, and its descriptor.
    ///
    /// # Errors
    /// [`FsError::Stale`]: it is gone, or was moved out of the backing directory for longer than a change may go unseen.
    pub(super) fn open_directory(&self, number: u64) -> Result<OpenInode, FsError> {
        let directory = self.open_inode(number)?;
        self.confine(&directory)?;
        Ok(directory)
    }

    /// Sees to it that a directory has not lain outside of the backing directory for longer than a change may go unseen.
    pub(super) fn confine(&self, directory: &OpenInode) -> Result<(), FsError> {
        let unseen = self.settings.unseen.min(UNSEEN_OUTSIDE);
        self.inodes.confine(directory, unseen)
    }
}

impl Inodes {
    /// Sees to it that a directory lies below the root still: somebody may have moved it out of
    /// the backing directory. Not asked again within `unseen` of the last time.
    ///
    /// # Errors
    /// [`FsError::Stale`]: it lies outside.
    pub(super) fn confine(&self, directory: &OpenInode, unseen: Duration) -> Result<(), FsError> {
        let OpenInode { inode, fd, .. } = directory;
        if inode.number == ROOT {
            return Ok(());
        }
        let confined = &inode.as_directory()?.confined;
        let now = self.now();
        let last = confined.load(Ordering::Relaxed);
        let age = Duration::from_millis(now.wrapping_sub(last).into());
        if last != 0 && age < unseen {
            return Ok(());
        }
        if !self.is_below(inode, fd)? {
            return Err(FsError::Stale);
        }
        confined.store(now.max(1), Ordering::Relaxed);
        Ok(())
    }

    /// Does a directory lie below the root?
    fn is_below(&self, inode: &Inode, fd: &OwnedFd) -> io::Result<bool> {
        if inode.is_elsewhere() {
            return self.is_mounted_below(inode);
        }
        let root = self.fd(&self.root)?;
        let directory = Dir::new(fd);
        let below = || match self.is_mount_root {
            true => is_inside_mount(&directory),
            false => match self.in_view(inode)? {
                Some(seen) => is_inside_mount(&Dir::new(&seen)),
                None if self.is_at_its_place(inode, &root) => Ok(true),
                None => directory.is_below(&root, self.cover.get().copied()),
            },
        };
        match self.with_descriptors(below) {
            // Nobody can do anything in a directory that can't be searched, but list it.
            Err(error) if error.raw_os_error() == Some(libc::EACCES) => Ok(true),
            told => told,
        }
    }

    /// Do the names that are known lead down to a directory? That is asked in two calls, however deep it lies. Where they do not, it
    /// was moved, and may still lie below.
    fn is_at_its_place(&self, directory: &Inode, root: &OwnedFd) -> bool {
        let places = self.places(directory);
        if places.last().is_none_or(|top| top.parent != ROOT) {
            return false;
        }
        let names = places.into_iter().rev().map(|place| place.backing);
        let names: Vec<BackingName> = names.collect();
        let found = Dir::new(root).descend(&names).and_then(Stat::of);
        found.is_ok_and(|stat| {
            Device::new(stat.dev) == directory.device && self.number(&stat) == directory.number
        })
    }

    /// An inode as it is seen in the view of the root alone, whatever is mounted where; `None` where that can't be had.
    pub(super) fn in_view(&self, inode: &Inode) -> io::Result<Option<OwnedFd>> {
        let (Some(handle), Some(view)) = (inode.handle(), &self.view) else {
            return Ok(None);
        };
        match handle.open(view, libc::O_PATH) {
            // It was removed, and is still open.
            Err(error) if error.raw_os_error() == Some(libc::ESTALE) => Ok(None),
            seen => seen,
        }
    }

    /// Does a directory of another mount lie below the root? It was opened by its name, by way of the directory of the
    /// root's mount that it is mounted below: that one must.
    fn is_mounted_below(&self, inode: &Inode) -> io::Result<bool> {
        for place in self.places(inode) {
            if let Ok(above) = self.get(place.parent)
                && !above.is_elsewhere()
            {
                return Ok(above.number == ROOT || self.is_below(&above, &*self.fd(&above)?)?);
            }
        }
        Ok(false)
    }
}

/// Does a directory lie in the mount that it was reached through? No way leads up from what does not.
fn is_inside_mount(directory: &Dir<&OwnedFd>) -> io::Result<bool> {
    match directory.stat_parent() {
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
        above => above.map(|_| true),
    }
}

//! Looking an entry up: what it is, and what it can be opened by later.

use std::io;
use std::os::fd::OwnedFd;

use super::Utf8Fs;
use super::inode::Identity;
use crate::backing::{Dir, FileHandle, Stat};
use crate::names::BackingName;

/// An entry that was looked at.
#[derive(Debug)]
pub(super) struct Looked {
    /// Its attributes.
    pub(super) stat: Stat,
    /// The way to open it.
    pub(super) by: By,
}

/// The way to open an inode.
#[derive(Debug)]
pub(super) enum By {
    /// Its name alone, whose attributes were asked for: all that an inode needs that is known.
    Name,
    /// An `O_PATH` descriptor. What is known of it was asked of this descriptor: all is of one inode.
    Fd(OwnedFd),
    /// Its handle. The name was asked twice, and can have led to two inodes: the handle can be that of another than the
    /// attributes.
    Handle(FileHandle),
    /// An open file, which was asked for its identity too: all is of one inode.
    Open(Identity),
}

impl Utf8Fs {
    /// Looks at the entry `name` of a directory, at the symlink itself if it is one. Most entries are known already, or never opened:
    /// its attributes are all that is asked for.
    ///
    /// # Errors
    /// Those of statx(2), and as for [`look_by_fd`](Self::look_by_fd).
    pub(super) fn look_by_name(
        &self,
        dir: &Dir<&OwnedFd>,
        name: &BackingName,
    ) -> io::Result<Looked> {
        // What could lead back into this filesystem must not be asked before it is known not to.
        if self.own_device.get().is_some() {
            return self.look_by_fd(dir, name);
        }
        let (stat, by) = (dir.stat_child(name)?, By::Name);
        Ok(Looked { stat, by })
    }

    /// Looks at the entry `name` of a directory, at the symlink itself if it is one, by a descriptor of it.
    ///
    /// # Errors
    /// Those of openat(2) and statx(2); `ENOENT` too for what leads back into this filesystem.
    pub(super) fn look_by_fd(&self, dir: &Dir<&OwnedFd>, name: &BackingName) -> io::Result<Looked> {
        let fd = self.inodes.with_descriptors(|| dir.child(name))?;
        if self.is_own(&fd)? {
            return Err(io::Error::from_raw_os_error(libc::ENOENT));
        }
        let stat = Stat::of(&fd)?;
        let by = By::Fd(fd);
        Ok(Looked { stat, by })
    }

    /// Looks at the file open as `opened`, which was just made.
    ///
    /// # Errors
    /// Those of statx(2) and `name_to_handle_at(2)`.
    pub(super) fn look_at_made(&self, opened: &OwnedFd) -> io::Result<Looked> {
        let stat = Stat::of(opened)?;
        let by = By::Open(self.inodes.identity(opened, &stat)?);
        Ok(Looked { stat, by })
    }
}

//! The way down to a directory, in one call, and up from it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::{Dir, calls};
use crate::names::BackingName;

impl<F: AsFd> Dir<F> {
    /// Holds the directory that `names` lead to from this one, which it is itself where there are none. No symlink is followed, and no
    /// mount entered.
    ///
    /// # Errors
    /// Those of openat2(2): `ELOOP` for a symlink, `EXDEV` for a mount, `ENAMETOOLONG` where the names have 4,096 octets together,
    /// `ENOSYS` before Linux 5.6. Go from name to name then.
    pub fn descend(&self, names: &[BackingName]) -> io::Result<OwnedFd> {
        let mut path: Vec<u8> = Vec::with_capacity(64);
        for name in names {
            path.extend(name.as_bytes());
            path.push(b'/');
        }
        path.push(b'.');
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        calls::count();
        Ok(rustix::fs::openat2(
            self,
            path,
            flags,
            Mode::empty(),
            resolve,
        )?)
    }

    /// Holds the directory above; the directory itself where it is the root of all that it sees.
    ///
    /// # Errors
    /// Those of openat(2); `ENOENT` where it lies outside of the mount that this one was reached through.
    pub fn parent(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        calls::count();
        Ok(rustix::fs::openat(self, c"..", flags, Mode::empty())?)
    }
}

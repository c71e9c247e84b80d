//! Failpoints: every change to the tree or the journal is made here, one call each, so that a test can stop at any of them.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use crate::backing::{Dir, SetTime, file, xattr};
use crate::names::BackingName;

/// Stands before each call. Tests count them, and die at one.
#[cfg(not(test))]
fn step() {}

#[cfg(test)]
use super::kills::step;

/// Renames to a name that is free.
pub(super) fn rename<F: AsFd, G: AsFd>(
    from: &Dir<F>,
    name: &BackingName,
    to: &Dir<G>,
    new: &BackingName,
) -> io::Result<()> {
    step();
    #[cfg(test)]
    super::kills::refuse_new(to, new)?;
    from.rename(name, to, new, libc::RENAME_NOREPLACE)
}

/// Exchanges two names of a directory.
pub(super) fn exchange<F: AsFd>(
    dir: &Dir<F>,
    one: &BackingName,
    other: &BackingName,
) -> io::Result<()> {
    step();
    dir.rename(one, dir, other, libc::RENAME_EXCHANGE)
}

/// Makes another name for an inode.
pub(super) fn link<F: AsFd>(source: impl AsFd, dir: &Dir<F>, name: &BackingName) -> io::Result<()> {
    step();
    dir.link(source, name)
}

/// Removes a name that is not a directory's.
pub(super) fn unlink<F: AsFd>(dir: &Dir<F>, name: &BackingName) -> io::Result<()> {
    step();
    dir.unlink(name)
}

/// Makes a symbolic link.
pub(super) fn symlink<F: AsFd>(dir: &Dir<F>, name: &BackingName, target: &[u8]) -> io::Result<()> {
    step();
    dir.symlink(name, target)
}

/// Makes a directory for its owner alone.
pub(super) fn mkdir<F: AsFd>(dir: &Dir<F>, name: &BackingName) -> io::Result<()> {
    step();
    dir.mkdir(name, 0o700)
}

/// Removes an empty directory.
pub(super) fn rmdir<F: AsFd>(dir: &Dir<F>, name: &BackingName) -> io::Result<()> {
    step();
    dir.rmdir(name)
}

/// Sets the times of an inode.
pub(super) fn set_times(fd: impl AsFd, atime: SetTime, mtime: SetTime) -> io::Result<()> {
    step();
    file::set_times(fd, atime, mtime)
}

/// Sets owner and group of an inode.
pub(super) fn chown(fd: impl AsFd, uid: u32, gid: u32) -> io::Result<()> {
    step();
    file::chown(fd, Some(uid), Some(gid))
}

/// Sets an attribute of an inode.
pub(super) fn set_xattr(fd: impl AsFd, name: &[u8], value: &[u8]) -> io::Result<()> {
    step();
    xattr::set(fd, name, value, 0)
}

/// Writes all of `data` where the file stands.
pub(super) fn write(mut file: &File, data: &[u8]) -> io::Result<()> {
    step();
    file.write_all(data)
}

/// Writes all of `data` at a place.
pub(super) fn write_at(file: &File, data: &[u8], offset: u64) -> io::Result<()> {
    step();
    file.write_all_at(data, offset)
}

/// Cuts the file.
pub(super) fn truncate(file: &File, size: u64) -> io::Result<()> {
    step();
    file.set_len(size)
}

/// Brings the content of a file, or a directory, to the medium.
pub(super) fn sync(fd: impl AsFd) -> io::Result<()> {
    step();
    file::fsync(fd, file::Sync::All)
}

/// Brings all of a filesystem to the medium.
pub(super) fn sync_filesystem(fd: impl AsFd) -> io::Result<()> {
    step();
    file::sync_filesystem(fd)
}

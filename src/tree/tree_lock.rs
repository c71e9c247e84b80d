//! The lock of a tree: one migration at a time.

use std::io;
use std::os::fd::OwnedFd;

use super::undo_journal::JournalError;
use crate::backing::{Dir, LockKind, Stat, file, lock};

/// The right to migrate a tree, as long as it lives; it ends with the process, however that ends.
///
/// Takes an exclusive flock(2) on the root, and a shared one on each readable directory above it on the same mount.
/// So trees that lie in each other exclude each other, and others do not.
#[derive(Debug)]
pub struct TreeLock {
    _held: Vec<OwnedFd>,
}

impl TreeLock {
    /// Takes the lock of the tree below `root`, without waiting.
    ///
    /// A filesystem that has no such locks of directories, as NFS, gives it to everybody.
    ///
    /// # Errors
    /// [`JournalError::Busy`] if another has it; [`JournalError::Io`].
    pub fn take(root: &OwnedFd) -> Result<Self, JournalError> {
        let held = take(root).map_err(JournalError::io("lock the tree"))?;
        held.map(|_held| Self { _held }).ok_or(JournalError::Busy)
    }
}

/// The descriptors that are locked; `None` if another has the lock of one of the directories.
fn take(root: &OwnedFd) -> io::Result<Option<Vec<OwnedFd>>> {
    let mut held = Vec::new();
    let mut here = root.try_clone()?;
    let mut stat = Stat::of(&here)?;
    let mut kind = LockKind::Write;
    loop {
        match file::reopen(&here, libc::O_RDONLY | libc::O_DIRECTORY) {
            Ok(fd) if locked(&fd, kind)? => held.push(fd),
            Ok(_) => return Ok(None),
            Err(error) if kind == LockKind::Write => return Err(error),
            // A directory above that is not readable.
            Err(_) => {}
        }
        kind = LockKind::Read;
        let above = match Dir::new(&here).parent() {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EACCES | libc::ENOENT)) => {
                break;
            }
            above => above?,
        };
        let found = Stat::of(&above)?;
        if found.mnt_id != stat.mnt_id || found.identity() == stat.identity() {
            break;
        }
        (here, stat) = (above, found);
    }
    Ok(Some(held))
}

/// Locks a directory. Returns `false` if another has its lock.
fn locked(fd: &OwnedFd, kind: LockKind) -> io::Result<bool> {
    lock::flock(fd, Some(kind)).or_else(|error| match error.raw_os_error() {
        Some(libc::EBADF | libc::EOPNOTSUPP | libc::ENOLCK | libc::ENOSYS) => Ok(true),
        _ => Err(error),
    })
}

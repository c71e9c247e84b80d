//! Locks on open files: flock(2), and those of fcntl(2) that belong to the open file description (OFD locks).
//!
//! Nothing here waits: who wants a lock that another has is told so.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::calls::counted;
use super::sys;

/// The kind of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub enum LockKind {
    /// Excludes writers: `LOCK_SH` of flock(2).
    Read = libc::F_RDLCK,
    /// Everybody: `LOCK_EX` of flock(2).
    Write = libc::F_WRLCK,
}

impl LockKind {
    /// `l_type` of `struct flock`.
    pub fn to_kernel(self) -> i32 {
        self as i32
    }

    /// The kind of an `l_type`; `None` for an unlocking.
    ///
    /// # Errors
    /// `EINVAL` for an unknown type.
    pub fn from_kernel(kind: i32) -> Result<Option<Self>, Errno> {
        match kind {
            libc::F_UNLCK => Ok(None),
            libc::F_RDLCK => Ok(Some(Self::Read)),
            libc::F_WRLCK => Ok(Some(Self::Write)),
            _ => Err(Errno::INVAL),
        }
    }
}

/// The bytes that a lock is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockRange {
    /// The first, at most `i64::MAX`.
    pub start: u64,
    /// The last; `i64::MAX` or more is the end of the file, wherever it will be.
    pub end: u64,
}

impl LockRange {
    /// The whole file.
    pub const WHOLE: Self = Self {
        start: 0,
        end: i64::MAX.unsigned_abs(),
    };

    /// Have the two a byte in common?
    pub fn meets(self, other: Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    /// A lock of this `l_type` on the range, from the start of the file (`SEEK_SET`).
    fn to_kernel(self, kind: i32) -> io::Result<libc::flock> {
        let wrong = |_too_large| io::Error::from(Errno::INVAL);
        let length = match self.end >= Self::WHOLE.end {
            true => 0,
            false => (self.end + 1)
                .checked_sub(self.start)
                .filter(|&length| length > 0)
                .ok_or(Errno::INVAL)?,
        };
        Ok(libc::flock {
            l_type: i16::try_from(kind).map_err(wrong)?,
            l_whence: 0,
            l_start: i64::try_from(self.start).map_err(wrong)?,
            l_len: i64::try_from(length).map_err(wrong)?,
            l_pid: 0,
        })
    }
}

/// A lock that stands in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// Its range.
    pub range: LockRange,
    /// Its kind.
    pub kind: LockKind,
    /// The process that holds it; `None` for an OFD lock, which no process holds.
    pub pid: Option<u32>,
}

/// Did another's lock stand in the way?
fn granted(result: io::Result<()>) -> io::Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Sets the OFD lock of `fd` on a range, in place of what it has there; `None` unlocks. False if another has it.
///
/// # Errors
/// `EBADF` if `fd` is not open for what is asked; else those of fcntl(2).
pub fn set(fd: impl AsFd, kind: Option<LockKind>, range: LockRange) -> io::Result<bool> {
    let mut lock = range.to_kernel(kind.map_or(libc::F_UNLCK, LockKind::to_kernel))?;
    granted(sys::ofd_lock(fd.as_fd(), libc::F_OFD_SETLK, &mut lock))
}

/// A lock that stands in the way of this one for `fd`; `None` where there is none.
///
/// # Errors
/// Those of fcntl(2).
pub fn test(fd: impl AsFd, kind: LockKind, range: LockRange) -> io::Result<Option<Holder>> {
    let mut lock = range.to_kernel(kind.to_kernel())?;
    sys::ofd_lock(fd.as_fd(), libc::F_OFD_GETLK, &mut lock)?;
    let Some(kind) = LockKind::from_kernel(lock.l_type.into())? else {
        return Ok(None);
    };
    let start = u64::try_from(lock.l_start).unwrap_or(0);
    let end = match u64::try_from(lock.l_len) {
        Ok(length @ 1..) => start.saturating_add(length - 1),
        _ => LockRange::WHOLE.end,
    };
    Ok(Some(Holder {
        range: LockRange { start, end },
        kind,
        pid: u32::try_from(lock.l_pid).ok().filter(|&pid| pid > 0),
    }))
}

/// Sets the flock(2) of `fd`; `None` unlocks. False if another has it: then `fd` has none, if it had another before.
///
/// # Errors
/// Those of flock(2).
pub fn flock(fd: impl AsFd, kind: Option<LockKind>) -> io::Result<bool> {
    let operation = match kind {
        None => FlockOperation::Unlock,
        Some(LockKind::Read) => FlockOperation::NonBlockingLockShared,
        Some(LockKind::Write) => FlockOperation::NonBlockingLockExclusive,
    };
    granted(counted(rustix::fs::flock(fd, operation)))
}

/// Returns the access mode with which `fd` was opened (`O_ACCMODE` of open(2)).
///
/// # Errors
/// Those of fcntl(2).
pub fn access(fd: impl AsFd) -> io::Result<i32> {
    let flags = counted(rustix::fs::fcntl_getfl(fd))?.bits().cast_signed();
    Ok(flags & libc::O_ACCMODE)
}

#[cfg(test)]
mod tests;

//! Operations on one inode, by its descriptor.

use std::ffi::CString;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    Access, AtFlags, CWD, FallocateFlags, Gid, Mode, OFlags, SeekFrom, StatxFlags, Timespec,
    Timestamps, UTIME_NOW, UTIME_OMIT, Uid,
};
use rustix::io::{Errno, ReadWriteFlags};

use super::calls::{self, counted};
use super::stat::SetTime;
use super::sys;
use crate::records::Kind;

/// The path that names the inode of a descriptor of ours, without a walk through the backing tree.
///
/// A symlink held by `O_PATH` is named itself: the kernel jumps to it and follows no further.
pub(crate) fn proc_path(fd: BorrowedFd<'_>) -> CString {
    CString::new(format!("/proc/self/fd/{}", fd.as_raw_fd())).unwrap_or_default()
}

/// Returns the path of the inode of a descriptor, by the names that the kernel has for it now. One that lies on a mount that cannot be
/// seen from here has a path from that mount's root.
///
/// # Errors
/// `ENAMETOOLONG` for a path of a page or more; those of readlinkat(2).
pub fn path_of(fd: impl AsFd) -> io::Result<Vec<u8>> {
    calls::count();
    let path = rustix::fs::readlinkat(CWD, proc_path(fd.as_fd()), Vec::new());
    Ok(path?.into_bytes())
}

/// Is the regular file open for writing somewhere? A lease for reading cannot be had then. One that was had is given back at once; a
/// program that opens the file meanwhile waits for that. `fd` is one that was opened for reading alone. For its owner and who has
/// `CAP_LEASE`.
///
/// # Errors
/// Those of `F_SETLEASE` of fcntl(2): `EINVAL` on filesystems without leases.
pub fn is_open_for_writing(fd: impl AsFd) -> io::Result<bool> {
    match sys::set_lease(fd.as_fd(), libc::F_RDLCK) {
        Ok(()) => sys::set_lease(fd.as_fd(), libc::F_UNLCK).map(|()| false),
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Ok(true),
        Err(error) => Err(error),
    }
}

/// open(2) flags as they came, but for `O_PATH`, which would make the kernel ignore the others.
pub(super) fn open_flags(flags: i32) -> OFlags {
    OFlags::from_bits_retain(flags.cast_unsigned()).difference(OFlags::PATH)
}

/// Returns the kind of the inode that `fd` refers to.
fn kind(fd: BorrowedFd<'_>) -> io::Result<Kind> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
    let raw = counted(rustix::fs::statx(fd, c"", flags, StatxFlags::TYPE))?;
    Ok(Kind::from_mode(u32::from(raw.stx_mode)))
}

/// Opens the inode of `fd` once more, with the given open(2) flags and `O_CLOEXEC`.
///
/// `O_CREAT`, `O_EXCL`, `O_NOFOLLOW` and `O_PATH` are left out. The kernel checks permissions, `chattr +a` and `+i`,
/// read-only mounts and running programs as for any open.
///
/// # Errors
/// `ELOOP` for a symlink; `ENXIO` for pipes, sockets and devices, which could wait or act; else those of open(2).
pub fn reopen(fd: impl AsFd, flags: i32) -> io::Result<OwnedFd> {
    let fd = fd.as_fd();
    reopen_known(fd, kind(fd)?, flags)
}

/// [`reopen`] for reading with these further flags, so that reading leaves the access time where that is for us to say.
///
/// # Errors
/// As for [`reopen`].
pub fn reopen_quietly(fd: impl AsFd, flags: i32) -> io::Result<OwnedFd> {
    match reopen(&fd, flags | libc::O_RDONLY | libc::O_NOATIME) {
        // For the owner and the privileged only.
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
            reopen(fd, flags | libc::O_RDONLY)
        }
        opened => opened,
    }
}

/// [`reopen`] of what is known to be of this `kind`.
///
/// # Errors
/// As for [`reopen`].
pub fn reopen_known(fd: impl AsFd, kind: Kind, flags: i32) -> io::Result<OwnedFd> {
    match kind {
        Kind::File | Kind::Dir => {}
        Kind::Symlink => return Err(Errno::LOOP.into()),
        Kind::Fifo | Kind::Socket | Kind::CharDevice | Kind::BlockDevice | Kind::Unknown => {
            return Err(Errno::NXIO.into());
        }
    }
    let left_out = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    let flags = open_flags(flags).difference(left_out) | OFlags::CLOEXEC;
    let path = proc_path(fd.as_fd());
    counted(rustix::fs::open(path, flags, Mode::empty()))
}

/// Opens the directory of `fd` once more for reading, with these further open(2) flags and `O_CLOEXEC`.
///
/// # Errors
/// `ENOTDIR`: it is none. Those of openat(2).
pub fn reopen_directory(fd: impl AsFd, flags: i32) -> io::Result<OwnedFd> {
    let fd = fd.as_fd();
    let all = OFlags::from_bits_retain(flags.cast_unsigned()) | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match counted(rustix::fs::openat(fd, c".", all, Mode::empty())) {
        // To look for `.` in it takes the right to search it, which reading does not.
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
            reopen_known(fd, Kind::Dir, flags | libc::O_DIRECTORY)
        }
        opened => opened,
    }
}

/// Takes `O_DIRECT` from an open file, which then takes any buffer at any offset.
///
/// # Errors
/// Those of fcntl(2).
pub fn buffered(fd: impl AsFd) -> io::Result<()> {
    let flags = counted(rustix::fs::fcntl_getfl(&fd))?.difference(OFlags::DIRECT);
    counted(rustix::fs::fcntl_setfl(fd, flags))
}

/// Reads at `offset` into `buffer`; fewer bytes than it holds only at the end of the file.
///
/// # Errors
/// Those of pread(2), if nothing was read before.
pub fn read_at(fd: impl AsFd, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    all_of(buffer.len(), |done| {
        let rest = buffer.get_mut(done..).unwrap_or_default();
        rustix::io::pread(&fd, rest, after(offset, done)?)
    })
}

/// Calls `step` with how many of `length` bytes are done, until all are, no more can be, or an error comes after some.
fn all_of(length: usize, mut step: impl FnMut(usize) -> Result<usize, Errno>) -> io::Result<usize> {
    let mut done = 0;
    while done < length {
        calls::count();
        match step(done) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(Errno::INTR) => {}
            Err(_) if done > 0 => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(done)
}

/// The place of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At this offset, unless the descriptor has `O_APPEND`.
    At(u64),
    /// At the end, wherever it is by then.
    End,
}

/// Writes `data`; fewer bytes only if an error came after some.
///
/// # Errors
/// Those of pwritev2(2), if nothing was written before.
pub fn write(fd: impl AsFd, data: &[u8], place: Place) -> io::Result<usize> {
    all_of(data.len(), |done| {
        let rest = data.get(done..).unwrap_or_default();
        match place {
            Place::At(offset) => rustix::io::pwrite(&fd, rest, after(offset, done)?),
            Place::End => {
                rustix::io::pwritev2(&fd, &[IoSlice::new(rest)], 0, ReadWriteFlags::APPEND)
            }
        }
    })
}

/// `offset` and `done` bytes more.
fn after(offset: u64, done: usize) -> Result<u64, Errno> {
    let end = u64::try_from(done).map(|done| offset.checked_add(done));
    end.ok().flatten().ok_or(Errno::INVAL)
}

/// The extent of an fsync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// Content and what is needed to read it.
    Data,
    /// Attributes too.
    All,
}

/// Waits until the file or directory is on the medium. `fd` must be open for real, not `O_PATH`.
///
/// # Errors
/// Those of fsync(2).
pub fn fsync(fd: impl AsFd, what: Sync) -> io::Result<()> {
    match what {
        Sync::Data => counted(rustix::fs::fdatasync(fd)),
        Sync::All => counted(rustix::fs::fsync(fd)),
    }
}

/// Waits until all of the filesystem that `fd` is on is on the medium. `fd` must be open for real, not `O_PATH`.
///
/// # Errors
/// Those of syncfs(2).
pub fn sync_filesystem(fd: impl AsFd) -> io::Result<()> {
    counted(rustix::fs::syncfs(fd))
}

/// Reports what closing a descriptor of the file reports (quota, NFS), and keeps `fd` open.
///
/// # Errors
/// Those of close(2).
pub fn flush(fd: impl AsFd) -> io::Result<()> {
    sys::close(counted(rustix::io::fcntl_dupfd_cloexec(fd, 0))?)
}

/// Allocates, punches, zeroes or shifts a range; `mode` is fallocate(2)'s, passed through.
///
/// # Errors
/// Those of fallocate(2).
pub fn fallocate(fd: impl AsFd, mode: i32, offset: u64, length: u64) -> io::Result<()> {
    let mode = FallocateFlags::from_bits_retain(mode.cast_unsigned());
    counted(rustix::fs::fallocate(fd, mode, offset, length))
}

/// Moves the descriptor's position to the next data or hole, and returns it; `whence` is `SEEK_DATA` or `SEEK_HOLE` of lseek(2).
///
/// # Errors
/// `EINVAL` for any other `whence`; else those of lseek(2): `ENXIO` past the last data.
pub fn seek(fd: impl AsFd, offset: i64, whence: i32) -> io::Result<u64> {
    let place = offset.cast_unsigned();
    let target = match whence {
        libc::SEEK_DATA => SeekFrom::Data(place),
        libc::SEEK_HOLE => SeekFrom::Hole(place),
        _ => return Err(Errno::INVAL.into()),
    };
    counted(rustix::fs::seek(fd, target))
}

/// Copies up to `length` bytes within the kernel; returns how many.
///
/// # Errors
/// Those of `copy_file_range(2)`; `EXDEV` and `EOPNOTSUPP` where the kernel will not.
pub fn copy_range(
    from: impl AsFd,
    mut from_offset: u64,
    to: impl AsFd,
    mut to_offset: u64,
    length: usize,
) -> io::Result<usize> {
    let (start, target) = (Some(&mut from_offset), Some(&mut to_offset));
    counted(rustix::fs::copy_file_range(from, start, to, target, length))
}

/// Sets the size of a file open for writing; permission was checked when it was opened.
///
/// # Errors
/// Those of ftruncate(2).
pub fn truncate_open(fd: impl AsFd, size: u64) -> io::Result<()> {
    counted(rustix::fs::ftruncate(fd, size))
}

/// Sets the size of the regular file that `fd` refers to, `O_PATH` or not; permission is checked now.
///
/// # Errors
/// Those of truncate(2); `EINVAL` for a size beyond `i64` or something that has none.
pub fn truncate(fd: impl AsFd, size: u64) -> io::Result<()> {
    let size = i64::try_from(size).map_err(|_too_large| Errno::INVAL)?;
    sys::truncate(&proc_path(fd.as_fd()), size)
}

/// Sets the permission bits (07777) of the inode.
///
/// # Errors
/// `EOPNOTSUPP` for a symlink, on every kernel; else those of chmod(2).
pub fn chmod(fd: impl AsFd, mode: u32) -> io::Result<()> {
    let fd = fd.as_fd();
    if kind(fd)? == Kind::Symlink {
        return Err(Errno::OPNOTSUPP.into());
    }
    let (path, mode) = (proc_path(fd), Mode::from_raw_mode(mode));
    counted(rustix::fs::chmodat(CWD, path, mode, AtFlags::empty()))
}

/// Sets owner and group of the inode, of the symlink itself if it is one; `None` leaves it.
///
/// # Errors
/// `EINVAL` for the id `u32::MAX`; else those of fchownat(2).
pub fn chown(fd: impl AsFd, uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
    if uid == Some(u32::MAX) || gid == Some(u32::MAX) {
        return Err(Errno::INVAL.into());
    }
    let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
    let (uid, gid) = (uid.map(Uid::from_raw), gid.map(Gid::from_raw));
    counted(rustix::fs::chownat(fd, c"", uid, gid, flags))
}

/// Sets the times of the inode, of the symlink itself if it is one.
///
/// # Errors
/// `EINVAL` for a second or more of nanoseconds; else those of utimensat(2).
pub fn set_times(fd: impl AsFd, atime: SetTime, mtime: SetTime) -> io::Result<()> {
    let times = Timestamps {
        last_access: timespec(atime)?,
        last_modification: timespec(mtime)?,
    };
    let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
    counted(rustix::fs::utimensat(fd, c"", &times, flags))
}

/// Converts a time for utimensat(2).
fn timespec(time: SetTime) -> io::Result<Timespec> {
    let (tv_sec, tv_nsec) = match time {
        SetTime::Omit => (0, UTIME_OMIT),
        SetTime::Now => (0, UTIME_NOW),
        // The marks for Omit and Now are nanoseconds too, over a second's worth.
        SetTime::At(time) if time.nanos >= 1_000_000_000 => return Err(Errno::INVAL.into()),
        SetTime::At(time) => (time.secs, time.nanos.into()),
    };
    Ok(Timespec { tv_sec, tv_nsec })
}

/// The target of the symlink that `fd` refers to.
///
/// # Errors
/// `ENOENT` if it is not a symlink; else those of readlinkat(2).
pub fn readlink(fd: impl AsFd) -> io::Result<Vec<u8>> {
    Ok(counted(rustix::fs::readlinkat(fd, c"", Vec::new()))?.into_bytes())
}

/// Asks access(2) for the effective ids of this thread; `mask` is `R_OK`, `W_OK`, `X_OK` or 0.
///
/// # Errors
/// `EACCES`; else those of faccessat(2).
pub fn access(fd: impl AsFd, mask: i32) -> io::Result<()> {
    let access = Access::from_bits_retain(mask.cast_unsigned());
    let path = proc_path(fd.as_fd());
    counted(rustix::fs::accessat(CWD, path, access, AtFlags::EACCESS))
}

/// An `O_PATH` descriptor of the inode of an open one.
///
/// # Errors
/// Those of open(2).
pub fn path_only(fd: impl AsFd) -> io::Result<OwnedFd> {
    let (path, flags) = (proc_path(fd.as_fd()), OFlags::PATH | OFlags::CLOEXEC);
    counted(rustix::fs::open(path, flags, Mode::empty()))
}

#[cfg(test)]
mod tests;

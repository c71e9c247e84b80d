//! Between the filesystem's types and fuser's.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{Errno, FileAttr, FileType, INodeNo, LockOwner, Request, TimeOrNow};

use crate::backing::file::Sync;
use crate::backing::{Kind, LockKind, LockRange, SetTime, Stat, Time};
use crate::fs::{FsError, LockRequest};

pub(super) fn errno(error: &FsError) -> Errno {
    Errno::from_i32(error.errno())
}

/// What the kernel wants to know of a file; `number` is what it knows the file by.
pub(super) fn attr(number: u64, stat: &Stat) -> FileAttr {
    FileAttr {
        ino: INodeNo(number),
        size: stat.size,
        blocks: stat.blocks,
        atime: system_time(stat.atime),
        mtime: system_time(stat.mtime),
        ctime: system_time(stat.ctime),
        crtime: UNIX_EPOCH,
        kind: file_type(stat.kind()),
        perm: u16::try_from(stat.mode & 0o7777).unwrap_or(0),
        nlink: stat.nlink,
        uid: stat.uid,
        gid: stat.gid,
        rdev: u32::try_from(stat.rdev & 0xFFFF_FFFF).unwrap_or(0),
        blksize: stat.blksize,
        flags: 0,
    }
}

/// The nearest that fuser has; it can't say that a type is not known, which only filesystems without `d_type` give.
pub(super) fn file_type(kind: Kind) -> FileType {
    match kind {
        Kind::File | Kind::Unknown => FileType::RegularFile,
        Kind::Dir => FileType::Directory,
        Kind::Symlink => FileType::Symlink,
        Kind::Fifo => FileType::NamedPipe,
        Kind::Socket => FileType::Socket,
        Kind::CharDevice => FileType::CharDevice,
        Kind::BlockDevice => FileType::BlockDevice,
    }
}

fn system_time(time: Time) -> SystemTime {
    let seconds = Duration::from_secs(time.secs.unsigned_abs());
    let whole = if time.secs < 0 {
        UNIX_EPOCH.checked_sub(seconds)
    } else {
        UNIX_EPOCH.checked_add(seconds)
    };
    let nanos = Duration::from_nanos(u64::from(time.nanos));
    whole
        .and_then(|whole| whole.checked_add(nanos))
        .unwrap_or(UNIX_EPOCH)
}

pub(super) fn set_time(time: Option<TimeOrNow>) -> SetTime {
    match time {
        None => SetTime::Omit,
        Some(TimeOrNow::Now) => SetTime::Now,
        Some(TimeOrNow::SpecificTime(time)) => SetTime::At(match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Time {
                secs: i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
                nanos: after.subsec_nanos(),
            },
            Err(before) => before_epoch(before.duration()),
        }),
    }
}

/// A time before 1970. fuser takes the nanoseconds that the kernel counts forward from a negative second as counted
/// backward from it: what it gives as -(s + n) was meant as -s + n.
fn before_epoch(before: Duration) -> Time {
    let secs = i64::try_from(before.as_secs()).map_or(i64::MIN, |secs| -secs);
    Time {
        secs,
        nanos: before.subsec_nanos(),
    }
}

/// What is asked for by getlk and setlk; `EINVAL` for an unknown type.
pub(super) fn lock_request(
    request: &Request,
    owner: LockOwner,
    range: LockRange,
    kind: i32,
    pid: u32,
) -> Result<LockRequest, Errno> {
    let kind = match kind {
        libc::F_UNLCK => None,
        libc::F_RDLCK => Some(LockKind::Read),
        libc::F_WRLCK => Some(LockKind::Write),
        _ => return Err(Errno::EINVAL),
    };
    Ok(LockRequest {
        owner: owner.0,
        pid,
        tid: request.pid(),
        uid: request.uid(),
        range,
        kind,
    })
}

/// `l_type` of `struct flock`.
pub(super) fn lock_type(kind: LockKind) -> i32 {
    match kind {
        LockKind::Read => libc::F_RDLCK,
        LockKind::Write => libc::F_WRLCK,
    }
}

/// What a listed entry without attributes is given, of which the kernel takes the number and type only: `.` and `..`, and with
/// [`INodeNo::ROOT`], which is nobody's but the root's, any other.
pub(super) fn number_only(number: u64, kind: Kind) -> FileAttr {
    FileAttr {
        ino: INodeNo(number),
        size: 0,
        blocks: 0,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: file_type(kind),
        perm: 0,
        nlink: 0,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 0,
        flags: 0,
    }
}

/// What fsync(2) or fdatasync(2) is to bring to the disk.
pub(super) fn sync(datasync: bool) -> Sync {
    if datasync { Sync::Data } else { Sync::All }
}

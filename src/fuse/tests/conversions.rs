//! What fuser has types of its own for.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, FileType, INodeNo, Request, TimeOrNow};

use super::Results;
use crate::backing::file::Sync;
use crate::backing::{Kind, SetTime, Time};
use crate::fs::{Caller, NewEntry};
use crate::fuse::fuse_call::FuseCall;

/// Says what was asked: unique, inode, caller, call.
pub(super) fn asked(unique: u64, node: u64, caller: Caller, call: &FuseCall<'_>) -> String {
    format!("{unique} {node} {caller:?} {call:?}")
}

pub(super) fn caller(request: &Request) -> Caller {
    Caller {
        uid: request.uid(),
        gid: request.gid(),
        pid: request.pid(),
    }
}

pub(super) fn new_entry<'a>(
    request: &Request,
    parent: INodeNo,
    name: &'a OsStr,
    (mode, umask): (u32, u32),
) -> NewEntry<'a> {
    NewEntry {
        caller: caller(request),
        parent: parent.0,
        name: name.as_bytes(),
        mode,
        umask,
    }
}

pub(super) fn attributes(results: &Results, number: u64) -> FileAttr {
    let stat = &results.stat;
    FileAttr {
        ino: INodeNo(number),
        size: stat.size,
        blocks: stat.blocks,
        atime: system_time(stat.atime),
        mtime: system_time(stat.mtime),
        ctime: system_time(stat.ctime),
        crtime: UNIX_EPOCH,
        kind: file_type(stat.kind()),
        perm: u16::try_from(stat.mode & 0o7777).unwrap(),
        nlink: stat.nlink,
        uid: stat.uid,
        gid: stat.gid,
        rdev: u32::try_from(stat.rdev).unwrap(),
        blksize: stat.blksize,
        flags: 0,
    }
}

pub(super) fn file_type(kind: Kind) -> FileType {
    match kind {
        Kind::Fifo => FileType::NamedPipe,
        Kind::CharDevice => FileType::CharDevice,
        Kind::BlockDevice => FileType::BlockDevice,
        Kind::Dir => FileType::Directory,
        Kind::Symlink => FileType::Symlink,
        Kind::Socket => FileType::Socket,
        Kind::File | Kind::Unknown => FileType::RegularFile,
    }
}

fn system_time(time: Time) -> SystemTime {
    let nanos = Duration::from_nanos(time.nanos.into());
    let seconds = Duration::from_secs(time.secs.unsigned_abs());
    match time.secs < 0 {
        true => UNIX_EPOCH - seconds + nanos,
        false => UNIX_EPOCH + seconds + nanos,
    }
}

/// The change that fuser tells: a time before 1970 has whole seconds only.
pub(super) fn set_time(time: Option<TimeOrNow>) -> SetTime {
    match time {
        None => SetTime::Omit,
        Some(TimeOrNow::Now) => SetTime::Now,
        Some(TimeOrNow::SpecificTime(time)) => SetTime::At(match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Time {
                secs: i64::try_from(after.as_secs()).unwrap(),
                nanos: after.subsec_nanos(),
            },
            Err(before) => Time {
                secs: -i64::try_from(before.duration().as_secs()).unwrap(),
                nanos: before.duration().subsec_nanos(),
            },
        }),
    }
}

pub(super) fn extent(is_datasync: bool) -> Sync {
    match is_datasync {
        true => Sync::Data,
        false => Sync::All,
    }
}

//! The arguments of each request, as its operation takes them.

use fuser::WriteFlags;
use fuser::consts::FUSE_LK_FLOCK;
use rustix::io::Errno;

use super::layout::{
    self, AccessIn, BatchForgetIn, CopyFileRangeIn, CreateIn, FallocateIn, FlushIn, ForgetIn,
    ForgetOne, FsyncIn, GetxattrIn, InterruptIn, LinkIn, LockIn, LseekIn, MkdirIn, MknodIn, OpenIn,
    ReadIn, ReleaseIn, Rename2In, RenameIn, SetattrIn, SetxattrIn, WriteIn, valid,
};
use super::operation::Operation;
use super::request::{Arguments, Request};
use crate::backing::file::Sync;
use crate::backing::{LockRange, SetTime, Time};
use crate::fs::{Change, LockCall, NewEntry};

/// An operation with its arguments. The inode and the caller are those of the [`Request`].
#[derive(Debug)]
pub(super) enum FuseCall<'a> {
    Lookup(&'a [u8]),
    /// Of one inode or of several.
    Forget(Vec<ForgetOne>),
    Getattr,
    Statx,
    Setattr {
        handle: Option<u64>,
        change: Change,
    },
    Readlink,
    Symlink {
        new: NewEntry<'a>,
        target: &'a [u8],
    },
    Mknod {
        new: NewEntry<'a>,
        rdev: u32,
    },
    Mkdir(NewEntry<'a>),
    Unlink(&'a [u8]),
    Rmdir(&'a [u8]),
    Rename(RenameCall<'a>),
    Link {
        new: NewEntry<'a>,
        node: u64,
    },
    Create(CreateCall<'a>),
    /// Its name stands for nothing.
    Tmpfile(CreateCall<'a>),
    Open(i32),
    Read(ReadCall),
    Write(WriteCall<'a>),
    Flush {
        handle: u64,
        lock_owner: u64,
    },
    Release(u64),
    Fsync(FsyncCall),
    Fallocate(FallocateCall),
    Lseek(LseekCall),
    CopyFileRange(CopyCall),
    Getlk(LockArguments),
    Setlk(LockArguments),
    Opendir(i32),
    Readdir(ReadCall),
    Readdirplus(ReadCall),
    Releasedir(u64),
    Fsyncdir(FsyncCall),
    Statfs,
    Access(i32),
    Setxattr {
        name: &'a [u8],
        value: &'a [u8],
        flags: i32,
    },
    Getxattr {
        name: &'a [u8],
        size: u32,
    },
    Listxattr(u32),
    Removexattr(&'a [u8]),
    Interrupt(u64),
    /// Refused, whatever its arguments are.
    Ioctl,
    Bmap,
    Poll,
}

/// The arguments of RENAME and RENAME2. The old directory is the request's inode.
#[derive(Debug)]
pub(super) struct RenameCall<'a> {
    pub(super) name: &'a [u8],
    pub(super) new_directory: u64,
    pub(super) new_name: &'a [u8],
    pub(super) flags: u32,
}

/// The arguments of READ, READDIR and READDIRPLUS.
#[derive(Debug)]
pub(super) struct ReadCall {
    pub(super) handle: u64,
    pub(super) offset: u64,
    pub(super) size: u32,
}

/// The arguments of WRITE.
#[derive(Debug)]
pub(super) struct WriteCall<'a> {
    pub(super) handle: u64,
    pub(super) offset: u64,
    pub(super) data: &'a [u8],
    pub(super) write_flags: WriteFlags,
    /// Those of open(2).
    pub(super) flags: i32,
}

/// The arguments of CREATE and TMPFILE.
#[derive(Debug, Clone, Copy)]
pub(super) struct CreateCall<'a> {
    pub(super) new: NewEntry<'a>,
    /// Those of open(2).
    pub(super) flags: i32,
}

/// The arguments of FSYNC and FSYNCDIR.
#[derive(Debug)]
pub(super) struct FsyncCall {
    pub(super) handle: u64,
    pub(super) extent: Sync,
}

/// The arguments of LSEEK.
#[derive(Debug)]
pub(super) struct LseekCall {
    pub(super) handle: u64,
    pub(super) offset: i64,
    pub(super) whence: i32,
}

/// The arguments of FALLOCATE.
#[derive(Debug)]
pub(super) struct FallocateCall {
    pub(super) handle: u64,
    pub(super) mode: i32,
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// The arguments of `COPY_FILE_RANGE`: handles with offsets.
#[derive(Debug)]
pub(super) struct CopyCall {
    pub(super) from: (u64, u64),
    pub(super) to: (u64, u64),
    pub(super) length: u64,
}

/// The arguments of GETLK, SETLK and SETLKW.
#[derive(Debug)]
pub(super) struct LockArguments {
    pub(super) handle: u64,
    pub(super) call: LockCall,
    pub(super) owner: u64,
    pub(super) range: LockRange,
    /// `F_RDLCK`, `F_WRLCK` or `F_UNLCK`.
    pub(super) kind: i32,
    pub(super) pid: u32,
    /// Whether the caller waits until it gets the lock.
    pub(super) waits: bool,
}

impl<'a> FuseCall<'a> {
    /// Takes the arguments of a request that is one of `operation`.
    ///
    /// # Errors
    /// `EIO`: there are fewer.
    pub(super) fn of(operation: Operation, mut request: Request<'a>) -> Result<Self, Errno> {
        let arguments = &mut request.arguments;
        Ok(match operation {
            Operation::Getattr => Self::Getattr,
            Operation::Statx => Self::Statx,
            Operation::Readlink => Self::Readlink,
            Operation::Statfs => Self::Statfs,
            Operation::Ioctl => Self::Ioctl,
            Operation::Bmap => Self::Bmap,
            Operation::Poll => Self::Poll,
            Operation::Forget => Self::Forget(forgets(request)?),
            Operation::Interrupt => Self::Interrupt(interrupt(arguments)?),
            Operation::Setattr => setattr(arguments)?,
            Operation::Access => Self::Access(access(arguments)?),
            Operation::Setxattr => setxattr(arguments)?,
            Operation::Getxattr => getxattr(arguments)?,
            Operation::Listxattr => Self::Listxattr(listxattr(arguments)?),
            Operation::Removexattr => Self::Removexattr(arguments.text()?),
            Operation::Open => Self::Open(open(arguments)?),
            Operation::Opendir => Self::Opendir(open(arguments)?),
            Operation::Read => Self::Read(read(arguments)?),
            Operation::Readdir => Self::Readdir(read(arguments)?),
            Operation::Readdirplus => Self::Readdirplus(read(arguments)?),
            Operation::Write => Self::Write(write(arguments)?),
            Operation::Flush => flush(arguments)?,
            Operation::Release => Self::Release(release(arguments)?),
            Operation::Releasedir => Self::Releasedir(release(arguments)?),
            Operation::Fsync => Self::Fsync(fsync(arguments)?),
            Operation::Fsyncdir => Self::Fsyncdir(fsync(arguments)?),
            Operation::Fallocate => Self::Fallocate(fallocate(arguments)?),
            Operation::Lseek => Self::Lseek(lseek(arguments)?),
            Operation::CopyFileRange => Self::CopyFileRange(copy_file_range(arguments)?),
            Operation::Getlk => Self::Getlk(lock(request)?),
            Operation::Setlk => Self::Setlk(lock(request)?),
            Operation::Lookup => Self::Lookup(arguments.text()?),
            Operation::Unlink => Self::Unlink(arguments.text()?),
            Operation::Rmdir => Self::Rmdir(arguments.text()?),
            Operation::Rename => Self::Rename(rename(request)?),
            Operation::Symlink => symlink(request)?,
            Operation::Mknod => mknod(request)?,
            Operation::Mkdir => Self::Mkdir(mkdir(request)?),
            Operation::Link => link(request)?,
            Operation::Create => Self::Create(create(request)?),
            Operation::Tmpfile => Self::Tmpfile(create(request)?),
        })
    }
}

fn forgets(mut request: Request<'_>) -> Result<Vec<ForgetOne>, Errno> {
    if request.opcode != layout::BATCH_FORGET {
        let ForgetIn { lookups } = request.arguments.record()?;
        let node = request.node;
        return Ok(vec![ForgetOne { node, lookups }]);
    }
    let BatchForgetIn { count, .. } = request.arguments.record()?;
    (0..count).map(|_| request.arguments.record()).collect()
}

fn interrupt(arguments: &mut Arguments<'_>) -> Result<u64, Errno> {
    let InterruptIn { unique } = arguments.record()?;
    Ok(unique)
}

fn rename(mut request: Request<'_>) -> Result<RenameCall<'_>, Errno> {
    let (new_directory, flags) = match request.opcode {
        layout::RENAME2 => {
            let asked: Rename2In = request.arguments.record()?;
            (asked.new_directory, asked.flags)
        }
        _ => (request.arguments.record::<RenameIn>()?.new_directory, 0),
    };
    Ok(RenameCall {
        name: request.arguments.text()?,
        new_directory,
        new_name: request.arguments.text()?,
        flags,
    })
}

fn symlink(mut request: Request<'_>) -> Result<FuseCall<'_>, Errno> {
    let new = request.new_entry(0, 0)?;
    let target = request.arguments.text()?;
    Ok(FuseCall::Symlink { new, target })
}

fn mknod(mut request: Request<'_>) -> Result<FuseCall<'_>, Errno> {
    let asked: MknodIn = request.arguments.record()?;
    let new = request.new_entry(asked.mode, asked.umask)?;
    let rdev = asked.rdev;
    Ok(FuseCall::Mknod { new, rdev })
}

fn mkdir(mut request: Request<'_>) -> Result<NewEntry<'_>, Errno> {
    let MkdirIn { mode, umask } = request.arguments.record()?;
    request.new_entry(mode, umask)
}

fn link(mut request: Request<'_>) -> Result<FuseCall<'_>, Errno> {
    let LinkIn { node } = request.arguments.record()?;
    let new = request.new_entry(0, 0)?;
    Ok(FuseCall::Link { new, node })
}

fn create(mut request: Request<'_>) -> Result<CreateCall<'_>, Errno> {
    let asked: CreateIn = request.arguments.record()?;
    Ok(CreateCall {
        new: request.new_entry(asked.mode, asked.umask)?,
        flags: asked.flags,
    })
}

fn setattr<'a>(arguments: &mut Arguments<'a>) -> Result<FuseCall<'a>, Errno> {
    let asked: SetattrIn = arguments.record()?;
    let has = |bit| asked.valid & bit != 0;
    let time = |given, now, secs, nanos| match (has(given), has(now)) {
        (false, _) => SetTime::Omit,
        (true, true) => SetTime::Now,
        (true, false) => SetTime::At(Time { secs, nanos }),
    };
    let change = Change {
        mode: has(valid::MODE).then_some(asked.mode),
        uid: has(valid::UID).then_some(asked.uid),
        gid: has(valid::GID).then_some(asked.gid),
        size: has(valid::SIZE).then_some(asked.size),
        atime: time(
            valid::ATIME,
            valid::ATIME_NOW,
            asked.atime,
            asked.atime_nanos,
        ),
        mtime: time(
            valid::MTIME,
            valid::MTIME_NOW,
            asked.mtime,
            asked.mtime_nanos,
        ),
    };
    let handle = has(valid::HANDLE).then_some(asked.handle);
    Ok(FuseCall::Setattr { handle, change })
}

fn access(arguments: &mut Arguments<'_>) -> Result<i32, Errno> {
    let AccessIn { mask, .. } = arguments.record()?;
    Ok(mask.cast_signed())
}

fn setxattr<'a>(arguments: &mut Arguments<'a>) -> Result<FuseCall<'a>, Errno> {
    let SetxattrIn { size, flags } = arguments.record()?;
    let name = arguments.text()?;
    let value = arguments.data(size)?;
    Ok(FuseCall::Setxattr { name, value, flags })
}

fn getxattr<'a>(arguments: &mut Arguments<'a>) -> Result<FuseCall<'a>, Errno> {
    let GetxattrIn { size, .. } = arguments.record()?;
    let name = arguments.text()?;
    Ok(FuseCall::Getxattr { name, size })
}

fn listxattr(arguments: &mut Arguments<'_>) -> Result<u32, Errno> {
    let GetxattrIn { size, .. } = arguments.record()?;
    Ok(size)
}

fn open(arguments: &mut Arguments<'_>) -> Result<i32, Errno> {
    let OpenIn { flags, .. } = arguments.record()?;
    Ok(flags)
}

fn read(arguments: &mut Arguments<'_>) -> Result<ReadCall, Errno> {
    let asked: ReadIn = arguments.record()?;
    Ok(ReadCall {
        handle: asked.handle,
        offset: asked.offset,
        size: asked.size,
    })
}

fn write<'a>(arguments: &mut Arguments<'a>) -> Result<WriteCall<'a>, Errno> {
    let asked: WriteIn = arguments.record()?;
    Ok(WriteCall {
        handle: asked.handle,
        offset: asked.offset,
        data: arguments.data(asked.size)?,
        write_flags: WriteFlags::from_bits_retain(asked.write_flags),
        flags: asked.flags,
    })
}

fn flush<'a>(arguments: &mut Arguments<'a>) -> Result<FuseCall<'a>, Errno> {
    let FlushIn {
        handle, lock_owner, ..
    } = arguments.record()?;
    Ok(FuseCall::Flush { handle, lock_owner })
}

fn release(arguments: &mut Arguments<'_>) -> Result<u64, Errno> {
    let ReleaseIn { handle, .. } = arguments.record()?;
    Ok(handle)
}

fn fsync(arguments: &mut Arguments<'_>) -> Result<FsyncCall, Errno> {
    let FsyncIn { handle, flags, .. } = arguments.record()?;
    let extent = if flags & layout::FSYNC_FDATASYNC != 0 {
        Sync::Data
    } else {
        Sync::All
    };
    Ok(FsyncCall { handle, extent })
}

fn fallocate(arguments: &mut Arguments<'_>) -> Result<FallocateCall, Errno> {
    let asked: FallocateIn = arguments.record()?;
    Ok(FallocateCall {
        handle: asked.handle,
        mode: asked.mode,
        offset: asked.offset,
        length: asked.length,
    })
}

fn lseek(arguments: &mut Arguments<'_>) -> Result<LseekCall, Errno> {
    let asked: LseekIn = arguments.record()?;
    Ok(LseekCall {
        handle: asked.handle,
        offset: asked.offset,
        whence: asked.whence,
    })
}

fn copy_file_range(arguments: &mut Arguments<'_>) -> Result<CopyCall, Errno> {
    let asked: CopyFileRangeIn = arguments.record()?;
    Ok(CopyCall {
        from: (asked.handle, asked.offset),
        to: (asked.handle_out, asked.offset_out),
        length: asked.length,
    })
}

fn lock(mut request: Request<'_>) -> Result<LockArguments, Errno> {
    let asked: LockIn = request.arguments.record()?;
    Ok(LockArguments {
        handle: asked.handle,
        call: if asked.flags & FUSE_LK_FLOCK != 0 {
            LockCall::Flock
        } else {
            LockCall::Fcntl
        },
        owner: asked.owner,
        range: LockRange {
            start: asked.lock.start,
            end: asked.lock.end,
        },
        kind: asked.lock.kind,
        pid: asked.lock.pid,
        waits: request.opcode == layout::SETLKW,
    })
}

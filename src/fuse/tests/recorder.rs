//! A filesystem under fuser that notes what it is asked, as our own parser would say it, and answers what it is told to.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::SystemTime;

use fuser::{
    AccessFlags, BsdFileFlags, CopyFileRangeFlags, Errno, FileHandle, Filesystem, Generation,
    INodeNo, IoctlFlags, LockOwner, OpenFlags, PollEvents, PollFlags, PollNotifier, RenameFlags,
    ReplyAttr, ReplyBmap, ReplyCreate, ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty,
    ReplyEntry, ReplyIoctl, ReplyLock, ReplyLseek, ReplyOpen, ReplyPoll, ReplyStatfs, ReplyWrite,
    ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use parking_lot::Mutex;

use super::Results;
use super::answers::{
    answer_attributes, answer_empty, answer_entry, answer_opened, answer_sized, answer_written,
    or_fail,
};
use super::conversions::{asked, attributes, caller, extent, file_type, new_entry, set_time};
use crate::backing::LockRange;
use crate::fs::{Change, LockCall};
use crate::fuse::fuse_call::{
    CopyCall, CreateCall, FallocateCall, FsyncCall, FuseCall, LockArguments, LseekCall, ReadCall,
    RenameCall, WriteCall,
};
use crate::fuse::layout::ForgetOne;

/// The filesystem.
pub(super) struct Recorder {
    /// Takes what was asked: see [`asked`].
    pub(super) asked: Sender<String>,
    /// The results to answer with.
    pub(super) results: Arc<Mutex<Option<Results>>>,
}

impl Recorder {
    /// Notes a request, and returns the results to answer with.
    fn note(&self, request: &Request, node: u64, call: &FuseCall<'_>) -> Results {
        let said = asked(request.unique().0, node, caller(request), call);
        self.asked.send(said).unwrap();
        self.results.lock().clone().unwrap()
    }

    /// Returns the size of the list that is asked for: fuser keeps that to itself, and keeps to it.
    fn list_size(&self) -> u32 {
        self.results.lock().as_ref().unwrap().list_size
    }
}

impl Filesystem for Recorder {
    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let call = FuseCall::Lookup(name.as_bytes());
        answer_entry(&self.note(request, parent.0, &call), reply);
    }

    fn forget(&self, request: &Request, node: INodeNo, lookups: u64) {
        let node = node.0;
        let call = FuseCall::Forget(vec![ForgetOne { node, lookups }]);
        drop(self.note(request, node, &call));
    }

    fn getattr(&self, request: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        answer_attributes(&self.note(request, node.0, &FuseCall::Getattr), reply);
    }

    fn setattr(
        &self,
        request: &Request,
        node: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let handle = handle.map(|handle| handle.0);
        let change = Change {
            mode,
            uid,
            gid,
            size,
            atime: set_time(atime),
            mtime: set_time(mtime),
        };
        let call = FuseCall::Setattr { handle, change };
        answer_attributes(&self.note(request, node.0, &call), reply);
    }

    fn readlink(&self, request: &Request, node: INodeNo, reply: ReplyData) {
        let results = self.note(request, node.0, &FuseCall::Readlink);
        or_fail!(results, reply);
        reply.data(&results.data);
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let new = new_entry(request, parent, name, (0, 0));
        let target = target.as_os_str().as_bytes();
        let call = FuseCall::Symlink { new, target };
        answer_entry(&self.note(request, parent.0, &call), reply);
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        rdev: u32,
        reply: ReplyEntry,
    ) {
        let new = new_entry(request, parent, name, (mode, umask));
        let call = FuseCall::Mknod { new, rdev };
        answer_entry(&self.note(request, parent.0, &call), reply);
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let call = FuseCall::Mkdir(new_entry(request, parent, name, (mode, umask)));
        answer_entry(&self.note(request, parent.0, &call), reply);
    }

    fn link(
        &self,
        request: &Request,
        node: INodeNo,
        parent: INodeNo,
        name: &OsStr,
        reply: ReplyEntry,
    ) {
        let new = new_entry(request, parent, name, (0, 0));
        let node = node.0;
        let call = FuseCall::Link { new, node };
        answer_entry(&self.note(request, parent.0, &call), reply);
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let call = FuseCall::Unlink(name.as_bytes());
        answer_empty(&self.note(request, parent.0, &call), reply);
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let call = FuseCall::Rmdir(name.as_bytes());
        answer_empty(&self.note(request, parent.0, &call), reply);
    }

    fn rename(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_directory: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let call = FuseCall::Rename(RenameCall {
            name: name.as_bytes(),
            new_directory: new_directory.0,
            new_name: new_name.as_bytes(),
            flags: flags.bits(),
        });
        answer_empty(&self.note(request, parent.0, &call), reply);
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let new = new_entry(request, parent, name, (mode, umask));
        let call = FuseCall::Create(CreateCall { new, flags });
        let results = self.note(request, parent.0, &call);
        or_fail!(results, reply);
        reply.created(
            &results.kept.name,
            &attributes(&results, results.numbers.node),
            Generation(results.numbers.generation),
            FileHandle(results.handle),
            results.open_flags,
        );
    }

    fn open(&self, request: &Request, node: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        answer_opened(&self.note(request, node.0, &FuseCall::Open(flags.0)), reply);
    }

    fn read(
        &self,
        request: &Request,
        node: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let handle = handle.0;
        let call = FuseCall::Read(ReadCall {
            handle,
            offset,
            size,
        });
        let results = self.note(request, node.0, &call);
        or_fail!(results, reply);
        reply.data(results.data_of(size));
    }

    fn write(
        &self,
        request: &Request,
        node: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        write_flags: WriteFlags,
        flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let call = FuseCall::Write(WriteCall {
            handle: handle.0,
            offset,
            data,
            write_flags,
            flags: flags.0,
        });
        answer_written(&self.note(request, node.0, &call), reply);
    }

    fn flush(
        &self,
        request: &Request,
        node: INodeNo,
        handle: FileHandle,
        lock_owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        let (handle, lock_owner) = (handle.0, lock_owner.0);
        let call = FuseCall::Flush { handle, lock_owner };
        answer_empty(&self.note(request, node.0, &call), reply);
    }

    fn release(
        &self,
        request: &Request,
        node: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        answer_empty(
            &self.note(request, node.0, &FuseCall::Release(handle.0)),
            reply,
        );
    }

    fn fsync(
        &self,
        request: &Request,
        node: INodeNo,
        handle: FileHandle,
        datasync: bool,
        reply: ReplyEmpty,
    ) {
        let (handle, extent) = (handle.0, extent(datasync));
        let call = FuseCall::Fsync(FsyncCall { handle, extent });
        answer_empty(&self.note(request, node.0, &call), reply);
    }

    fn opendir(&self, request: &Request, node: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        answer_opened(
            &self.note(request, node.0, &FuseCall::Opendir(flags.0)),
            reply,
        );
    }

    fn readdir(
        &self,
        request: &Request,
        node: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let (handle, size) = (handle.0, self.list_size());
        let call = FuseCall::Readdir(ReadCall {
            handle,
            offset,
            size,
        });
        let results = self.note(request, node.0, &call);
        or_fail!(results, reply);
        let number = INodeNo(results.numbers.shown);
        for (cookie, name) in &results.listed {
            let kind = file_type(results.stat.kind());
            if reply.add(number, *cookie, kind, OsStr::from_bytes(name)) {
                break;
            }
        }
        reply.ok();
    }

    fn readdirplus(
        &self,
        request: &Request,
        node: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let (handle, size) = (handle.0, self.list_size());
        let call = FuseCall::Readdirplus(ReadCall {
            handle,
            offset,
            size,
        });
        let results = self.note(request, node.0, &call);
        or_fail!(results, reply);
        let attributes = attributes(&results, results.numbers.node);
        let generation = Generation(results.numbers.generation);
        for (cookie, name) in &results.listed {
            let (name, kept) = (OsStr::from_bytes(name), &results.kept.name);
            let number = attributes.ino;
            if reply.add(number, *cookie, name, kept, &attributes, generation) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(
        &self,
        request: &Request,
        node: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        let call = FuseCall::Releasedir(handle.0);
        answer_empty(&self.note(request, node.0, &call), reply);
    }

    fn fsyncdir(
        &self,
        request: &Request,
        node: INodeNo,
        handle: FileHandle,
        datasync: bool,
        reply: ReplyEmpty,
    ) {
        let (handle, extent) = (handle.0, extent(datasync));
        let call = FuseCall::Fsyncdir(FsyncCall { handle, extent });
        answer_empty(&self.note(request, node.0, &call), reply);
    }

    fn statfs(&self, request: &Request, node: INodeNo, reply: ReplyStatfs) {
        let results = self.note(request, node.0, &FuseCall::Statfs);
        or_fail!(results, reply);
        let ([blocks, bfree, bavail, files, ffree], [bsize, namelen, frsize]) = results.sizes;
        reply.statfs(blocks, bfree, bavail, files, ffree, bsize, namelen, frsize);
    }

    fn setxattr(
        &self,
        request: &Request,
        node: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        let name = name.as_bytes();
        let call = FuseCall::Setxattr { name, value, flags };
        answer_empty(&self.note(request, node.0, &call), reply);
    }

    fn getxattr(
        &self,
        request: &Request,
        node: INodeNo,
        name: &OsStr,
        size: u32,
        reply: ReplyXattr,
    ) {
        let name = name.as_bytes();
        let results = self.note(request, node.0, &FuseCall::Getxattr { name, size });
        answer_sized(&results, size, reply);
    }

    fn listxattr(&self, request: &Request, node: INodeNo, size: u32, reply: ReplyXattr) {
        let results = self.note(request, node.0, &FuseCall::Listxattr(size));
        answer_sized(&results, size, reply);
    }

    fn removexattr(&self, request: &Request, node: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let call = FuseCall::Removexattr(name.as_bytes());
        answer_empty(&self.note(request, node.0, &call), reply);
    }

    fn access(&self, request: &Request, node: INodeNo, mask: AccessFlags, reply: ReplyEmpty) {
        let call = FuseCall::Access(mask.bits());
        answer_empty(&self.note(request, node.0, &call), reply);
    }

    fn getlk(
        &self,
        request: &Request,
        node: INodeNo,
        handle: FileHandle,
        lock_owner: LockOwner,
        start: u64,
        end: u64,
        kind: i32,
        pid: u32,
        reply: ReplyLock,
    ) {
        let call = FuseCall::Getlk(LockArguments {
            handle: handle.0,
            call: LockCall::Fcntl,
            owner: lock_owner.0,
            range: LockRange { start, end },
            kind,
            pid,
            waits: false,
        });
        let results = self.note(request, node.0, &call);
        or_fail!(results, reply);
        let (range, kind, pid) = results.lock;
        reply.locked(range.start, range.end, kind, pid);
    }

    fn setlk(
        &self,
        request: &Request,
        node: INodeNo,
        handle: FileHandle,
        lock_owner: LockOwner,
        start: u64,
        end: u64,
        kind: i32,
        pid: u32,
        waits: bool,
        reply: ReplyEmpty,
    ) {
        let call = FuseCall::Setlk(LockArguments {
            handle: handle.0,
            call: LockCall::Fcntl,
            owner: lock_owner.0,
            range: LockRange { start, end },
            kind,
            pid,
            waits,
        });
        answer_empty(&self.note(request, node.0, &call), reply);
    }

    fn bmap(&self, request: &Request, node: INodeNo, _: u32, _: u64, reply: ReplyBmap) {
        drop(self.note(request, node.0, &FuseCall::Bmap));
        reply.error(Errno::ENOSYS);
    }

    fn ioctl(
        &self,
        request: &Request,
        node: INodeNo,
        _handle: FileHandle,
        _flags: IoctlFlags,
        _command: u32,
        _data: &[u8],
        _size: u32,
        reply: ReplyIoctl,
    ) {
        drop(self.note(request, node.0, &FuseCall::Ioctl));
        reply.error(Errno::ENOTTY);
    }

    fn poll(
        &self,
        request: &Request,
        node: INodeNo,
        _handle: FileHandle,
        _notifier: PollNotifier,
        _events: PollEvents,
        _flags: PollFlags,
        reply: ReplyPoll,
    ) {
        drop(self.note(request, node.0, &FuseCall::Poll));
        reply.error(Errno::ENOSYS);
    }

    fn fallocate(
        &self,
        request: &Request,
        node: INodeNo,
        handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let call = FuseCall::Fallocate(FallocateCall {
            handle: handle.0,
            mode,
            offset,
            length,
        });
        answer_empty(&self.note(request, node.0, &call), reply);
    }

    fn lseek(
        &self,
        request: &Request,
        node: INodeNo,
        handle: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        let handle = handle.0;
        let call = FuseCall::Lseek(LseekCall {
            handle,
            offset,
            whence,
        });
        let results = self.note(request, node.0, &call);
        or_fail!(results, reply);
        reply.offset(results.offset.cast_signed());
    }

    fn copy_file_range(
        &self,
        request: &Request,
        node: INodeNo,
        handle: FileHandle,
        offset: u64,
        _node_out: INodeNo,
        handle_out: FileHandle,
        offset_out: u64,
        length: u64,
        _flags: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        let call = FuseCall::CopyFileRange(CopyCall {
            from: (handle.0, offset),
            to: (handle_out.0, offset_out),
            length,
        });
        answer_written(&self.note(request, node.0, &call), reply);
    }
}

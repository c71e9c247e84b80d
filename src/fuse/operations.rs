//! Each request of the protocol: converted, handed on, answered.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fuser::{
    AccessFlags, BsdFileFlags, CopyFileRangeFlags, Errno, FileHandle, Filesystem, FopenFlags,
    INodeNo, IoctlFlags, KernelConfig, LockOwner, OpenFlags, PollEvents, PollFlags, PollNotifier,
    RenameFlags, ReplyAttr, ReplyBmap, ReplyCreate, ReplyData, ReplyDirectory, ReplyDirectoryPlus,
    ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLock, ReplyLseek, ReplyOpen, ReplyPoll, ReplyStatfs,
    ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};

use super::adapter::{Adapter, caller};
use super::answer::{absent, attributes, empty, entry, statfs, xattr};
use super::convert::{errno, lock_request, lock_type, set_time, sync};
use super::data::{self, Created};
use super::forget::forget_attributes;
use super::listing::{list, list_plus};
use super::operation::Operation;
use super::start;
use super::status::asks_status;
use crate::backing::LockRange;
use crate::backing::file::Place;
use crate::coherence::KeptList;
use crate::fs::{Answer, Change, Utf8Fs, is_access_acl};
use crate::os::SetIds;

thread_local! {
    /// What this thread reads into, as long as the longest read so far.
    static READ_BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Filesystem for Adapter {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        start::configure(&self.fs, config);
        data::configure(self, config);
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.serve(Operation::Lookup, caller(request), |turn| {
            let caller = caller(request);
            let name = name.as_bytes();
            let found = self.run(turn, |_| self.coherence.lookup(caller, parent.0, name));
            if matches!(found, Err(Errno::ENOENT)) {
                let kept = self.coherence.keep_absence(parent.0, name);
                if kept > Duration::ZERO {
                    return absent(reply, kept);
                }
            }
            entry(reply, found);
        });
    }

    fn forget(&self, _request: &Request, ino: INodeNo, nlookup: u64) {
        // One for each inode, and nobody waits for it.
        self.serve_untimed(Operation::Forget, |turn| {
            self.tally.note(Operation::Forget, turn);
            self.coherence.forget(ino.0, nlookup);
        });
    }

    fn getattr(&self, request: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        self.serve(Operation::Getattr, caller(request), |turn| {
            let got = self.run(turn, |_| self.coherence.getattr(ino.0));
            attributes(reply, ino, got);
        });
    }

    fn setattr(
        &self,
        request: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        fh: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        self.serve(Operation::Setattr, caller(request), |turn| {
            let change = Change {
                mode,
                uid,
                gid,
                size,
                atime: set_time(atime),
                mtime: set_time(mtime),
            };
            let handle = fh.map(|fh| fh.0);
            let caller = caller(request);
            let set = self.run(turn, |fs| fs.setattr(caller, ino.0, handle, change));
            let set = set.map(|shown| self.coherence.keep_shown(shown));
            attributes(reply, ino, set);
        });
    }

    fn readlink(&self, request: &Request, ino: INodeNo, reply: ReplyData) {
        self.serve(Operation::Readlink, caller(request), |turn| {
            answer!(reply, self.run(turn, |fs| fs.readlink(ino.0)), target => reply.data(&target));
        });
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
        self.serve(Operation::Mknod, caller(request), |turn| {
            let caller = caller(request);
            let (parent, name) = (parent.0, name.as_bytes());
            self.made(turn, reply, (parent, name), |fs| {
                fs.mknod(caller, parent, name, mode, umask, u64::from(rdev))
            });
        });
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
        self.serve(Operation::Mkdir, caller(request), |turn| {
            let caller = caller(request);
            let (parent, name) = (parent.0, name.as_bytes());
            self.made(turn, reply, (parent, name), |fs| {
                fs.mkdir(caller, parent, name, mode, umask)
            });
        });
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.serve(Operation::Unlink, caller(request), |turn| {
            self.done(turn, reply, |_| {
                let remove = |fs: &Utf8Fs| fs.unlink(parent.0, name.as_bytes());
                self.coherence.remove(parent.0, remove)
            });
        });
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.serve(Operation::Rmdir, caller(request), |turn| {
            self.done(turn, reply, |_| {
                let remove = |fs: &Utf8Fs| fs.rmdir(parent.0, name.as_bytes());
                self.coherence.remove(parent.0, remove)
            });
        });
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        link_name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        self.serve(Operation::Symlink, caller(request), |turn| {
            let caller = caller(request);
            let target = target.as_os_str().as_bytes();
            let (parent, name) = (parent.0, link_name.as_bytes());
            self.made(turn, reply, (parent, name), |fs| {
                fs.symlink(caller, parent, name, target)
            });
        });
    }

    fn rename(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        self.serve(Operation::Rename, caller(request), |turn| {
            let caller = caller(request);
            let from = (parent.0, name.as_bytes());
            let to = (newparent.0, newname.as_bytes());
            let rename = || self.coherence.rename(caller, from, to, flags.bits());
            self.done(turn, reply, |_| rename());
        });
    }

    fn link(
        &self,
        request: &Request,
        ino: INodeNo,
        newparent: INodeNo,
        newname: &OsStr,
        reply: ReplyEntry,
    ) {
        self.serve(Operation::Link, caller(request), |turn| {
            let caller = caller(request);
            let (parent, name) = (newparent.0, newname.as_bytes());
            self.made(turn, reply, (parent, name), |fs| {
                fs.link(caller, ino.0, parent, name)
            });
        });
    }

    fn open(&self, request: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        self.serve(Operation::Open, caller(request), |turn| {
            let caller = caller(request);
            let opened = self.run(turn, |fs| fs.open(caller, ino.0, flags.0));
            answer!(reply, opened, opened => {
                // The kernel got what it keeps when nobody could write to it by a mapping.
                if opened.is_mappable {
                    forget_attributes(&self.connection, ino.0);
                }
                self.answer_opened(reply, &opened);
            });
        });
    }

    fn read(
        &self,
        request: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.serve(Operation::Read, caller(request), |turn| {
            READ_BUFFER.with_borrow_mut(|buffer| {
                let size = usize::try_from(size).unwrap_or(0);
                if buffer.len() < size {
                    buffer.resize(size, 0);
                }
                let buffer = buffer.get_mut(..size).unwrap_or_default();
                let read = self.run(turn, |fs| fs.read(fh.0, offset, buffer));
                answer!(reply, read, length => reply.data(buffer.get(..length).unwrap_or_default()));
            });
        });
    }

    fn write(
        &self,
        request: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        write_flags: WriteFlags,
        flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        self.serve(Operation::Write, caller(request), |turn| {
            let is_mapped = write_flags.contains(WriteFlags::FUSE_WRITE_CACHE);
            let place = match flags.0 & libc::O_APPEND != 0 && !is_mapped {
                true => Place::End,
                false => Place::At(offset),
            };
            let set_ids = match write_flags.contains(WriteFlags::FUSE_WRITE_KILL_SUIDGID) {
                true => SetIds::Clear,
                false => SetIds::Keep,
            };
            // Pages that are written back carry no credentials (`fuse_writepage_args_setup` in `fs/fuse/file.c`).
            let writer = (!is_mapped).then(|| caller(request));
            let written = self.run(turn, |fs| fs.write(writer, fh.0, place, data, set_ids));
            answer!(reply, written, size => reply.written(u32::try_from(size).unwrap_or(u32::MAX)));
        });
    }

    fn flush(
        &self,
        request: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        self.serve(Operation::Flush, caller(request), |turn| {
            self.done(turn, reply, |fs| {
                fs.close_locks(fh.0, owner.0);
                fs.flush(fh.0)
            });
        });
    }

    fn release(
        &self,
        request: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.serve(Operation::Release, caller(request), |turn| {
            self.done(turn, reply, |fs| {
                if let Some(inode) = fs.release(fh.0) {
                    self.serving.leave(inode);
                }
                Ok(())
            });
        });
    }

    fn fsync(
        &self,
        request: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        datasync: bool,
        reply: ReplyEmpty,
    ) {
        self.serve(Operation::Fsync, caller(request), |turn| {
            self.done(turn, reply, |fs| fs.fsync(fh.0, sync(datasync)));
        });
    }

    fn opendir(&self, request: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let caller = caller(request);
        self.serve(Operation::Opendir, caller, |turn| {
            let opened = self.run(turn, |fs| {
                let kept = self.coherence.open_list(ino.0)?;
                Ok((fs.opendir(caller, ino.0, flags.0)?, kept))
            });
            answer!(reply, opened, (handle, KeptList { new, old }) => {
                let mut flags = FopenFlags::empty();
                flags.set(FopenFlags::FOPEN_CACHE_DIR, new);
                flags.set(FopenFlags::FOPEN_KEEP_CACHE, old);
                reply.opened(FileHandle(handle), flags);
            });
        });
    }

    fn readdir(
        &self,
        request: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        self.serve(Operation::Readdir, caller(request), |turn| {
            let read = self.run(turn, |_| {
                list(&self.coherence, ino.0, (fh.0, offset), &mut reply)
            });
            answer!(reply, read, () => reply.ok());
        });
    }

    fn readdirplus(
        &self,
        request: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        self.serve(Operation::Readdirplus, caller(request), |turn| {
            let read = self.run(turn, |_| {
                list_plus(&self.coherence, ino.0, (fh.0, offset), &mut reply)
            });
            answer!(reply, read, () => reply.ok());
        });
    }

    fn releasedir(
        &self,
        request: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.serve(Operation::Releasedir, caller(request), |turn| {
            self.done(turn, reply, |fs| {
                fs.releasedir(fh.0);
                Ok(())
            });
        });
    }

    fn fsyncdir(
        &self,
        request: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        datasync: bool,
        reply: ReplyEmpty,
    ) {
        self.serve(Operation::Fsyncdir, caller(request), |turn| {
            self.done(turn, reply, |fs| fs.fsyncdir(fh.0, sync(datasync)));
        });
    }

    fn statfs(&self, request: &Request, ino: INodeNo, reply: ReplyStatfs) {
        self.serve(Operation::Statfs, caller(request), |turn| {
            statfs(reply, self.run(turn, |fs| fs.statfs(ino.0)));
        });
    }

    fn setxattr(
        &self,
        request: &Request,
        ino: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        self.serve(Operation::Setxattr, caller(request), |turn| {
            let caller = caller(request);
            let set = self.run(turn, |fs| {
                fs.setxattr(caller, ino.0, name.as_bytes(), value, flags)
            });
            if is_access_acl(name.as_bytes()) && !self.fs.is_shared() {
                // It changes the mode, which the kernel would go on with (`fuse_set_acl` in `fs/fuse/acl.c`).
                forget_attributes(&self.connection, ino.0);
            }
            empty(reply, set);
        });
    }

    fn getxattr(
        &self,
        request: &Request,
        ino: INodeNo,
        name: &OsStr,
        size: u32,
        reply: ReplyXattr,
    ) {
        if asks_status(ino, name) {
            // Counted nowhere, so that looking changes nothing.
            return self.serve_untimed(Operation::Getxattr, |_turn| {
                xattr(reply, self.status_for(request, size));
            });
        }
        self.serve(Operation::Getxattr, caller(request), |turn| {
            let got = self.run(turn, |fs| fs.getxattr(ino.0, name.as_bytes(), size));
            xattr(reply, got);
        });
    }

    fn listxattr(&self, request: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        self.serve(Operation::Listxattr, caller(request), |turn| {
            let caller = caller(request);
            let listed = self.run(turn, |fs| fs.listxattr(caller, ino.0, size));
            xattr(reply, listed);
        });
    }

    fn removexattr(&self, request: &Request, ino: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.serve(Operation::Removexattr, caller(request), |turn| {
            self.done(turn, reply, |fs| fs.removexattr(ino.0, name.as_bytes()));
        });
    }

    fn access(&self, request: &Request, ino: INodeNo, mask: AccessFlags, reply: ReplyEmpty) {
        self.serve(Operation::Access, caller(request), |turn| {
            self.done(turn, reply, |fs| fs.access(ino.0, mask.bits()));
        });
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
        self.serve(Operation::Create, caller(request), |turn| {
            let caller = caller(request);
            let (parent, name) = (parent.0, name.as_bytes());
            let created = self.run(turn, |_| {
                self.coherence.create(parent, name, |fs| {
                    fs.create(caller, parent, name, mode, umask, flags)
                })
            });
            answer!(reply, created, (entry, kept, opened) => {
                self.answer_opened(Created { reply, entry, kept }, &opened);
            });
        });
    }

    fn getlk(
        &self,
        request: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        lock_owner: LockOwner,
        start: u64,
        end: u64,
        typ: i32,
        pid: u32,
        reply: ReplyLock,
    ) {
        self.serve(Operation::Getlk, caller(request), |turn| {
            let range = LockRange { start, end };
            let found = lock_request(request, lock_owner, range, typ, pid)
                .and_then(|asked| self.run(turn, |fs| fs.test_lock(fh.0, asked)));
            answer!(reply, found, found => match found {
                Some(held) => {
                    let (start, end) = (held.range.start, held.range.end);
                    reply.locked(start, end, lock_type(held.kind), held.pid.unwrap_or(0));
                }
                None => reply.locked(start, end, libc::F_UNLCK, 0),
            });
        });
    }

    fn setlk(
        &self,
        request: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        lock_owner: LockOwner,
        start: u64,
        end: u64,
        typ: i32,
        pid: u32,
        sleep: bool,
        reply: ReplyEmpty,
    ) {
        self.serve(Operation::Setlk, caller(request), |turn| {
            let range = LockRange { start, end };
            let asked = match lock_request(request, lock_owner, range, typ, pid) {
                Ok(asked) => asked,
                Err(errno) => {
                    turn.fail();
                    return reply.error(errno);
                }
            };
            let tally = Arc::clone(&self.tally);
            let answer: Answer = Box::new(move |set| match set {
                Ok(()) => reply.ok(),
                Err(error) => {
                    tally.fail_late(Operation::Setlk);
                    reply.error(errno(&error));
                }
            });
            if let Err(error) = self.fs.begin(turn.caller()) {
                return answer(Err(error));
            }
            self.fs.set_lock(fh.0, asked, sleep, answer);
        });
    }

    fn bmap(&self, request: &Request, _ino: INodeNo, _blocksize: u32, _idx: u64, reply: ReplyBmap) {
        self.serve(Operation::Bmap, caller(request), |turn| {
            turn.fail();
            reply.error(Errno::ENOSYS);
        });
    }

    fn ioctl(
        &self,
        request: &Request,
        _ino: INodeNo,
        _fh: FileHandle,
        _flags: IoctlFlags,
        _cmd: u32,
        _in_data: &[u8],
        _out_size: u32,
        reply: ReplyIoctl,
    ) {
        self.serve(Operation::Ioctl, caller(request), |turn| {
            turn.fail();
            reply.error(Errno::ENOTTY);
        });
    }

    fn poll(
        &self,
        request: &Request,
        _ino: INodeNo,
        _fh: FileHandle,
        _handle: PollNotifier,
        _events: PollEvents,
        _flags: PollFlags,
        reply: ReplyPoll,
    ) {
        self.serve(Operation::Poll, caller(request), |turn| {
            turn.fail();
            reply.error(Errno::ENOSYS);
        });
    }

    fn fallocate(
        &self,
        request: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        self.serve(Operation::Fallocate, caller(request), |turn| {
            let caller = caller(request);
            self.done(turn, reply, |fs| {
                fs.fallocate(caller, fh.0, mode, offset, length)
            });
        });
    }

    fn lseek(
        &self,
        request: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        self.serve(Operation::Lseek, caller(request), |turn| {
            let sought = self.run(turn, |fs| fs.lseek(fh.0, offset, whence));
            answer!(reply, sought, place => reply.offset(i64::try_from(place).unwrap_or(i64::MAX)));
        });
    }

    fn copy_file_range(
        &self,
        request: &Request,
        _ino_in: INodeNo,
        fh_in: FileHandle,
        offset_in: u64,
        _ino_out: INodeNo,
        fh_out: FileHandle,
        offset_out: u64,
        len: u64,
        _flags: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        self.serve(Operation::CopyFileRange, caller(request), |turn| {
            let from = (fh_in.0, offset_in);
            let to = (fh_out.0, offset_out);
            let caller = caller(request);
            let copied = self.run(turn, |fs| fs.copy_file_range(caller, from, to, len));
            answer!(reply, copied, size => reply.written(u32::try_from(size).unwrap_or(u32::MAX)));
        });
    }
}

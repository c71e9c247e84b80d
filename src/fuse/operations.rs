//! Each request of the protocol: handed on with its arguments, and answered.

use std::io;
use std::time::Duration;

use fuser::{FopenFlags, WriteFlags};
use rustix::io::Errno;

use super::adapter::{Adapter, Done};
use super::fuse_call::{
    CopyCall, CreateCall, FallocateCall, FuseCall, LockArguments, LseekCall, ReadCall, RenameCall,
    WriteCall,
};
use super::layout::{EntryOut, ForgetOne};
use super::notify::forget_attributes;
use super::operation::Operation;
use super::passthrough::BackingId;
use super::reply::{InodeNumbers, Reply, entry_out};
use super::request::Request;
use crate::backing::file::Place;
use crate::backing::{LockKind, Stat};
use crate::coherence::serving::Way;
use crate::coherence::{Coherence, Kept, KeptList};
use crate::fs::{
    ACCESS_ACL, Call, Change, Entry, FsError, Listed, LockRequest, NewEntry, Opened, Plus, Utf8Fs,
};

impl Adapter {
    /// Does what is asked for, and puts the answer together.
    pub(super) fn answer(
        &self,
        request: Request<'_>,
        call: FuseCall<'_>,
        reply: &mut Reply<'_>,
    ) -> Result<Done, FsError> {
        let (caller, node) = (request.caller, request.node);
        match call {
            FuseCall::Lookup(name) => return self.lookup(request, name, reply),
            FuseCall::Setlk(lock) => return self.setlk(request, &lock),
            FuseCall::Forget(forgets) => return Ok(self.forget(&forgets)),
            FuseCall::Interrupt(unique) => return Ok(self.interrupt(unique)),
            FuseCall::Getattr => self.getattr(request, reply),
            FuseCall::Statx => self.statx(request, reply),
            FuseCall::Setattr { handle, change } => self.setattr(request, handle, change, reply),
            FuseCall::Readlink => Ok(reply.data(&self.fs.readlink(caller, node)?)?),
            FuseCall::Symlink { new, target } => {
                self.make(&new, reply, |fs| fs.symlink(&new, target))
            }
            FuseCall::Mknod { new, rdev } => {
                self.make(&new, reply, |fs| fs.mknod(&new, rdev.into()))
            }
            FuseCall::Mkdir(new) => self.make(&new, reply, |fs| fs.mkdir(&new)),
            FuseCall::Link { new, node } => self.make(&new, reply, |fs| fs.link(&new, node)),
            FuseCall::Unlink(name) => self.coherence.remove(caller, (node, name), false),
            FuseCall::Rmdir(name) => self.coherence.remove(caller, (node, name), true),
            FuseCall::Rename(rename) => self.rename(request, &rename),
            FuseCall::Create(create) => self.create(Coherence::create, &create, reply),
            FuseCall::Tmpfile(create) => self.create(Coherence::tmpfile, &create, reply),
            FuseCall::Open(flags) => self.open(request, flags, reply),
            FuseCall::Read(read) => self.read(&read, reply),
            FuseCall::Write(write) => self.write(request, &write, reply),
            FuseCall::Flush { handle, lock_owner } => self.flush(handle, lock_owner),
            FuseCall::Release(handle) => self.release(handle),
            FuseCall::Releasedir(handle) => self.releasedir(handle),
            FuseCall::Fsync(sync) => self.fs.fsync(sync.handle, sync.extent),
            FuseCall::Fsyncdir(sync) => self.fs.fsyncdir(sync.handle, sync.extent),
            FuseCall::Fallocate(fallocate) => self.fallocate(request, &fallocate),
            FuseCall::Lseek(seek) => self.lseek(&seek, reply),
            FuseCall::CopyFileRange(copy) => self.copy_file_range(request, &copy, reply),
            FuseCall::Getlk(lock) => self.getlk(request, &lock, reply),
            FuseCall::Opendir(flags) => self.opendir(request, flags, reply),
            FuseCall::Readdir(read) => self.readdir(request, &read, reply, Plus::No),
            FuseCall::Readdirplus(read) => self.readdir(request, &read, reply, Plus::Yes),
            FuseCall::Statfs => Ok(reply.statfs(&self.fs.statfs(node)?)?),
            FuseCall::Access(mask) => self.fs.access(node, mask),
            FuseCall::Setxattr { name, value, flags } => self.setxattr(request, name, value, flags),
            FuseCall::Getxattr { name, size } => {
                reply.sized(size, |value| self.fs.getxattr(node, name, value))
            }
            FuseCall::Listxattr(size) => {
                reply.sized(size, |names| self.fs.listxattr(caller, node, names))
            }
            FuseCall::Removexattr(name) => self.fs.change_xattr(caller, node, name, None),
            FuseCall::Ioctl => Err(Errno::NOTTY.into()),
            FuseCall::Bmap | FuseCall::Poll => Err(Errno::NOSYS.into()),
        }
        .map(|()| Done::Now)
    }
}

/// Requests that nobody waits for.
impl Adapter {
    fn forget(&self, forgets: &[ForgetOne]) -> Done {
        for forget in forgets {
            self.coherence.forget(forget.node, forget.lookups);
        }
        Done::Never
    }

    fn interrupt(&self, unique: u64) -> Done {
        self.fs.interrupt(unique);
        Done::Never
    }
}

/// Names.
impl Adapter {
    fn lookup(
        &self,
        request: Request<'_>,
        name: &[u8],
        reply: &mut Reply<'_>,
    ) -> Result<Done, FsError> {
        match self.coherence.lookup(request.caller, request.node, name) {
            Ok((entry, kept)) => reply.record(&self.entry_out(&entry, kept))?,
            Err(error) if error.errno() != libc::ENOENT => return Err(error),
            Err(error) => {
                let kept = self.coherence.keep_absence(request.node, name);
                if kept.is_zero() {
                    return Err(error);
                }
                reply.absence(kept)?;
                return Ok(Done::Absent);
            }
        }
        Ok(Done::Now)
    }

    /// Makes an entry of a directory, and answers with that.
    fn make(
        &self,
        new: &NewEntry<'_>,
        reply: &mut Reply<'_>,
        make: impl FnOnce(&Utf8Fs) -> Result<Entry, FsError>,
    ) -> Result<(), FsError> {
        let (entry, kept) = self.coherence.make(new, make)?;
        Ok(reply.record(&self.entry_out(&entry, kept))?)
    }

    fn rename(&self, request: Request<'_>, rename: &RenameCall<'_>) -> Result<(), FsError> {
        let old = (request.node, rename.name);
        let new = (rename.new_directory, rename.new_name);
        self.coherence
            .rename(request.caller, old, new, rename.flags)
    }

    /// Makes a file by `create`, and opens it.
    fn create(
        &self,
        create: impl FnOnce(&Coherence, &NewEntry<'_>, i32) -> Result<(Entry, Kept, Opened), FsError>,
        call: &CreateCall<'_>,
        reply: &mut Reply<'_>,
    ) -> Result<(), FsError> {
        let (entry, kept, opened) = create(&self.coherence, &call.new, call.flags)?;
        reply.record(&self.entry_out(&entry, kept))?;
        self.answer_opened(&opened, reply)
    }
}

/// Attributes.
impl Adapter {
    /// Returns the inode number that is shown of the file that `stat` describes.
    fn shown_number(&self, stat: &Stat) -> u64 {
        self.fs.inodes().shown_number(stat)
    }

    fn entry_out(&self, entry: &Entry, kept: Kept) -> EntryOut {
        let numbers = InodeNumbers {
            node: entry.inode.number,
            generation: entry.inode.generation(),
            shown: self.shown_number(&entry.stat),
        };
        entry_out(numbers, &entry.stat, kept)
    }

    fn getattr(&self, request: Request<'_>, reply: &mut Reply<'_>) -> Result<(), FsError> {
        let shown = self.shown_attributes(request)?;
        Ok(reply.attributes(self.shown_number(&shown.0), shown)?)
    }

    fn statx(&self, request: Request<'_>, reply: &mut Reply<'_>) -> Result<(), FsError> {
        let shown = self.shown_attributes(request)?;
        Ok(reply.statx(self.shown_number(&shown.0), shown)?)
    }

    /// Returns the attributes of the request's inode, and how long the kernel may keep them.
    fn shown_attributes(&self, request: Request<'_>) -> Result<(Stat, Duration), FsError> {
        let shown = self.coherence.getattr(request.caller, request.node);
        self.fs
            .note_answer(request.caller, Call::Any, request.node, &shown);
        shown
    }

    fn setattr(
        &self,
        request: Request<'_>,
        handle: Option<u64>,
        change: Change,
        reply: &mut Reply<'_>,
    ) -> Result<(), FsError> {
        let changed = self
            .fs
            .setattr(request.caller, request.node, handle, change)?;
        let shown = self.coherence.keep_shown(changed);
        Ok(reply.attributes(self.shown_number(&shown.0), shown)?)
    }

    fn setxattr(
        &self,
        request: Request<'_>,
        name: &[u8],
        value: &[u8],
        flags: i32,
    ) -> Result<(), FsError> {
        let (caller, node) = (request.caller, request.node);
        let set = self
            .fs
            .change_xattr(caller, node, name, Some((value, flags)));
        if name == ACCESS_ACL && !self.fs.is_shared() {
            // It changes the mode, which the kernel would go on with (`fuse_set_acl` in `fs/fuse/acl.c`).
            forget_attributes(&self.connection, node);
        }
        set
    }
}

/// Open files.
impl Adapter {
    fn open(&self, request: Request<'_>, flags: i32, reply: &mut Reply<'_>) -> Result<(), FsError> {
        let opened = self.coherence.open(request.caller, request.node, flags)?;
        // The kernel got what it keeps when nobody could write to it by a mapping.
        if opened.is_mappable || self.coherence.has_old_attributes(&opened) {
            forget_attributes(&self.connection, request.node);
        }
        self.answer_opened(&opened, reply)
    }

    /// Decides how a file that was opened is served, and answers so.
    fn answer_opened(&self, opened: &Opened, reply: &mut Reply<'_>) -> Result<(), FsError> {
        let way = self.serving.enter(opened, || {
            if !self.passthrough {
                return Err(io::ErrorKind::Unsupported.into());
            }
            self.fs.act_for(opened)?;
            BackingId::new(&self.connection, &opened.backing_file)
        });
        let (mut flags, backing_id) = match way {
            Way::Kernel(id) => (FopenFlags::FOPEN_PASSTHROUGH, id.id),
            Way::KernelButAsked(id) => (
                FopenFlags::FOPEN_PASSTHROUGH | FopenFlags::FOPEN_DIRECT_IO,
                id.id,
            ),
            // Who gets a lock reads what its last holder wrote, above or below. Shared mappings are refused then (law F9).
            Way::Cached if self.fs.carries_locks() => (FopenFlags::FOPEN_DIRECT_IO, 0),
            Way::Cached if self.coherence.keeps_content(opened) => {
                (FopenFlags::FOPEN_KEEP_CACHE, 0)
            }
            Way::Cached => (FopenFlags::empty(), 0),
            Way::Asked => (FopenFlags::FOPEN_DIRECT_IO, 0),
        };
        flags.set(FopenFlags::FOPEN_NOFLUSH, opened.closes_quietly);
        Ok(reply.opened(opened.handle, flags, backing_id)?)
    }

    fn read(&self, read: &ReadCall, reply: &mut Reply<'_>) -> Result<(), FsError> {
        reply.limit(read.size);
        reply.filled(|room| self.fs.read(read.handle, read.offset, room))
    }

    fn write(
        &self,
        request: Request<'_>,
        write: &WriteCall<'_>,
        reply: &mut Reply<'_>,
    ) -> Result<(), FsError> {
        let is_mapped = write.write_flags.contains(WriteFlags::FUSE_WRITE_CACHE);
        let place = match write.flags & libc::O_APPEND != 0 && !is_mapped {
            true => Place::End,
            false => Place::At(write.offset),
        };
        let clears_set_ids = WriteFlags::FUSE_WRITE_KILL_SUIDGID;
        let keeps_set_ids = !write.write_flags.contains(clears_set_ids);
        // Pages that are written back carry no credentials (`fuse_writepage_args_setup` in `fs/fuse/file.c`).
        let writer = (!is_mapped).then_some(request.caller);
        let (handle, data) = (write.handle, write.data);
        let written = self.fs.write(writer, handle, place, data, keeps_set_ids)?;
        Ok(reply.written(written)?)
    }

    fn flush(&self, handle: u64, lock_owner: u64) -> Result<(), FsError> {
        self.fs.close_locks(handle, lock_owner);
        self.fs.flush(handle)
    }

    fn release(&self, handle: u64) -> Result<(), FsError> {
        if let Some(inode) = self.fs.release(handle) {
            self.serving.leave(inode);
        }
        Ok(())
    }

    fn lseek(&self, seek: &LseekCall, reply: &mut Reply<'_>) -> Result<(), FsError> {
        let offset = self.fs.lseek(seek.handle, seek.offset, seek.whence)?;
        Ok(reply.offset(offset)?)
    }

    fn fallocate(&self, request: Request<'_>, call: &FallocateCall) -> Result<(), FsError> {
        let (offset, length) = (call.offset, call.length);
        self.fs
            .fallocate(request.caller, call.handle, call.mode, offset, length)
    }

    fn copy_file_range(
        &self,
        request: Request<'_>,
        copy: &CopyCall,
        reply: &mut Reply<'_>,
    ) -> Result<(), FsError> {
        let copied = self
            .fs
            .copy_file_range(request.caller, copy.from, copy.to, copy.length)?;
        Ok(reply.written(copied)?)
    }
}

/// Locks.
impl Adapter {
    fn getlk(
        &self,
        request: Request<'_>,
        lock: &LockArguments,
        reply: &mut Reply<'_>,
    ) -> Result<(), FsError> {
        let wanted = lock_request(request, lock)?;
        let (range, kind, pid) = match self.fs.test_lock(lock.handle, wanted)? {
            Some(held) => (held.range, held.kind.to_kernel(), held.pid.unwrap_or(0)),
            None => (lock.range, libc::F_UNLCK, lock.pid),
        };
        Ok(reply.lock(range, kind, pid)?)
    }

    fn setlk(&self, request: Request<'_>, lock: &LockArguments) -> Result<Done, FsError> {
        let wanted = lock_request(request, lock)?;
        if self.fs.set_lock(lock.handle, wanted)? {
            return Ok(Done::Now);
        }
        if !lock.waits {
            return Err(Errno::AGAIN.into());
        }
        // By rings nobody waits for a lock.
        let answer = request.later.ok_or(Errno::NOLCK)?();
        let metrics = self.metrics.clone();
        let answer = Box::new(move |set: Result<(), FsError>| {
            if set.is_err() {
                metrics.fail_late(Operation::Setlk);
            }
            answer(set);
        });
        self.fs
            .wait_for_lock(lock.handle, wanted, request.unique, answer)?;
        Ok(Done::Later)
    }
}

/// Returns the request of getlk and setlk; `EINVAL` for an unknown type.
fn lock_request(request: Request<'_>, lock: &LockArguments) -> Result<LockRequest, Errno> {
    Ok(LockRequest {
        call: lock.call,
        owner: lock.owner,
        pid: lock.pid,
        caller: request.caller,
        range: lock.range,
        kind: LockKind::from_kernel(lock.kind)?,
    })
}

/// Open directories.
impl Adapter {
    fn opendir(
        &self,
        request: Request<'_>,
        flags: i32,
        reply: &mut Reply<'_>,
    ) -> Result<(), FsError> {
        let KeptList { new, old } = self.coherence.open_list(request.node)?;
        let handle = self.fs.opendir(request.caller, request.node, flags)?;
        let mut open_flags = FopenFlags::empty();
        open_flags.set(FopenFlags::FOPEN_CACHE_DIR, new);
        open_flags.set(FopenFlags::FOPEN_KEEP_CACHE, old);
        Ok(reply.opened(handle, open_flags, 0)?)
    }

    fn readdir(
        &self,
        request: Request<'_>,
        read: &ReadCall,
        reply: &mut Reply<'_>,
        plus: Plus,
    ) -> Result<(), FsError> {
        reply.limit(read.size);
        let give = |listed: &Listed<'_>, kept: Option<Kept>| {
            // Of what has none the kernel gives the name to who lists, and knows no entry by it.
            let entry = listed.entry.as_ref().zip(kept);
            let entry_of = |(entry, kept)| self.entry_out(entry, kept);
            let given = || entry.map_or_else(EntryOut::default, entry_of);
            reply.listed(listed, (plus == Plus::Yes).then(given))
        };
        let from = (read.handle, read.offset);
        self.coherence.readdir(request.node, from, plus, give)
    }

    fn releasedir(&self, handle: u64) -> Result<(), FsError> {
        self.fs.releasedir(handle);
        Ok(())
    }
}

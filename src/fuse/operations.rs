//! Each request of the protocol: its arguments taken, handed on, answered.

use std::io;
use std::time::Duration;

use fuser::consts::FUSE_LK_FLOCK;
use fuser::{FopenFlags, WriteFlags};
use rustix::io::Errno;

use super::adapter::{Adapter, Done};
use super::layout::{
    self, AccessIn, CopyFileRangeIn, CreateIn, EntryOut, FallocateIn, FlushIn, FsyncIn, GetxattrIn,
    LinkIn, LockIn, LseekIn, LseekOut, MkdirIn, MknodIn, OpenIn, OpenOut, ReadIn, ReleaseIn,
    Rename2In, RenameIn, SetattrIn, SetxattrIn, WriteIn, WriteOut, valid,
};
use super::notify::forget_attributes;
use super::operation::Operation;
use super::passthrough::BackingId;
use super::reply::{Reply, entry_out};
use super::request::Request;
use crate::backing::file::{Place, Sync};
use crate::backing::{LockKind, LockRange, SetTime, Stat, Time};
use crate::coherence::serving::Way;
use crate::coherence::{Coherence, Kept, KeptList};
use crate::fs::{
    ACCESS_ACL, Call, Change, Entry, FsError, Listed, LockCall, LockRequest, NewEntry, Opened,
    Plus, Utf8Fs,
};

impl Adapter {
    /// Does what is asked for, and puts the answer together.
    pub(super) fn answer(
        &self,
        operation: Operation,
        request: Request<'_>,
        reply: &mut Reply<'_>,
    ) -> Result<Done, FsError> {
        match operation {
            Operation::Lookup => return self.lookup(request, reply),
            Operation::Getattr => {
                let shown = self.getattr(request)?;
                Ok(reply.attributes(self.shown_number(&shown.0), shown)?)
            }
            Operation::Statx => {
                let shown = self.getattr(request)?;
                Ok(reply.statx(self.shown_number(&shown.0), shown)?)
            }
            Operation::Setattr => self.setattr(request, reply),
            Operation::Readlink => {
                let target = self.fs.readlink(request.caller, request.node)?;
                Ok(reply.data(&target)?)
            }
            Operation::Symlink => self.symlink(request, reply),
            Operation::Mknod => self.mknod(request, reply),
            Operation::Mkdir => self.mkdir(request, reply),
            Operation::Unlink => self.remove(request, false),
            Operation::Rmdir => self.remove(request, true),
            Operation::Rename => self.rename(request),
            Operation::Link => self.link(request, reply),
            Operation::Create => self.create(request, reply, Coherence::create),
            Operation::Tmpfile => self.create(request, reply, Coherence::tmpfile),
            Operation::Open => self.open(request, reply),
            Operation::Read => self.read(request, reply),
            Operation::Write => self.write(request, reply),
            Operation::Flush => self.flush(request),
            Operation::Release => self.release(request),
            Operation::Fsync => self.sync(request, Utf8Fs::fsync),
            Operation::Fsyncdir => self.sync(request, Utf8Fs::fsyncdir),
            Operation::Fallocate => self.fallocate(request),
            Operation::Lseek => self.lseek(request, reply),
            Operation::CopyFileRange => self.copy_file_range(request, reply),
            Operation::Getlk => self.getlk(request, reply),
            Operation::Setlk => return self.setlk(request),
            Operation::Opendir => self.opendir(request, reply),
            Operation::Readdir => self.readdir(request, reply, Plus::No),
            Operation::Readdirplus => self.readdir(request, reply, Plus::Yes),
            Operation::Releasedir => self.releasedir(request),
            Operation::Statfs => Ok(reply.statfs(&self.fs.statfs(request.node)?)?),
            Operation::Access => self.access(request),
            Operation::Setxattr => self.setxattr(request),
            Operation::Getxattr => self.getxattr(request, reply),
            Operation::Listxattr => self.listxattr(request, reply),
            Operation::Removexattr => self.removexattr(request),
            Operation::Ioctl => Err(Errno::NOTTY.into()),
            Operation::Forget | Operation::Interrupt | Operation::Bmap | Operation::Poll => {
                Err(Errno::NOSYS.into())
            }
        }
        .map(|()| Done::Now)
    }
}

/// Names.
impl Adapter {
    fn lookup(&self, mut request: Request<'_>, reply: &mut Reply<'_>) -> Result<Done, FsError> {
        let name = request.arguments.text()?;
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

    fn symlink(&self, mut request: Request<'_>, reply: &mut Reply<'_>) -> Result<(), FsError> {
        let new = request.new_entry(0, 0)?;
        let target = request.arguments.text()?;
        self.make(&new, reply, |fs| fs.symlink(&new, target))
    }

    fn mknod(&self, mut request: Request<'_>, reply: &mut Reply<'_>) -> Result<(), FsError> {
        let asked: MknodIn = request.arguments.record()?;
        let new = request.new_entry(asked.mode, asked.umask)?;
        self.make(&new, reply, |fs| fs.mknod(&new, u64::from(asked.rdev)))
    }

    fn mkdir(&self, mut request: Request<'_>, reply: &mut Reply<'_>) -> Result<(), FsError> {
        let MkdirIn { mode, umask } = request.arguments.record()?;
        let new = request.new_entry(mode, umask)?;
        self.make(&new, reply, |fs| fs.mkdir(&new))
    }

    fn link(&self, mut request: Request<'_>, reply: &mut Reply<'_>) -> Result<(), FsError> {
        let LinkIn { node } = request.arguments.record()?;
        let new = request.new_entry(0, 0)?;
        self.make(&new, reply, |fs| fs.link(&new, node))
    }

    fn remove(&self, mut request: Request<'_>, is_directory: bool) -> Result<(), FsError> {
        let name = (request.node, request.arguments.text()?);
        self.coherence.remove(request.caller, name, is_directory)
    }

    fn rename(&self, mut request: Request<'_>) -> Result<(), FsError> {
        let (directory, flags) = match request.opcode {
            layout::RENAME2 => {
                let asked: Rename2In = request.arguments.record()?;
                (asked.new_directory, asked.flags)
            }
            _ => (request.arguments.record::<RenameIn>()?.new_directory, 0),
        };
        let old = (request.node, request.arguments.text()?);
        let new = (directory, request.arguments.text()?);
        self.coherence.rename(request.caller, old, new, flags)
    }

    /// Makes a file by `create`, and opens it. One without a name is asked for by a name that stands for nothing.
    fn create(
        &self,
        mut request: Request<'_>,
        reply: &mut Reply<'_>,
        create: impl FnOnce(&Coherence, &NewEntry<'_>, i32) -> Result<(Entry, Kept, Opened), FsError>,
    ) -> Result<(), FsError> {
        let asked: CreateIn = request.arguments.record()?;
        let new = request.new_entry(asked.mode, asked.umask)?;
        let (entry, kept, opened) = create(&self.coherence, &new, asked.flags)?;
        reply.record(&self.entry_out(&entry, kept))?;
        Ok(reply.record(&self.serve_opened(&opened))?)
    }
}

/// Attributes.
impl Adapter {
    /// Returns the inode number that is shown of the file that `stat` describes.
    fn shown_number(&self, stat: &Stat) -> u64 {
        self.fs.inodes().shown_number(stat)
    }

    fn entry_out(&self, entry: &Entry, kept: Kept) -> EntryOut {
        entry_out(entry, self.shown_number(&entry.stat), kept)
    }

    fn getattr(&self, request: Request<'_>) -> Result<(Stat, Duration), FsError> {
        let shown = self.coherence.getattr(request.caller, request.node);
        self.fs
            .note_answer(request.caller, Call::Any, request.node, &shown);
        shown
    }

    fn setattr(&self, mut request: Request<'_>, reply: &mut Reply<'_>) -> Result<(), FsError> {
        let asked: SetattrIn = request.arguments.record()?;
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
        let (caller, node) = (request.caller, request.node);
        let changed = self.fs.setattr(caller, node, handle, change)?;
        let shown = self.coherence.keep_shown(changed);
        Ok(reply.attributes(self.shown_number(&shown.0), shown)?)
    }

    fn access(&self, mut request: Request<'_>) -> Result<(), FsError> {
        let AccessIn { mask, .. } = request.arguments.record()?;
        self.fs.access(request.node, mask.cast_signed())
    }

    fn setxattr(&self, mut request: Request<'_>) -> Result<(), FsError> {
        let SetxattrIn { size, flags } = request.arguments.record()?;
        let name = request.arguments.text()?;
        let value = request.arguments.data(size)?;
        let (caller, node) = (request.caller, request.node);
        let value = Some((value, flags));
        let set = self.fs.change_xattr(caller, node, name, value);
        if name == ACCESS_ACL && !self.fs.is_shared() {
            // It changes the mode, which the kernel would go on with (`fuse_set_acl` in `fs/fuse/acl.c`).
            forget_attributes(&self.connection, node);
        }
        set
    }

    fn getxattr(&self, mut request: Request<'_>, reply: &mut Reply<'_>) -> Result<(), FsError> {
        let GetxattrIn { size, .. } = request.arguments.record()?;
        let name = request.arguments.text()?;
        reply.sized(size, |value| self.fs.getxattr(request.node, name, value))
    }

    fn listxattr(&self, mut request: Request<'_>, reply: &mut Reply<'_>) -> Result<(), FsError> {
        let GetxattrIn { size, .. } = request.arguments.record()?;
        let (caller, node) = (request.caller, request.node);
        reply.sized(size, |names| self.fs.listxattr(caller, node, names))
    }

    fn removexattr(&self, mut request: Request<'_>) -> Result<(), FsError> {
        let name = request.arguments.text()?;
        self.fs
            .change_xattr(request.caller, request.node, name, None)
    }
}

/// Open files.
impl Adapter {
    fn open(&self, mut request: Request<'_>, reply: &mut Reply<'_>) -> Result<(), FsError> {
        let OpenIn { flags, .. } = request.arguments.record()?;
        let opened = self.coherence.open(request.caller, request.node, flags)?;
        // The kernel got what it keeps when nobody could write to it by a mapping.
        if opened.is_mappable || self.coherence.has_old_attributes(&opened) {
            forget_attributes(&self.connection, request.node);
        }
        Ok(reply.record(&self.serve_opened(&opened))?)
    }

    /// Decides how a file that was opened is served, and answers so.
    fn serve_opened(&self, opened: &Opened) -> OpenOut {
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
        OpenOut {
            handle: opened.handle,
            open_flags: flags.bits(),
            backing_id,
        }
    }

    fn read(&self, mut request: Request<'_>, reply: &mut Reply<'_>) -> Result<(), FsError> {
        let asked: ReadIn = request.arguments.record()?;
        reply.limit(asked.size);
        reply.filled(|room| self.fs.read(asked.handle, asked.offset, room))
    }

    fn write(&self, mut request: Request<'_>, reply: &mut Reply<'_>) -> Result<(), FsError> {
        let asked: WriteIn = request.arguments.record()?;
        let data = request.arguments.data(asked.size)?;
        let write_flags = WriteFlags::from_bits_retain(asked.write_flags);
        let is_mapped = write_flags.contains(WriteFlags::FUSE_WRITE_CACHE);
        let place = match asked.flags & libc::O_APPEND != 0 && !is_mapped {
            true => Place::End,
            false => Place::At(asked.offset),
        };
        let keeps_set_ids = !write_flags.contains(WriteFlags::FUSE_WRITE_KILL_SUIDGID);
        // Pages that are written back carry no credentials (`fuse_writepage_args_setup` in `fs/fuse/file.c`).
        let writer = (!is_mapped).then_some(request.caller);
        let handle = asked.handle;
        let written = self.fs.write(writer, handle, place, data, keeps_set_ids)?;
        written_out(written, reply)
    }

    fn flush(&self, mut request: Request<'_>) -> Result<(), FsError> {
        let asked: FlushIn = request.arguments.record()?;
        self.fs.close_locks(asked.handle, asked.lock_owner);
        self.fs.flush(asked.handle)
    }

    fn release(&self, mut request: Request<'_>) -> Result<(), FsError> {
        let ReleaseIn { handle, .. } = request.arguments.record()?;
        if let Some(inode) = self.fs.release(handle) {
            self.serving.leave(inode);
        }
        Ok(())
    }

    fn sync(
        &self,
        mut request: Request<'_>,
        sync: impl FnOnce(&Utf8Fs, u64, Sync) -> Result<(), FsError>,
    ) -> Result<(), FsError> {
        let FsyncIn { handle, flags, .. } = request.arguments.record()?;
        let what = match flags & layout::FSYNC_FDATASYNC != 0 {
            true => Sync::Data,
            false => Sync::All,
        };
        sync(&self.fs, handle, what)
    }

    fn fallocate(&self, mut request: Request<'_>) -> Result<(), FsError> {
        let asked: FallocateIn = request.arguments.record()?;
        let (caller, offset, length) = (request.caller, asked.offset, asked.length);
        let (handle, mode) = (asked.handle, asked.mode);
        self.fs.fallocate(caller, handle, mode, offset, length)
    }

    fn lseek(&self, mut request: Request<'_>, reply: &mut Reply<'_>) -> Result<(), FsError> {
        let asked: LseekIn = request.arguments.record()?;
        let offset = self.fs.lseek(asked.handle, asked.offset, asked.whence)?;
        Ok(reply.record(&LseekOut { offset })?)
    }

    fn copy_file_range(
        &self,
        mut request: Request<'_>,
        reply: &mut Reply<'_>,
    ) -> Result<(), FsError> {
        let asked: CopyFileRangeIn = request.arguments.record()?;
        let from = (asked.handle, asked.offset);
        let to = (asked.handle_out, asked.offset_out);
        let (caller, length) = (request.caller, asked.length);
        let copied = self.fs.copy_file_range(caller, from, to, length)?;
        written_out(copied, reply)
    }
}

/// Answers that so many bytes were written.
fn written_out(written: usize, reply: &mut Reply<'_>) -> Result<(), FsError> {
    let size = u32::try_from(written).unwrap_or(u32::MAX);
    Ok(reply.record(&WriteOut { size, padding: 0 })?)
}

/// Locks.
impl Adapter {
    fn getlk(&self, mut request: Request<'_>, reply: &mut Reply<'_>) -> Result<(), FsError> {
        let asked: LockIn = request.arguments.record()?;
        let mut lock = asked.lock;
        let wanted = lock_request(&request, &asked)?;
        match self.fs.test_lock(asked.handle, wanted)? {
            Some(held) => {
                (lock.start, lock.end) = (held.range.start, held.range.end);
                lock.pid = held.pid.unwrap_or(0);
                lock.kind = held.kind.to_kernel();
            }
            None => lock.kind = libc::F_UNLCK,
        }
        Ok(reply.record(&lock)?)
    }

    fn setlk(&self, mut request: Request<'_>) -> Result<Done, FsError> {
        let asked: LockIn = request.arguments.record()?;
        let wanted = lock_request(&request, &asked)?;
        if self.fs.set_lock(asked.handle, wanted)? {
            return Ok(Done::Now);
        }
        if request.opcode != layout::SETLKW {
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
            .wait_for_lock(asked.handle, wanted, request.unique, answer)?;
        Ok(Done::Later)
    }
}

/// Returns the request of getlk and setlk; `EINVAL` for an unknown type.
fn lock_request(request: &Request<'_>, asked: &LockIn) -> Result<LockRequest, Errno> {
    Ok(LockRequest {
        call: match asked.flags & FUSE_LK_FLOCK != 0 {
            true => LockCall::Flock,
            false => LockCall::Fcntl,
        },
        owner: asked.owner,
        pid: asked.lock.pid,
        caller: request.caller,
        range: LockRange {
            start: asked.lock.start,
            end: asked.lock.end,
        },
        kind: LockKind::from_kernel(asked.lock.kind)?,
    })
}

/// Open directories.
impl Adapter {
    fn opendir(&self, mut request: Request<'_>, reply: &mut Reply<'_>) -> Result<(), FsError> {
        let OpenIn { flags, .. } = request.arguments.record()?;
        let KeptList { new, old } = self.coherence.open_list(request.node)?;
        let handle = self.fs.opendir(request.caller, request.node, flags)?;
        let mut flags = FopenFlags::empty();
        flags.set(FopenFlags::FOPEN_CACHE_DIR, new);
        flags.set(FopenFlags::FOPEN_KEEP_CACHE, old);
        Ok(reply.record(&OpenOut {
            handle,
            open_flags: flags.bits(),
            backing_id: 0,
        })?)
    }

    fn readdir(
        &self,
        mut request: Request<'_>,
        reply: &mut Reply<'_>,
        plus: Plus,
    ) -> Result<(), FsError> {
        let asked: ReadIn = request.arguments.record()?;
        reply.limit(asked.size);
        let give = |listed: &Listed<'_>, kept: Option<Kept>| {
            // Of what has none the kernel gives the name to who lists, and knows no entry by it.
            let entry = listed.entry.as_ref().zip(kept);
            let entry_of = |(entry, kept)| self.entry_out(entry, kept);
            let given = || entry.map_or_else(EntryOut::default, entry_of);
            reply.listed(listed, (plus == Plus::Yes).then(given))
        };
        let from = (asked.handle, asked.offset);
        self.coherence.readdir(request.node, from, plus, give)
    }

    fn releasedir(&self, mut request: Request<'_>) -> Result<(), FsError> {
        let ReleaseIn { handle, .. } = request.arguments.record()?;
        self.fs.releasedir(handle);
        Ok(())
    }
}

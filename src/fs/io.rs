//! Open files: open, read, write, flush, release, fsync, fallocate, lseek, `copy_file_range`. And waiting for the disk, where `-o sync` or `-o dirsync`
//! say so: the kernel does nothing about them for FUSE.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::descriptors::{Taken, Use};
use super::handle::OpenFile;
use super::inode::{Inode, InodeId};
use super::{Call, Caller, FsError, Utf8Fs};
use crate::backing::{FsType, Stat, file};
use crate::os::act_as;
use crate::os::credentials::{InEffect, may_keep_sgid, raise_fsetid};

/// A flag of open(2) that the backing file is opened without. `O_APPEND` belongs to each write. A program can change
/// it on an open file, and mapped pages are written in place.
pub(super) const KERNELS_OWN: i32 = libc::O_APPEND;

/// The kernel's own flag for a program that is opened to be run; it is open for as long as that runs (`__FMODE_EXEC` of
/// `include/linux/fs.h`).
const FMODE_EXEC: i32 = 0x20;

/// Which changes are on the disk before they are answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waits {
    /// None: programs call fsync(2).
    #[default]
    None,
    /// Changes of names (`dirsync`).
    Names,
    /// All (`sync`).
    All,
}

/// A file that was just opened, and what has to be known to serve it.
#[derive(Debug)]
pub struct Opened {
    /// Its handle.
    pub handle: u64,
    /// Its inode.
    pub inode: InodeId,
    /// Its attributes when it was opened.
    pub stat: Stat,
    /// Is it open for writing?
    pub writes: bool,
    /// The backing file, for the kernel to read and write by itself. Only where it was just made this descriptor holds it open for writing, as
    /// the program does.
    pub backing_file: Arc<OwnedFd>,
    /// User and group as whom the kernel is to read and write it by itself. `None` where it must not: it would act as
    /// one user for all openers, on a filesystem that checks rights itself.
    pub identity: Option<(u32, u32)>,
    /// Has closing it nothing to report?
    pub closes_quietly: bool,
    /// Can it be written to by a mapping?
    pub is_mappable: bool,
}

impl Utf8Fs {
    /// Opens a file with the flags of open(2). Only for regular files: the kernel serves others itself.
    ///
    /// # Errors
    /// The inode is gone, or the system's error.
    pub fn open(&self, caller: Caller, number: u64, flags: i32) -> Result<Opened, FsError> {
        let quietly = i32::from(self.settings.reads_quietly) * libc::O_NOATIME;
        let opened = match self.open_with(caller, number, flags | quietly) {
            // For the owner and the privileged only.
            Err(error) if quietly != 0 && error.errno() == libc::EPERM => {
                self.open_with(caller, number, flags)
            }
            opened => opened,
        };
        self.note_answer(caller, Call::Open, number, &opened);
        opened
    }

    fn open_with(&self, caller: Caller, number: u64, flags: i32) -> Result<Opened, FsError> {
        let taken = self.inodes.descriptors.pool.take(caller.uid, Use::File)?;
        let inode = self.inodes.get(number)?;
        if flags & FMODE_EXEC != 0 && !self.settings.is_shared {
            // The kernel checks only that somebody may execute the file (`fuse_permission` in `fs/fuse/dir.c`).
            file::access(&*self.inodes.fd(&inode)?, libc::X_OK)?;
        }
        let flags = flags | self.waiting();
        let writes = flags & libc::O_ACCMODE != libc::O_RDONLY;
        let fd = match self.inodes.open(&inode, flags & !KERNELS_OWN) {
            // A file that may only be appended to (chattr +a) is opened so or not at all.
            Err(error)
                if error.raw_os_error() == Some(libc::EPERM) && flags & libc::O_APPEND != 0 =>
            {
                self.inodes.open(&inode, flags)?
            }
            opened => opened?,
        };
        let in_place = self.check_names(caller, Call::Open, &inode)?;
        let path_only = match in_place.filter(|_| writes && !inode.is_elsewhere()) {
            // It is the inode itself, whose number no other file has while it is open.
            Some(in_place) => Some(self.inodes.descriptors.hold(&inode, in_place)),
            None => writes.then(|| self.inodes.fd(&inode)).transpose()?,
        };
        let stat = Stat::of(&fd)?;
        Ok(self.opened(caller, (fd, taken), path_only, &inode, &stat, flags)?)
    }

    /// Gives a handle to a file opened with `flags`. The kernel gets `backing_file`, or the same file where there is none.
    ///
    /// With `O_DIRECT` the filesystem can do that, and so may the kernel by itself. Buffers that arrive here are not
    /// aligned as asked.
    pub(super) fn opened(
        &self,
        caller: Caller,
        (fd, _taken): (OwnedFd, Taken),
        backing_file: Option<Arc<OwnedFd>>,
        inode: &Arc<Inode>,
        stat: &Stat,
        flags: i32,
    ) -> io::Result<Opened> {
        if flags & libc::O_DIRECT != 0 {
            file::buffered(&fd)?;
        }
        let writes = flags & libc::O_ACCMODE != libc::O_RDONLY;
        let is_mappable = flags & libc::O_ACCMODE == libc::O_RDWR;
        let opener = (caller.uid, caller.gid);
        // Reading takes no privilege, and who writes later is most likely the owner.
        // The kernel would open it by itself once more, without `O_NOATIME`.
        let is_ours = self.settings.reads_quietly
            || match inode.is_elsewhere() {
                true => FsType::of(&fd)?.checks_rights(),
                false => self.below.checks_rights(),
            };
        let identity = match (is_ours, writes) {
            (true, _) => None,
            (false, true) => Some(opener),
            (false, false) => Some((stat.uid, stat.gid)),
        };
        // A close must be told of where it gives locks up, and where other filesystems have more to report.
        let closes_quietly =
            self.below.is_local() && !self.carries_locks() && !inode.is_elsewhere();
        let fd = Arc::new(fd);
        let backing_file = backing_file.unwrap_or_else(|| Arc::clone(&fd));
        inode.opened(&fd, caller.pid, flags & libc::O_ACCMODE);
        let file = OpenFile {
            fd,
            inode: Arc::clone(inode),
            opener,
            _taken,
        };
        Ok(Opened {
            inode: inode.id(),
            stat: *stat,
            writes,
            handle: self.files.add(file),
            backing_file,
            identity,
            closes_quietly,
            is_mappable,
        })
    }

    /// Has a file that was just opened the content that it had at an open before, as far as its ctime tells?
    pub fn is_as_opened_before(&self, opened: &Opened) -> bool {
        let seconds = self.inodes.started.elapsed().as_secs();
        let inode = self.inodes.get(opened.inode.0);
        inode.is_ok_and(|inode| inode.is_as_opened_before(opened.stat.ctime, seconds))
    }

    /// Acts as the one in whose name the kernel is to read and write a file by itself.
    ///
    /// # Errors
    /// `ENOTSUP`: it is to read and write none of it. `EPERM`: the thread may not.
    pub fn act_for(&self, opened: &Opened) -> io::Result<()> {
        let (uid, gid) = opened.identity.ok_or(io::ErrorKind::Unsupported)?;
        act_as(self.settings.privilege, uid, gid)
    }

    /// Acts as the opener of a file that is to be written to, until the result is dropped, or as `caller` where all
    /// operations do. So the filesystem's reserve for root stays so, and set-id bits are kept if they are to be:
    /// set-group-ID also for who is in the file's group by a supplementary group.
    fn act_as_writer(
        &self,
        open: &OpenFile,
        caller: Option<Caller>,
        keeps_set_ids: bool,
    ) -> io::Result<Option<InEffect>> {
        let (uid, mut gid) = match caller.filter(|_| self.acts_as_callers()) {
            Some(caller) => (caller.uid, caller.gid),
            None => open.opener,
        };
        let stat = Stat::of(&*open.fd)?;
        if let Some(caller) = caller
            && stat.mode & libc::S_ISGID != 0
            && may_keep_sgid(caller.pid, caller.gid, stat.gid)
        {
            gid = stat.gid;
        }
        act_as(self.settings.privilege, uid, gid)?;
        let keeps = keeps_set_ids && stat.has_set_id();
        keeps.then(raise_fsetid).transpose()
    }

    /// Reads at `offset` into `buffer`, and returns how many bytes were read; fewer than it holds only at the end of the file.
    ///
    /// # Errors
    /// The handle is gone, or the system's error.
    pub fn read(&self, handle: u64, offset: u64, buffer: &mut [u8]) -> Result<usize, FsError> {
        let open = self.files.get(handle)?;
        Ok(file::read_at(&*open.fd, buffer, offset)?)
    }

    /// Writes `data` for `caller`, or for the opener where the kernel does not say for whom; gives how many bytes were written. Set-user-ID and
    /// set-group-ID bits go, as for an ordinary user, unless it `keeps_set_ids`, as one with `CAP_FSETID` does.
    ///
    /// # Errors
    /// The handle is gone, or the system's error.
    pub fn write(
        &self,
        caller: Option<Caller>,
        handle: u64,
        place: file::Place,
        data: &[u8],
        keeps_set_ids: bool,
    ) -> Result<usize, FsError> {
        let open = self.files.get(handle)?;
        let _kept = self.act_as_writer(&open, caller, keeps_set_ids)?;
        Ok(file::write(&*open.fd, data, place)?)
    }

    /// Gives the errors that closing the backing file gives.
    ///
    /// # Errors
    /// The handle is gone, or the system's error.
    pub fn flush(&self, handle: u64) -> Result<(), FsError> {
        let open = self.files.get(handle)?;
        match self.inodes.with_descriptors(|| file::flush(&*open.fd)) {
            // It takes one descriptor more to ask; a program must be able to close its files without.
            Err(error) if error.raw_os_error() == Some(libc::EMFILE) => Ok(()),
            done => Ok(done?),
        }
    }

    /// Closes a handle, and tells of which inode it was.
    pub fn release(&self, handle: u64) -> Option<InodeId> {
        // The file is closed when the last operation on it has ended.
        let open = self.files.remove(handle)?;
        // Closing it may write what is left of it, and gives its locks up.
        if self.acts_as_callers()
            && let Err(error) = act_as(self.settings.privilege, open.opener.0, open.opener.1)
        {
            log::debug!("a file is closed as another than its opener: {error}");
        }
        if self.carries_locks() {
            let file = open.inode.id();
            self.locks.let_go(file, |locks| locks.release(handle));
        }
        let inode = Arc::clone(&open.inode);
        drop(open);
        self.free_space_of(&inode);
        Some(inode.id())
    }

    /// Brings what was written to the disk.
    ///
    /// # Errors
    /// The handle is gone, or the system's error.
    pub fn fsync(&self, handle: u64, what: file::Sync) -> Result<(), FsError> {
        let open = self.files.get(handle)?;
        Ok(file::fsync(&*open.fd, what)?)
    }

    /// fallocate(2).
    ///
    /// # Errors
    /// The handle is gone, or the system's error.
    pub fn fallocate(
        &self,
        caller: Caller,
        handle: u64,
        mode: i32,
        offset: u64,
        length: u64,
    ) -> Result<(), FsError> {
        let open = self.files.get(handle)?;
        let _kept = self.act_as_writer(&open, Some(caller), caller.uid == 0)?;
        Ok(file::fallocate(&*open.fd, mode, offset, length)?)
    }

    /// lseek(2): the kernel asks for `SEEK_DATA` and `SEEK_HOLE` only.
    ///
    /// # Errors
    /// The handle is gone, or the system's error.
    pub fn lseek(&self, handle: u64, offset: i64, whence: i32) -> Result<u64, FsError> {
        let open = self.files.get(handle)?;
        Ok(file::seek(&*open.fd, offset, whence)?)
    }

    /// `copy_file_range(2)` between two open files, each given with its offset.
    ///
    /// # Errors
    /// A handle is gone, or the system's error.
    pub fn copy_file_range(
        &self,
        caller: Caller,
        from: (u64, u64),
        to: (u64, u64),
        length: u64,
    ) -> Result<usize, FsError> {
        let source = self.files.get(from.0)?;
        let target = self.files.get(to.0)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let _kept = self.act_as_writer(&target, Some(caller), caller.uid == 0)?;
        let copied = file::copy_range(&source.fd, from.1, &target.fd, to.1, length)?;
        Ok(copied)
    }

    /// The flag of open(2) by which each write waits, if it is to.
    pub(super) fn waiting(&self) -> i32 {
        i32::from(self.settings.waits == Waits::All) * libc::O_SYNC
    }

    /// Waits for a change in the file or directory `fd`, of names or else of all, if such are to be waited for.
    pub(super) fn settle(&self, fd: &OwnedFd, change: Waits) -> io::Result<()> {
        if self.settings.waits < change {
            return Ok(());
        }
        let open = |fd| {
            self.inodes
                .with_descriptors(|| file::reopen(fd, libc::O_RDONLY))
        };
        match (open(fd), self.inodes.root.held()) {
            (Ok(open), _) => file::fsync(open, file::Sync::All),
            // A symlink or device, or what must not be read: all of the filesystem then.
            (Err(_), Some(root)) => file::sync_filesystem(open(&root)?),
            (Err(error), None) => Err(error),
        }
    }
}

//! Operations that make an entry: create, mknod, mkdir, symlink, link.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::audit::Operation;
use super::descriptors::Use;
use super::io::{KERNELS_OWN, Opened};
use super::resolve::{Making, NewName};
use super::retries::KernelName;
use super::{Caller, Entry, FsError, Utf8Fs, Waits};
use crate::backing::{Dir, Kind, Stat, if_there};
use crate::names::BackingName;
use crate::os::{become_caller, credentials};

/// Longest wait, in all, for a name that others make and remove to be free. On a busy disk, a name that is made and
/// removed at once can exist for a good part of that.
const PATIENCE: Duration = Duration::from_secs(2);

/// The first pause in that time, and the longest; each is twice as long as the one before.
const PAUSES: (Duration, Duration) = (Duration::from_micros(250), Duration::from_millis(8));

/// A new entry as a caller asks for it.
#[derive(Debug, Clone, Copy)]
pub struct NewEntry<'a> {
    /// The caller.
    pub caller: Caller,
    /// The number of its directory.
    pub parent: u64,
    /// Its visible name.
    pub name: &'a [u8],
    /// Its type and permission bits, where they are for the caller to say.
    pub mode: u32,
    /// The permission bits that the caller does not want.
    pub umask: u32,
}

impl Utf8Fs {
    /// Makes a file and opens it with `flags` (open(2)). For an existing entry, the answer is `EEXIST` with `O_EXCL`
    /// and `ESTALE` without. On `ESTALE` the kernel looks it up and checks the caller's rights to it, which this
    /// process must not skip.
    ///
    /// # Errors
    /// The name is refused, or the system's error.
    pub fn create(&self, new: &NewEntry<'_>, flags: i32) -> Result<(Entry, Opened), FsError> {
        let caller = new.caller;
        let is_exclusive = flags & libc::O_EXCL != 0;
        let is_back = !is_exclusive && self.retries.has(caller);
        let taken = self.inodes.descriptors.pool.take(caller.uid, Use::File)?;
        let making = self.making(Operation::Create, new)?;
        let made = self.make(&making, new, |dir, backing| {
            let flags = flags & !KERNELS_OWN | self.waiting() | libc::O_EXCL;
            let create = || dir.create(backing, flags, new.mode);
            let patience = if is_back { PATIENCE } else { Duration::ZERO };
            let opened = until_free(patience, || self.inodes.with_descriptors(create))?;
            let looked = self.look_at_made(&opened)?;
            Ok((opened, looked))
        });
        let ((opened, looked), made) = match made {
            Err(FsError::Io(error)) if is_taken(&error) && !is_exclusive => {
                let name = KernelName {
                    directory: new.parent,
                    name: new.name.into(),
                };
                self.retries.note(caller, Some(name));
                return Err(FsError::Stale);
            }
            made => made?,
        };
        let entry = self.enter(looked, &making.directory, made.entry)?;
        let (inode, stat) = (&entry.inode, &entry.stat);
        let opened = self.opened(caller, (opened, taken), None, inode, stat, flags)?;
        self.retries.end(caller);
        Ok((entry, opened))
    }

    /// Makes a file without a name in a directory, and opens it with `flags` (open(2)).
    ///
    /// # Errors
    /// `ENOSYS`: files of this mount are reached by name alone. Else the system's error.
    pub fn tmpfile(&self, new: &NewEntry<'_>, flags: i32) -> Result<(Entry, Opened), FsError> {
        if !self.inodes.uses_handles() {
            return Err(Errno::NOSYS.into());
        }
        let pool = &self.inodes.descriptors.pool;
        let taken = pool.take(new.caller.uid, Use::File)?;
        let directory = self.open_to_change(new.caller, new.parent)?;
        self.become_caller(new.caller, new.umask)?;
        let _fsetid = credentials::raise_fsetid_for(new.mode)?;
        let dir = directory.dir();
        let create = || dir.tmpfile(flags & !KERNELS_OWN, new.mode);
        let opened = self.inodes.with_descriptors(create)?;
        let looked = self.look_at_made(&opened)?;
        let entry = self.inodes.enter(looked, None)?.ok_or(FsError::Stale)?;
        let (inode, stat) = (&entry.inode, &entry.stat);
        let opened = self.opened(new.caller, (opened, taken), None, inode, stat, flags)?;
        Ok((entry, opened))
    }

    /// Begins an operation that makes an entry.
    pub(super) fn making<'a>(
        &self,
        operation: Operation,
        new: &NewEntry<'a>,
    ) -> Result<Making<'a>, FsError> {
        Ok(Making {
            operation,
            caller: new.caller,
            rules: self.rules(),
            directory: self.open_to_change(new.caller, new.parent)?,
            name: new.name,
        })
    }

    /// Makes an entry: finds its backing name, acts as the caller, makes it, and reports it if it offends.
    fn make<T>(
        &self,
        making: &Making<'_>,
        asked: &NewEntry<'_>,
        make: impl FnOnce(&Dir<&OwnedFd>, &BackingName) -> io::Result<T>,
    ) -> Result<(T, NewName), FsError> {
        let at = &making.directory;
        let mut new = self.absent_name(making)?;
        self.become_caller(asked.caller, asked.umask)?;
        let mut directory = self.directory(at)?;
        self.check_unique(making, &mut directory, &mut new, None)?;
        directory.before_change()?;
        // Kept across the change where siblings are compared, so that no name like the new one comes in between.
        let kept = Some(directory).filter(|_| self.settings.unique.is_some());
        // The kernel has taken set-group-id away from what the caller must not make with it.
        let _fsetid = credentials::raise_fsetid_for(asked.mode)?;
        let made = make(&at.dir(), &new.entry.backing)?;
        let mut directory = kept.map_or_else(|| self.directory(at), Ok)?;
        directory.changed(None, Some(&new.entry.backing));
        drop(directory);
        self.report(making, &new);
        self.settle(&at.fd, Waits::Names)?;
        Ok((made, new))
    }

    /// Makes an entry of this `kind` that nobody opens, and looks it up.
    ///
    /// # Errors
    /// Those of making it. `ENOENT` where somebody below removed or renamed it at once, and `EEXIST` where another kind is in its
    /// place: the kernel would fail with `EIO` (`create_new_entry` in `fs/fuse/dir.c`).
    pub(super) fn make_node(
        &self,
        making: &Making<'_>,
        asked: &NewEntry<'_>,
        kind: Kind,
        make: impl Fn(&Dir<&OwnedFd>, &BackingName) -> io::Result<()>,
    ) -> Result<Entry, FsError> {
        let (child, made) = self.make(making, asked, |dir, backing| {
            make(dir, backing)?;
            if_there(self.look_by_fd(dir, backing))
        })?;
        let child = child.ok_or(Errno::NOENT)?;
        if child.stat.kind() != kind {
            return Err(Errno::EXIST.into());
        }
        self.enter(child, &making.directory, made.entry)
    }

    pub(super) fn become_caller(&self, caller: Caller, umask: u32) -> io::Result<()> {
        become_caller(self.settings.privilege, caller.uid, caller.gid, umask)
    }

    /// Makes a file, device, FIFO or socket.
    ///
    /// # Errors
    /// The name is refused, or the system's error.
    pub fn mknod(&self, new: &NewEntry<'_>, rdev: u64) -> Result<Entry, FsError> {
        let kind = match new.mode & libc::S_IFMT {
            0 => Kind::File,
            _ => Kind::from_mode(new.mode),
        };
        let making = self.making(Operation::Mknod, new)?;
        let mknod = |dir: &Dir<&OwnedFd>, backing: &_| dir.mknod(backing, new.mode, rdev);
        self.make_node(&making, new, kind, mknod)
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// The name is refused, or the system's error.
    pub fn mkdir(&self, new: &NewEntry<'_>) -> Result<Entry, FsError> {
        let making = self.making(Operation::Mkdir, new)?;
        let mkdir = |dir: &Dir<&OwnedFd>, backing: &_| dir.mkdir(backing, new.mode);
        self.make_node(&making, new, Kind::Dir, mkdir)
    }

    /// Makes a symlink that leads below to the file that `target` leads to through the mount.
    ///
    /// # Errors
    /// The name, or one in the target, is refused; or the system's error.
    pub fn symlink(&self, new: &NewEntry<'_>, target: &[u8]) -> Result<Entry, FsError> {
        let making = self.making(Operation::Symlink, new)?;
        let (stored, noted) = self.stored_target(&making, target)?;
        let symlink = |dir: &Dir<&OwnedFd>, backing: &_| dir.symlink(backing, &stored);
        let entry = self.make_node(&making, new, Kind::Symlink, symlink)?;
        if let Some(noted) = noted {
            self.report_target(&making, &noted);
        }
        Ok(entry)
    }

    /// Makes another name for a file.
    ///
    /// # Errors
    /// The name is refused, or the system's error.
    pub fn link(&self, new: &NewEntry<'_>, number: u64) -> Result<Entry, FsError> {
        let making = self.making(Operation::Link, new)?;
        let source = self.open_to_change(new.caller, number)?.fd;
        let kind = Stat::of(&*source)?.kind();
        let link = |dir: &Dir<&OwnedFd>, backing: &_| dir.link(&*source, backing);
        self.make_node(&making, new, kind, link)
    }
}

fn is_taken(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EEXIST)
}

/// Has a file made until its name is free, but not for longer than `patience`.
fn until_free<T>(patience: Duration, create: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let start = Instant::now();
    let (mut pause, longest) = PAUSES;
    loop {
        let made = create();
        if !made.as_ref().is_err_and(is_taken) || start.elapsed() >= patience {
            return made;
        }
        std::thread::sleep(pause);
        pause = longest.min(pause * 2);
    }
}

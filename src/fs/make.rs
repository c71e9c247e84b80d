//! Operations that make an entry: create, mknod, mkdir, symlink, link.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::audit::Operation;
use super::descriptors::{Taken, Use};
use super::io::{KERNELS_OWN, Opened};
use super::resolve::{Making, NewName};
use super::retries::KernelName;
use super::{Call, Caller, Entry, FsError, Utf8Fs, Waits};
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
        let patience = if is_back { PATIENCE } else { Duration::ZERO };
        let made = self.make(&making, new, patience, |dir, backing| {
            let flags = flags & !KERNELS_OWN | self.waiting() | libc::O_EXCL;
            let create = || dir.create(backing, flags, new.mode);
            let opened = self.inodes.with_descriptors(create)?;
            let looked = self.look_at_made(&opened)?;
            Ok((opened, looked))
        });
        let ((opened, looked), made) = match made {
            Err(FsError::Io(error)) if is_taken(&error) && !is_exclusive => {
                let name = KernelName {
                    directory: new.parent,
                    name: new.name.into(),
                };
                self.retries.note(caller, Call::Open, Some(name));
                return Err(FsError::Stale);
            }
            made => made?,
        };
        let entry = self.enter(looked, &making.directory, made.entry)?;
        let opened = self.opened_made(caller, (opened, taken), &entry, flags)?;
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
        let directory = self.open_to_change(new.caller, Call::Open, new.parent)?;
        self.become_caller(new.caller, new.umask)?;
        let _fsetid = credentials::raise_fsetid_for(new.mode)?;
        let dir = directory.dir();
        let create = || dir.tmpfile(flags & !KERNELS_OWN, new.mode);
        let opened = self.inodes.with_descriptors(create)?;
        let looked = self.look_at_made(&opened)?;
        let entry = self.inodes.enter(looked, None)?.ok_or(FsError::Stale)?;
        let opened = self.opened_made(new.caller, (opened, taken), &entry, flags)?;
        Ok((entry, opened))
    }

    /// Gives a handle to a file that was made. Where that fails, the kernel is not told of the entry and sends no FORGET: its lookup
    /// is taken back.
    fn opened_made(
        &self,
        caller: Caller,
        file: (OwnedFd, Taken),
        entry: &Entry,
        flags: i32,
    ) -> io::Result<Opened> {
        let opened = self.opened(caller, file, None, &entry.inode, &entry.stat, flags);
        if opened.is_err() {
            self.inodes.forget(entry.inode.number, 1);
        }
        opened
    }

    /// Begins an operation that makes an entry.
    pub(super) fn making<'a>(
        &self,
        operation: Operation,
        new: &NewEntry<'a>,
    ) -> Result<Making<'a>, FsError> {
        let call = if operation == Operation::Create {
            Call::Open
        } else {
            Call::Names
        };
        Ok(Making {
            operation,
            caller: new.caller,
            rules: self.rules(),
            directory: self.open_to_change(new.caller, call, new.parent)?,
            name: new.name,
        })
    }

    /// Makes an entry: finds its backing name, acts as the caller, makes it, and reports it if it offends. Waits for no longer than
    /// `patience` until its name is free.
    fn make<T>(
        &self,
        making: &Making<'_>,
        asked: &NewEntry<'_>,
        patience: Duration,
        make: impl Fn(&Dir<&OwnedFd>, &BackingName) -> io::Result<T>,
    ) -> Result<(T, NewName), FsError> {
        let at = &making.directory;
        let mut new = self.absent_name(making)?;
        self.become_caller(asked.caller, asked.umask)?;
        // The kernel has taken set-group-id away from what the caller must not make with it.
        let _fsetid = credentials::raise_fsetid_for(asked.mode)?;
        let made = until_free(patience, || self.make_once(making, &mut new, &make))?;
        self.report(making, &new);
        self.settle(&at.fd, Waits::Names)?;
        Ok((made, new))
    }

    /// Makes an entry by the name that was found for it, if that is free and like no sibling.
    fn make_once<T>(
        &self,
        making: &Making<'_>,
        new: &mut NewName,
        make: impl Fn(&Dir<&OwnedFd>, &BackingName) -> io::Result<T>,
    ) -> Result<T, FsError> {
        let at = &making.directory;
        let mut directory = self.directory(at)?;
        new.clash = None;
        self.check_unique(making, &mut directory, new, None)?;
        directory.before_change()?;
        // Kept across the change where siblings are compared, so that no name like the new one comes in between.
        let kept = Some(directory).filter(|_| self.settings.unique.is_some());
        let made = make(&at.dir(), &new.entry.backing)?;
        let mut directory = kept.map_or_else(|| self.directory(at), Ok)?;
        directory.changed(None, Some(&new.entry.backing));
        Ok(made)
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
        let (child, made) = self.make(making, asked, Duration::ZERO, |dir, backing| {
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
        let source = self.open_to_change(new.caller, Call::Names, number)?.fd;
        let kind = Stat::of(&*source)?.kind();
        let link = |dir: &Dir<&OwnedFd>, backing: &_| dir.link(&*source, backing);
        self.make_node(&making, new, kind, link)
    }
}

fn is_taken(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EEXIST)
}

/// Makes an entry until its name is free, but not for longer than `patience`. Nothing is locked meanwhile.
fn until_free<T>(
    patience: Duration,
    mut make: impl FnMut() -> Result<T, FsError>,
) -> Result<T, FsError> {
    let start = Instant::now();
    let (mut pause, longest) = PAUSES;
    loop {
        let made = make();
        let is_free = !matches!(&made, Err(FsError::Io(error)) if is_taken(error));
        if is_free || start.elapsed() >= patience {
            return made;
        }
        std::thread::sleep(pause);
        pause = longest.min(pause * 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::ROOT;
    use crate::fs::samples::{CALLER, config, map};
    use crate::names::Legacy;

    /// The kernel is not told of it, and never forgets it.
    #[test]
    fn f4_an_entry_that_was_made_and_cannot_be_opened_leaves_no_lookup() {
        let below = tempfile::tempdir().unwrap();
        std::fs::write(below.path().join("file"), "").unwrap();
        let root = Dir::open_root(below.path()).unwrap().into_fd();
        let fs = Utf8Fs::new(config(root, map(Legacy::Escape, &[]))).unwrap();
        let entry = fs.lookup(CALLER, ROOT, b"file").unwrap();
        let number = entry.inode.number;
        let open = |flags| {
            let file = fs.inodes.fd(&entry.inode).unwrap().try_clone().unwrap();
            let taken = fs
                .inodes
                .descriptors
                .pool
                .take(CALLER.uid, Use::File)
                .unwrap();
            fs.opened_made(CALLER, (file, taken), &entry, flags)
        };
        let opened = open(libc::O_RDONLY).unwrap();
        assert!(fs.inodes.get(number).is_ok());
        // Flags of such a descriptor cannot be changed.
        let refused = open(libc::O_DIRECT).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EBADF));
        assert!(fs.inodes.get(number).is_err(), "it is known for ever");
        fs.release(opened.handle);
    }
}

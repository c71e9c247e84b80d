//! Operations that make an entry: create, mknod, mkdir, symlink, link.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::audit::Operation;
use super::descriptors::{Taken, Use};
use super::inode::lock;
use super::inodes::{Entered, Unproven};
use super::io::{KERNELS_OWN, Opened};
use super::look::Sight;
use super::namespace::{Here, MOST_ATTEMPTS};
use super::resolve::{Making, NewName, if_there};
use super::{Caller, Entry, FsError, Utf8Fs};
use crate::backing::{Dir, Kind, Stat};
use crate::names::BackingName;
use crate::os::{become_caller, credentials};

/// How long it is waited, in all, for a name that others make and remove to be free. On a disk that is busy, a name that is made and
/// removed at once can be there for a good part of that.
const PATIENCE: Duration = Duration::from_secs(2);

/// The first pause in that time, and the longest; each is twice as long as the one before.
const PAUSES: (Duration, Duration) = (Duration::from_micros(250), Duration::from_millis(8));

/// Most who are waited for to come back.
const MOST_SENT: usize = 64;

/// The kernel asks again at once. Who comes later than this has not come back, but comes anew.
const AT_ONCE: Duration = Duration::from_secs(5);

/// Who was told that a name is taken, or that a file is gone. The kernel looks the name up anew then, and asks once more
/// (`do_filp_open` in `fs/namei.c`); if that fails too, the program does.
#[derive(Debug, Default)]
pub(super) struct SentBack {
    callers: Mutex<VecDeque<(Caller, Instant)>>,
    is_any: AtomicBool,
}

impl SentBack {
    pub(super) fn note(&self, caller: Caller) {
        let mut callers = lock(&self.callers);
        callers.truncate(MOST_SENT - 1);
        callers.push_front((caller, Instant::now()));
        self.is_any.store(true, Ordering::Release);
    }

    /// Was `caller` sent back?
    pub(super) fn has(&self, caller: Caller) -> bool {
        self.is_any.load(Ordering::Acquire)
            && lock(&self.callers)
                .iter()
                .any(|(sent, when)| *sent == caller && when.elapsed() < AT_ONCE)
    }

    /// What `caller` asked for is done.
    pub(super) fn end(&self, caller: Caller) {
        if self.is_any.load(Ordering::Acquire) {
            let mut callers = lock(&self.callers);
            callers.retain(|(sent, when)| *sent != caller && when.elapsed() < AT_ONCE);
            self.is_any.store(!callers.is_empty(), Ordering::Release);
        }
    }
}

impl Utf8Fs {
    /// Makes a file and opens it with `flags` (open(2)). Where the entry is there already, the answer is `EEXIST` with
    /// `O_EXCL` and `ESTALE` without: then the kernel looks it up and checks the caller's rights to it, which this
    /// process must not skip.
    ///
    /// # Errors
    /// The name is refused, or the system's error.
    pub fn create(
        &self,
        caller: Caller,
        parent: u64,
        name: &[u8],
        mode: u32,
        umask: u32,
        flags: i32,
    ) -> Result<(Entry, Opened), FsError> {
        let rules = self.rules();
        let making = Making::new(Operation::Create, caller, &rules);
        let is_exclusive = flags & libc::O_EXCL != 0;
        let is_back = !is_exclusive && self.sent_back.has(caller);
        let taken = self.inodes.take_descriptors(caller, Use::File)?;
        let made = self.make(making, parent, name, (mode, umask), |dir, backing| {
            let flags = flags & !KERNELS_OWN | self.waiting() | libc::O_EXCL;
            let create = || dir.create(backing, flags, mode);
            let opened = match is_back {
                true => until_free(|| self.inodes.with_descriptors(create)),
                false => self.inodes.with_descriptors(create),
            };
            let opened = opened?;
            let looked = self.look_at_made(&opened)?;
            Ok((opened, looked))
        });
        let ((opened, looked), (directory, fd), place) = match made {
            Err(FsError::Io(error))
                if error.raw_os_error() == Some(libc::EEXIST) && !is_exclusive =>
            {
                self.sent_back.note(caller);
                return Err(FsError::Stale);
            }
            made => made?,
        };
        let here = (&*directory, &*fd);
        let entry = self.enter(
            Sight::Whole(looked),
            here,
            place.backing,
            place.visible,
            place.alias,
        )?;
        let opened = self.open_made(caller, &entry, (opened, taken), flags)?;
        self.sent_back.end(caller);
        Ok((entry, opened))
    }

    /// Makes a file without a name in a directory, and opens it with `flags` (open(2)).
    ///
    /// # Errors
    /// `ENOSYS`: files of this mount are reached by name alone. Else the system's error.
    pub fn create_unnamed(
        &self,
        caller: Caller,
        directory: u64,
        mode: u32,
        umask: u32,
        flags: i32,
    ) -> Result<(Entry, Opened), FsError> {
        if !self.inodes.uses_handles() {
            return Err(Errno::NOSYS.into());
        }
        let taken = self.inodes.take_descriptors(caller, Use::File)?;
        let (_, fd) = self.open_to_change(directory)?;
        self.become_caller(caller, umask)?;
        let _fsetid = credentials::raise_fsetid_for(mode)?;
        let create = || Dir::new(&*fd).create_unnamed(flags & !KERNELS_OWN, mode);
        let opened = self.inodes.with_descriptors(create)?;
        let looked = self.look_at_made(&opened)?;
        let entered = self.inodes.enter(looked, None)?;
        let Entered { inode, stat, .. } = entered.map_err(|Unproven| FsError::Stale)?;
        let entry = Entry {
            number: inode.number,
            inode,
            stat,
            is_only_name: false,
            is_mapped_link: false,
            left: None,
        };
        let opened = self.open_made(caller, &entry, (opened, taken), flags)?;
        Ok((entry, opened))
    }

    /// Gives a handle to a file that was just made.
    fn open_made(
        &self,
        caller: Caller,
        entry: &Entry,
        (opened, taken): (OwnedFd, Taken),
        flags: i32,
    ) -> io::Result<Opened> {
        let opened = Arc::new(opened);
        let file = Arc::clone(&opened);
        let inode = Arc::clone(&entry.inode);
        self.opened(caller, (opened, taken), file, inode, entry.stat, flags)
    }

    /// Makes an entry: finds its place, acts as the caller, makes it, and reports it if it offends.
    pub(super) fn make<T>(
        &self,
        making: Making,
        parent: u64,
        name: &[u8],
        (mode, umask): (u32, u32),
        make: impl FnOnce(&Dir<&OwnedFd>, &BackingName) -> io::Result<T>,
    ) -> Result<(T, Here, NewName), FsError> {
        let (inode, fd) = self.open_to_change(parent)?;
        let place = self.place_absent(making, &inode, &fd, name)?;
        self.become_caller(making.caller, umask)?;
        let mut directory = self.directory(&inode, &fd)?;
        let clash = match self.indexed.unique {
            Some(_) => self.check_unique(making, &mut directory, &inode, name, &place, None)?,
            None => None,
        };
        directory.before_change()?;
        let kept = directory.kept();
        // The kernel has taken set-group-id away from what the caller must not make with it.
        let _fsetid = credentials::raise_fsetid_for(mode)?;
        let made = make(&Dir::new(&*fd), &place.backing)?;
        let mut directory = kept.map_or_else(|| self.directory(&inode, &fd), Ok)?;
        directory.changed(None, Some(&place.backing));
        drop(directory);
        self.report(making, &inode, &fd, name, &place);
        self.report_clash(making, &inode, name, &place, clash.as_ref());
        self.settle_names(&fd)?;
        Ok((made, (inode, fd), place))
    }

    /// Makes an entry of this `kind` that nobody opens, and looks it up. Where somebody below removed it at once, or put something of
    /// another kind in its place, it is made anew, as if this call came after theirs: the kernel would fail with `EIO` for another
    /// kind (`create_new_entry` in `fs/fuse/dir.c`).
    ///
    /// # Errors
    /// Those of making it; [`FsError::Stale`] where somebody removes it each time.
    pub(super) fn make_node(
        &self,
        making: Making,
        parent: u64,
        name: &[u8],
        (mode, umask): (u32, u32),
        kind: Kind,
        make: impl Fn(&Dir<&OwnedFd>, &BackingName) -> io::Result<()>,
    ) -> Result<Entry, FsError> {
        let modes = (mode, umask);
        for _ in 0..MOST_ATTEMPTS {
            let (child, (directory, fd), place) =
                self.make(making, parent, name, modes, |dir, backing| {
                    make(dir, backing)?;
                    if_there(self.look_by_fd(dir, backing))
                })?;
            if let Some(child) = child.filter(|child| child.stat.kind() == kind) {
                let here = (&*directory, &*fd);
                let sight = Sight::Whole(child);
                let entry = self.enter(sight, here, place.backing, place.visible, place.alias)?;
                return Ok(self.fitted(entry));
            }
        }
        Err(FsError::Stale)
    }

    pub(super) fn become_caller(&self, caller: Caller, umask: u32) -> io::Result<()> {
        become_caller(self.privilege, caller.uid, caller.gid, umask)
    }

    /// Makes a file, device, FIFO or socket.
    ///
    /// # Errors
    /// The name is refused, or the system's error.
    pub fn mknod(
        &self,
        caller: Caller,
        parent: u64,
        name: &[u8],
        mode: u32,
        umask: u32,
        rdev: u64,
    ) -> Result<Entry, FsError> {
        let rules = self.rules();
        let making = Making::new(Operation::Mknod, caller, &rules);
        let kind = match mode & libc::S_IFMT {
            0 => Kind::File,
            _ => Kind::from_mode(mode),
        };
        self.make_node(making, parent, name, (mode, umask), kind, |dir, backing| {
            dir.mknod(backing, mode, rdev)
        })
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// The name is refused, or the system's error.
    pub fn mkdir(
        &self,
        caller: Caller,
        parent: u64,
        name: &[u8],
        mode: u32,
        umask: u32,
    ) -> Result<Entry, FsError> {
        let rules = self.rules();
        let making = Making::new(Operation::Mkdir, caller, &rules);
        let modes = (mode, umask);
        self.make_node(making, parent, name, modes, Kind::Dir, |dir, backing| {
            dir.mkdir(backing, mode)
        })
    }

    /// Makes a symlink that leads below to the file that `target` leads to through the mount.
    ///
    /// # Errors
    /// The name, or one in the target, is refused; or the system's error.
    pub fn symlink(
        &self,
        caller: Caller,
        parent: u64,
        name: &[u8],
        target: &[u8],
    ) -> Result<Entry, FsError> {
        let rules = self.rules();
        let making = Making::new(Operation::Symlink, caller, &rules);
        let directory = self.inodes.get(parent)?;
        let stored = self.stored_target(making, &directory, name, target)?;
        let symlink = |dir: &Dir<&OwnedFd>, backing: &_| dir.symlink(backing, &stored.text);
        let entry = self.make_node(making, parent, name, (0, 0), Kind::Symlink, symlink)?;
        self.report_target(making, &directory, name, &stored);
        Ok(entry)
    }

    /// Makes another name for a file.
    ///
    /// # Errors
    /// The name is refused, or the system's error.
    pub fn link(
        &self,
        caller: Caller,
        number: u64,
        parent: u64,
        name: &[u8],
    ) -> Result<Entry, FsError> {
        let rules = self.rules();
        let making = Making::new(Operation::Link, caller, &rules);
        let (_, source) = self.open_inode(number)?;
        let kind = Stat::of(&*source)?.kind();
        self.make_node(making, parent, name, (0, 0), kind, |dir, backing| {
            dir.link(&*source, backing)
        })
    }
}

/// Has a file made until its name is free, but not for ever.
fn until_free<T>(create: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let start = Instant::now();
    let (mut pause, longest) = PAUSES;
    loop {
        match create() {
            Err(error)
                if error.raw_os_error() == Some(libc::EEXIST) && start.elapsed() < PATIENCE =>
            {
                std::thread::sleep(pause);
                pause = longest.min(pause * 2);
            }
            made => return made,
        }
    }
}

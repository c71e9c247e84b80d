//! Operations on names that are there: lookup, unlink, rmdir, rename.

use std::io;
use std::os::fd::OwnedFd;
use std::thread;

use rustix::io::Errno;

use super::audit::Operation;
use super::inode::{Inode, OpenInode, Place};
use super::inodes::{By, Looked, PAUSE};
use super::name_check::RELEASE_PAUSES;
use super::resolve::{Making, Resolved};
use super::{Call, Caller, Entry, FsError, Utf8Fs, Waits};
use crate::backing::ticks::is_before_this_tick;
use crate::backing::{Dir, FileHandle, Stat, if_there, stat_filesystem};
use crate::names::BackingName;
use crate::os::credentials::{has_fowner, lower_fowner};
use crate::os::{Privilege, act_as};

/// Number of times that an entry is looked up again after others removed or replaced it.
const MOST_ATTEMPTS: usize = 64;

impl Utf8Fs {
    /// Looks a name up and counts the lookup.
    ///
    /// # Errors
    /// `ENOENT` where nothing is visible under it. [`FsError::Refused`] where it is too long for any entry; the
    /// refusal is then in the audit log.
    pub fn lookup(&self, caller: Caller, parent: u64, name: &[u8]) -> Result<Entry, FsError> {
        for _ in 0..MOST_ATTEMPTS {
            let found = self.look_up(caller, parent, name);
            self.retries.looked_up(caller, (parent, name));
            let entry = found?;
            // Whoever was sent back is to open what is found now, also if somebody removes it before that.
            let is_to_be_held = entry.stat.is_file() && self.retries.has(caller);
            if !is_to_be_held || self.inodes.fd(&entry.inode).is_ok() {
                return Ok(entry);
            }
            self.inodes.forget(entry.inode.number, 1);
        }
        Err(FsError::Stale)
    }

    fn look_up(&self, caller: Caller, parent: u64, name: &[u8]) -> Result<Entry, FsError> {
        let directory = self.open_directory(parent)?;
        for _ in 0..MOST_ATTEMPTS {
            let found = self.resolve(&directory, name, |found| {
                let sight = self.look_by_name(&directory.dir(), &found.backing);
                let Some(sight) = if_there(sight)? else {
                    return Ok(None);
                };
                match self.enter(sight, &directory, found) {
                    // Somebody gave it another of these names since it was looked at, as a migration does (law T7).
                    Err(error) if error.errno() == libc::ENOENT => Ok(None),
                    entered => entered.map(Some),
                }
            });
            let entry = match found {
                // Its inode went away as it was looked at: the name leads to another, or nowhere.
                Err(error) if error.errno() == libc::ESTALE => continue,
                found => found?,
            };
            let Some(entry) = entry else {
                return Err(self.absent(&Making {
                    operation: Operation::Lookup,
                    caller,
                    rules: self.rules(),
                    directory,
                    name,
                }));
            };
            return Ok(entry);
        }
        Err(FsError::Stale)
    }

    /// Looks at the entry `name` of a directory, at the symlink itself if it is one. Most entries are known already, or never opened:
    /// its attributes are all that is asked for.
    ///
    /// # Errors
    /// Those of statx(2), and as for [`look_by_fd`](Self::look_by_fd).
    pub(super) fn look_by_name(
        &self,
        dir: &Dir<&OwnedFd>,
        name: &BackingName,
    ) -> io::Result<Looked> {
        // What could lead back into this filesystem must not be asked before it is known not to.
        if self.own_device.get().is_some() {
            return self.look_by_fd(dir, name);
        }
        let (stat, by) = (dir.stat_child(name)?, By::Name);
        Ok(Looked { stat, by })
    }

    /// Looks at the entry `name` of a directory, at the symlink itself if it is one, by a descriptor of it.
    ///
    /// # Errors
    /// Those of openat(2) and statx(2); `ENOENT` too for what leads back into this filesystem.
    pub(super) fn look_by_fd(&self, dir: &Dir<&OwnedFd>, name: &BackingName) -> io::Result<Looked> {
        let fd = self.inodes.with_descriptors(|| dir.child(name))?;
        if self.is_own(&fd)? {
            return Err(io::Error::from_raw_os_error(libc::ENOENT));
        }
        let stat = Stat::of(&fd)?;
        let by = By::Fd(fd);
        Ok(Looked { stat, by })
    }

    /// Looks at the file open as `opened`, which was just made.
    ///
    /// # Errors
    /// Those of statx(2) and `name_to_handle_at(2)`.
    pub(super) fn look_at_made(&self, opened: &OwnedFd) -> io::Result<Looked> {
        let stat = Stat::of(opened)?;
        let by = By::Open(self.inodes.identity(opened, &stat)?);
        Ok(Looked { stat, by })
    }

    /// Enters the file that was just looked at under this name into the table; looks closer as long as that does not tell which
    /// inode it is.
    pub(super) fn enter(
        &self,
        looked: Looked,
        directory: &OpenInode,
        name: Resolved,
    ) -> Result<Entry, FsError> {
        let is_listed = self.is_listed_name(&name);
        let place = Place::new(directory.inode.number, name.backing, name.visible);
        let (dir, stat) = (directory.dir(), looked.stat);
        let is_by_name = matches!(looked.by, By::Name);
        let mut entered = self.inodes.enter(looked, Some(&place))?;
        // What was just changed may be replaced again and again, so that it has another handle each time.
        if entered.is_none()
            && is_by_name
            && is_before_this_tick(stat.ctime)
            && self.inodes.opens_by_handle(&stat)
            && let Some(handle) = FileHandle::of_child(&dir, &place.backing)?
        {
            let by = By::Handle(handle);
            entered = self.inodes.enter(Looked { stat, by }, Some(&place))?;
        }
        if entered.is_none() {
            let held = self.look_by_fd(&dir, &place.backing)?;
            entered = self.inodes.enter(held, Some(&place))?;
        }
        let mut entry = entered.ok_or(FsError::Stale)?;
        entry.is_listed = is_listed;
        Ok(entry)
    }

    /// Removes a name of a file.
    ///
    /// # Errors
    /// The system's error.
    pub fn unlink(&self, caller: Caller, parent: u64, name: &[u8]) -> Result<(), FsError> {
        self.remove(caller, parent, name, |dir, backing| dir.unlink(backing))
    }

    /// Notes that a visible name does not lead to an inode any more, since it was removed or replaced through the mount, or was seen to lead
    /// elsewhere. The space of a file that has no name left, and that nobody has open, is free then.
    pub fn lost_name(&self, number: u64, (directory, name): (u64, &[u8])) {
        if let Ok(inode) = self.inodes.get(number)
            && !inode.is_directory()
        {
            inode.lose_place(directory, name);
            self.await_release(&inode);
            self.free_space_of(&inode);
        }
    }

    /// Waits a moment for the release of a file that has no name, if its space is needed: the kernel does not wait for it when a program
    /// closes a file.
    fn await_release(&self, inode: &Inode) {
        let Some(file) = inode.open_file().filter(|_| inode.place().is_none()) else {
            return;
        };
        let is_needed = match (Stat::of(&*file), stat_filesystem(&*file)) {
            (Ok(stat), Ok(filesystem)) => {
                let free = filesystem.f_bavail.saturating_mul(filesystem.f_frsize);
                stat.nlink == 0 && stat.blocks.saturating_mul(512) > free
            }
            _ => false,
        };
        drop(file);
        let mut pauses = 0..RELEASE_PAUSES;
        while is_needed && inode.open_file().is_some() && pauses.next().is_some() {
            thread::sleep(PAUSE);
        }
        if is_needed {
            // The kernel's own hold on the file ends after ours.
            thread::sleep(PAUSE);
        }
    }

    /// Closes the descriptor of a file that has no name, so that its space is free once nobody has it open; unless somebody was sent back to
    /// open it.
    pub(super) fn free_space_of(&self, inode: &Inode) {
        if inode.place().is_none() && !self.retries.expects(self.inodes.told_at(inode)) {
            drop(inode.give_up_descriptor());
        }
    }

    /// Removes a directory.
    ///
    /// # Errors
    /// The system's error.
    pub fn rmdir(&self, caller: Caller, parent: u64, name: &[u8]) -> Result<(), FsError> {
        self.remove(caller, parent, name, |dir, backing| dir.rmdir(backing))
    }

    fn remove(
        &self,
        caller: Caller,
        parent: u64,
        name: &[u8],
        remove: impl Fn(&Dir<&OwnedFd>, &BackingName) -> io::Result<()>,
    ) -> Result<(), FsError> {
        let directory = self.open_to_change(caller, Call::Names, parent)?;
        self.directory(&directory)?.before_change()?;
        let remove = |found: Resolved| {
            let remove = || remove(&directory.dir(), &found.backing);
            let removed = if_there(self.judged_as(caller, &[&directory], remove))?;
            Ok(removed.map(|()| found.backing))
        };
        let removed = self.resolve(&directory, name, remove)?;
        let removed = removed.ok_or(Errno::NOENT)?;
        self.directory(&directory)?.changed(Some(&removed), None);
        Ok(self.settle(&directory.fd, Waits::Names)?)
    }

    /// Takes a name away by `act`, as `caller` and as the filesystem below lets it do that in a sticky directory: there the kernel judges
    /// by the owner of what it knew by the name, which others may have replaced.
    pub(super) fn judged_as<T>(
        &self,
        caller: Caller,
        directories: &[&OpenInode],
        act: impl Fn() -> io::Result<T>,
    ) -> io::Result<T> {
        act_as(self.settings.privilege, caller.uid, caller.gid)?;
        let is_free = |stat: Stat| stat.mode & libc::S_ISVTX == 0;
        let mut directories = directories.iter().map(|directory| Stat::of(&*directory.fd));
        if self.settings.privilege == Privilege::User
            || directories.all(|stat| stat.is_ok_and(is_free))
        {
            return act();
        }
        let lowered = lower_fowner()?;
        let done = act();
        drop(lowered);
        let is_refused = |error: &io::Error| error.raw_os_error() == Some(libc::EPERM);
        match done {
            Err(error) if is_refused(&error) && has_fowner(caller.pid, caller.uid) => act(),
            done => done,
        }
    }
}

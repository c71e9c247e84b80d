//! Operations on names: lookup, mknod, mkdir, symlink, link, unlink, rmdir, rename.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::audit::Operation;
use super::inode::{Inode, Place, Seen, lock};
use super::inodes::{Entered, Unproven};
use super::look::Sight;
use super::resolve::{Making, NewName, Resolved, if_there, is_absent};
use super::unique::At;
use super::{Caller, Entry, FsError, Utf8Fs};
use crate::backing::{Dir, Kind, Stat};
use crate::names::{BackingName, VisibleName};
use crate::os::{become_caller, credentials};

/// So often an entry is made anew that others removed or replaced at once.
const MOST_ATTEMPTS: usize = 64;

/// A directory, and its descriptor.
pub(super) type Here = (Arc<Inode>, Arc<OwnedFd>);

/// What a rename moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// The entry of the old name.
    Old,
    /// That of the new name, where the two are exchanged.
    New,
}

impl Utf8Fs {
    /// An inode and its descriptor.
    pub(super) fn open_inode(&self, number: u64) -> Result<(Arc<Inode>, Arc<OwnedFd>), FsError> {
        let inode = self.inodes.get(number)?;
        let fd = self.inodes.fd(&inode)?;
        Ok((inode, fd))
    }

    /// Looks a name up and counts the lookup.
    ///
    /// # Errors
    /// `ENOENT` where nothing is visible under it; where it is too long to be anything's, [`FsError::Refused`], and then
    /// the refusal is in the audit log.
    pub fn lookup(&self, caller: Caller, parent: u64, name: &[u8]) -> Result<Entry, FsError> {
        let rules = self.rules();
        let making = Making {
            operation: Operation::Lookup,
            caller,
            rules: &rules,
        };
        let (directory, fd) = self.open_directory(parent)?;
        let here = (&*directory, &*fd);
        for _ in 0..MOST_ATTEMPTS {
            let mut names = self.resolve(&directory, &fd, name)?;
            let entry = loop {
                let found = match names.next_name() {
                    Ok(found) => found,
                    Err(error) => return Err(self.too_long(making, &directory, name, error)),
                };
                let sight = self.look_by_name(&Dir::new(&*fd), &found.backing);
                let Some(sight) = if_there(sight)? else {
                    continue;
                };
                match self.enter(sight, here, found.backing, found.visible, found.alias) {
                    // Somebody gave it another of these names since it was looked at, as a migration does (law T7).
                    Err(error) if error.errno() == libc::ENOENT => {}
                    entered => break entered?,
                }
            };
            // Whoever was sent back is to open what is found now, also if somebody below removes it before that.
            let is_to_be_held = entry.stat.is_file() && self.sent_back.has(caller);
            if !is_to_be_held || self.inodes.fd(&entry.inode).is_ok() {
                return Ok(self.fitted(entry));
            }
            self.forget(entry.number, 1);
        }
        Err(FsError::Stale)
    }

    /// Enters what was just looked at under `backing` into the table.
    pub(super) fn enter(
        &self,
        sight: Sight,
        (directory, fd): (&Inode, &OwnedFd),
        backing: BackingName,
        visible: VisibleName,
        alias: bool,
    ) -> Result<Entry, FsError> {
        let is_only_name = self.is_only_name(&backing, &visible, alias);
        let place = Place::new(directory.number, backing, visible);
        let Entered {
            inode,
            stat,
            left,
            replaced,
        } = self.enter_at(sight, fd, &place)?;
        Ok(Entry {
            number: inode.number,
            inode,
            stat,
            is_only_name,
            is_mapped_link: false,
            left: left.map(Seen::from),
            replaced,
        })
    }

    fn enter_at(&self, sight: Sight, fd: &OwnedFd, place: &Place) -> Result<Entered, FsError> {
        let dir = Dir::new(fd);
        let looked = match sight {
            Sight::Attributes(stat) => match self.inodes.enter_known(&stat, place) {
                Some(entered) => return Ok(entered),
                None => self.identify(&dir, &place.backing, stat)?,
            },
            Sight::Whole(looked) => looked,
        };
        if let Ok(entered) = self.inodes.enter(looked, place)? {
            return Ok(entered);
        }
        let looked = self.look_by_fd(&dir, &place.backing)?;
        self.inodes
            .enter(looked, place)?
            .map_err(|Unproven| FsError::Stale)
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
        let clash = self.check_unique(making, &mut directory, &inode, name, &place, None)?;
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
        let making = Making {
            operation: Operation::Mknod,
            caller,
            rules: &rules,
        };
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
        let making = Making {
            operation: Operation::Mkdir,
            caller,
            rules: &rules,
        };
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
        let making = Making {
            operation: Operation::Symlink,
            caller,
            rules: &rules,
        };
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
        let making = Making {
            operation: Operation::Link,
            caller,
            rules: &rules,
        };
        let (_, source) = self.open_inode(number)?;
        let kind = Stat::of(&*source)?.kind();
        self.make_node(making, parent, name, (0, 0), kind, |dir, backing| {
            dir.link(&*source, backing)
        })
    }

    /// Removes a name of a file.
    ///
    /// # Errors
    /// The system's error.
    pub fn unlink(&self, parent: u64, name: &[u8]) -> Result<(), FsError> {
        self.remove(parent, name, |dir, backing| dir.unlink(backing))
    }

    /// Removes a directory.
    ///
    /// # Errors
    /// The system's error.
    pub fn rmdir(&self, parent: u64, name: &[u8]) -> Result<(), FsError> {
        self.remove(parent, name, |dir, backing| dir.rmdir(backing))
    }

    fn remove(
        &self,
        parent: u64,
        name: &[u8],
        remove: impl Fn(&Dir<&OwnedFd>, &BackingName) -> io::Result<()>,
    ) -> Result<(), FsError> {
        let (inode, fd) = self.open_to_change(parent)?;
        self.directory(&inode, &fd)?.before_change()?;
        let mut names = self.resolve(&inode, &fd, name)?;
        let removed = loop {
            let found = names.next_name()?;
            if if_there(remove(&Dir::new(&*fd), &found.backing))?.is_some() {
                break found.backing;
            }
        };
        self.directory(&inode, &fd)?.changed(Some(&removed), None);
        Ok(self.settle_names(&fd)?)
    }

    /// Renames, with the flags of renameat2(2). Before anything is changed, `may` is asked about an entry that is to get a name which
    /// stands for it as one of several spellings.
    ///
    /// # Errors
    /// The new name is refused, or the system's error, or that of `may`.
    pub fn rename(
        &self,
        caller: Caller,
        from: (u64, &[u8]),
        to: (u64, &[u8]),
        flags: u32,
        may: impl FnOnce(Moved) -> Result<(), FsError>,
    ) -> Result<(), FsError> {
        let (from_inode, from_fd) = self.open_to_change(from.0)?;
        let (to_inode, to_fd) = match from.0 == to.0 {
            true => (Arc::clone(&from_inode), Arc::clone(&from_fd)),
            false => self.open_to_change(to.0)?,
        };
        let rename = |new: &BackingName| {
            self.rename_entry((&from_inode, &from_fd, from.1), &to_fd, new, flags)
        };
        if flags & libc::RENAME_EXCHANGE != 0 {
            // Both names are there already: nothing new is made.
            let new = self.resolve_existing(&to_inode, &to_fd, to.1)?;
            let old = self.resolve_existing(&from_inode, &from_fd, from.1)?;
            if !self.is_only_name(&new.backing, &new.visible, new.alias) {
                may(Moved::Old)?;
            } else if !self.is_only_name(&old.backing, &old.visible, old.alias) {
                may(Moved::New)?;
            }
            let old = rename(&new.backing)?;
            self.moved(&to_inode, &to_fd, &new.backing, &new.visible);
            self.moved(&from_inode, &from_fd, &old.backing, &old.visible);
            self.settle_names(&to_fd)?;
            return Ok(self.settle_names(&from_fd)?);
        }
        let rules = self.rules();
        let making = Making {
            operation: Operation::Rename,
            caller,
            rules: &rules,
        };
        let mut place = if flags & libc::RENAME_NOREPLACE == 0 {
            self.place_new(making, &to_inode, &to_fd, to.1)?
        } else {
            self.place_absent(making, &to_inode, &to_fd, to.1)?
        };
        if !self.is_only_name(&place.backing, &place.visible, place.alias) {
            may(Moved::Old)?;
        }
        if flags & libc::RENAME_WHITEOUT != 0 {
            self.become_caller(caller, 0)?;
        }
        let replacing = place
            .is_there
            .then(|| {
                to_inode
                    .as_directory()
                    .map(|listed| lock(&listed.replacing))
            })
            .transpose()?;
        self.directory(&from_inode, &from_fd)?.before_change()?;
        let (old, mut directory, clash) = if place.terms.unique.is_some() {
            let from = At {
                inode: &from_inode,
                fd: &from_fd,
                name: from.1,
            };
            let to = At {
                inode: &to_inode,
                fd: &to_fd,
                name: to.1,
            };
            self.rename_uniquely(making, from, to, &place, flags)?
        } else {
            self.directory(&to_inode, &to_fd)?.before_change()?;
            let old = rename(&place.backing)?;
            (old, self.directory(&to_inode, &to_fd)?, None)
        };
        let is_same = from.0 == to.0;
        // A whiteout is left under the old name, so that only a new name comes.
        let leaves_whiteout = flags & libc::RENAME_WHITEOUT != 0;
        let gone = (!leaves_whiteout).then_some(&old.backing);
        if !is_same || old.backing != place.backing {
            directory.changed(gone.filter(|_| is_same), Some(&place.backing));
        }
        // No two directories are locked at once.
        drop(directory);
        if !is_same {
            self.directory(&from_inode, &from_fd)?.changed(gone, None);
        }
        if place.is_there {
            self.overtake(&to_inode, &to_fd, &mut place)?;
        }
        drop(replacing);
        self.moved(&to_inode, &to_fd, &place.backing, &place.visible);
        self.report(making, &to_inode, &to_fd, to.1, &place);
        self.report_clash(making, &to_inode, to.1, &place, clash.as_ref());
        self.settle_names(&to_fd)?;
        if !is_same {
            self.settle_names(&from_fd)?;
        }
        Ok(())
    }

    /// Renames the entry that the name `from` means to `new` in `to`, and returns the backing name that it had.
    fn rename_entry(
        &self,
        (inode, fd, name): (&Arc<Inode>, &OwnedFd, &[u8]),
        to: &OwnedFd,
        new: &BackingName,
        flags: u32,
    ) -> Result<Resolved, FsError> {
        let (dir, to) = (Dir::new(fd), Dir::new(to));
        let mut names = self.resolve(inode, fd, name)?;
        loop {
            let old = names.next_name()?;
            let rename = || dir.rename(&old.backing, &to, new, flags);
            match rename() {
                Err(error) if is_absent(&error) && !dir.exists(&old.backing)? => continue,
                // The error is about the new name; or the old one came since, and is renamed now (law T7).
                Err(error) if is_absent(&error) => rename()?,
                renamed => renamed?,
            }
            return Ok(old);
        }
    }

    /// Notes where an entry is now, if the kernel knows it. Only paths in the log and users without file handles need
    /// it, so that an entry that moved on meanwhile does no harm.
    fn moved(&self, directory: &Inode, fd: &OwnedFd, backing: &BackingName, visible: &VisibleName) {
        let inode = Dir::new(fd)
            .stat_child(backing)
            .ok()
            .and_then(|stat| self.inodes.known(&stat));
        if let Some(inode) = inode {
            let place = Place::new(directory.number, backing.clone(), visible.clone());
            inode.set_place(&place);
        }
    }
}

//! Operations on names that are there: lookup, unlink, rmdir, rename.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::audit::Operation;
use super::inode::{Inode, Place, Seen, lock};
use super::inodes::{Entered, Unproven};
use super::look::Sight;
use super::resolve::{Making, Resolved, if_there, is_absent};
use super::unique::At;
use super::{Caller, Entry, FsError, Utf8Fs};
use crate::backing::Dir;
use crate::names::{BackingName, VisibleName};

/// So often an entry is looked up or made anew that others removed or replaced at once.
pub(super) const MOST_ATTEMPTS: usize = 64;

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
    /// Looks a name up and counts the lookup.
    ///
    /// # Errors
    /// `ENOENT` where nothing is visible under it; where it is too long to be anything's, [`FsError::Refused`], and then
    /// the refusal is in the audit log.
    pub fn lookup(&self, caller: Caller, parent: u64, name: &[u8]) -> Result<Entry, FsError> {
        let rules = self.rules();
        let making = Making::new(Operation::Lookup, caller, &rules);
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
                    entered => break entered,
                }
            };
            let entry = match entry {
                // Its inode went away as it was looked at: the name leads to another, or nowhere.
                Err(error) if error.errno() == libc::ESTALE => continue,
                entered => entered?,
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
        let Entered { inode, stat, left } = self.enter_at(sight, fd, &place)?;
        Ok(Entry {
            number: inode.number,
            inode,
            stat,
            is_only_name,
            is_mapped_link: false,
            left: left.map(Seen::from),
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
        if let Ok(entered) = self.inodes.enter(looked, Some(place))? {
            return Ok(entered);
        }
        let looked = self.look_by_fd(&dir, &place.backing)?;
        self.inodes
            .enter(looked, Some(place))?
            .map_err(|Unproven| FsError::Stale)
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
        let making = Making::new(Operation::Rename, caller, &rules);
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

    /// Notes where an entry is now, if it is known. Only paths in the log and users without file handles need
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

//! Renaming in two steps: what a rename would do, which changes nothing, and doing it. In between it can be decided whether the kernel is
//! to ask again.

use std::sync::Arc;

use rustix::io::Errno;

use super::audit::Operation;
use super::directory::Directory;
use super::inode::{Inode, OpenInode, Place};
use super::resolve::{Making, NewName, Resolved};
use super::{Call, Caller, FsError, Utf8Fs, Waits};
use crate::backing::is_absent;
use crate::names::BackingName;

/// A rename whose names are found and allowed. Nothing is changed yet.
#[derive(Debug)]
pub struct RenamePlan<'a> {
    caller: Caller,
    /// The flags of renameat2(2).
    flags: u32,
    source: OpenInode,
    /// The old name as asked, and the number of its directory.
    old: (u64, &'a [u8]),
    goal: Goal<'a>,
    /// Is each name that an entry gets the one that it is listed under then? Else the kernel must not keep it.
    pub gives_listed_names: bool,
}

/// What is to become of the entries.
#[derive(Debug)]
enum Goal<'a> {
    /// The entry gets a name, that of another entry if there is one.
    Move { making: Making<'a>, new: NewName },
    /// Two entries get the name of each other.
    Exchange {
        target: OpenInode,
        /// The number of the directory of the second name, and the name as asked.
        name: (u64, &'a [u8]),
        new: Resolved,
    },
}

/// The numbers of the inodes that have the names after a rename, as far as they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renamed {
    /// Of the inode that has the new name.
    pub new: Option<u64>,
    /// Of the inode that has the old name, after an exchange.
    pub old: Option<u64>,
}

impl Utf8Fs {
    /// Finds what a rename with the flags of renameat2(2) would do.
    ///
    /// # Errors
    /// [`FsError::Stale`]: a directory is not where the kernel takes it to be. The new name is refused. `ENOENT`: there is nothing to be
    /// exchanged. The system's error.
    pub fn plan_rename<'a>(
        &self,
        caller: Caller,
        old: (u64, &'a [u8]),
        new: (u64, &'a [u8]),
        flags: u32,
    ) -> Result<RenamePlan<'a>, FsError> {
        let source = self.open_to_change(caller, Call::Names, old.0)?;
        let target = match old.0 == new.0 {
            true => source.clone(),
            false => self.open_to_change(caller, Call::Names, new.0)?,
        };
        let (goal, gives_listed_names) = match flags & libc::RENAME_EXCHANGE != 0 {
            true => self.plan_exchange((&source, old.1), target, new)?,
            false => self.plan_move(caller, target, new.1, flags)?,
        };
        Ok(RenamePlan {
            caller,
            flags,
            source,
            old,
            goal,
            gives_listed_names,
        })
    }

    /// Both names are there already: nothing new is made.
    fn plan_exchange<'a>(
        &self,
        (source, old): (&OpenInode, &[u8]),
        target: OpenInode,
        name: (u64, &'a [u8]),
    ) -> Result<(Goal<'a>, bool), FsError> {
        let new = self.existing(&target, name.1)?.ok_or(Errno::NOENT)?;
        let old = self.existing(source, old)?.ok_or(Errno::NOENT)?;
        let are_listed = self.is_listed_name(&new) && self.is_listed_name(&old);
        Ok((Goal::Exchange { target, name, new }, are_listed))
    }

    fn plan_move<'a>(
        &self,
        caller: Caller,
        target: OpenInode,
        name: &'a [u8],
        flags: u32,
    ) -> Result<(Goal<'a>, bool), FsError> {
        let making = Making {
            operation: Operation::Rename,
            caller,
            rules: self.rules(),
            directory: target,
            name,
        };
        let new = match flags & libc::RENAME_NOREPLACE {
            0 => self.new_name(&making)?,
            _ => self.absent_name(&making)?,
        };
        let is_listed = self.is_listed_name(&new.entry);
        Ok((Goal::Move { making, new }, is_listed))
    }

    /// Renames as planned.
    ///
    /// # Errors
    /// `EEXIST`: the new name is like that of a sibling, where names are compared. The system's error.
    pub fn rename(&self, plan: RenamePlan<'_>) -> Result<Renamed, FsError> {
        let RenamePlan {
            caller,
            flags,
            source,
            old,
            goal,
            ..
        } = plan;
        match goal {
            Goal::Exchange { target, name, new } => {
                self.exchange(caller, (&source, old), (&target, name, &new), flags)
            }
            Goal::Move { making, new } => self.move_entry(&making, new, (&source, old), flags),
        }
    }

    fn exchange(
        &self,
        caller: Caller,
        (source, old_name): (&OpenInode, (u64, &[u8])),
        (target, new_name, new): (&OpenInode, (u64, &[u8]), &Resolved),
        flags: u32,
    ) -> Result<Renamed, FsError> {
        let _renaming = self.inodes.begin_rename();
        let old = self.rename_entry(caller, (source, old_name.1), (target, &new.backing), flags)?;
        let renamed = Renamed {
            new: self.moved(old_name, target, new),
            old: self.moved(new_name, source, &old),
        };
        self.settle(&target.fd, Waits::Names)?;
        self.settle(&source.fd, Waits::Names)?;
        Ok(renamed)
    }

    fn move_entry(
        &self,
        making: &Making<'_>,
        mut new: NewName,
        (source, old_name): (&OpenInode, (u64, &[u8])),
        flags: u32,
    ) -> Result<Renamed, FsError> {
        let target = &making.directory;
        let is_same = source.inode.number == target.inode.number;
        let leaves_whiteout = flags & libc::RENAME_WHITEOUT != 0;
        if leaves_whiteout {
            self.become_caller(making.caller, 0)?;
        }
        let replacing = &target.inode.as_directory()?.replacing;
        let replacing = new.is_there.then(|| replacing.lock());
        self.directory(source)?.before_change()?;
        let _renaming = self.inodes.begin_rename();
        let (old, mut directory) = if new.terms.unique.is_some() {
            self.rename_uniquely(making, source, old_name.1, &mut new, flags)?
        } else {
            self.directory(target)?.before_change()?;
            let to = (target, &new.entry.backing);
            let old = self.rename_entry(making.caller, (source, old_name.1), to, flags)?;
            (old, self.directory(target)?)
        };
        // A whiteout is left under the old name, so that only a new name comes.
        let gone = (!leaves_whiteout).then_some(&old.backing);
        if !is_same || old.backing != new.entry.backing {
            directory.changed(gone.filter(|_| is_same), Some(&new.entry.backing));
        }
        // No two directories are locked at once.
        drop(directory);
        if !is_same {
            self.directory(source)?.changed(gone, None);
        }
        if new.is_there {
            self.overtake(making, &mut new.entry)?;
        }
        drop(replacing);
        let there = self.moved(old_name, target, &new.entry);
        self.report(making, &new);
        self.settle(&target.fd, Waits::Names)?;
        if !is_same {
            self.settle(&source.fd, Waits::Names)?;
        }
        Ok(Renamed {
            new: there,
            old: None,
        })
    }

    /// Renames the entry that `name` means in `from` to `new` in `to`, and returns the names that it had.
    fn rename_entry(
        &self,
        caller: Caller,
        (from, name): (&OpenInode, &[u8]),
        (to, new): (&OpenInode, &BackingName),
        flags: u32,
    ) -> Result<Resolved, FsError> {
        let dir = from.dir();
        let is_same = from.inode.number == to.inode.number;
        let directories = if is_same { &[from][..] } else { &[from, to] };
        let renamed = self.resolve(from, name, |old| {
            let rename = || dir.rename(&old.backing, &to.dir(), new, flags);
            let rename = || self.judged_as(caller, directories, rename);
            match rename() {
                Err(error) if is_absent(&error) && !dir.exists(&old.backing)? => return Ok(None),
                // The error is about the new name; or the old one came since, and is renamed now (law T7).
                Err(error) if is_absent(&error) => rename()?,
                renamed => renamed?,
            }
            Ok(Some(old))
        })?;
        Ok(renamed.ok_or(Errno::NOENT)?)
    }

    /// Renames the entry `old` in `from` to `new`, while no other name comes into that directory.
    ///
    /// The old name is resolved before the new one's directory is locked: no two directories are locked at once.
    fn rename_uniquely<'a>(
        &'a self,
        making: &'a Making<'_>,
        from: &OpenInode,
        old_name: &[u8],
        new: &mut NewName,
        flags: u32,
    ) -> Result<(Resolved, Directory<'a>), FsError> {
        let old = self.existing(from, old_name)?.ok_or(Errno::NOENT)?;
        let to = &making.directory;
        // A whiteout keeps the old name.
        let is_leaving = from.inode.number == to.inode.number && flags & libc::RENAME_WHITEOUT == 0;
        let leaving = is_leaving.then_some(&old.backing);
        let mut directory = self.directory(to)?;
        self.check_unique(making, &mut directory, new, leaving)?;
        directory.before_change()?;
        let (dir, new) = (from.dir(), &new.entry.backing);
        let rename = || dir.rename(&old.backing, &to.dir(), new, flags);
        self.judged_as(making.caller, &[from, to], rename)?;
        Ok((old, directory))
    }

    /// Takes the place of an entry once more if others gave it the conforming name `new.visible` just before it was
    /// replaced. Both would exist then, and the old one would still be visible (law N11). What the caller may not replace stays.
    pub(super) fn overtake(&self, making: &Making<'_>, new: &mut Resolved) -> Result<(), FsError> {
        let directory = &making.directory;
        let own = new.visible.as_backing();
        let is_stored_so = self.map.store_as.is_some() || own == new.backing;
        let dir = directory.dir();
        if is_stored_so || !self.map.policy.conforms(own.as_bytes()) || !dir.exists(&own)? {
            return Ok(());
        }
        let rename = || dir.rename(&new.backing, &dir, &own, 0);
        match self.judged_as(making.caller, &[directory], rename) {
            Ok(()) => self
                .directory(directory)?
                .changed(Some(&new.backing), Some(&own)),
            // Others gave the entry that name too.
            Err(error) if is_absent(&error) => {}
            Err(_) => return Ok(()),
        }
        new.backing = own;
        Ok(())
    }

    /// Notes that what had the visible name `old` has another now, as its dentry in the kernel has, and returns the number of what is there,
    /// if it is known.
    fn moved(&self, old: (u64, &[u8]), directory: &OpenInode, new: &Resolved) -> Option<u64> {
        let stat = directory.dir().stat_child(&new.backing).ok()?;
        let mut known = self.inodes.all_known(&stat);
        let first = known.next()?;
        // Earlier files of that number may not be forgotten yet.
        let is_there = |inode: &Arc<Inode>| self.is_now(inode, &directory.dir(), &new.backing);
        let inode = match known.next() {
            None => first,
            Some(second) => [first, second].into_iter().chain(known).find(is_there)?,
        };
        let (backing, visible) = (new.backing.clone(), new.visible.clone());
        let place = Place::new(directory.inode.number, backing, visible);
        inode.lose_place(old.0, old.1);
        if stat.has_several_names() {
            inode.add_place(&place);
        } else if let Some(left) = inode.set_place(&place).filter(|_| !stat.is_dir()) {
            // The kernel may have a file by the name from which others renamed it before.
            inode.keep_place(&left);
        }
        Some(inode.number)
    }
}

//! Changes of names through the mount: what the kernel has to be asked again for before it, and what it holds after it.
//!
//! A change that comes to nothing with `ESTALE` is repeated by the kernel once (`retry_estale` in `include/linux/namei.h`).

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use super::dentries::{Name, Target};
use super::{Coherence, IDLE, Kept, MAPPED};
use crate::fs::{Caller, Entry, FsError, Inode, NewEntry, Opened, Utf8Fs};

/// Bytes of the stack of a thread that has a name expired.
const STACK: usize = 256 << 10;

impl Coherence {
    /// Makes an entry in a directory.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn make(
        &self,
        new: &NewEntry<'_>,
        make: impl FnOnce(&Utf8Fs) -> Result<Entry, FsError>,
    ) -> Result<(Entry, Kept), FsError> {
        let directory = self.change(new.parent)?;
        let entry = make(&self.fs)?;
        Ok(self.made(&directory, new.name, entry))
    }

    /// Makes a file, and opens it with the flags of open(2).
    ///
    /// # Errors
    /// Those of [`Utf8Fs::create`].
    pub fn create(&self, new: &NewEntry<'_>, flags: i32) -> Result<(Entry, Kept, Opened), FsError> {
        let directory = self.change(new.parent)?;
        let (entry, opened) = self.fs.create(new, flags)?;
        let (entry, mut kept) = self.made(&directory, new.name, entry);
        if opened.is_mappable && !entry.stat.has_set_id() {
            // Few write to what they have just made by a mapping, and all the others would be asked for its attributes.
            kept.attributes = self.times.unheard.min(MAPPED);
        }
        Ok((entry, kept, opened))
    }

    /// Makes a file without a name, and opens it with the flags of open(2).
    ///
    /// # Errors
    /// Those of [`Utf8Fs::tmpfile`].
    pub fn tmpfile(
        &self,
        new: &NewEntry<'_>,
        flags: i32,
    ) -> Result<(Entry, Kept, Opened), FsError> {
        let (entry, opened) = self.fs.tmpfile(new, flags)?;
        let kept = Kept {
            name: Duration::ZERO,
            attributes: self.keep_attributes(&entry.inode, &entry.stat),
        };
        Ok((entry, kept, opened))
    }

    /// What was made is told, under the lock of its directory.
    fn made(&self, directory: &Inode, name: &[u8], entry: Entry) -> (Entry, Kept) {
        let kept = self.kept(directory, name, &entry);
        let target = Target::Inode(entry.inode.number);
        self.dentries
            .set((directory.number, name), target, kept.name);
        self.takes_listed_name((directory.number, name), &entry);
        (entry, kept)
    }

    /// What was made by one name and is listed under another may have taken that from a sibling.
    fn takes_listed_name(&self, made: Name<'_>, entry: &Entry) {
        if entry.is_listed {
            return;
        }
        let place = entry
            .inode
            .place()
            .filter(|place| place.visible.as_bytes() != made.1);
        if let Some(place) = place
            && let Ok(watched) = &self.watched
        {
            watched.expire((place.parent, place.visible.as_bytes()));
        }
    }

    /// Removes a name: by [`Utf8Fs::rmdir`] if it is that of a directory, else by [`Utf8Fs::unlink`].
    ///
    /// # Errors
    /// Those of the two; [`FsError::Stale`] as for [`rename`](Self::rename).
    pub fn remove(
        &self,
        caller: Caller,
        name: Name<'_>,
        is_directory: bool,
    ) -> Result<(), FsError> {
        self.change(name.0)?;
        if self.withdraws(caller, name)? {
            return Err(FsError::Stale);
        }
        let removed = match is_directory {
            true => self.remove_directory(caller, name),
            false => self.remove_file(caller, name),
        };
        self.withdrawals_ended(caller, &removed);
        if removed.is_ok() {
            // The number may be that of a new directory when the name is looked up next, which would make the name doubtful.
            self.dentries.set(name, Target::Absent, Duration::ZERO);
        }
        removed
    }

    fn remove_directory(&self, caller: Caller, name: Name<'_>) -> Result<(), FsError> {
        let known = self.known(caller, name);
        let removed = match known {
            Some(_) => self.fs.rmdir(caller, name.0, name.1),
            None => Err(FsError::Stale),
        };
        self.renames.ended(caller, name, &removed);
        removed?;
        self.give_up(known);
        Ok(())
    }

    fn remove_file(&self, caller: Caller, name: Name<'_>) -> Result<(), FsError> {
        let removed = self.leads_to(name);
        self.fs.unlink(caller, name.0, name.1)?;
        if let Some(removed) = removed {
            self.fs.lost_name(removed, name);
        }
        Ok(())
    }

    /// Returns the inode that a name leads to, as the kernel was told last; if that is not known any more, as it is now.
    fn leads_to(&self, name: Name<'_>) -> Option<u64> {
        match self.dentries.target(name) {
            Some(target) => target.inode(),
            None => self.fs.look(name.0, name.1)?.1.map(|inode| inode.number),
        }
    }

    /// The kernel marks the directory that it knows as removed for good. If others put another in its place meanwhile, it is there still.
    fn give_up(&self, removed: Option<Target>) {
        let number = removed.and_then(Target::inode);
        if let Some(Ok(inode)) = number.map(|number| self.fs.inodes().get(number)) {
            inode.give_up_number();
        }
    }

    /// Returns what the kernel knows by a name. `None` where that is in doubt, or a directory is there that it does not know.
    pub(super) fn known(&self, caller: Caller, name: Name<'_>) -> Option<Target> {
        let told = match self.dentries.target(name) {
            Some(Target::Doubtful) => Some(self.renames.told(caller, name)?),
            told => told,
        };
        let there = match self.fs.look(name.0, name.1) {
            Some((stat, _)) if !stat.is_dir() => return told.or(Some(Target::Absent)),
            Some((_, inode)) => Target::Inode(inode?.number),
            None => Target::Absent,
        };
        told.filter(|told| *told == there)
    }

    /// To be called before a name in a directory is changed.
    fn change(&self, directory: u64) -> Result<Arc<Inode>, FsError> {
        let directory = self.fs.inodes().get(directory)?;
        directory.notes.set(IDLE, false);
        Ok(directory)
    }

    /// Has the name taken from the kernel that an entry is listed under, if `name` is another spelling of it (law N10). True where the kernel
    /// is to ask again after that.
    ///
    /// # Errors
    /// Those of [`Utf8Fs::other_listed_name`].
    fn withdraws(&self, caller: Caller, name: Name<'_>) -> Result<bool, FsError> {
        if self.times.unheard.is_zero() {
            return Ok(false);
        }
        let Some(listed) = self.fs.other_listed_name(name.0, name.1)? else {
            return Ok(false);
        };
        let listed = (name.0, listed.as_bytes());
        let is_needed = self.dentries.may_be_kept(listed) || self.withdrawals.bar(listed);
        Ok(is_needed && self.withdrawals.begin(caller, listed) && self.expire_in_between(listed))
    }

    /// The change of `caller` is over, unless the kernel asks for it again.
    fn withdrawals_ended(&self, caller: Caller, done: &Result<(), FsError>) {
        if !matches!(done, Err(FsError::Stale)) {
            self.withdrawals.end(caller);
        }
    }

    /// Has the kernel expire a name once it has let go of the directory's lock, and ask for the attributes of the directory before it takes
    /// the lock again. False where that cannot be done.
    fn expire_in_between(&self, (directory, name): Name<'_>) -> bool {
        let Some(kernel) = self.kernel.get().and_then(Weak::upgrade) else {
            return false;
        };
        kernel.expire_attributes(directory);
        if let Ok(watched) = &self.watched {
            // And once more after a while: an answer to a lookup may be on its way.
            watched.expire((directory, name));
        }
        let (dentries, withdrawals) = (Arc::clone(&self.dentries), Arc::clone(&self.withdrawals));
        let name: Box<[u8]> = name.into();
        let expire = move || {
            let tell = || kernel.expire_name(directory, &name);
            dentries.expire((directory, &name), tell);
            withdrawals.is_expired((directory, &name));
        };
        let thread = thread::Builder::new()
            .name("expire".to_owned())
            .stack_size(STACK);
        let started = thread.spawn(expire);
        if let Err(error) = &started {
            log::debug!("no thread for a notification: {error}");
        }
        started.is_ok()
    }

    /// Renames, with the flags of renameat2(2).
    ///
    /// # Errors
    /// Those of [`Utf8Fs::plan_rename`] and [`Utf8Fs::rename`]; [`FsError::Stale`] where the kernel is to look the names up and ask again.
    pub fn rename(
        &self,
        caller: Caller,
        old: Name<'_>,
        new: Name<'_>,
        flags: u32,
    ) -> Result<(), FsError> {
        let renamed = self.try_rename(caller, old, new, flags);
        self.renames.ended(caller, old, &renamed);
        self.renames.ended(caller, new, &renamed);
        self.withdrawals_ended(caller, &renamed);
        renamed
    }

    fn try_rename(
        &self,
        caller: Caller,
        old: Name<'_>,
        new: Name<'_>,
        flags: u32,
    ) -> Result<(), FsError> {
        // The kernel asks for this only where it took the old name for another file than the new one, which it looks up each time
        // (`vfs_rename` in fs/namei.c): others have replaced it. The dentry that it would move leads to the file that they replaced.
        if old == new {
            return Err(FsError::Stale);
        }
        let is_exchange = flags & libc::RENAME_EXCHANGE != 0;
        let (from, to) = (self.change(old.0)?, self.change(new.0)?);
        // The kernel asks again once only: whatever is to be done before that is begun now.
        let is_old_withdrawn = self.withdraws(caller, old)?;
        let is_new_withdrawn = self.withdraws(caller, new)?;
        if let Ok(watched) = &self.watched {
            watched.move_names(&from, &to);
            if is_exchange {
                watched.move_names(&to, &from);
            }
        }
        let may_replace = !is_exchange && self.dentries.target(new) != Some(Target::Absent);
        let lost = may_replace.then(|| self.leads_to(new)).flatten();
        // Who moves a directory to another must be allowed to write to it (`vfs_rename`): the kernel has judged what it knew.
        let is_moved = old.0 != new.0 && caller.uid != 0;
        let replaced = match is_moved || may_replace {
            true => self.known(caller, new).ok_or(FsError::Stale)?,
            false => Target::Absent,
        };
        if is_moved {
            self.known(caller, old).ok_or(FsError::Stale)?;
        }
        let plan = self.fs.plan_rename(caller, old, new, flags)?;
        // Of two that are exchanged both are asked for again: which of them is not listed can be another one the second time.
        if !plan.gives_listed_names {
            let is_old_forgotten = self.is_forgotten(caller, old);
            let is_new_forgotten = !is_exchange || self.is_forgotten(caller, new);
            if !is_old_forgotten || !is_new_forgotten {
                return Err(FsError::Stale);
            }
        }
        if is_old_withdrawn || is_new_withdrawn {
            return Err(FsError::Stale);
        }
        let there = self.fs.rename(plan)?;
        if !is_exchange {
            self.give_up(Some(replaced));
        }
        if let Some(lost) = lost.filter(|lost| there.new != Some(*lost)) {
            self.fs.lost_name(lost, new);
        }
        self.dentries.renamed(old, new, is_exchange);
        self.is_moved_to(new, there.new);
        if is_exchange {
            self.is_moved_to(old, there.old);
        }
        Ok(())
    }

    /// Does the kernel not keep a name that is to be moved where it must not be kept? If it may, it is to look it up again.
    fn is_forgotten(&self, caller: Caller, name: Name<'_>) -> bool {
        self.times.unheard.is_zero() || self.renames.is_forgotten(caller, name)
    }

    /// The kernel has moved a dentry to `name`, which leads to the inode `there` now, if that is known.
    fn is_moved_to(&self, name: Name<'_>, there: Option<u64>) {
        self.renames.replaced(name);
        let told = self.dentries.target(name).and_then(Target::inode);
        if let Ok(watched) = &self.watched
            && (there.is_none() || told != there)
        {
            // Others had renamed it: the dentry that the kernel has moved leads to another inode.
            watched.expire(name);
        }
    }
}

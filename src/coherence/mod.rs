//! Names, attributes and lists in the kernel's caches: how long it may keep them, and when to invalidate or expire
//! them (laws F5 and N10).
//!
//! No other module knows. [`Utf8Fs`] does what is asked and states facts. Each operation whose answer the kernel may
//! keep, or which changes something that it keeps, is asked for here.
//!
//! - By time: everything is kept for as long as `--cache` says, from `none` to `exclusive`.
//! - By watching ([`Watched`]): what others change is heard of, and the kernel is notified.

mod cache_mode;
mod kernel_names;
mod lists;
mod renames;
pub mod serving;
pub mod watched;

use std::sync::Arc;
use std::time::Duration;

pub use kernel_names::Name;
use kernel_names::{ABSENT, DOUBTFUL, KernelNames};
use lists::Lists;
use renames::Renames;
pub use watched::Kernel;
use watched::Watched;

use crate::backing::Stat;
use crate::backing::watch::Watcher;
use crate::fs::{Absence, Caller, Entry, FsError, Inode, Listed, NewEntry, Opened, Plus, Utf8Fs};

/// A note about an inode: every change of what is in this directory is reported.
const MARKED: u8 = 1;

/// Another: it may change unheard: it was seen last in a directory that is not marked, or lost its name there.
const ADRIFT: u8 = 2;

/// Another: it is a directory that was idle when its attributes were last seen, and of which no change is known since.
const IDLE: u8 = 4;

/// A program may have a mapping of a file, and nobody hears of what is written to that: its attributes are kept no longer.
const MAPPED: Duration = Duration::from_secs(1);

/// The timeouts of names and attributes that `--cache` promises (law F5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Timeout of what does not change unheard.
    pub heard: Duration,
    /// Timeout of what may change unheard.
    pub unheard: Duration,
}

impl Times {
    /// Returns the timeout of what changes heard or not.
    fn of(self, is_heard: bool) -> Duration {
        if is_heard { self.heard } else { self.unheard }
    }
}

/// The cache mode of a mount.
#[derive(Debug)]
pub struct Keeping {
    /// For how long.
    pub times: Times,
    /// The watcher that reports changes by others below; else the reason why they are not followed, in words.
    pub watcher: Result<Watcher, String>,
    /// May it keep lists of names, and that there is no such name?
    pub keeps_lists: bool,
}

/// The timeouts of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Its name.
    pub name: Duration,
    /// Its attributes.
    pub attributes: Duration,
}

/// The parts of an opened directory's list that the kernel may keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptList {
    /// Keep what it lists from now on.
    pub new: bool,
    /// Keep what it listed before.
    pub old: bool,
}

/// The kernel's copy of a filesystem.
#[derive(Debug)]
pub struct Coherence {
    /// The filesystem.
    pub fs: Arc<Utf8Fs>,
    /// The timeouts.
    pub times: Times,
    keeps_lists: bool,
    /// The follower of changes that others make; else the reason why they are not followed, in words.
    pub watched: Result<Arc<Watched>, String>,
    /// Present where lists are kept no longer than their attributes.
    lists: Option<Lists>,
    renames: Renames,
    told: KernelNames,
}

impl Coherence {
    /// The kernel's copy of `fs`, of which it has nothing yet.
    pub fn new(fs: Arc<Utf8Fs>, keeping: Keeping) -> Self {
        let times = keeping.times;
        let watch = |watcher| Arc::new(Watched::new(Arc::clone(&fs), watcher, times));
        let watched = keeping.watcher.map(watch);
        Self {
            times,
            keeps_lists: keeping.keeps_lists,
            lists: watched.is_ok().then(Lists::default),
            watched,
            renames: Renames::default(),
            told: KernelNames::default(),
            fs,
        }
    }

    /// Returns the number of names that are being renamed and must not be kept for now.
    pub fn barred_names(&self) -> usize {
        self.renames.count()
    }

    /// May the kernel keep the content of a file from one open of it to the next, where that is right when it is opened? It asks for
    /// the attributes again when their time is over, and drops the content with them if they show a change.
    pub fn keeps_content(&self, opened: &Opened) -> bool {
        // Of an empty file it keeps none.
        self.times.unheard > Duration::ZERO
            && opened.stat.size > 0
            && self.fs.is_as_opened_before(opened)
    }

    /// Returns true if the kernel has other attributes of a file than it was opened with. It would seek to the end, and append, where the end
    /// was before others wrote below (law F9).
    pub fn has_old_attributes(&self, opened: &Opened) -> bool {
        let inode = self.fs.inodes().get(opened.inode.0);
        inode.is_ok_and(|inode| !inode.is_as_told(&opened.stat))
    }

    /// To be called before something is read of a directory that the kernel is to keep.
    fn look_into(&self, directory: &Arc<Inode>) {
        if let Ok(watched) = &self.watched {
            watched.look_into(directory);
        }
    }

    /// Notes that the kernel is told that `name`, which was looked up, leads to the inode `number`.
    fn tell(&self, name: Name<'_>, number: u64) {
        let inode = |told| self.fs.inodes().get(told);
        let doubt = |told| told == DOUBTFUL || inode(told).is_ok_and(|told| told.is_directory());
        if let Some(before) = self.told.looked_up(name, number, doubt) {
            self.fs.lost_name(before, name);
        }
    }

    /// Returns the timeouts of `entry`, which has the name `name` in `directory`.
    fn kept(&self, directory: &Inode, name: &[u8], entry: &Entry) -> Kept {
        let may_be_kept = entry.is_only_name && self.renames.allows((directory.number, name));
        let kept = match &self.watched {
            Ok(watched) => watched.keep_name(directory, entry),
            Err(_) => self.times.heard,
        };
        Kept {
            name: if may_be_kept { kept } else { Duration::ZERO },
            attributes: self.keep_attributes(&entry.inode, &entry.stat),
        }
    }

    /// Returns the attribute timeout of `inode`. A file can be changed through a mapping, which nobody reports. So
    /// its attributes are not kept while it is open through this mount for reading and writing, nor for a second
    /// after: a mapping may outlive the open file. Nor are those of a file with set-id bits. A write clears these
    /// below without the kernel taking notice, and it must not run the file with them. Nor those of a symlink whose
    /// target is shown changed (law N13).
    fn keep_attributes(&self, inode: &Arc<Inode>, stat: &Stat) -> Duration {
        inode.tell(stat);
        if stat.has_set_id() || self.fs.mapped_target(inode, stat).is_some() {
            return Duration::ZERO;
        }
        if stat.is_file() && inode.is_mappable() {
            return Duration::ZERO;
        }
        if stat.is_file() && inode.was_mappable() {
            return self.times.unheard.min(MAPPED);
        }
        match &self.watched {
            Ok(watched) => watched.keep_attributes(inode, stat),
            Err(_) => self.times.heard,
        }
    }

    /// Looks a name up.
    ///
    /// # Errors
    /// Those of [`Utf8Fs::lookup`].
    pub fn lookup(&self, caller: Caller, node: u64, name: &[u8]) -> Result<(Entry, Kept), FsError> {
        let directory = self.fs.inodes().get(node)?;
        self.look_into(&directory);
        let found = self.fs.lookup(caller, node, name);
        let entry = found.inspect_err(|_error| {
            self.tell((node, name), ABSENT);
            self.renames.looked_up(caller, (node, name), ABSENT);
        })?;
        self.tell((node, name), entry.inode.number);
        let kept = self.kept(&directory, name, &entry);
        self.renames
            .looked_up(caller, (node, name), entry.inode.number);
        Ok((entry, kept))
    }

    /// Returns the timeout of a negative dentry `name`, as a lookup has just answered.
    pub fn keep_absence(&self, directory: u64, name: &[u8]) -> Duration {
        let Ok(directory) = self.fs.inodes().get(directory) else {
            return Duration::ZERO;
        };
        match (self.fs.absence(name), &self.watched) {
            (Absence::OfSpellings, _) => Duration::ZERO,
            // Whoever waits for a file to come is to find it with the files that came before it (law F9).
            (_, Err(_)) if !self.keeps_lists => Duration::ZERO,
            (_, Err(_)) => self.times.heard,
            (Absence::OfOne, Ok(watched)) => watched.keep_absence(&directory, name),
            // Changes are reported by backing names, of which it may not be one.
            (Absence::OfDecoded, Ok(_)) => Duration::ZERO,
        }
    }

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

    fn made(&self, directory: &Inode, name: &[u8], entry: Entry) -> (Entry, Kept) {
        if let Ok(watched) = &self.watched {
            watched.made(directory.number, name);
        }
        self.told.note((directory.number, name), entry.inode.number);
        let kept = self.kept(directory, name, &entry);
        (entry, kept)
    }

    /// Removes a name: by [`Utf8Fs::rmdir`] if it is that of a directory, else by [`Utf8Fs::unlink`].
    ///
    /// # Errors
    /// Those of the two, and for a directory [`FsError::Stale`] as for [`rename`](Self::rename).
    pub fn remove(
        &self,
        caller: Caller,
        (parent, name): Name<'_>,
        is_directory: bool,
    ) -> Result<(), FsError> {
        self.change(parent)?;
        if is_directory {
            let known = self.known(caller, (parent, name));
            let rmdir = |_| self.fs.rmdir(caller, parent, name);
            let removed = known.ok_or(FsError::Stale).and_then(rmdir);
            self.renames.ended(caller, (parent, name), &removed);
            removed?;
            self.give_up(known);
        } else {
            let removed = self.leads_to((parent, name));
            self.fs.unlink(caller, parent, name)?;
            if let Some(removed) = removed {
                self.fs.lost_name(removed, (parent, name));
            }
        }
        // The number may be that of a new directory when the name is looked up next, which would make the name doubtful.
        self.told.note((parent, name), ABSENT);
        Ok(())
    }

    /// Returns the inode that a name leads to, as the kernel was told last; if that is not known any more, as it is now.
    fn leads_to(&self, name: Name<'_>) -> Option<u64> {
        self.told.number(name).or_else(|| {
            let (_, inode) = self.fs.look(name.0, name.1)?;
            Some(inode?.number)
        })
    }

    /// The kernel marks the directory of this number as removed for good. If others put another in its place meanwhile, it is there still.
    fn give_up(&self, number: Option<u64>) {
        if let Some(Ok(inode)) = number.map(|number| self.fs.inodes().get(number)) {
            inode.give_up_number();
        }
    }

    /// The number of what the kernel knows by a name, [`ABSENT`] for nothing. `None` where that is in doubt, or a directory is there that
    /// it does not know.
    fn known(&self, caller: Caller, name: Name<'_>) -> Option<u64> {
        let told = match self.told.number(name) {
            Some(DOUBTFUL) => Some(self.renames.told(caller, name)?),
            told => told,
        };
        let there = match self.fs.look(name.0, name.1) {
            Some((stat, _)) if !stat.is_dir() => return told.or(Some(ABSENT)),
            Some((_, inode)) => inode?.number,
            None => ABSENT,
        };
        told.filter(|told| *told == there)
    }

    /// To be called before a name in a directory is changed.
    fn change(&self, directory: u64) -> Result<Arc<Inode>, FsError> {
        let directory = self.fs.inodes().get(directory)?;
        directory.notes.set(IDLE, false);
        Ok(directory)
    }

    /// Renames, with the flags of renameat2(2).
    ///
    /// # Errors
    /// Those of [`Utf8Fs::rename`]; [`FsError::Stale`] where the kernel is to look the names up and ask again (`retry_estale`).
    pub fn rename(
        &self,
        caller: Caller,
        old: Name<'_>,
        new: Name<'_>,
        flags: u32,
    ) -> Result<(), FsError> {
        let is_exchange = flags & libc::RENAME_EXCHANGE != 0;
        let (from, to) = (self.change(old.0)?, self.change(new.0)?);
        if let Ok(watched) = &self.watched {
            watched.move_names(&from, &to);
            if is_exchange {
                watched.move_names(&to, &from);
            }
        }
        // A dentry that is moved to a name with several spellings must not be kept. Of two that are exchanged both are marked: which of
        // the names has several can be another one when the rename is repeated.
        let is_forgotten = |name: Name<'_>| {
            let is_never_kept = self.times.unheard.is_zero() || !self.fs.has_one_spelling(name.1);
            is_never_kept || self.renames.is_forgotten(caller, name)
        };
        let may = || {
            let may = is_forgotten(old) & (!is_exchange || is_forgotten(new));
            may.then_some(()).ok_or(FsError::Stale)
        };
        // Who moves a directory to another must be allowed to write to it (`vfs_rename`): the kernel has judged what it knew.
        let is_moved = old.0 != new.0 && caller.uid != 0;
        let may_replace = !is_exchange && self.told.number(new) != Some(ABSENT);
        let known = |is_needed, name| match is_needed {
            true => self.known(caller, name),
            false => Some(ABSENT),
        };
        let lost = may_replace.then(|| self.leads_to(new)).flatten();
        let replaced = known(is_moved || may_replace, new);
        let are_known = known(is_moved, old).and(replaced).ok_or(FsError::Stale);
        let renamed = are_known.and_then(|_| self.fs.rename(caller, old, new, flags, may));
        if let Ok(there) = &renamed {
            if !is_exchange {
                self.give_up(replaced);
            }
            if let Some(lost) = lost.filter(|lost| there[0] != Some(*lost)) {
                self.fs.lost_name(lost, new);
            }
            self.told.renamed(old, new, is_exchange);
            let names = [new, old].into_iter().zip(there);
            for (name, there) in names.take(1 + usize::from(is_exchange)) {
                self.renames.replaced(name);
                if let Ok(watched) = &self.watched {
                    watched.made(name.0, name.1);
                    // Others had renamed it: the dentry that the kernel has moved leads to another inode.
                    if there.is_none() || self.told.number(name) != *there {
                        watched.expire(name);
                    }
                }
            }
        }
        self.renames.ended(caller, old, &renamed);
        self.renames.ended(caller, new, &renamed);
        renamed.map(drop)
    }

    /// The attributes of an inode.
    ///
    /// # Errors
    /// Those of [`Utf8Fs::getattr`].
    pub fn getattr(&self, number: u64) -> Result<(Stat, Duration), FsError> {
        let mut shown = self.fs.getattr(number)?;
        let (inode, stat) = &shown;
        if let Ok(watched) = &self.watched
            && stat.is_dir()
        {
            watched.note_idleness(inode, stat);
            // What is in a directory changes it: read again once every change of that is heard of.
            if watched.look_into(inode) {
                shown = self.fs.getattr(number)?;
            }
        }
        Ok(self.keep_shown(shown))
    }

    /// Attributes that were changed or read, and how long the kernel may keep them.
    pub fn keep_shown(&self, (inode, stat): (Arc<Inode>, Stat)) -> (Stat, Duration) {
        let kept = self.keep_attributes(&inode, &stat);
        (stat, kept)
    }

    /// To be called before a directory is opened. What may the kernel keep of its list?
    ///
    /// # Errors
    /// [`FsError::Stale`]: it is gone.
    pub fn open_list(&self, number: u64) -> Result<KeptList, FsError> {
        let directory = self.fs.inodes().get(number)?;
        self.look_into(&directory);
        let is_followed = |watched: &Arc<Watched>| watched.is_followed(&directory);
        let new = self.keeps_lists && self.watched.as_ref().ok().is_none_or(is_followed);
        let is_fresh = |lists: &Lists| lists.is_fresh(number);
        let old = new && self.lists.as_ref().is_none_or(is_fresh);
        Ok(KeptList { new, old })
    }

    /// Lists the directory `number`, open as `handle`, from `cookie` on. Each entry is passed to `give` with its timeouts, if it has
    /// attributes; `give` returns true where it had no room for that one.
    ///
    /// # Errors
    /// Those of [`Utf8Fs::readdir`].
    pub fn readdir(
        &self,
        number: u64,
        (handle, cookie): (u64, u64),
        plus: Plus,
        mut give: impl FnMut(&Listed<'_>, Option<Kept>) -> bool,
    ) -> Result<(), FsError> {
        let directory = self.fs.inodes().get(number)?;
        // The kernel asks anew for attributes that it is given, after this time at the earliest.
        let mut least = Lists::MOST;
        let give = |listed: Listed<'_>| {
            let entry = listed.entry.as_ref();
            let kept = entry.map(|entry| self.kept(&directory, listed.name, entry));
            // It asks for those that it may not keep each time.
            let attributes = kept.map_or(Duration::ZERO, |kept| kept.attributes);
            if attributes > Duration::ZERO {
                least = least.min(attributes);
            }
            let is_full = give(&listed, kept);
            if let Some(entry) = entry {
                if is_full {
                    self.forget(entry.inode.number, 1);
                } else {
                    self.tell((number, listed.name), entry.inode.number);
                }
            }
            is_full
        };
        let is_end = self.fs.readdir(handle, cookie, plus, give)?;
        if let Some(lists) = &self.lists {
            let least = (plus == Plus::Yes).then_some(least);
            lists.note(number, cookie == 0, least, is_end);
        }
        Ok(())
    }

    /// The kernel takes `count` lookups of an inode back.
    pub fn forget(&self, number: u64, count: u64) {
        let gone = self.fs.inodes().forget(number, count);
        if let Some((watched, gone)) = self.watched.as_ref().ok().zip(gone) {
            watched.unmark(&gone);
        }
    }
}

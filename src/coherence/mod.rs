//! Names, attributes and lists in the kernel's caches: how long it may keep them, and when to invalidate or expire
//! them (laws F5 and N10).
//!
//! No other module knows. [`Utf8Fs`] does what is asked and states facts. Each operation whose answer the kernel may
//! keep, or which changes something that it keeps, is asked for here.
//!
//! - By time: everything is kept for as long as `--cache` says, from `none` to `exclusive`.
//! - By watching ([`Watched`]): what others change is heard of, and the kernel is notified.
//!
//! Which names the kernel may hold, and what it was told of them, is in one table (`dentries`). An entry may be kept by the name that
//! it is listed under, never by another spelling of that.

mod cache_mode;
mod changes;
mod dentries;
mod lists;
mod renames;
pub mod serving;
pub mod watched;
mod withdrawals;

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

pub use dentries::Name;
use dentries::{Dentries, Target};
use lists::Lists;
use renames::Renames;
pub use watched::Kernel;
use watched::Watched;
use withdrawals::Withdrawals;

use crate::backing::Stat;
use crate::backing::watch::Watcher;
use crate::fs::{Absence, Caller, Entry, FsError, Inode, Listed, Opened, Plus, Utf8Fs};

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
    dentries: Arc<Dentries>,
    renames: Renames,
    withdrawals: Arc<Withdrawals>,
    /// The way to the kernel, while there is one.
    kernel: OnceLock<Weak<dyn Kernel>>,
}

impl Coherence {
    /// The kernel's copy of `fs`, of which it has nothing yet.
    pub fn new(fs: Arc<Utf8Fs>, keeping: Keeping) -> Self {
        let times = keeping.times;
        let dentries = Arc::<Dentries>::default();
        let watched = keeping.watcher.map(|watcher| {
            let (fs, dentries) = (Arc::clone(&fs), Arc::clone(&dentries));
            Arc::new(Watched::new(fs, dentries, watcher, times))
        });
        Self {
            times,
            keeps_lists: keeping.keeps_lists,
            lists: watched.is_ok().then(Lists::default),
            watched,
            dentries,
            renames: Renames::default(),
            withdrawals: Arc::default(),
            kernel: OnceLock::new(),
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

    /// Opens a file.
    ///
    /// The kernel goes by the size that it has where it copies, maps or splices, and asks for no other (`generic_copy_file_checks` in
    /// `fs/read_write.c`). So where somebody below has changed a file that is opened for reading, the answer is `ESTALE` once: with the name
    /// that is looked up anew comes the size. Where somebody above may have written, which the kernel knows of, that is left.
    ///
    /// # Errors
    /// Those of [`Utf8Fs::open`]; [`FsError::Stale`] where the kernel is to look the name up and ask again.
    pub fn open(&self, caller: Caller, number: u64, flags: i32) -> Result<Opened, FsError> {
        let inode = self.fs.inodes().get(number);
        let reads = flags & libc::O_ACCMODE != libc::O_WRONLY;
        let goes_by_old_size = reads && !self.times.unheard.is_zero();
        let is_by_others =
            goes_by_old_size && inode.is_ok_and(|inode| !inode.may_be_written_above());
        let opened = self.fs.open(caller, number, flags)?;
        if is_by_others && self.has_old_attributes(&opened) && self.fs.send_back(caller) {
            self.fs.release(opened.handle);
            return Err(FsError::Stale);
        }
        Ok(opened)
    }

    /// To be called before something is read of a directory that the kernel is to keep.
    fn look_into(&self, directory: &Arc<Inode>) {
        if let Ok(watched) = &self.watched {
            watched.look_into(directory);
        }
    }

    /// Sets the way to the kernel, by which it is told what it is to forget.
    pub fn notifies(&self, kernel: &Arc<dyn Kernel>) {
        self.kernel.get_or_init(|| Arc::downgrade(kernel));
    }

    /// Notes that the kernel is told that `name`, which was looked up, leads to `target`, and that it may keep that for `kept`.
    fn tell(&self, name: Name<'_>, target: Target, kept: Duration) {
        let is_directory = |number| {
            let inode = self.fs.inodes().get(number);
            inode.is_ok_and(|inode| inode.is_directory())
        };
        if let Some(before) = self.dentries.looked_up(name, target, kept, is_directory) {
            self.fs.lost_name(before, name);
        }
    }

    /// Returns the timeouts of `entry`, which has the name `name` in `directory`.
    fn kept(&self, directory: &Inode, name: &[u8], entry: &Entry) -> Kept {
        let is_barred = || {
            let name = (directory.number, name);
            !self.renames.allows(name) || self.withdrawals.bar(name)
        };
        let kept = match &self.watched {
            Ok(watched) => watched.keep_name(directory, entry),
            Err(_) => self.times.heard,
        };
        Kept {
            name: match entry.is_listed && !is_barred() {
                true => kept,
                false => Duration::ZERO,
            },
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
        self.withdrawals.wait(caller, Some(node));
        let directory = self.fs.inodes().get(node)?;
        self.look_into(&directory);
        if !self.fs.has_one_name(name) {
            // Who changes the entry by another spelling has to know that the kernel may keep this one.
            self.dentries
                .is_being_looked_up((node, name), self.times.heard);
        }
        let found = self.fs.lookup(caller, node, name);
        let entry = found.inspect_err(|_error| {
            self.tell((node, name), Target::Absent, Duration::ZERO);
            self.renames.looked_up(caller, (node, name), Target::Absent);
        })?;
        let target = Target::Inode(entry.inode.number);
        let kept = self.kept(&directory, name, &entry);
        self.tell((node, name), target, kept.name);
        self.renames.looked_up(caller, (node, name), target);
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
            // What comes by a backing name is expired by the name that this is decoded to as well.
            (Absence::OfOne | Absence::OfDecoded, Ok(watched)) => {
                watched.keep_absence(&directory, name)
            }
        }
    }

    /// The attributes of an inode.
    ///
    /// # Errors
    /// Those of [`Utf8Fs::getattr`].
    pub fn getattr(&self, caller: Caller, number: u64) -> Result<(Stat, Duration), FsError> {
        self.withdrawals.wait(caller, None);
        self.attributes(number)
    }

    /// As [`getattr`](Self::getattr), for nobody who waits for a name to be expired.
    ///
    /// # Errors
    /// Those of [`Utf8Fs::getattr`].
    pub fn attributes(&self, number: u64) -> Result<(Stat, Duration), FsError> {
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
                } else if let Some(kept) = kept {
                    let target = Target::Inode(entry.inode.number);
                    self.tell((number, listed.name), target, kept.name);
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

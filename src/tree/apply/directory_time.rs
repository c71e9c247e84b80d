//! The time of a directory's last change: whose it is. It is put back only where that is surely the migration's own (law T6).

use std::cell::{Cell, OnceCell};
use std::collections::HashSet;
use std::io;

use super::aside_dir::{are_within, is_near, set_mtime};
use super::executor::OpenDir;
use crate::backing::name_watch::{NameEvent, NameWatch};
use crate::backing::{Dir, Entries, SetTime, Stat, Time, file};
use crate::names::BackingName;
use crate::tree::change::Job;
use crate::tree::undo_journal::Journal;

/// Nanoseconds between times of one system call, at most: the kernel's clock for times of files ticks each 10 ms or faster.
const SAME_CALL: i128 = 20_000_000;

/// Most own changes between two readings of the events, of which the kernel keeps 16,384.
const BETWEEN_READINGS: u32 = 2048;

/// The changes of the names of a directory while it is worked on.
#[derive(Debug)]
pub(super) struct Changes<'c> {
    /// `None` where there is none to be had: then no changes of others are known of.
    pub(super) watch: Option<NameWatch>,
    journal: &'c Journal,
    own_names: OnceCell<HashSet<Vec<u8>>>,
    has_others: Cell<bool>,
    own_changes: Cell<u32>,
}

impl<'c> Changes<'c> {
    /// Hears of changes from now on.
    pub(super) fn new(watch: Option<NameWatch>, journal: &'c Journal) -> Self {
        Self {
            watch,
            journal,
            own_names: OnceCell::new(),
            has_others: Cell::new(false),
            own_changes: Cell::new(0),
        }
    }

    /// Notes a change of the migration's own.
    fn note_own(&self, job: &Job) {
        let changes = self.own_changes.get() + 1;
        self.own_changes.set(changes);
        if changes.is_multiple_of(BETWEEN_READINGS) {
            self.has_others(job);
        }
    }

    /// Has anybody else changed a name so far?
    fn has_others(&self, job: &Job) -> bool {
        if let Some(watch) = &self.watch {
            watch.take(|event| {
                let is_own = match event {
                    NameEvent::Lost => false,
                    NameEvent::Renamed(name) => self.is_own(job, name),
                    // Else names are changed by renaming alone.
                    NameEvent::MadeOrRemoved(name) => match self.journal.state().is_linking {
                        true => self.is_own(job, name),
                        false => is_made_by(self.journal, name),
                    },
                };
                self.has_others.set(self.has_others.get() || !is_own);
            });
        }
        self.has_others.get()
    }

    /// Is it a name that the migration gives, takes or has made?
    fn is_own(&self, job: &Job, name: &[u8]) -> bool {
        let own_names = self.own_names.get_or_init(|| own_names(job));
        own_names.contains(name) || is_made_by(self.journal, name)
    }
}

/// Is it a name of the migration's own making?
pub(super) fn is_made_by(journal: &Journal, name: &[u8]) -> bool {
    let id = journal.header.id.as_bytes();
    name.starts_with(b".utf8fs-") && name.windows(id.len()).any(|part| part == id)
}

/// Returns all names that the changes of a directory are about.
pub(super) fn own_names(job: &Job) -> HashSet<Vec<u8>> {
    let names = job.changes.iter().flat_map(|change| change.names());
    names.map(|name| name.as_bytes().to_vec()).collect()
}

impl OpenDir<'_> {
    /// Makes a change in the directory.
    ///
    /// # Errors
    /// Those of making it.
    pub(super) fn change<T>(&self, make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let made = make()?;
        self.changed.set(true);
        self.changes.note_own(self.job);
        Ok(made)
    }

    /// Notes an entry that is one of the migration's.
    pub(super) fn see(&self, stat: &Stat) {
        let made = stat.btime.filter(|_| stat.is_symlink());
        let mut times = std::iter::once(stat.ctime).chain(made);
        if times.any(|time| is_near(time, self.mtime)) {
            self.is_ours.set(true);
        }
    }

    /// Puts back the time of the directory's last change, or leaves that of others. `may_be_found` says that a killed run may
    /// have left its own.
    ///
    /// # Errors
    /// Those of utimensat(2).
    pub(super) fn put_time_back(&self, may_be_found: bool) -> io::Result<()> {
        let wanted = self.job.mtime;
        let is_known = self.mtime == wanted;
        let is_left = || {
            let is_own = |name: &[u8]| self.changes.is_own(self.job, name);
            may_be_found && self.is_ours.get() && !is_by_others(&self.dir, self.mtime, &is_own)
        };
        let mtime = match is_known || is_left() {
            true => wanted,
            false => self.mtime,
        };
        let is_as_found = !self.changed.get() && mtime == self.mtime;
        if is_as_found || self.changes.has_others(self.job) {
            return Ok(());
        }
        set_mtime(&self.dir, mtime)?;
        if self.changes.has_others(self.job) {
            // Just now.
            file::set_times(&self.dir, SetTime::Omit, SetTime::Now)?;
        }
        Ok(())
    }
}

/// May it have been somebody else who changed a directory at that time? So it seems if another entry was made or changed then.
/// What cannot be told is taken for that.
pub(super) fn is_by_others(dir: &Dir, time: Time, is_own: &dyn Fn(&[u8]) -> bool) -> bool {
    let Ok(mut entries) = Entries::open_quietly(dir) else {
        return true;
    };
    loop {
        let entry = match entries.next() {
            Ok(Some(entry)) => entry,
            Ok(None) => return false,
            Err(_) => return true,
        };
        if entry.is_dot() || is_own(entry.name) {
            continue;
        }
        let name = BackingName::parse(entry.name).ok();
        let Some(stat) = name.and_then(|name| dir.stat_child(&name).ok()) else {
            continue;
        };
        // The time of a directory below it was put back, perhaps just before.
        let changed = Some(stat.ctime).filter(|_| !stat.is_dir());
        let mut times = changed.into_iter().chain(stat.btime);
        if times.any(|other| are_within(other, time, SAME_CALL)) {
            return true;
        }
    }
}

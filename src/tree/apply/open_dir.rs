//! A directory that is worked on: its changes, and the time of its last change, which is put back (law T6).

use std::cell::Cell;
use std::io;

use super::directory_time::{Changes, is_by_others, is_near, set_mtime};
use crate::backing::{Dir, SetTime, Stat, Time, file};
use crate::names::BackingName;
use crate::tree::change::{Change, Job};

/// A directory that is worked on.
pub(super) struct OpenDir<'d> {
    pub(super) job: &'d Job,
    pub(super) dir: Dir,
    /// The name of the only entry that is in question, before or after; `None` for all.
    pub(super) only: Option<&'d BackingName>,
    pub(super) changes: Changes<'d>,
    /// The time of its last change that the directory is to have in the end.
    pub(super) wanted_mtime: Time,
    /// The time of the directory's last change as it was found.
    pub(super) mtime: Time,
    /// An entry of the job was changed at that time.
    pub(super) is_ours: Cell<bool>,
    /// Something was, or is being, changed in it.
    pub(super) changed: Cell<bool>,
    /// Something was found that was done before.
    pub(super) found: Cell<bool>,
}

impl OpenDir<'_> {
    /// Is a change in question?
    pub(super) fn concerns(&self, change: &Change) -> bool {
        self.only
            .is_none_or(|only| change.names().any(|name| name == only))
    }

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
        let wanted = self.wanted_mtime;
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

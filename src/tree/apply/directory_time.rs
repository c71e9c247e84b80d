//! The time of a directory's last change: whose it is. It is put back only where that is surely the migration's own (law T6).

use std::cell::{Cell, OnceCell};
use std::collections::HashSet;
use std::io;
use std::os::fd::AsFd;

use crate::backing::name_watch::{NameEvent, NameWatch};
use crate::backing::{Dir, Entries, SetTime, Time, file};
use crate::names::BackingName;
use crate::tree::change::Job;
use crate::tree::failpoints;
use crate::tree::undo_journal::Journal;

/// Nanoseconds between times of two system calls behind each other, at most: the process may have had to wait in between.
const NEAR: i128 = 200_000_000;

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
    pub(super) fn note_own(&self, job: &Job) {
        let changes = self.own_changes.get() + 1;
        self.own_changes.set(changes);
        if changes.is_multiple_of(BETWEEN_READINGS) {
            self.has_others(job);
        }
    }

    /// Has anybody else changed a name so far?
    pub(super) fn has_others(&self, job: &Job) -> bool {
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
    pub(super) fn is_own(&self, job: &Job, name: &[u8]) -> bool {
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

/// Gives a directory the time of its last change.
pub(super) fn set_mtime(dir: impl AsFd, mtime: Time) -> io::Result<()> {
    failpoints::change(|| file::set_times(dir, SetTime::Omit, SetTime::At(mtime)))
}

/// Are two times likely of one doing?
pub(super) fn is_near(one: Time, other: Time) -> bool {
    are_within(one, other, NEAR)
}

/// Are two times at most so many nanoseconds apart?
pub(super) fn are_within(one: Time, other: Time, most: i128) -> bool {
    let nanos = |time: Time| i128::from(time.secs) * 1_000_000_000 + i128::from(time.nanos);
    (nanos(one) - nanos(other)).abs() <= most
}

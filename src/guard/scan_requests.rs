//! Scans that are asked for.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::judge::{Newcomers, Offender};
use crate::backing::FileHandle;

/// Most directories that are asked for one by one.
const MOST: usize = 1024;

/// Most names that wait to be compared with their siblings.
const MOST_COMPARED: usize = 1 << 18;

/// Names of all times.
pub(super) const ALL: i64 = i64::MIN;

/// Scans that are asked for.
#[derive(Debug, Default)]
pub(super) struct Requests {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    asked: Asked,
    /// A scan is running.
    is_busy: bool,
    /// When the last one ended.
    ended: Option<Instant>,
}

/// Scans and comparisons that are asked for.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// A scan of all of the guarded directory, for names that were made at that second since 1970 or later. With it the scans of
    /// `directories` are not needed.
    pub(super) all: Option<i64>,
    /// Scans of directories in it.
    pub(super) directories: HashSet<FileHandle>,
    /// Comparisons of names that were made with their siblings.
    pub(super) newcomers: HashMap<FileHandle, Newcomers>,
    /// The number of names in `newcomers`, at least.
    count: usize,
}

impl Asked {
    fn has_scans(&self) -> bool {
        self.all.is_some() || !self.directories.is_empty()
    }
}

impl Requests {
    /// Asks for a scan of all of the guarded directory, for names that were made at that second or later.
    pub(super) fn ask_for_all(&self, since: i64) {
        self.ask(|asked| asked.all = Some(asked.all.map_or(since, |before| before.min(since))));
    }

    /// Asks for a scan of a directory in it.
    pub(super) fn ask_for(&self, directory: FileHandle) {
        self.ask(|asked| {
            if asked.directories.len() < MOST {
                asked.directories.insert(directory);
            } else {
                asked.all = Some(ALL);
            }
        });
    }

    /// Asks for a new name to be compared with its siblings.
    pub(super) fn ask_to_compare(&self, offender: Offender) {
        self.ask(|asked| {
            if asked.count < MOST_COMPARED {
                let directory = offender.directory.handle.clone();
                let newcomers = asked.newcomers.entry(directory).or_default();
                newcomers.insert(offender.name.clone(), offender);
                asked.count += 1;
            } else {
                asked.all = Some(ALL);
            }
        });
    }

    fn ask(&self, ask: impl FnOnce(&mut Asked)) {
        ask(&mut self.state.lock().asked);
        self.changed.notify_all();
    }

    /// Is a scan to come, under way, or has one ended a moment ago? Events of names that it found may still wait.
    pub(super) fn are_recent(&self) -> bool {
        let state = self.state.lock();
        let is_recent = |ended: Instant| ended.elapsed() < Duration::from_secs(1);
        state.asked.has_scans() || state.is_busy || state.ended.is_some_and(is_recent)
    }

    /// Has who waits come back.
    pub(super) fn wake(&self) {
        self.changed.notify_all();
    }

    /// The scan before this call has ended. Waits for what is asked for next, which is taken at `earliest`; `None` once it `is_over`.
    pub(super) fn take(&self, earliest: Instant, is_over: &dyn Fn() -> bool) -> Option<Asked> {
        let mut state = self.state.lock();
        if std::mem::take(&mut state.is_busy) {
            state.ended = Some(Instant::now());
        }
        while !is_over() {
            let rest = earliest.saturating_duration_since(Instant::now());
            let wait = match state.asked.has_scans() || !state.asked.newcomers.is_empty() {
                true if rest.is_zero() => {
                    state.is_busy = state.asked.has_scans();
                    return Some(std::mem::take(&mut state.asked));
                }
                true => rest,
                false => Duration::from_secs(1),
            };
            self.changed.wait_for(&mut state, wait);
        }
        None
    }
}

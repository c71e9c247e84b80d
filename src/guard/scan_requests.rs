//! Scans that are asked for.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::offender::{Newcomers, Offender};
use crate::backing::FileHandle;

/// Most directories that are asked for one by one.
const MOST: usize = 1024;

/// Most names that wait to be compared with their siblings.
const MOST_COMPARED: usize = 1 << 18;

/// Names of all times.
pub(super) const ALL: i64 = i64::MIN;

/// The scope of a scan.
#[derive(Debug)]
pub(super) enum Request {
    /// All of the guarded directory, for names that were made at that second since 1970 or later.
    All(i64),
    /// Some directories in the tree.
    Directories(HashSet<FileHandle>),
    /// Names that were made, to be compared with their siblings.
    Compare(HashMap<FileHandle, Newcomers>),
}

/// Scans that are asked for.
#[derive(Debug, Default)]
pub(super) struct Requests {
    asked: Mutex<Asked>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Asked {
    all: Option<i64>,
    directories: HashSet<FileHandle>,
    newcomers: HashMap<FileHandle, Newcomers>,
    /// The number of names in `newcomers`, at least.
    count: usize,
    /// A scan is running.
    is_busy: bool,
    /// When the last one ended.
    ended: Option<Instant>,
}

impl Asked {
    fn is_any(&self) -> bool {
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
        ask(&mut self.asked.lock());
        self.changed.notify_all();
    }

    /// Is a scan to come, under way, or has one ended a moment ago? Events of names that it found may still wait.
    pub(super) fn are_recent(&self) -> bool {
        let asked = self.asked.lock();
        let is_recent = |ended: Instant| ended.elapsed() < Duration::from_secs(1);
        asked.is_any() || asked.is_busy || asked.ended.is_some_and(is_recent)
    }

    /// Has who waits come back.
    pub(super) fn wake(&self) {
        self.changed.notify_all();
    }

    /// The scan before this call has ended. Waits for the next request, which is taken at `earliest`; `None` once it `is_over`.
    pub(super) fn take(&self, earliest: Instant, is_over: &dyn Fn() -> bool) -> Option<Request> {
        let mut asked = self.asked.lock();
        if std::mem::take(&mut asked.is_busy) {
            asked.ended = Some(Instant::now());
        }
        loop {
            if is_over() {
                return None;
            }
            let rest = earliest.saturating_duration_since(Instant::now());
            let wait = match asked.is_any() || !asked.newcomers.is_empty() {
                true if rest.is_zero() => break,
                true => rest,
                false => Duration::from_secs(1),
            };
            self.changed.wait_for(&mut asked, wait);
        }
        asked.is_busy = asked.is_any();
        if !asked.is_busy {
            asked.count = 0;
            return Some(Request::Compare(std::mem::take(&mut asked.newcomers)));
        }
        let directories = std::mem::take(&mut asked.directories);
        Some(match asked.all.take() {
            Some(since) => Request::All(since),
            None => Request::Directories(directories),
        })
    }
}

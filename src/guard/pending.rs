//! Offenders that wait to be renamed, by their directories.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::locked::lock;
use super::offender::Offender;
use crate::backing::FileHandle;
use crate::fs::audit::Operation;
use crate::names::BackingName;

/// Most offenders that wait.
const MOST: usize = 1 << 20;

/// An entry that cannot be renamed yet is looked at again after this time at the latest.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// An offender that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) offender: Offender,
    due: Instant,
    wait: Duration,
    /// The entry was reported already, since it has waited for long.
    pub(super) is_reported: bool,
}

/// The offenders of one directory.
pub(super) type Batch = HashMap<BackingName, Waiting>;

#[derive(Debug, Default)]
struct Table {
    directories: HashMap<FileHandle, Batch>,
    count: usize,
}

/// The offenders that wait.
#[derive(Debug)]
pub(super) struct Pending {
    /// Time for which an entry has to be left alone.
    grace: Duration,
    table: Mutex<Table>,
    changed: Condvar,
}

impl Pending {
    pub(super) fn new(grace: Duration) -> Self {
        Self {
            grace,
            table: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Returns how long an entry has to be left alone.
    pub(super) fn grace(&self) -> Duration {
        self.grace
    }

    /// Returns how many wait.
    pub(super) fn count(&self) -> usize {
        lock(&self.table).count
    }

    /// Has an offender wait; one of its name starts anew. Returns false where there are too many.
    pub(super) fn add(&self, offender: Offender) -> bool {
        let mut table = lock(&self.table);
        let batch = table.directories.get(&offender.place.handle);
        let is_new = batch.is_none_or(|batch| !batch.contains_key(&offender.name));
        if offender.operation == Operation::Found && !is_new {
            return true;
        }
        if is_new && table.count >= MOST {
            return false;
        }
        // What is found in a scan has been there for a while.
        let is_found = offender.operation == Operation::Found;
        let wait = if is_found { Duration::ZERO } else { self.grace };
        let waiting = Waiting {
            due: Instant::now() + wait,
            wait: self.grace,
            is_reported: false,
            offender,
        };
        let directory = waiting.offender.place.handle.clone();
        let batch = table.directories.entry(directory).or_default();
        batch.insert(waiting.offender.name.clone(), waiting);
        table.count += usize::from(is_new);
        drop(table);
        self.changed.notify_one();
        true
    }

    /// Has one wait on: for `wait`, or where that is not known, for longer than before.
    pub(super) fn put_back(&self, mut waiting: Waiting, wait: Option<Duration>) {
        if wait.is_none() {
            waiting.wait = (waiting.wait * 2).clamp(self.grace, LONGEST_WAIT);
        }
        waiting.due = Instant::now() + wait.unwrap_or(waiting.wait);
        let mut table = lock(&self.table);
        let directory = waiting.offender.place.handle.clone();
        let batch = table.directories.entry(directory).or_default();
        let name = waiting.offender.name.clone();
        // One that was made anew meanwhile is there already.
        let is_new = !batch.contains_key(&name);
        batch.entry(name).or_insert(waiting);
        table.count += usize::from(is_new);
    }

    /// Takes those that are due, `most` at the most of each directory. Waits for some time at the most, and returns none then.
    pub(super) fn take_due(&self, most: usize) -> Vec<Batch> {
        let mut table = lock(&self.table);
        if table.count == 0 {
            let waited = self.changed.wait_timeout(table, Duration::from_secs(1));
            table = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let now = Instant::now();
        let mut due = Vec::new();
        for batch in table.directories.values_mut() {
            let mut left = most;
            let taken: Batch = batch
                .extract_if(|_, waiting| {
                    let is_taken = waiting.due <= now && left > 0;
                    left -= usize::from(is_taken);
                    is_taken
                })
                .collect();
            if !taken.is_empty() {
                due.push(taken);
            }
        }
        table.directories.retain(|_, batch| !batch.is_empty());
        table.count -= due.iter().map(HashMap::len).sum::<usize>();
        due
    }

    /// Takes all.
    pub(super) fn take_all(&self) -> Vec<Batch> {
        let mut table = lock(&self.table);
        table.count = 0;
        table.directories.drain().map(|(_, batch)| batch).collect()
    }

    /// Has who waits come back.
    pub(super) fn wake(&self) {
        self.changed.notify_all();
    }
}

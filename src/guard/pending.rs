//! Offenders that wait to be renamed, by their directories.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::judge::{Key, Offender};
use crate::backing::FileHandle;
use crate::fs::audit::Operation;
use crate::names::BackingName;

/// Most offenders that wait. A user's are at most as many as could still be added, so that none takes all the room.
const MOST: usize = 1 << 20;

/// An entry that cannot be renamed yet is looked at again after this time at the latest, or after the grace where that is longer.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// An offender that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) offender: Offender,
    due: Instant,
    /// Time for which it waits next, where `rest` is not known.
    wait: Duration,
    /// Time for which it still has to be left alone, if that is known.
    pub(super) rest: Option<Duration>,
    /// The entry was reported already, since it has waited for long.
    pub(super) is_reported: bool,
}

/// The offenders of one directory.
pub(super) type Batch = HashMap<BackingName, Waiting>;

#[derive(Debug, Default)]
struct Table {
    waiting: HashMap<Key, Waiting>,
    /// The numbers of those of each user who has some.
    by_user: HashMap<u32, usize>,
}

impl Table {
    /// Adds one, in place of one of its name.
    fn insert(&mut self, waiting: Waiting) {
        *self.by_user.entry(waiting.offender.maker.uid).or_default() += 1;
        let replaced = self.waiting.insert(waiting.offender.key(), waiting);
        self.uncount(replaced.iter());
    }

    /// Counts no longer those that were taken out.
    fn uncount<'w>(&mut self, taken: impl Iterator<Item = &'w Waiting>) {
        for waiting in taken {
            if let Some(count) = self.by_user.get_mut(&waiting.offender.maker.uid) {
                *count -= 1;
            }
        }
        self.by_user.retain(|_, count| *count > 0);
    }
}

/// The offenders that wait.
#[derive(Debug)]
pub(super) struct Pending {
    /// Time for which an entry has to be left alone.
    pub(super) grace: Duration,
    most: usize,
    table: Mutex<Table>,
    changed: Condvar,
}

impl Pending {
    pub(super) fn new(grace: Duration) -> Self {
        Self {
            grace,
            most: MOST,
            table: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Returns how many wait.
    pub(super) fn count(&self) -> usize {
        self.table.lock().waiting.len()
    }

    /// Has an offender wait; one of its name starts anew. Returns false where there are too many.
    pub(super) fn add(&self, offender: Offender) -> bool {
        let mut table = self.table.lock();
        let is_found = offender.operation == Operation::Found;
        if table.waiting.contains_key(&offender.key()) {
            if is_found {
                return true;
            }
        } else {
            let of_user = table.by_user.get(&offender.maker.uid).copied();
            if of_user.unwrap_or_default() >= self.most.saturating_sub(table.waiting.len()) {
                return false;
            }
        }
        // What is found in a scan has been there for a while.
        let wait = if is_found { Duration::ZERO } else { self.grace };
        let waiting = Waiting {
            due: Instant::now() + wait,
            wait: self.grace,
            rest: None,
            is_reported: false,
            offender,
        };
        table.insert(waiting);
        drop(table);
        self.changed.notify_one();
        true
    }

    /// Has these wait on: each for its rest, or where that is not known, for the grace, and for twice as long each time.
    pub(super) fn put_back(&self, all: impl IntoIterator<Item = Waiting>) {
        for mut waiting in all {
            let rest = waiting.rest.take().unwrap_or_else(|| {
                let longer = (waiting.wait * 2).min(LONGEST_WAIT.max(self.grace));
                std::mem::replace(&mut waiting.wait, longer)
            });
            waiting.due = Instant::now() + rest;
            let mut table = self.table.lock();
            // One that was made anew meanwhile is there already.
            if !table.waiting.contains_key(&waiting.offender.key()) {
                table.insert(waiting);
            }
        }
    }

    /// Takes those that are due, `most` at the most of each user, so that none waits for all of another's. Waits for some time at
    /// the most, and returns none then.
    pub(super) fn take_due(&self, most: usize) -> HashMap<FileHandle, Batch> {
        let mut table = self.table.lock();
        if table.waiting.is_empty() {
            self.changed.wait_for(&mut table, Duration::from_secs(1));
        }
        let now = Instant::now();
        let mut taken_of: HashMap<u32, usize> = HashMap::new();
        let is_taken = |_: &Key, waiting: &mut Waiting| {
            let taken = taken_of.entry(waiting.offender.maker.uid).or_default();
            let is_taken = waiting.due <= now && *taken < most;
            *taken += usize::from(is_taken);
            is_taken
        };
        let mut due: HashMap<FileHandle, Batch> = HashMap::new();
        for ((directory, name), waiting) in table.waiting.extract_if(is_taken) {
            due.entry(directory).or_default().insert(name, waiting);
        }
        table.uncount(due.values().flat_map(HashMap::values));
        due
    }

    /// Takes all.
    pub(super) fn take_all(&self) -> impl Iterator<Item = Waiting> {
        let table = std::mem::take(&mut *self.table.lock());
        table.waiting.into_values()
    }

    /// Has who waits come back.
    pub(super) fn wake(&self) {
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::daemon::mount_policy::ResolvedPolicy;
    use crate::guard::directories::Directory;
    use crate::guard::judge::Judge;
    use crate::guard::maker::Maker;
    use crate::records::PolicyFile;

    /// Takes an offender of a user in a directory; returns false where there are too many.
    fn add(pending: &Pending, directory: u8, name: u16, uid: u32) -> bool {
        let keys = PolicyFile::parse("mode = 'normalize'").unwrap();
        let resolved = ResolvedPolicy::without_file(keys).unwrap();
        let judge = Judge::new(resolved, &Arc::default());
        let maker = Maker {
            uid,
            ..Maker::default()
        };
        let mut bytes = b"\xE9".to_vec();
        bytes.extend(name.to_string().bytes());
        let directory = Directory {
            handle: FileHandle::from_parts(1, &[directory]).unwrap(),
            path: [].into(),
        };
        let name = BackingName::parse(&bytes).unwrap();
        let (maker, operation) = (Arc::new(maker), Operation::Create);
        let offender = judge.judge(&Arc::new(directory), &name, &maker, operation);
        pending.add(offender.unwrap())
    }

    fn pending(most: usize) -> Pending {
        Pending {
            most,
            ..Pending::new(Duration::ZERO)
        }
    }

    #[test]
    fn a_user_who_floods_the_table_leaves_room_for_others() {
        let pending = pending(64);
        let flood = (0..1000).filter(|name| add(&pending, 1, *name, 7)).count();
        assert_eq!(flood, 32);
        assert!(add(&pending, 1, 2000, 8));
        assert!(add(&pending, 2, 2000, 9));
        assert!(add(&pending, 1, 0, 7), "one of its name is replaced");
        assert!(!add(&pending, 3, 3000, 7));
        assert_eq!(pending.count(), 34);
        let due = pending.take_due(1000);
        assert_eq!(due.values().map(HashMap::len).sum::<usize>(), 34);
        assert_eq!(pending.count(), 0);
        let users = pending.table.lock().by_user.len();
        assert_eq!(users, 0, "nothing is kept of who has none");
        assert!(add(&pending, 3, 3000, 7));
    }

    #[test]
    fn each_round_takes_from_every_user() {
        let pending = pending(1000);
        for name in 0..100 {
            add(&pending, 1, name, 7);
            add(&pending, 2, name, 7);
        }
        add(&pending, 1, 500, 8);
        add(&pending, 2, 500, 8);
        let due = pending.take_due(10);
        let taken = due.values().flat_map(HashMap::values);
        let mut users: Vec<u32> = taken.map(|waiting| waiting.offender.maker.uid).collect();
        users.sort_unstable();
        assert_eq!(users, [[7; 10].as_slice(), &[8; 2]].concat());
        assert_eq!(pending.count(), 190);
        assert_eq!(pending.take_all().count(), 190);
        assert_eq!(pending.count(), 0);
    }

    #[test]
    fn one_that_is_put_back_waits_for_the_grace_then_for_longer() {
        for (grace, waits) in [(2, [2, 4, 8, 16, 32, 60, 60]), (120, [120; 7])] {
            let pending = Pending::new(Duration::from_secs(grace));
            add(&pending, 1, 0, 7);
            let take = || pending.take_all().next();
            for wait in waits.map(Duration::from_secs) {
                let waiting = take().unwrap();
                let before = Instant::now();
                pending.put_back([waiting]);
                let waiting = take().unwrap();
                let times = before + wait..=Instant::now() + wait;
                assert!(times.contains(&waiting.due), "{wait:?}");
                pending.table.lock().insert(waiting);
            }
        }
    }
}

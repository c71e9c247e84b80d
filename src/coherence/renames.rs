//! Names that the kernel is to look up anew before it renames them, or removes the directory there.
//!
//! The kernel keeps a name for its entry timeout, and a rename moves the dentry, with its timeout, to the new name. A
//! new name with aliases must not be kept: changes through an alias would go unnoticed (law N10). So such a rename is
//! first answered with `ESTALE`. rename(2) (`do_renameat2` in `fs/namei.c`) then locks both directories, looks both
//! names up once more and asks again, all as the same thread. That lookup gives the old name no entry timeout.
//!
//! Each caller has its own mark, so that another who renames the same name in between takes none away. Callers of
//! another pid namespace have no pid: those of one user share a mark, and nobody takes that away. The kernel holds
//! the lock of the directory from the second lookup to the rename. So the two are one step to all others, and a
//! shared mark serves each in turn.
//!
//! A rmdir or rename of a doubtful name (`dentries`) is answered with `ESTALE` too. Then the caller's own lookup says what the
//! kernel knows by the name.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use super::dentries::{Name, Target};
use crate::fs::{Caller, FsError};

/// Most marks. A mark lasts until there are more: whoever holds the lock of a directory can delay a rename for as long as he likes.
const MOST: usize = 4096;

/// A rename or rmdir that was answered with `ESTALE` and is to be repeated.
#[derive(Debug)]
struct Mark {
    caller: Caller,
    /// What the caller was told that the name leads to when it looked it up since. The kernel keeps the name no more then.
    told: Option<Target>,
    since: Instant,
}

/// The marks of each name in a directory.
#[derive(Debug, Default)]
struct Marks {
    by_name: HashMap<(u64, Box<[u8]>), Vec<Mark>>,
    count: usize,
}

impl Marks {
    /// Drops the older half of the marks of the user who has the most, if there are too many. So nobody pushes out
    /// those of users with fewer.
    fn make_room(&mut self) {
        if self.count < MOST {
            return;
        }
        let mut users: HashMap<u32, Vec<Instant>> = HashMap::new();
        for mark in self.by_name.values().flatten() {
            users.entry(mark.caller.uid).or_default().push(mark.since);
        }
        let Some((uid, mut own)) = users.into_iter().max_by_key(|(_, own)| own.len()) else {
            return;
        };
        let middle = own.len() / 2;
        let (_, &mut middle, _) = own.select_nth_unstable(middle);
        self.by_name.retain(|_, marks| {
            marks.retain(|mark| mark.caller.uid != uid || mark.since > middle);
            !marks.is_empty()
        });
        self.count = self.by_name.values().map(Vec::len).sum();
    }
}

/// The renames that are to be repeated.
#[derive(Debug, Default)]
pub(super) struct Renames {
    marks: Mutex<Marks>,
    count: AtomicUsize,
}

impl Renames {
    /// Returns the number of names that must not be kept for now.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Runs `act` on the marks of a name, if it has any.
    fn with<T: Default>(&self, name: Name<'_>, act: impl FnOnce(&mut Vec<Mark>) -> T) -> T {
        if self.count.load(Ordering::Acquire) == 0 {
            return T::default();
        }
        let mut all = self.marks.lock();
        let key = (name.0, name.1.into());
        let mut done = T::default();
        let Marks { by_name, count } = &mut *all;
        if let Some(marks) = by_name.get_mut(&key) {
            *count -= marks.len();
            done = act(marks);
            *count += marks.len();
            if marks.is_empty() {
                by_name.remove(&key);
            }
        }
        self.count.store(by_name.len(), Ordering::Release);
        done
    }

    /// May the kernel keep this name?
    pub(super) fn allows(&self, name: Name<'_>) -> bool {
        let bars = |mark: &Mark| mark.told != Some(Target::Absent);
        !self.with(name, |marks| marks.iter().any(bars))
    }

    /// Notes that `caller` looked a name up, which leads to `target`, and that the kernel was told not to keep it if it is marked.
    pub(super) fn looked_up(&self, caller: Caller, name: Name<'_>, target: Target) {
        self.with(name, |marks| {
            let own = marks.iter_mut().filter(|mark| mark.caller == caller);
            own.for_each(|mark| mark.told = Some(target));
        });
    }

    /// What `caller` was told that the name leads to when it looked the name up since its call was answered with `ESTALE`.
    pub(super) fn told(&self, caller: Caller, name: Name<'_>) -> Option<Target> {
        let own = |mark: &&mut Mark| mark.caller == caller;
        self.with(name, |marks| marks.iter_mut().find(own)?.told)
    }

    /// Notes that another dentry was moved to the name, which the kernel may keep for its own timeout.
    pub(super) fn replaced(&self, name: Name<'_>) {
        let forget = |mark: &mut Mark| mark.told = None;
        self.with(name, |marks| marks.iter_mut().for_each(forget));
    }

    /// Marks the name for `caller` where that is to look it up and ask again; else takes his mark away, if it is nobody else's.
    pub(super) fn ended<T>(&self, caller: Caller, name: Name<'_>, done: &Result<T, FsError>) {
        if let Err(FsError::Stale) = done {
            self.is_forgotten(caller, name);
        } else if caller.pid != 0 {
            self.with(name, |marks| marks.retain(|mark| mark.caller != caller));
        }
    }

    /// Says whether `caller` looked the name up since its rename was answered with `ESTALE`, so that the kernel
    /// dropped the name. Marks the name where it did not. A lookup lets one rename through.
    pub(super) fn is_forgotten(&self, caller: Caller, name: Name<'_>) -> bool {
        let mut all = self.marks.lock();
        let key = (name.0, name.1.into());
        let marks = all.by_name.get_mut(&key);
        let own = marks.and_then(|marks| marks.iter_mut().find(|mark| mark.caller == caller));
        if let Some(own) = own {
            own.since = Instant::now();
            return own.told.take().is_some_and(|told| told != Target::Absent);
        }
        all.make_room();
        all.by_name.entry(key).or_default().push(Mark {
            caller,
            told: None,
            since: Instant::now(),
        });
        all.count += 1;
        self.count.store(all.by_name.len(), Ordering::Release);
        false
    }
}

#[cfg(test)]
mod tests;

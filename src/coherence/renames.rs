//! Names that the kernel is to look up anew before they are renamed.
//!
//! The kernel keeps a name for its entry timeout, and a rename moves the dentry, with its timeout, to the new name. Where the new
//! name is one of several spellings it must not be kept: what happens by another spelling would go unnoticed (law N10). So such
//! a rename is first answered with `ESTALE`. rename(2) (`do_renameat2` in `fs/namei.c`) then locks both directories, looks both
//! names up once more and asks again, all as the same thread: that lookup gives the old name no entry timeout.
//!
//! Each caller has its own mark, so that another who renames the same name in between takes none away.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::fs::{Caller, lock};

/// Most names that are marked. Of more, none is: the renames under way are answered with `ESTALE` once more.
const MOST: usize = 4096;

/// A rename that is not repeated in this time never is: its caller was killed, or may not rename.
const PATIENCE: Duration = Duration::from_secs(60);

/// Is a caller told from others of the same user? Not if its process is of another pid namespace: then each of them has a mark.
fn is_known(caller: Caller) -> bool {
    caller.pid != 0
}

/// A rename that was answered with `ESTALE` and is to be repeated.
#[derive(Debug)]
struct Mark {
    caller: Caller,
    /// Did the caller look the name up since? The kernel keeps it no more then.
    is_looked_up: bool,
    since: Instant,
}

/// The marks of each name in a directory.
#[derive(Debug, Default)]
struct Marks {
    by_name: HashMap<(u64, Box<[u8]>), Vec<Mark>>,
    /// When marks that are too old were last dropped.
    swept: Option<Instant>,
}

impl Marks {
    /// Drops marks that are too old at `now`, if that was not done of late or there are too many.
    fn sweep(&mut self, now: Instant) {
        let since = |then: Instant| now.saturating_duration_since(then);
        let is_fresh = self.swept.is_some_and(|swept| since(swept) < PATIENCE);
        if is_fresh && self.by_name.len() < MOST {
            return;
        }
        self.swept = Some(now);
        self.by_name.retain(|_, marks| {
            marks.retain(|mark| since(mark.since) < PATIENCE);
            !marks.is_empty()
        });
        if self.by_name.len() >= MOST {
            self.by_name.clear();
        }
    }
}

/// The renames that are to be repeated.
#[derive(Debug, Default)]
pub(super) struct Renames {
    marks: Mutex<Marks>,
    count: AtomicUsize,
}

impl Renames {
    /// How many names must not be kept for now.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    fn swept(&self) -> MutexGuard<'_, Marks> {
        let mut marks = lock(&self.marks);
        marks.sweep(Instant::now());
        marks
    }

    /// Runs `act` on the marks of a name, if it has any.
    fn with<T: Default>(
        &self,
        directory: u64,
        name: &[u8],
        act: impl FnOnce(&mut Vec<Mark>) -> T,
    ) -> T {
        if self.count.load(Ordering::Acquire) == 0 {
            return T::default();
        }
        let mut all = self.swept();
        let key = (directory, name.into());
        let mut done = T::default();
        if let Some(marks) = all.by_name.get_mut(&key) {
            done = act(marks);
            if marks.is_empty() {
                all.by_name.remove(&key);
            }
        }
        self.count.store(all.by_name.len(), Ordering::Release);
        done
    }

    /// May the kernel keep this name of the directory of number `directory`?
    pub(super) fn allows(&self, directory: u64, name: &[u8]) -> bool {
        !self.with(directory, name, |marks| !marks.is_empty())
    }

    /// Notes that `caller` looked a name up, and that the kernel was told not to keep it if it is marked.
    pub(super) fn looked_up(&self, caller: Caller, directory: u64, name: &[u8]) {
        self.with(directory, name, |marks| {
            let own = marks.iter_mut().filter(|mark| mark.caller == caller);
            own.for_each(|mark| mark.is_looked_up = true);
        });
    }

    /// Notes that another dentry was moved to the name, which the kernel may keep for its own timeout.
    pub(super) fn replaced(&self, directory: u64, name: &[u8]) {
        self.with(directory, name, |marks| {
            marks.iter_mut().for_each(|mark| mark.is_looked_up = false);
        });
    }

    /// Takes the mark of `caller` away, whose rename ended.
    pub(super) fn ended(&self, caller: Caller, directory: u64, name: &[u8]) {
        self.with(directory, name, |marks| {
            let is_own = |mark: &Mark| mark.caller == caller;
            if is_known(caller) {
                marks.retain(|mark| !is_own(mark));
            } else if let Some(at) = marks.iter().position(is_own) {
                marks.remove(at);
            }
        });
    }

    /// Says whether `caller` looked the name up since its rename was answered with `ESTALE`, so that the kernel does not keep
    /// the name any more; marks the name where it did not.
    pub(super) fn is_forgotten(&self, caller: Caller, directory: u64, name: &[u8]) -> bool {
        let mut all = self.swept();
        let marks = all.by_name.entry((directory, name.into())).or_default();
        let own = || marks.iter().filter(|mark| mark.caller == caller);
        let is_looked_up = own().any(|mark| mark.is_looked_up);
        let is_marked = is_known(caller) && own().next().is_some();
        if !is_looked_up && !is_marked {
            marks.push(Mark {
                caller,
                is_looked_up: false,
                since: Instant::now(),
            });
        }
        self.count.store(all.by_name.len(), Ordering::Release);
        is_looked_up
    }
}

#[cfg(test)]
mod tests;

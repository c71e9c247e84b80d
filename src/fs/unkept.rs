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

use super::inode::lock;
use super::{Caller, FsError, Lasts, Utf8Fs};
use crate::names::{BackingName, OnViolation, VisibleName};

/// Most names that are marked. Of more, none is: the renames under way are answered with `ESTALE` once more.
const MOST: usize = 4096;

/// A rename that is not repeated in this time never is: its caller was killed, or may not rename.
const PATIENCE: Duration = Duration::from_secs(60);

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

/// The names that must not be kept for now.
#[derive(Debug, Default)]
pub(super) struct Unkept {
    marks: Mutex<Marks>,
    count: AtomicUsize,
}

impl Unkept {
    /// How many there are.
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
            marks.retain(|mark| mark.caller != caller);
        });
    }

    /// Says whether `caller` looked the name up since its rename was answered with `ESTALE`, so that the kernel does not keep
    /// the name any more; marks the name where it did not.
    fn is_forgotten(&self, caller: Caller, directory: u64, name: &[u8]) -> bool {
        let mut all = self.swept();
        let marks = all.by_name.entry((directory, name.into())).or_default();
        let own = marks.iter().find(|mark| mark.caller == caller);
        let is_looked_up = own.map(|mark| mark.is_looked_up);
        if is_looked_up.is_none() {
            marks.push(Mark {
                caller,
                is_looked_up: false,
                since: Instant::now(),
            });
        }
        self.count.store(all.by_name.len(), Ordering::Release);
        is_looked_up.unwrap_or_default()
    }
}

impl Utf8Fs {
    /// May the kernel keep the name of an entry? Not one that is mapped or may be one spelling of several: what it stands for
    /// can change without a change of that name itself (law N10).
    pub(super) fn is_lasting(
        &self,
        backing: &BackingName,
        visible: &VisibleName,
        alias: bool,
    ) -> bool {
        let name = visible.as_bytes();
        !alias
            && name == backing.as_bytes()
            && if self.map.policy.conforms(name) {
                self.map.is_only_spelling(name)
            } else {
                !self.map.has_spellings() && self.nobody_is_exempt()
            }
    }

    /// Sees to it that the kernel does not keep the entry `name` of `directory` any more, where `caller` is to rename it to a name
    /// that must not be kept.
    ///
    /// # Errors
    /// [`FsError::Stale`]: it is to be looked up and renamed once more.
    pub(super) fn have_forgotten(
        &self,
        caller: Caller,
        (directory, name): (u64, &[u8]),
    ) -> Result<(), FsError> {
        let may_be_kept = self.map.policy.conforms(name) && self.map.is_only_spelling(name);
        if may_be_kept
            && !self.indexed.unseen.is_zero()
            && !self.unkept.is_forgotten(caller, directory, name)
        {
            return Err(FsError::Stale);
        }
        Ok(())
    }

    /// How long may the kernel keep that there is no entry `name`? Only of names that change by nothing that is done to other
    /// names: they are no spelling of others, and no mapping yields them; or one does, by decoding alone, and nobody can make
    /// the name that it would decode. What is there already and would be decoded as an absent name is listed under it, so
    /// that the name is not absent.
    #[must_use]
    pub fn keep_absence(&self, directory: u64, name: &[u8]) -> Lasts {
        let is_alone = self.map.policy.conforms(name) && self.map.is_only_spelling(name);
        match self.inodes.get(directory) {
            Ok(directory) if is_alone && !self.map.may_be_mapped(name) => {
                self.absence_lasts(&directory, name)
            }
            // Changes are reported by backing names, of which it may not be one.
            Ok(_) if is_alone && self.is_never_made_by_others(name) => match self.follows() {
                true => Lasts::Briefly,
                false => Lasts::Long,
            },
            _ => Lasts::Not,
        }
    }

    /// Does nothing that is made through the mount get this name but by this name?
    fn is_never_made_by_others(&self, name: &[u8]) -> bool {
        let is_marked = name.iter().any(|octet| matches!(octet, b'%' | b'~'));
        !is_marked
            && self.map.on_violation == OnViolation::Reject
            && self.map.policy.form.is_none()
            && self.map.store_as.is_none()
            && self.nobody_is_exempt()
    }
}

#[cfg(test)]
mod tests;

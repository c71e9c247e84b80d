//! Names that the kernel is to look up anew before they are renamed.
//!
//! The kernel keeps a name that it was given a time to live for, and a rename moves what it keeps, with its time, to the new
//! name. Where the new name is one of several spellings it must not be kept: what happens by another spelling would go
//! unnoticed (law N10). So such a rename is first answered with `ESTALE`. rename(2) then looks both names up once more
//! and tries again; that lookup gives the old name no time to live.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::inode::{Inode, lock};
use super::{FsError, Lasts, Utf8Fs};
use crate::names::{BackingName, OnViolation, VisibleName};

/// So many renames may be under way; of more, the oldest would be told `ESTALE` once more.
const MOST: usize = 4096;

#[derive(Debug)]
struct Mark {
    directory: u64,
    name: Box<[u8]>,
    /// Was it looked up since? The kernel keeps it no more then.
    is_looked_up: bool,
}

/// The names that must not be kept for now.
#[derive(Debug, Default)]
pub(super) struct Unkept {
    /// Oldest first.
    marks: Mutex<VecDeque<Mark>>,
    count: AtomicUsize,
}

impl Unkept {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// May the kernel keep this name of the directory of number `directory`?
    pub(super) fn allows(&self, directory: u64, name: &[u8]) -> bool {
        self.count.load(Ordering::Acquire) == 0
            || !lock(&self.marks)
                .iter()
                .any(|mark| mark.directory == directory && *mark.name == *name)
    }

    /// Notes that the kernel looked a name up, and was told not to keep it if it is marked.
    pub(super) fn looked_up(&self, directory: u64, name: &[u8]) {
        if self.count.load(Ordering::Acquire) > 0
            && let Some(mark) = lock(&self.marks)
                .iter_mut()
                .find(|mark| mark.directory == directory && *mark.name == *name)
        {
            mark.is_looked_up = true;
        }
    }

    /// Says whether the kernel does not keep the name any more; marks it where that is not known.
    pub(super) fn is_forgotten(&self, directory: u64, name: &[u8]) -> bool {
        let mut marks = lock(&self.marks);
        let known = marks
            .iter()
            .find(|mark| mark.directory == directory && *mark.name == *name);
        if let Some(mark) = known {
            return mark.is_looked_up;
        }
        marks.push_back(Mark {
            directory,
            name: name.into(),
            is_looked_up: false,
        });
        if marks.len() > MOST {
            marks.pop_front();
        }
        self.count.store(marks.len(), Ordering::Release);
        false
    }

    /// Takes the mark of a name away that is gone: it was renamed.
    pub(super) fn renamed(&self, directory: u64, name: &[u8]) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut marks = lock(&self.marks);
        marks.retain(|mark| mark.directory != directory || *mark.name != *name);
        self.count.store(marks.len(), Ordering::Release);
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

    /// Sees to it that the kernel does not keep the entry `name` of `directory` any more, where that is to be renamed to a
    /// name that must not be kept.
    ///
    /// # Errors
    /// [`FsError::Stale`]: it is to be looked up and renamed once more.
    pub(super) fn have_forgotten(&self, directory: &Inode, name: &[u8]) -> Result<(), FsError> {
        let may_be_kept = self.map.policy.conforms(name) && self.map.is_only_spelling(name);
        if may_be_kept
            && !self.indexed.unseen.is_zero()
            && !self.unkept.is_forgotten(directory.number, name)
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

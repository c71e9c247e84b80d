//! The inode that each name leads to, as the kernel was told last.
//!
//! The kernel judges by its dentry: it marks the directory there as removed for good (`vfs_rmdir` and `vfs_rename` in `fs/namei.c`).
//! The daemon acts on whatever has the name now. The two are compared here.
//!
//! The kernel looks a name up again (`d_revalidate`) without the lock of its directory. So another process may be told of another
//! directory by that name after the removal of the former one has begun. From then on the name is doubtful. Making, moving and removing
//! it here ends that, since the kernel holds the lock then.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use parking_lot::Mutex;

/// Most names that are known, in half a MiB. Then all are forgotten, and the kernel is made to look those up again that it removes.
const MOST: usize = 28_000;

/// The number that is noted for a name that leads nowhere.
pub(super) const ABSENT: u64 = 0;

/// The number that is noted for a doubtful name.
pub(super) const DOUBTFUL: u64 = u64::MAX;

/// A name, and the number of its directory.
pub type Name<'a> = (u64, &'a [u8]);

/// The inode numbers that were told of names, by the hashes of these.
#[derive(Debug, Default)]
pub(super) struct KernelNames {
    numbers: Mutex<HashMap<u64, u64>>,
    /// Its keys are random, so that nobody can find two names that have one hash.
    hasher: RandomState,
}

impl KernelNames {
    /// Notes that `name` leads to the inode `number`, where the kernel had the directory's lock.
    pub(super) fn note(&self, name: Name<'_>, number: u64) {
        self.looked_up(name, number, |_| false);
    }

    /// Notes that `name` was looked up and leads to the inode `number`. Where it led to another, `doubt` says whether the kernel may still
    /// know that by the name. Returns where it led before, if that differs.
    pub(super) fn looked_up(
        &self,
        name: Name<'_>,
        number: u64,
        doubt: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        let name = self.hasher.hash_one(name);
        let mut numbers = self.numbers.lock();
        if numbers.len() >= MOST {
            numbers.clear();
        }
        let told = numbers.entry(name).or_insert(number);
        let before = *told;
        if before == number {
            return None;
        }
        *told = if doubt(before) { DOUBTFUL } else { number };
        Some(before)
    }

    /// The inode that `name` was told to lead to last, or [`DOUBTFUL`]. `None` if that is not known any more.
    pub(super) fn number(&self, name: Name<'_>) -> Option<u64> {
        let name = self.hasher.hash_one(name);
        self.numbers.lock().get(&name).copied()
    }

    /// The kernel has moved the dentry of `old` to `new`, or both to each other. It has no other by `old`.
    pub(super) fn renamed(&self, old: Name<'_>, new: Name<'_>, is_exchange: bool) {
        let [old, new] = [old, new].map(|name| self.hasher.hash_one(name));
        let mut numbers = self.numbers.lock();
        let [moved, replaced] = [old, new].map(|name| numbers.remove(&name));
        numbers.extend(moved.map(|moved| (new, moved)));
        numbers.extend(
            replaced
                .filter(|_| is_exchange)
                .map(|replaced| (old, replaced)),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_what_was_told_last() {
        let names = KernelNames::default();
        let (a, b): (Name<'_>, Name<'_>) = ((1, b"a"), (1, b"b"));
        assert_eq!(names.number(a), None);
        names.note(a, 7);
        names.note(b, 8);
        let lead = |first, second| {
            assert_eq!(
                [a, b].map(|name| names.number(name)),
                [first, second].map(Some)
            );
        };
        lead(7, 8);
        assert_eq!(names.number((2, b"a")), None, "of another directory");
        names.renamed(a, b, true);
        lead(8, 7);
        names.renamed(a, b, false);
        assert_eq!(names.number(b), Some(8));
        assert_eq!(names.number(a), None, "it has moved");
        names.renamed((1, b"never told"), b, false);
        assert_eq!(names.number(b), None);
    }

    /// They are so few that the memory for them has a limit.
    #[test]
    fn names_that_are_too_many_are_not_known() {
        let names = KernelNames::default();
        for number in 0..=MOST as u64 {
            names.note((number, b"a"), 7);
        }
        assert_eq!(names.number((0, b"a")), None);
        assert_eq!(names.number((MOST as u64, b"a")), Some(7));
    }
}

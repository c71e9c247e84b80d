//! The inode that each name leads to, as the kernel was told last.
//!
//! The kernel judges by its dentry: it marks the directory there as removed for good (`vfs_rmdir` and `vfs_rename` in `fs/namei.c`).
//! The daemon acts on whatever has the name now. The two are compared here.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Most names that are known, in 1.6 MB. Then all are forgotten, and the kernel is made to look those up again that it removes.
const MOST: usize = 28_000;

/// The number that is noted for a name that leads nowhere.
pub(super) const ABSENT: u64 = 0;

/// Time after which no operation is under way any more that the kernel began before others looked its name up.
const LATELY: Duration = Duration::from_secs(1);

/// A name, and the number of its directory.
pub type Name<'a> = (u64, &'a [u8]);

/// The answer to the latest lookup of a name.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    number: u64,
    /// The inode that it led to before, and the time of the first answer that was another.
    earlier: u64,
    since: Option<Instant>,
}

/// What was told of names, by their hashes.
#[derive(Debug, Default)]
pub(super) struct KernelNames {
    names: Mutex<HashMap<u64, Told>>,
    /// Its keys are random, so that nobody can find two names that have one hash.
    hasher: RandomState,
}

impl KernelNames {
    /// Notes that `name` leads to the inode `number`.
    pub(super) fn note(&self, name: Name<'_>, number: u64) {
        let name = self.hasher.hash_one(name);
        let mut names = self.names.lock();
        if names.len() >= MOST {
            names.clear();
        }
        let told = names.entry(name).or_default();
        if told.number != number && told.number != ABSENT {
            told.earlier = told.number;
            told.since = Some(Instant::now());
        }
        told.number = number;
    }

    fn told(&self, name: Name<'_>) -> Option<Told> {
        let name = self.hasher.hash_one(name);
        self.names.lock().get(&name).copied()
    }

    /// Was it told last that `name` leads to the inode `number`? `None` if that is not known any more.
    pub(super) fn leads_to(&self, name: Name<'_>, number: u64) -> Option<bool> {
        self.told(name).map(|told| told.number == number)
    }

    /// The inodes that the kernel may know by `name` in an operation that it has begun: others may have looked it up since.
    pub(super) fn lately(&self, name: Name<'_>) -> [u64; 2] {
        let told = self.told(name).unwrap_or_default();
        let is_late = told.since.is_some_and(|since| since.elapsed() < LATELY);
        [told.number, if is_late { told.earlier } else { ABSENT }]
    }

    /// The kernel has moved the dentry of `old` to `new`, or both to each other. It has no other by `old`.
    pub(super) fn renamed(&self, old: Name<'_>, new: Name<'_>, is_exchange: bool) {
        let [old, new] = [old, new].map(|name| self.hasher.hash_one(name));
        let mut names = self.names.lock();
        let [moved, replaced] = [old, new].map(|name| names.remove(&name));
        for (name, told) in [(new, moved), (old, replaced.filter(|_| is_exchange))] {
            if let Some(mut told) = told {
                told.since = None;
                names.insert(name, told);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_what_was_told_last() {
        let names = KernelNames::default();
        let (a, b): (Name<'_>, Name<'_>) = ((1, b"a"), (1, b"b"));
        assert_eq!(names.leads_to(a, ABSENT), None);
        names.note(a, 7);
        names.note(b, 8);
        let lead = |first, second| {
            assert_eq!(names.leads_to(a, first), Some(true));
            assert_eq!(names.leads_to(a, second), Some(false));
            assert_eq!(names.leads_to(b, second), Some(true));
        };
        lead(7, 8);
        assert_eq!(names.leads_to((2, b"a"), 7), None, "of another directory");
        names.renamed(a, b, true);
        lead(8, 7);
        names.renamed(a, b, false);
        assert_eq!(names.leads_to(b, 8), Some(true));
        names.renamed((1, b"never told"), b, false);
        assert_eq!(names.leads_to(b, 8), None);
    }

    /// The kernel judges by what it knew when an operation began.
    #[test]
    fn what_a_name_led_to_before_is_known_for_a_second() {
        let names = KernelNames::default();
        let lately = |name| names.lately(name);
        let (a, b): (Name<'_>, Name<'_>) = ((1, b"a"), (1, b"b"));
        assert_eq!(lately(a), [ABSENT; 2]);
        for (number, known) in [
            (7, [7, ABSENT]),
            (7, [7, ABSENT]),
            (ABSENT, [ABSENT, 7]),
            (ABSENT, [ABSENT, 7]),
            (8, [8, 7]),
            (9, [9, 8]),
        ] {
            names.note(a, number);
            assert_eq!(lately(a), known);
        }
        names.note(b, 3);
        names.renamed(a, b, true);
        assert_eq!((lately(a), lately(b)), ([3, ABSENT], [9, ABSENT]));
        names.note(a, 4);
        std::thread::sleep(LATELY);
        assert_eq!(lately(a), [4, ABSENT]);
        names.renamed(a, b, false);
        assert_eq!((lately(a), lately(b)), ([ABSENT; 2], [4, ABSENT]));
    }

    /// They are so few that the memory for them has a limit.
    #[test]
    fn names_that_are_too_many_are_not_known() {
        let names = KernelNames::default();
        for number in 0..=MOST as u64 {
            names.note((number, b"a"), 7);
        }
        assert_eq!(names.leads_to((0, b"a"), 7), None);
        assert_eq!(names.leads_to((MOST as u64, b"a"), 7), Some(true));
    }
}

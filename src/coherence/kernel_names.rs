//! The inode that each name leads to, as the kernel was told last.
//!
//! The kernel judges by its dentry: it marks the directory there as removed for good (`vfs_rmdir` and `vfs_rename` in `fs/namei.c`).
//! The daemon acts on whatever has the name now. The two are compared here.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of slots; 512 KiB.
const SLOTS: usize = 1 << 16;

/// The number that is noted for a name that leads nowhere.
pub(super) const ABSENT: u64 = 0;

/// A name, and the number of its directory.
pub type Name<'a> = (u64, &'a [u8]);

/// What was told of some names, the latest ones. A name that shares a slot with another pushes that out.
#[derive(Debug)]
pub(super) struct KernelNames {
    /// A digest of a name and of the number of its inode; 0 before the first.
    slots: Box<[AtomicU64]>,
    /// Its keys are random, so that nobody can find a name that pushes another's out.
    hasher: RandomState,
}

impl Default for KernelNames {
    fn default() -> Self {
        Self {
            slots: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            hasher: RandomState::new(),
        }
    }
}

impl KernelNames {
    /// The slot of a name, and its digest in the upper half, never 0.
    fn slot(&self, name: Name<'_>) -> Option<(&AtomicU64, u64)> {
        let hash = self.hasher.hash_one(name);
        let index = usize::try_from(hash % SLOTS as u64).ok()?;
        Some((self.slots.get(index)?, (hash | 1 << 63) & UPPER))
    }

    /// Notes that `name` leads to the inode `number`.
    pub(super) fn note(&self, name: Name<'_>, number: u64) {
        if let Some((slot, digest)) = self.slot(name) {
            slot.store(digest | number & !UPPER, Ordering::Release);
        }
    }

    /// Was it told last that `name` leads to the inode `number`? `None` if that is not known any more.
    pub(super) fn leads_to(&self, name: Name<'_>, number: u64) -> Option<bool> {
        let (slot, digest) = self.slot(name)?;
        let told = slot.load(Ordering::Acquire);
        (told & UPPER == digest).then_some(told == digest | number & !UPPER)
    }

    /// The kernel has moved the dentry of `old` to `new`, or both to each other.
    pub(super) fn renamed(&self, old: Name<'_>, new: Name<'_>, is_exchange: bool) {
        if let (Some((from, old)), Some((to, new))) = (self.slot(old), self.slot(new)) {
            // If the slot has another name's, it becomes that of no name.
            let turned = old ^ new;
            let replaced = to.swap(from.load(Ordering::Acquire) ^ turned, Ordering::AcqRel);
            if is_exchange {
                from.store(replaced ^ turned, Ordering::Release);
            }
        }
    }
}

/// The bits of a slot that are the name's; the others are the inode number's.
const UPPER: u64 = u64::MAX << 32;

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

    /// As many as there are push others out, and most of them are known.
    #[test]
    fn a_name_that_was_pushed_out_is_not_known() {
        let [names, other] = [KernelNames::default(), KernelNames::default()];
        let bytes: Vec<[u8; 8]> = (0..SLOTS as u64).map(u64::to_ne_bytes).collect();
        for (number, name) in bytes.iter().enumerate() {
            names.note((1, name), number as u64);
            other.note((1, name), number as u64);
        }
        let are_told = |names: &KernelNames| {
            let told = bytes.iter().enumerate();
            let told = told.map(|(number, name)| names.leads_to((1, name), number as u64));
            told.collect::<Vec<_>>()
        };
        let told = are_told(&names);
        assert_ne!(
            told,
            are_told(&other),
            "the same share a slot in each mount"
        );
        assert!(told.contains(&None) && !told.contains(&Some(false)));
        assert!(told.iter().flatten().count() > SLOTS / 2);
    }
}

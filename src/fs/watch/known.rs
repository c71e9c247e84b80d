//! What the kernel keeps that no inode tells of: that there are no such names, and names that were given up for others.

use std::collections::HashSet;
use std::sync::Mutex;

use crate::fs::inode::lock;

/// A name, and the number of its directory.
pub(super) type Name = (u64, Box<[u8]>);

/// So many absent names the kernel may keep without a time; 8 MiB with names of usual lengths.
const MOST: usize = 65_536;

#[derive(Debug, Default)]
struct Names {
    absent: HashSet<Name>,
    /// To be forgotten soon.
    late: HashSet<Name>,
}

/// The names.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<Names>);

impl Known {
    /// Notes that the kernel is to keep that there is no such name; `false` where too many are to be forgotten first. The second
    /// says whether there is something to forget.
    pub(super) fn add_absent(&self, directory: u64, name: &[u8]) -> (bool, bool) {
        let mut names = lock(&self.0);
        let is_full = names.absent.len() >= MOST;
        if is_full {
            if !names.late.is_empty() {
                return (false, true);
            }
            names.late = std::mem::take(&mut names.absent);
        }
        names.absent.insert((directory, name.into()));
        (true, is_full)
    }

    /// Notes a name that the kernel is to forget soon.
    pub(super) fn add_late(&self, directory: u64, name: &[u8]) {
        lock(&self.0).late.insert((directory, name.into()));
    }

    /// Something has the name by now, or the kernel has forgotten that nothing has.
    pub(super) fn remove_absent(&self, name: &Name) {
        lock(&self.0).absent.remove(name);
    }

    /// Takes the names that are to be forgotten now.
    pub(super) fn take_late(&self) -> HashSet<Name> {
        std::mem::take(&mut lock(&self.0).late)
    }

    /// Takes all names.
    pub(super) fn take_all(&self) -> HashSet<Name> {
        let mut names = lock(&self.0);
        let mut all = std::mem::take(&mut names.absent);
        all.extend(std::mem::take(&mut names.late));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_absent_names_are_kept_than_are_remembered() {
        let known = Known::default();
        for number in 0..MOST {
            assert_eq!(
                known.add_absent(1, number.to_string().as_bytes()),
                (true, false)
            );
        }
        // The earlier ones are forgotten, which takes somebody to do it.
        assert_eq!(known.add_absent(1, b"one more"), (true, true));
        for number in 1..MOST {
            assert!(known.add_absent(2, number.to_string().as_bytes()).0);
        }
        assert_eq!(known.add_absent(1, b"too many"), (false, true));
        assert_eq!(known.take_late().len(), MOST);
        assert_eq!(known.add_absent(1, b"another"), (true, true));
        known.remove_absent(&(1, b"another"[..].into()));
        known.add_late(3, b"renamed");
        assert_eq!(known.take_all().len(), MOST + 1);
        assert_eq!(known.take_all().len(), 0);
    }
}

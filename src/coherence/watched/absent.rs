//! The negative dentries that the kernel may keep: absent names that no inode tells of.

use std::collections::HashSet;
use std::time::Instant;

use parking_lot::Mutex;

use super::LONGEST;

/// A name, and the number of its directory.
pub(super) type Name = (u64, Box<[u8]>);

/// Names remembered per period of [`LONGEST`]; 4 MiB with names of usual lengths.
const MOST: usize = 32_768;

#[derive(Debug, Default)]
struct Periods {
    current: HashSet<Name>,
    /// When the current period began.
    since: Option<Instant>,
    /// Names of the period before, of which the kernel may keep some still.
    before: HashSet<Name>,
}

/// The names.
#[derive(Debug, Default)]
pub(super) struct AbsentNames(Mutex<Periods>);

impl AbsentNames {
    /// Notes that the kernel is to keep a negative dentry; `false` where too many are remembered.
    pub(super) fn add(&self, directory: u64, name: &[u8]) -> bool {
        let mut periods = self.0.lock();
        let since = *periods.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= LONGEST {
            periods.before = std::mem::take(&mut periods.current);
            periods.since = Some(Instant::now());
        }
        let has_room = periods.current.len() < MOST;
        if has_room {
            periods.current.insert((directory, name.into()));
        }
        has_room
    }

    /// Something has the name by now, or the kernel has dropped the dentry.
    pub(super) fn remove(&self, directory: u64, name: &[u8]) {
        let mut periods = self.0.lock();
        if periods.current.is_empty() && periods.before.is_empty() {
            return;
        }
        let name: Name = (directory, name.into());
        periods.current.remove(&name);
        periods.before.remove(&name);
    }

    /// Returns all names.
    pub(super) fn all(&self) -> HashSet<Name> {
        let periods = self.0.lock();
        periods.current.union(&periods.before).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_remembered_as_the_kernel_may_keep() {
        let absent = AbsentNames::default();
        for number in 0..MOST {
            assert!(absent.add(1, number.to_string().as_bytes()));
        }
        assert!(!absent.add(1, b"one more"));
        // The kernel keeps none of the period before the last.
        let end = || absent.0.lock().since = Instant::now().checked_sub(LONGEST);
        end();
        assert!(absent.add(1, b"one more"));
        assert_eq!(absent.all().len(), MOST + 1);
        end();
        assert!(absent.add(1, b"second"));
        end();
        assert!(absent.add(1, b"third"));
        assert_eq!(absent.all().len(), 2);
    }

    #[test]
    fn names_that_were_made_are_absent_no_more() {
        let absent = AbsentNames::default();
        absent.add(1, b"made");
        absent.add(2, b"made");
        absent.remove(1, b"made");
        absent.remove(1, b"never looked up");
        assert_eq!(absent.all(), HashSet::from([(2, b"made"[..].into())]));
    }
}

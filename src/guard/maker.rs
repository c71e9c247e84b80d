//! The maker of a name.

use std::collections::BTreeSet;

use crate::backing::Stat;
use crate::os::{self, status_field};

/// The maker of a name: the process, or where that has ended, the owner of the entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Maker {
    pub(super) uid: u32,
    pub(super) gid: u32,
    /// The groups that the maker is known to be in.
    pub(super) groups: BTreeSet<u32>,
    /// The process; 0 where the owner is meant.
    pub(super) pid: u32,
    /// The command of the process; empty where the owner is meant.
    pub(super) command: Vec<u8>,
}

impl Maker {
    /// Returns who runs a process; `None` if it has ended, and for a thread of the kernel, such as nfsd, which works for others.
    pub(super) fn of_process(pid: u32) -> Option<Self> {
        if pid == 0 {
            return None;
        }
        let by_status = || Self::of_status(&os::status_of(pid).ok()?);
        let maker = by_status()?;
        let command = os::command_of(pid);
        if command.is_empty() {
            // It may have ended since.
            by_status()?;
        }
        Some(Self {
            pid,
            command,
            ..maker
        })
    }

    /// Returns the owner of an entry.
    pub(super) fn owner(stat: &Stat) -> Self {
        Self {
            uid: stat.uid,
            gid: stat.gid,
            groups: BTreeSet::from([stat.gid]),
            ..Self::default()
        }
    }

    /// Reads the ids by which files are made from the status of a process (proc(5)).
    fn of_status(status: &[u8]) -> Option<Self> {
        let numbers = |name: &str| -> Option<Vec<u32>> {
            let words = status_field(status, name).split_whitespace();
            words.map(|word| word.parse().ok()).collect()
        };
        // Neither a process that has ended nor a thread of the kernel has memory.
        if status_field(status, "VmSize:").is_empty() {
            return None;
        }
        // The last of four is the one of the filesystem.
        let (uid, gid) = (*numbers("Uid:")?.get(3)?, *numbers("Gid:")?.get(3)?);
        let mut groups: BTreeSet<u32> = numbers("Groups:")?.into_iter().collect();
        groups.insert(gid);
        Some(Self {
            uid,
            gid,
            groups,
            ..Self::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_the_filesystem() {
        let status =
            b"Name:\tsmbd\nUid:\t0\t1000\t0\t1001\nGid:\t0\t100\t0\t101\nGroups:\t4 24 \nNgid:\t0\nVmSize:\t9 kB\n";
        let maker = Maker::of_status(status).unwrap();
        assert_eq!((maker.uid, maker.gid), (1001, 101));
        assert_eq!(maker.groups, BTreeSet::from([4, 24, 101]));
        assert_eq!(Maker::of_status(b"Name:\tsmbd\nUid:\t0\n"), None);
    }

    /// The kernel's NFS server makes names for clients by threads that have the ids of root.
    #[test]
    fn a_thread_of_the_kernel_makes_no_names() {
        let status = b"Name:\tnfsd\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t \n";
        assert_eq!(Maker::of_status(status), None);
    }

    #[test]
    fn this_process_is_known_and_process_0_is_nobody() {
        let maker = Maker::of_process(std::process::id()).unwrap();
        assert_eq!(maker.uid, rustix::process::getuid().as_raw());
        assert!(!maker.command.is_empty());
        assert_eq!(Maker::of_process(0), None);
    }
}

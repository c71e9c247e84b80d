//! Shares of the process's descriptors.
//!
//! Programs open files, and could take all descriptors. A part is out of their reach, the reserve. So names can be
//! looked up, listed, made, renamed and removed, and files closed, however many are open. Opening a file fails with
//! `EMFILE` first, opening a directory later, and half of the reserve is for everything else. One user takes no more
//! than he leaves to others, so that a few users do not take all. All leave as much as an eighth of the reserve to
//! files of root and of the user who mounted. Inodes keep what is free, and at least a quarter of the reserve, in the [`cache`].

mod cache;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::records::DescriptorCounts;
use cache::Queue;

/// Most directories that one user has open, other than root and the user who mounted. The kernel holds notifications
/// about a directory back while it is read, and each of these takes a thread.
pub(crate) const MOST_DIRECTORIES: usize = 512;

/// A user that is neither root nor mounts.
const NOBODY: u32 = u32::MAX;

/// A use of descriptors; its value is the number that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Takes one.
    File = 1,
    /// Takes one for reading it, and one that its inode keeps meanwhile.
    Directory = 2,
}

/// Descriptors that open files, directories and locks have, in all and by user.
#[derive(Debug)]
pub(super) struct Pool {
    limit: usize,
    reserve: usize,
    /// The user who mounted.
    owner: u32,
    taken: AtomicUsize,
    /// Taken for an instant. Users without a descriptor have no entry.
    by_user: Mutex<HashMap<u32, Own>>,
}

/// The descriptors of one user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Own {
    descriptors: usize,
    directories: usize,
}

impl Pool {
    /// Most descriptors of all users together up to which `uid` may take more.
    fn most(&self, uid: u32, what: Use) -> usize {
        let kept = match (what, self.is_privileged(uid)) {
            (Use::File, true) => 5,
            (Use::Directory, true) => 4,
            (Use::File, false) => 10,
            (Use::Directory, false) => 6,
        };
        self.limit - kept * (self.reserve / 8)
    }

    fn is_privileged(&self, uid: u32) -> bool {
        uid == 0 || uid == self.owner
    }

    /// Lets `uid` open a file or directory, as long as the result lives. Files that hold locks count too.
    ///
    /// # Errors
    /// `EMFILE`: too many are open, in all or by this user.
    pub(super) fn take(self: &Arc<Self>, uid: u32, what: Use) -> io::Result<Taken> {
        let most = self.most(uid, what);
        let count = what as usize;
        let mut by_user = self.by_user.lock();
        let all = self.taken.load(Ordering::Relaxed) + count;
        let mut own = by_user.get(&uid).copied().unwrap_or_default();
        own.descriptors += count;
        own.directories += usize::from(what == Use::Directory);
        let is_share = own.descriptors + all <= most && own.directories <= MOST_DIRECTORIES;
        if all > most || !(is_share || self.is_privileged(uid)) {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        self.taken.store(all, Ordering::Relaxed);
        by_user.insert(uid, own);
        Ok(Taken {
            pool: Arc::clone(self),
            uid,
            what,
        })
    }
}

/// Descriptors that an open file or directory has, until it is dropped.
#[derive(Debug)]
pub(super) struct Taken {
    pool: Arc<Pool>,
    uid: u32,
    what: Use,
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut by_user = self.pool.by_user.lock();
        let count = self.what as usize;
        self.pool.taken.fetch_sub(count, Ordering::Relaxed);
        let own = by_user.entry(self.uid).or_default();
        own.descriptors -= count;
        own.directories -= usize::from(self.what == Use::Directory);
        if *own == Own::default() {
            by_user.remove(&self.uid);
        }
    }
}

/// The process's descriptors.
#[derive(Debug)]
pub(super) struct Descriptors {
    pub(super) pool: Arc<Pool>,
    /// The inodes that have a descriptor.
    queue: Arc<Mutex<Queue>>,
}

impl Descriptors {
    /// At most `limit`, all told.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            pool: Arc::new(Pool {
                limit,
                reserve: (limit / 4).clamp(64, 512).min(limit / 2),
                owner: rustix::process::geteuid().as_raw(),
                taken: AtomicUsize::new(0),
                by_user: Mutex::default(),
            }),
            queue: Arc::default(),
        }
    }

    /// Counts them.
    pub(super) fn counts(&self) -> DescriptorCounts {
        DescriptorCounts {
            limit: self.pool.limit,
            reserve: self.pool.reserve,
            user_limit: self.pool.most(NOBODY, Use::File) / 2,
            open: self.pool.taken.load(Ordering::Relaxed),
            inodes: self.inodes_held(),
            inodes_limit: self.most_held(),
        }
    }

    /// Returns the number of inodes that may be held now.
    fn most_held(&self) -> usize {
        let Pool { limit, reserve, .. } = *self.pool;
        let taken = self.pool.taken.load(Ordering::Relaxed);
        (limit - reserve)
            .saturating_sub(taken)
            .max(reserve / 4)
            .min(limit / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: u32 = 0;

    fn take_all(descriptors: &Descriptors, uid: u32, what: Use) -> Vec<Taken> {
        std::iter::from_fn(|| descriptors.pool.take(uid, what).ok()).collect()
    }

    #[test]
    fn each_user_leaves_as_much_as_he_has_and_root_has_a_part_of_its_own() {
        // limit; files of one user, directories beside them, files of a second and a third user; of root beside the first
        let rows = [
            (1024, 352, 32, 176, 88, 512),
            (20_000, 9680, 64, 4840, 2420, 10_000),
            (128, 24, 8, 12, 6, 64),
            (64, 12, 4, 6, 3, 32),
        ];
        let users = [NOBODY, NOBODY - 1, NOBODY - 2];
        for (limit, files, directories, of_second, of_third, of_root) in rows {
            let descriptors = Descriptors::new(limit);
            let take = |uid, what| take_all(&descriptors, uid, what);
            let first = take(users[0], Use::File);
            assert_eq!(first.len(), files, "{limit}");
            assert_eq!(take(users[0], Use::Directory).len(), directories, "{limit}");
            assert_eq!(take(ROOT, Use::File).len(), of_root, "{limit}");
            let second = take(users[1], Use::File);
            assert_eq!(second.len(), of_second, "{limit}");
            assert_eq!(take(users[2], Use::File).len(), of_third, "{limit}");
            // What is given back can be taken again.
            drop(first);
            assert!(take(users[0], Use::File).len() > of_third, "{limit}");
            drop(second);
            assert_eq!(*descriptors.pool.by_user.lock(), HashMap::new());
            assert_eq!(take(users[1], Use::File).len(), files, "{limit}");
            assert_eq!(take(ROOT, Use::File).len(), files + of_root, "{limit}");
        }
    }

    #[test]
    fn ten_users_leave_files_to_an_eleventh() {
        let descriptors = Descriptors::new(20_000);
        let open: Vec<_> = (1..=10)
            .map(|uid| take_all(&descriptors, uid, Use::File))
            .collect();
        assert_eq!(take_all(&descriptors, 11, Use::File).len(), 9);
        drop(open);
    }

    #[test]
    fn users_leave_files_to_root_whatever_they_open() {
        for (limit, of_root) in [(1024, 32), (20_000, 64), (128, 8), (64, 4)] {
            let descriptors = Descriptors::new(limit);
            let open: Vec<_> = [Use::File, Use::Directory]
                .into_iter()
                .flat_map(|what| (1..=20).map(move |uid| (uid, what)))
                .map(|(uid, what)| take_all(&descriptors, uid, what))
                .collect();
            let root = take_all(&descriptors, ROOT, Use::File).len();
            assert!((of_root..of_root + 4).contains(&root), "{limit}: {root}");
            drop(open);
        }
    }

    #[test]
    fn one_user_opens_so_many_directories_at_most() {
        let descriptors = Descriptors::new(1_000_000);
        let open = take_all(&descriptors, NOBODY, Use::Directory);
        assert_eq!(open.len(), MOST_DIRECTORIES);
        assert!(descriptors.pool.take(NOBODY, Use::File).is_ok());
        assert!(descriptors.pool.take(NOBODY - 1, Use::Directory).is_ok());
        let root = take_all(&descriptors, ROOT, Use::Directory);
        assert!(root.len() > 10 * MOST_DIRECTORIES);
        drop(open);
        assert!(descriptors.pool.take(NOBODY, Use::Directory).is_ok());
    }

    #[test]
    fn files_leave_the_reserve_to_directories_and_those_half_of_it_to_the_rest() {
        // limit, files, directories beside them, inodes held with none and with all of these
        let rows = [
            (1024, 864, 16, 256, 64),
            (20_000, 19_680, 32, 5000, 128),
            (256, 216, 4, 64, 16),
            (128, 88, 4, 32, 16),
            (64, 44, 2, 16, 8),
        ];
        for (limit, files, directories, idle, busy) in rows {
            let descriptors = Descriptors::new(limit);
            assert_eq!(descriptors.most_held(), idle, "{limit}");
            let open = take_all(&descriptors, ROOT, Use::File);
            assert_eq!(open.len(), files, "{limit}");
            let listed = take_all(&descriptors, ROOT, Use::Directory);
            assert_eq!(listed.len(), directories, "{limit}");
            assert_eq!(descriptors.most_held(), busy, "{limit}");
            drop(open);
            drop(listed);
            assert_eq!(
                take_all(&descriptors, ROOT, Use::File).len(),
                files,
                "{limit}"
            );
        }
    }
}

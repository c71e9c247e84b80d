//! Who may have how many of the process's descriptors.
//!
//! Programs open files, and could take all of them. A part is out of their reach, the reserve, so that names can be
//! looked up, listed, made, renamed and removed, and files closed, however many are open: opening a file fails with
//! `EMFILE` first, opening a directory when half of the reserve is gone, and everything else has the other half.
//! Inodes keep what is free, and at least a quarter of the reserve, in the [`cache`].

mod cache;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::inode::Inode;
use cache::DescriptorCache;

/// What an open file or directory takes of the process's descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// One.
    File,
    /// One for reading it, one that its inode keeps meanwhile.
    Directory,
}

impl Use {
    fn count(self) -> usize {
        match self {
            Self::File => 1,
            Self::Directory => 2,
        }
    }
}

/// Descriptors that an open file or directory has, until it is dropped.
#[derive(Debug)]
pub(super) struct Taken {
    all: Arc<AtomicUsize>,
    count: usize,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.all.fetch_sub(self.count, Ordering::Relaxed);
    }
}

/// What those who have something open may take, one by one, as open files do.
#[derive(Debug, Clone)]
pub(super) struct Allowance {
    all: Arc<AtomicUsize>,
    most: usize,
}

impl Allowance {
    /// Takes a descriptor.
    ///
    /// # Errors
    /// `EMFILE`: too many are open.
    pub(super) fn take(&self) -> io::Result<Taken> {
        take(&self.all, 1, self.most)
    }
}

fn take(all: &Arc<AtomicUsize>, count: usize, most: usize) -> io::Result<Taken> {
    let more = |taken: usize| Some(taken + count).filter(|&taken| taken <= most);
    all.try_update(Ordering::Relaxed, Ordering::Relaxed, more)
        .map_err(|_taken| io::Error::from_raw_os_error(libc::EMFILE))?;
    Ok(Taken {
        all: Arc::clone(all),
        count,
    })
}

/// Who has how many of the process's descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shares {
    /// There may be so many, all told.
    pub most: usize,
    /// So many are out of the reach of open files.
    pub reserve: usize,
    /// Open files and directories, and those who hold locks, have so many.
    pub open: usize,
    /// Inodes that are not open keep so many.
    pub inodes: usize,
    /// And may keep so many at present.
    pub most_inodes: usize,
}

/// The process's descriptors.
#[derive(Debug)]
pub(super) struct Descriptors {
    limit: usize,
    reserve: usize,
    /// Those that open files and directories have.
    taken: Arc<AtomicUsize>,
    /// Those that inodes have.
    cache: DescriptorCache,
}

impl Descriptors {
    /// At most `limit`, all told.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            reserve: (limit / 4).clamp(64, 512).min(limit / 2),
            taken: Arc::default(),
            cache: DescriptorCache::default(),
        }
    }

    /// Lets somebody open a file or directory.
    ///
    /// # Errors
    /// `EMFILE`: too many are open.
    pub(super) fn take(&self, what: Use) -> io::Result<Taken> {
        let most = match what {
            Use::File => self.limit - self.reserve,
            Use::Directory => self.limit - self.reserve / 2,
        };
        take(&self.taken, what.count(), most)
    }

    /// For what is open beside files and directories, and leaves the reserve alone too.
    pub(super) fn allowance(&self) -> Allowance {
        Allowance {
            all: Arc::clone(&self.taken),
            most: self.limit - self.reserve,
        }
    }

    /// How they are shared out now.
    pub(super) fn shares(&self) -> Shares {
        Shares {
            most: self.limit,
            reserve: self.reserve,
            open: self.taken.load(Ordering::Relaxed),
            inodes: self.cache.len(),
            most_inodes: self.most_held(),
        }
    }

    /// How many inodes may be held now.
    fn most_held(&self) -> usize {
        let taken = self.taken.load(Ordering::Relaxed);
        (self.limit - self.reserve)
            .saturating_sub(taken)
            .max(self.reserve / 4)
            .min(self.limit / 4)
    }

    /// Holds an inode by `fd`, unless it is held already; others are let go for it.
    pub(super) fn hold(&self, inode: &Arc<Inode>, fd: OwnedFd) -> Arc<OwnedFd> {
        let (fd, is_new) = inode.hold(fd);
        if !is_new {
            return fd;
        }
        self.cache.add(inode, self.most_held());
        fd
    }

    /// Is there room to hold one more inode without another being let go?
    pub(super) fn has_room(&self) -> bool {
        self.cache.has_room(self.most_held())
    }

    /// Runs `act`; where it fails for want of a descriptor, once more after closing those that nobody needs.
    pub(super) fn enough_for<T>(&self, act: impl Fn() -> io::Result<T>) -> io::Result<T> {
        match act() {
            Err(error) if error.raw_os_error() == Some(libc::EMFILE) => {
                self.cache.close_all();
                act()
            }
            done => done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take_all(descriptors: &Descriptors, what: Use) -> Vec<Taken> {
        std::iter::from_fn(|| descriptors.take(what).ok()).collect()
    }

    #[test]
    fn files_leave_the_reserve_to_directories_and_those_half_of_it_to_the_rest() {
        // limit, files, directories beside them, inodes held with none and with all of these
        let rows = [
            (1024, 768, 64, 256, 64),
            (20_000, 19_488, 128, 5000, 128),
            (256, 192, 16, 64, 16),
            (128, 64, 16, 32, 16),
            (64, 32, 8, 16, 8),
        ];
        for (limit, files, directories, idle, busy) in rows {
            let descriptors = Descriptors::new(limit);
            assert_eq!(descriptors.most_held(), idle, "{limit}");
            let open = take_all(&descriptors, Use::File);
            assert_eq!(open.len(), files, "{limit}");
            let listed = take_all(&descriptors, Use::Directory);
            assert_eq!(listed.len(), directories, "{limit}");
            assert_eq!(descriptors.most_held(), busy, "{limit}");
            drop(open);
            drop(listed);
            assert_eq!(take_all(&descriptors, Use::File).len(), files, "{limit}");
        }
    }
}

//! Attributes: getattr, setattr, statfs, access.

use super::{FsError, Utf8Fs};
use crate::backing::{SetTime, Stat, StatFs, file};

/// What setattr is to change; `None` and [`SetTime::Omit`] leave a thing as it is.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    /// Permission bits.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Size in bytes.
    pub size: Option<u64>,
    /// Last access.
    pub atime: SetTime,
    /// Last change of content.
    pub mtime: SetTime,
}

/// Attributes as they are shown.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// The attributes.
    pub stat: Stat,
    /// May the kernel keep them? As [`Entry::steady`](super::Entry::steady).
    pub steady: bool,
}

impl Utf8Fs {
    /// The attributes of an inode.
    ///
    /// # Errors
    /// The inode is gone, or the system's error.
    pub fn getattr(&self, number: u64) -> Result<Shown, FsError> {
        let (_, fd) = self.open_inode(number)?;
        Ok(self.shown(number, Stat::of(&*fd)?))
    }

    fn shown(&self, number: u64, mut stat: Stat) -> Shown {
        let link = self.mapped_link(number, &stat);
        if let Some(link) = &link {
            self.fit_size(link, &mut stat);
        }
        Shown {
            stat,
            steady: link.is_none(),
        }
    }

    /// Changes attributes; through the open file `handle` where its size changes and there is one.
    ///
    /// # Errors
    /// The inode or the handle is gone, or the system's error; what came before the failing change stays changed, in
    /// the order size, owner and group, mode, times.
    pub fn setattr(
        &self,
        number: u64,
        handle: Option<u64>,
        change: Change,
    ) -> Result<Shown, FsError> {
        let (_, fd) = self.open_inode(number)?;
        if let Some(size) = change.size {
            match handle {
                Some(handle) => file::truncate_open(&*self.files.get(handle)?.fd, size)?,
                None => file::truncate(&*fd, size)?,
            }
        }
        if change.uid.is_some() || change.gid.is_some() {
            file::chown(&*fd, change.uid, change.gid)?;
        }
        // After the owner, whose change takes suid and sgid away, which the kernel has asked for already in `mode`.
        if let Some(mode) = change.mode {
            file::chmod(&*fd, mode & 0o7777)?;
        }
        if change.atime != SetTime::Omit || change.mtime != SetTime::Omit {
            file::set_times(&*fd, change.atime, change.mtime)?;
        }
        Ok(self.shown(number, Stat::of(&*fd)?))
    }

    /// Size and limits of the backing filesystem; names are as long as the policy allows.
    ///
    /// # Errors
    /// The system's error.
    pub fn statfs(&self, number: u64) -> Result<StatFs, FsError> {
        let (_, fd) = self.open_inode(number)?;
        let mut stat = StatFs::of(&*fd)?;
        stat.namelen = stat
            .namelen
            .min(u64::try_from(self.map.policy.max_bytes).unwrap_or(u64::MAX));
        Ok(stat)
    }

    /// May this process do what `mask` (access(2)) says? The kernel checks the rights of callers before it asks.
    ///
    /// # Errors
    /// `EACCES`, or the system's error.
    pub fn access(&self, number: u64, mask: i32) -> Result<(), FsError> {
        let (_, fd) = self.open_inode(number)?;
        Ok(file::access(&*fd, mask)?)
    }
}

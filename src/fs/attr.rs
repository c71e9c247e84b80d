//! Attributes: getattr, setattr, statfs, access.

use std::io;

use super::{Caller, FsError, Utf8Fs};
use crate::backing::creds::Fsetid;
use crate::backing::{Privilege, SetTime, Stat, StatFs, creds, file};

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

/// Set-group-id is cleared as for a caller while this lives.
#[derive(Debug)]
pub(super) struct SgidAsCaller {
    /// Is it cleared, whoever may execute the file?
    pub(super) clears: bool,
    _held: Option<Fsetid>,
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
        caller: Caller,
        number: u64,
        handle: Option<u64>,
        mut change: Change,
    ) -> Result<Shown, FsError> {
        let (_, fd) = self.open_inode(number)?;
        let clears = change.size.is_some() || change.uid.is_some() || change.gid.is_some();
        let as_caller = if clears {
            let as_caller = self.clear_sgid_as(caller, &Stat::of(&*fd)?)?;
            if as_caller.clears {
                change.mode = change.mode.map(|mode| mode & !libc::S_ISGID);
            }
            Some(as_caller)
        } else {
            None
        };
        if let Some(size) = change.size {
            match handle {
                Some(handle) => file::truncate_open(&*self.files.get(handle)?.fd, size)?,
                None => file::truncate(&*fd, size)?,
            }
        }
        if change.uid.is_some() || change.gid.is_some() {
            file::chown(&*fd, change.uid, change.gid)?;
        }
        drop(as_caller);
        // After the owner, whose change takes suid and sgid away, which the kernel has asked for already in `mode`.
        if let Some(mode) = change.mode {
            // The kernel has taken set-group-id away where the caller must not set it.
            let _fsetid = match mode & libc::S_ISGID {
                0 => None,
                _ => Some(creds::raise_fsetid()?),
            };
            file::chmod(&*fd, mode & 0o7777)?;
        }
        if change.atime != SetTime::Omit || change.mtime != SetTime::Omit {
            file::set_times(&*fd, change.atime, change.mtime)?;
        }
        Ok(self.shown(number, Stat::of(&*fd)?))
    }

    /// Lets the backing filesystem clear set-group-id, or keep it, as it would for `caller` who changes the owner, the
    /// size or the ACL of a file, as long as the result lives. The kernel above does so itself only where the group may
    /// execute the file.
    pub(super) fn clear_sgid_as(&self, caller: Caller, stat: &Stat) -> io::Result<SgidAsCaller> {
        let nothing = SgidAsCaller {
            clears: false,
            _held: None,
        };
        if self.privilege == Privilege::User || stat.mode & libc::S_ISGID == 0 {
            return Ok(nothing);
        }
        if creds::may_keep_sgid(caller.pid, caller.gid, stat.gid) {
            return Ok(SgidAsCaller {
                _held: Some(creds::raise_fsetid()?),
                ..nothing
            });
        }
        // In the caller's group, which is not the file's.
        self.become_caller(caller, 0)?;
        Ok(SgidAsCaller {
            clears: true,
            _held: Some(creds::lower_fsetid()?),
        })
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

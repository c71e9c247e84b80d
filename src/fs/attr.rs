//! Attributes: getattr, setattr, statfs, access.

use std::io;
use std::sync::Arc;

use rustix::fs::StatVfs;

use super::inode::{Inode, OpenInode};
use super::{Caller, FsError, Utf8Fs, Waits};
use crate::backing::{SetTime, Stat, file, stat_filesystem};
use crate::os::credentials::InEffect;
use crate::os::{Privilege, act_as, credentials};

/// The changes of a setattr; `None` and [`SetTime::Omit`] leave a thing as it is.
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
#[derive(Debug)]
pub struct Shown {
    /// The inode that they belong to.
    pub inode: Arc<Inode>,
    /// The attributes.
    pub stat: Stat,
}

/// Changes that may clear set-id bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clears {
    /// Cutting or growing a file.
    BySize,
    /// Giving it another owner, group or ACL.
    ByOwner,
}

/// Set-id bits are cleared as for a caller while this lives.
#[derive(Debug)]
pub(super) struct AsCaller {
    /// Does set-group-ID go, whoever may execute the file?
    clears_sgid: bool,
    _kept: Option<InEffect>,
}

impl Utf8Fs {
    /// The attributes of an inode.
    ///
    /// # Errors
    /// The inode is gone, or the system's error.
    pub fn getattr(&self, number: u64) -> Result<Shown, FsError> {
        let OpenInode { inode, fd, .. } = self.open_inode(number)?;
        Ok(self.shown(inode, Stat::of(&*fd)?))
    }

    fn shown(&self, inode: Arc<Inode>, mut stat: Stat) -> Shown {
        // Where the size can't be told, readlink says why.
        if let Some(target) = self.mapped_target(&inode, &stat)
            && let Ok(Some(shown)) = self.shown_target(&inode, &target)
        {
            stat.size = u64::try_from(shown.len()).unwrap_or(stat.size);
        }
        Shown { inode, stat }
    }

    /// Changes attributes; through the open file `handle` where its size changes and there is one.
    ///
    /// # Errors
    /// The inode or the handle is gone, or the system's error. What came before the failing change stays changed, in
    /// the order size, owner and group, mode, times.
    pub fn setattr(
        &self,
        caller: Caller,
        number: u64,
        handle: Option<u64>,
        mut change: Change,
    ) -> Result<Shown, FsError> {
        let OpenInode { inode, fd, .. } = self.open_to_change(number)?;
        let has_owner = change.uid.is_some() || change.gid.is_some();
        let clears = match change.size {
            Some(_) => Some(Clears::BySize),
            None => has_owner.then_some(Clears::ByOwner),
        };
        let as_caller = match clears {
            Some(what) => Some(self.clear_set_ids_as(caller, &Stat::of(&*fd)?, what)?),
            None => None,
        };
        if as_caller.as_ref().is_some_and(|acting| acting.clears_sgid) {
            change.mode = change.mode.map(|mode| mode & !libc::S_ISGID);
        }
        if let Some(size) = change.size {
            match handle {
                Some(handle) => file::truncate_open(&*self.files.get(handle)?.fd, size)?,
                None => file::truncate(&*fd, size)?,
            }
        }
        if has_owner {
            file::chown(&*fd, change.uid, change.gid)?;
        }
        drop(as_caller);
        // After the owner, whose change takes suid and sgid away, which the kernel has asked for already in `mode`.
        if let Some(mode) = change.mode {
            let _fsetid = credentials::raise_fsetid_for(mode)?;
            file::chmod(&*fd, mode & 0o7777)?;
        }
        if change.atime != SetTime::Omit || change.mtime != SetTime::Omit {
            file::set_times(&*fd, change.atime, change.mtime)?;
        }
        self.settle(&fd, Waits::All)?;
        Ok(self.shown(inode, Stat::of(&*fd)?))
    }

    /// Acts on this thread as `caller` who changes a file, as long as the result lives. The backing filesystem then
    /// clears or keeps set-id bits as it would for that caller. The kernel above does so itself only where the group
    /// may execute the file.
    pub(super) fn clear_set_ids_as(
        &self,
        caller: Caller,
        stat: &Stat,
        what: Clears,
    ) -> io::Result<AsCaller> {
        // No more is known of a caller than its uid.
        let is_capable = caller.uid == 0;
        let has_sgid = stat.mode & libc::S_ISGID != 0 && self.settings.privilege == Privilege::Root;
        let keeps_sgid = has_sgid
            && (is_capable || credentials::may_keep_sgid(caller.pid, caller.gid, stat.gid));
        // A new size clears set-user-ID too, unless the caller has CAP_FSETID. A caller may be in the file's group
        // by a supplementary group. A new owner or ACL clears set-user-ID or not, whoever asks.
        let (group, raises) = match what {
            Clears::BySize if keeps_sgid && !is_capable => (stat.gid, false),
            Clears::BySize => (caller.gid, is_capable && stat.has_set_id()),
            Clears::ByOwner => (caller.gid, keeps_sgid),
        };
        act_as(self.settings.privilege, caller.uid, group)?;
        Ok(AsCaller {
            clears_sgid: has_sgid && !keeps_sgid,
            _kept: raises.then(credentials::raise_fsetid).transpose()?,
        })
    }

    /// Size and limits of the backing filesystem; names are as long as the policy allows.
    ///
    /// # Errors
    /// The system's error.
    pub fn statfs(&self, number: u64) -> Result<StatVfs, FsError> {
        let mut stat = stat_filesystem(&*self.open_inode(number)?.fd)?;
        let most = u64::try_from(self.map.policy.max_bytes).unwrap_or(u64::MAX);
        stat.f_namemax = stat.f_namemax.min(most);
        Ok(stat)
    }

    /// May this process do what `mask` (access(2)) says? The kernel checks the rights of callers before it asks.
    ///
    /// # Errors
    /// `EACCES`, or the system's error.
    pub fn access(&self, number: u64, mask: i32) -> Result<(), FsError> {
        Ok(file::access(&*self.open_inode(number)?.fd, mask)?)
    }
}

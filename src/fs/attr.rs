//! Attributes: getattr, setattr, statfs, access; and extended ones, whose names are not file names: they pass as they are.

use std::io;
use std::sync::Arc;

use rustix::fs::StatVfs;
use rustix::io::Errno;

use super::inode::{Inode, OpenInode};
use super::{Call, Caller, FsError, Utf8Fs, Waits};
use crate::backing::{SetTime, Stat, file, stat_filesystem, xattr};
use crate::os::credentials::InEffect;
use crate::os::{Privilege, act_as, credentials};

/// The attribute that a POSIX ACL is set by that the mode is a part of.
pub const ACCESS_ACL: &[u8] = b"system.posix_acl_access";

/// The attribute that a directory's ACL for new entries is set by.
const DEFAULT_ACL: &[u8] = b"system.posix_acl_default";

/// Prefix of the attributes that are the administrator's alone (xattr(7)).
const TRUSTED: &[u8] = b"trusted.";

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

/// Changes that may clear set-id bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clears {
    /// Cutting or growing a file.
    BySize,
    /// Giving it another owner, group or ACL.
    ByOwner,
}

/// Set-id bits are cleared as for a caller while this lives.
#[derive(Debug)]
struct AsCaller {
    /// Does set-group-ID go, whoever may execute the file?
    clears_sgid: bool,
    _kept: Option<InEffect>,
}

impl Utf8Fs {
    /// An inode, and its attributes as they are shown.
    ///
    /// # Errors
    /// The inode is gone, or the system's error.
    pub fn getattr(&self, number: u64) -> Result<(Arc<Inode>, Stat), FsError> {
        let inode = self.inodes.get(number)?;
        let stat = match inode.open_file() {
            Some(file) => Stat::of(&*file)?,
            None => Stat::of(&*self.open_inode(number)?.fd)?,
        };
        Ok(self.shown(inode, stat))
    }

    fn shown(&self, inode: Arc<Inode>, mut stat: Stat) -> (Arc<Inode>, Stat) {
        // Where the size can't be told, readlink says why.
        if let Some(target) = self.mapped_target(&inode, &stat)
            && let Ok(Some(shown)) = self.shown_target(&inode, &target)
        {
            stat.size = u64::try_from(shown.len()).unwrap_or(stat.size);
        }
        (inode, stat)
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
    ) -> Result<(Arc<Inode>, Stat), FsError> {
        let OpenInode { inode, fd, .. } = match handle {
            Some(_) => self.open_inode(number)?,
            None => self.open_to_set(caller, Call::Attributes, number)?,
        };
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
    fn clear_set_ids_as(&self, caller: Caller, stat: &Stat, what: Clears) -> io::Result<AsCaller> {
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

    /// setxattr(2) with a value and its flags, or removexattr(2) without.
    ///
    /// A changed ACL clears set-group-ID where it would for `caller` (`posix_acl_update_mode` in `fs/posix_acl.c`). The
    /// kernel above tells that only of an ACL that is set, in a field of the request that is not asked for
    /// (`FUSE_SETXATTR_EXT`).
    ///
    /// # Errors
    /// The inode is gone, or the system's error.
    pub fn change_xattr(
        &self,
        caller: Caller,
        number: u64,
        name: &[u8],
        value: Option<(&[u8], i32)>,
    ) -> Result<(), FsError> {
        let OpenInode { fd, .. } = self.open_to_set(caller, Call::ExtendedAttributes, number)?;
        act_as(self.settings.privilege, caller.uid, caller.gid)?;
        let _as_caller = match name {
            ACCESS_ACL => Some(self.clear_set_ids_as(caller, &Stat::of(&*fd)?, Clears::ByOwner)?),
            _ => None,
        };
        match value {
            Some((value, flags)) => xattr::set(&*fd, name, value, flags)?,
            None => xattr::remove(&*fd, name)?,
        }
        Ok(self.settle(&fd, Waits::All)?)
    }

    /// getxattr(2), as [`xattr::get`] has it. An ACL on a filesystem that has none is `ENODATA`. The kernel asks for it
    /// to check rights, and passes any other error on (`__fuse_get_acl` in `fs/fuse/acl.c`).
    ///
    /// # Errors
    /// The inode is gone, or the system's error.
    pub fn getxattr(&self, number: u64, name: &[u8], value: &mut [u8]) -> Result<usize, FsError> {
        let is_acl = name == ACCESS_ACL || name == DEFAULT_ACL;
        // Asked before the first write to a file, which is open then.
        let got = match self.inodes.get(number)?.open_file() {
            Some(file) => xattr::get_of_open(&*file, name, value),
            None => xattr::get(&*self.open_inode(number)?.fd, name, value),
        };
        got.map_err(|error| match error.raw_os_error() {
            Some(libc::EOPNOTSUPP) if is_acl => Errno::NODATA.into(),
            _ => error.into(),
        })
    }

    /// listxattr(2), as [`xattr::list`] has it.
    ///
    /// Below, names of trusted attributes are listed to who has `CAP_SYS_ADMIN`. Of a caller no more is known than its ids:
    /// root is taken to have it, and nobody else.
    ///
    /// # Errors
    /// The inode is gone, or the system's error; `ERANGE` if the names are longer than the room for them.
    pub fn listxattr(
        &self,
        caller: Caller,
        number: u64,
        names: &mut [u8],
    ) -> Result<usize, FsError> {
        let OpenInode { fd, .. } = self.open_inode(number)?;
        if caller.uid == 0 {
            return Ok(xattr::list(&*fd, names)?);
        }
        let all = xattr::whole(|names| xattr::list(&*fd, names))?;
        let told = all.split_inclusive(|&octet| octet == 0);
        let told: Vec<&[u8]> = told.filter(|name| !name.starts_with(TRUSTED)).collect();
        Ok(xattr::answer(&told.concat(), names)?)
    }
}

//! Extended attributes. Their names are not file names: they pass as they are.

use rustix::io::Errno;

use super::attr::Clears;
use super::inode::OpenInode;
use super::{Caller, FsError, Utf8Fs, Waits};
use crate::backing::{Stat, xattr};
use crate::os::act_as;

/// The attribute that a POSIX ACL is set by that the mode is a part of.
pub const ACCESS_ACL: &[u8] = b"system.posix_acl_access";

/// The attribute that a directory's ACL for new entries is set by.
const DEFAULT_ACL: &[u8] = b"system.posix_acl_default";

/// Prefix of the attributes that are the administrator's alone (xattr(7)).
const TRUSTED: &[u8] = b"trusted.";

impl Utf8Fs {
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
        let OpenInode { fd, .. } = self.open_to_change(number)?;
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
        let OpenInode { fd, .. } = self.open_inode(number)?;
        let is_acl = name == ACCESS_ACL || name == DEFAULT_ACL;
        xattr::get(&*fd, name, value).map_err(|error| match error.raw_os_error() {
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

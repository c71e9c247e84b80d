//! Extended attributes. Their names are not file names: they pass as they are.

use super::attr::Clears;
use super::{Caller, FsError, Utf8Fs};
use crate::backing::{Stat, Xattr, xattr};

/// The attribute that a POSIX ACL is set by.
const ACCESS_ACL: &[u8] = b"system.posix_acl_access";

impl Utf8Fs {
    /// setxattr(2). An ACL clears set-group-id where it would for `caller`: the kernel says whether in a field of the
    /// request that fuser does not know.
    ///
    /// # Errors
    /// The inode is gone, or the system's error.
    pub fn setxattr(
        &self,
        caller: Caller,
        number: u64,
        name: &[u8],
        value: &[u8],
        flags: i32,
    ) -> Result<(), FsError> {
        let (_, fd) = self.open_inode(number)?;
        let _as_caller = match name {
            ACCESS_ACL => Some(self.clear_set_ids_as(caller, &Stat::of(&*fd)?, Clears::ByOwner)?),
            _ => None,
        };
        xattr::set(&*fd, name, value, flags)?;
        Ok(self.settle_attributes(&fd)?)
    }

    /// getxattr(2); a `limit` of 0 asks for the size.
    ///
    /// # Errors
    /// The inode is gone, or the system's error.
    pub fn getxattr(&self, number: u64, name: &[u8], limit: u32) -> Result<Xattr, FsError> {
        let (_, fd) = self.open_inode(number)?;
        Ok(xattr::get(&*fd, name, limit)?)
    }

    /// listxattr(2); a `limit` of 0 asks for the size.
    ///
    /// # Errors
    /// The inode is gone, or the system's error.
    pub fn listxattr(&self, number: u64, limit: u32) -> Result<Xattr, FsError> {
        let (_, fd) = self.open_inode(number)?;
        Ok(xattr::list(&*fd, limit)?)
    }

    /// removexattr(2).
    ///
    /// # Errors
    /// The inode is gone, or the system's error.
    pub fn removexattr(&self, number: u64, name: &[u8]) -> Result<(), FsError> {
        let (_, fd) = self.open_inode(number)?;
        xattr::remove(&*fd, name)?;
        Ok(self.settle_attributes(&fd)?)
    }
}

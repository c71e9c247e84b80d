//! The identity of a tree, by which its journals are known again.

use std::io;
use std::os::fd::OwnedFd;

use crate::backing::filesystem_id::{filesystem_number, filesystem_uuid};
use crate::backing::{FileHandle, Stat};
use crate::records::{InodeId, TreeIdentity};

/// Looks at the root of a tree, an open directory (`O_PATH` will do).
///
/// # Errors
/// Those of statx(2), fstatfs(2) and `name_to_handle_at(2)`.
pub fn identity_of(root: &OwnedFd) -> io::Result<TreeIdentity> {
    let inode = InodeId::of(&Stat::of(root)?);
    let handle = match inode.born {
        Some(_) => None,
        None => FileHandle::of(root)?.map(|handle| hex(&handle)),
    };
    Ok(TreeIdentity {
        inode,
        handle,
        uuid: filesystem_uuid(root),
        filesystem: filesystem_number(root)?.map(|number| format!("{number:016x}")),
    })
}

/// Writes a handle in hex digits, its kind first.
fn hex(handle: &FileHandle) -> String {
    let octets = handle.as_bytes().iter();
    let digits: String = octets.map(|octet| format!("{octet:02x}")).collect();
    format!("{:x}-{digits}", handle.kind())
}

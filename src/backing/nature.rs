//! What decides how a file can be opened, and who may serve it.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, StatxAttributes, StatxFlags};

use super::calls;
use crate::records::Kind;

/// What an inode is, as far as opening it is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nature {
    /// What it is.
    pub kind: Kind,
    /// Has it a set-user-ID or set-group-ID bit?
    pub has_set_id: bool,
    /// Can it only be appended to (chattr +a)? `false` too where the filesystem does not tell.
    pub is_append_only: bool,
    /// Has it no content?
    pub is_empty: bool,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
}

impl Nature {
    /// Of the inode that `fd` refers to; `O_PATH` will do.
    ///
    /// # Errors
    /// Those of statx(2).
    pub fn of(fd: impl AsFd) -> io::Result<Self> {
        let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
        let wanted = StatxFlags::TYPE
            | StatxFlags::MODE
            | StatxFlags::UID
            | StatxFlags::GID
            | StatxFlags::SIZE;
        calls::count();
        let raw = rustix::fs::statx(fd, c"", flags, wanted)?;
        let mode = u32::from(raw.stx_mode);
        Ok(Self {
            is_append_only: raw.stx_attributes.contains(StatxAttributes::APPEND),
            is_empty: raw.stx_size == 0,
            ..Self::made(mode, raw.stx_uid, raw.stx_gid)
        })
    }

    /// Of an inode that was just made, which is never append-only.
    #[must_use]
    pub fn made(mode: u32, uid: u32, gid: u32) -> Self {
        Self {
            kind: Kind::from_mode(mode),
            has_set_id: mode & (libc::S_ISUID | libc::S_ISGID) != 0,
            is_append_only: false,
            is_empty: true,
            uid,
            gid,
        }
    }
}

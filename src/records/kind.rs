//! Kinds of files.

use serde::{Deserialize, Serialize};
use strum::{EnumString, FromRepr, IntoStaticStr};

/// The kind of an inode, by the type bits of its mode.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    FromRepr,
    Serialize,
    Deserialize,
    EnumString,
    IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
#[repr(u32)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A regular file.
    File = libc::S_IFREG,
    /// A directory.
    #[serde(rename = "directory")]
    #[strum(serialize = "directory")]
    Dir = libc::S_IFDIR,
    /// A symbolic link.
    Symlink = libc::S_IFLNK,
    /// A named pipe.
    Fifo = libc::S_IFIFO,
    /// A socket.
    Socket = libc::S_IFSOCK,
    /// A character device, or a whiteout (device 0).
    #[serde(rename = "character-device")]
    #[strum(serialize = "character-device")]
    CharDevice = libc::S_IFCHR,
    /// A block device.
    BlockDevice = libc::S_IFBLK,
    /// The filesystem does not tell in a directory entry (`DT_UNKNOWN`), or it is none of these.
    Unknown = 0,
}

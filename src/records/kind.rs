//! Kinds of files.

use serde::{Deserialize, Serialize};

/// The kind of an inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    #[serde(rename = "directory")]
    Dir,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character device, or a whiteout (device 0).
    #[serde(rename = "character-device")]
    CharDevice,
    /// A block device.
    BlockDevice,
    /// The filesystem does not tell in a directory entry (`DT_UNKNOWN`), or it is none of these.
    Unknown,
}

//! Descriptors and system calls: the only layer that touches the backing directory.
//!
//! Nothing here follows a symlink of the backing tree: calls are relative to a descriptor, name one component, and
//! open with `O_NOFOLLOW | O_CLOEXEC`. The one way around it is `/proc/self/fd/N`, which names an inode that is held
//! already. Errors are the kernel's, unchanged. No policy, no knowledge of visible names.

use std::io;

pub mod calls;
pub mod dir;
pub mod entries;
pub mod fanotify;
pub mod file;
pub mod file_handle;
pub mod filesystem_id;
mod fs_type;
pub mod lock;
pub mod name_watch;
#[cfg(test)]
#[path = "tests/scratch.rs"]
pub(crate) mod scratch;
pub mod stat;
pub(crate) mod sys;
pub(crate) mod ticks;
pub mod watch;
pub mod xattr;

pub use crate::records::{FileTime as Time, Kind};
pub use dir::{Dir, change_view, private_clone, quiet_clone};
pub(crate) use dir::{clone_mount, if_there, is_absent};
pub use entries::{Entries, Entry};
pub use file_handle::FileHandle;
pub use fs_type::FsType;
pub use lock::{Holder, LockKind, LockRange};
pub use stat::{SetTime, Stat, device_unasked, is_read_only, stat_filesystem};
pub use sys::{FuseRing, RING_HEADER, clone_connection, close_backing, open_backing, page_size};

/// Returns the system's text for an error, without the number.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((reason, _)) => reason.to_owned(),
        None => text,
    }
}

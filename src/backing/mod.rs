//! Descriptors and system calls: the only layer that touches the backing directory.
//!
//! Nothing here follows a symlink of the backing tree: calls are relative to a descriptor, name one component, and
//! open with `O_NOFOLLOW | O_CLOEXEC`. The one way around it is `/proc/self/fd/N`, which names an inode that is held
//! already. Errors are the kernel's, unchanged. No policy, no knowledge of visible names.

pub mod creds;
pub mod dir;
pub mod entries;
pub mod file;
pub mod handle;
pub mod lock;
#[cfg(test)]
mod scratch;
pub mod stat;
mod sys;
pub mod waiting;
pub mod xattr;

pub use creds::{Privilege, become_caller};
pub use dir::{Dir, private_clone};
pub use entries::{Entries, Entry};
pub use handle::FileHandle;
pub use lock::{Holder, LockKind, LockRange};
pub use stat::{Kind, SetTime, Stat, StatFs, Time, device_unasked};
pub use xattr::Xattr;

/// The command name of a process (proc(5), `comm`); empty if it can't be told, as for a process of another namespace.
#[must_use]
pub fn command_of(pid: u32) -> Vec<u8> {
    let mut command = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    command.truncate(command.trim_ascii_end().len());
    command
}

/// Keeps every descriptor but standard input, output and error out of programs that this one runs from now on, those
/// too that it was itself given without `O_CLOEXEC`.
///
/// # Errors
/// `ENOSYS` before Linux 5.11.
pub fn share_standard_streams_only() -> std::io::Result<()> {
    sys::close_on_exec_from(3)
}

//! Descriptors and system calls: the only layer that touches the backing directory.
//!
//! Nothing here follows a symlink of the backing tree: calls are relative to a descriptor, name one component, and
//! open with `O_NOFOLLOW | O_CLOEXEC`. The one way around it is `/proc/self/fd/N`, which names an inode that is held
//! already. Errors are the kernel's, unchanged. No policy, no knowledge of visible names.

mod as_owner;
pub mod calls;
pub mod creds;
mod descend;
pub mod dir;
pub mod entries;
pub mod file;
mod fs_type;
pub mod handle;
pub mod keeper;
pub mod lock;
mod nature;
pub mod sandbox;
#[cfg(test)]
mod scratch;
pub mod stat;
mod sys;
pub mod waiting;
pub mod watch;
pub mod xattr;

pub use as_owner::{Reply, ask_as};
pub use creds::{Privilege, SetIds, act_as, become_caller};
pub use dir::{AccessTimes, Atime, Dir, private_clone, quiet_clone, set_access_times};
pub use entries::{Entries, Entry};
pub use fs_type::FsType;
pub use handle::FileHandle;
pub use lock::{Holder, LockKind, LockRange};
pub use nature::Nature;
pub use sandbox::Sandbox;
pub use stat::{Kind, SetTime, Stat, StatFs, Time, device_unasked};
pub use xattr::Xattr;

/// The status of a process or thread (proc(5), `status`).
///
/// # Errors
/// `ENOENT` if there is none, as for one of another namespace; those of reading it.
pub fn status_of(pid: u32) -> std::io::Result<Vec<u8>> {
    keeper::status_of(pid).unwrap_or_else(|| std::fs::read(format!("/proc/{pid}/status")))
}

/// The command name of a process (proc(5), `comm`); empty if it can't be told, as for a process of another namespace.
#[must_use]
pub fn command_of(pid: u32) -> Vec<u8> {
    if let Some(command) = keeper::command_of(pid) {
        return command;
    }
    let mut command = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    command.truncate(command.trim_ascii_end().len());
    command
}

/// Gives freed memory back to the system, which the C library keeps otherwise where it lies between what is in use.
/// Takes some milliseconds for each 100 MB.
pub fn give_memory_back() {
    sys::trim_heap();
}

/// Has blocks of 128 KiB and more mapped one by one: where they are not, one that is to be zero is written to, and each
/// of the threads that serve a mount has one of 16 megabytes.
pub fn map_large_blocks() {
    sys::map_large_blocks();
}

/// Lets this thread, and those that it starts, have `signals` delivered, which the program that started this one may have
/// blocked.
///
/// # Errors
/// Those of `pthread_sigmask(3)`.
pub fn unblock_signals(signals: &[i32]) -> std::io::Result<()> {
    sys::unblock_signals(signals)
}

/// Keeps every descriptor but standard input, output and error out of programs that this one runs from now on, those
/// too that it was itself given without `O_CLOEXEC`.
///
/// # Errors
/// `ENOSYS` before Linux 5.11.
pub fn share_standard_streams_only() -> std::io::Result<()> {
    sys::close_on_exec_from(3)
}

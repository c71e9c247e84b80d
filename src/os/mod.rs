//! The operating system services that a daemon needs: credentials, the sandbox, the helper process. Uses no names.

pub mod cpus;
pub mod credentials;
pub mod helper;
mod probe;
pub mod sandbox;

use crate::backing::sys;
pub use credentials::{Privilege, SetIds, act_as, become_caller};
pub use probe::{Reply, ask_as};
pub use sandbox::Sandbox;

/// The status of a process or thread (proc(5), `status`).
///
/// # Errors
/// `ENOENT` if there is none, as for one of another namespace; those of reading it.
pub fn status_of(pid: u32) -> std::io::Result<Vec<u8>> {
    helper::status_of(pid).unwrap_or_else(|| std::fs::read(format!("/proc/{pid}/status")))
}

/// The command name of a process (proc(5), `comm`); empty if it can't be told, as for a process of another namespace.
#[must_use]
pub fn command_of(pid: u32) -> Vec<u8> {
    if let Some(command) = helper::command_of(pid) {
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

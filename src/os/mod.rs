//! The operating system services that a daemon needs: credentials, the sandbox, the helper process, the table of mounts,
//! users, the service manager. Uses no names.

pub mod child;
pub mod cpus;
pub mod credentials;
pub mod helper;
pub mod mountinfo;
pub mod sandbox;
pub mod sd_notify;
pub mod user_tables;

pub use crate::backing::sys::{
    close_on_exec_from, map_large_blocks, trim_heap as give_memory_back, unblock_signals,
};
pub use credentials::{Privilege, SetIds, act_as, become_caller};
use helper::Errand;
pub use sandbox::Sandbox;

/// The status of a process or thread (proc(5), `status`). One of another user namespace has no capabilities (`user_namespaces(7)`): those
/// that are in it are for what belongs to that namespace.
///
/// # Errors
/// `ENOENT` if there is none, as for one of another pid namespace; those of reading it.
pub fn status_of(pid: u32) -> std::io::Result<Vec<u8>> {
    let read = || {
        let read = |file| std::fs::read(format!("/proc/{file}"));
        let is_of_ours = read(format!("{pid}/uid_map"))? == read("self/uid_map".to_owned())?;
        let capabilities: &[u8] = if is_of_ours { b"" } else { b"CapEff:\t0\n" };
        Ok([capabilities, &read(format!("{pid}/status"))?].concat())
    };
    helper::text(Errand::Status, pid).unwrap_or_else(read)
}

/// Returns the value of a field in the status of a process or thread; empty where it has none.
#[must_use]
pub fn status_field<'a>(status: &'a [u8], name: &str) -> &'a str {
    // The command, which comes first, has no line break in it.
    let mut lines = status.split(|&octet| octet == b'\n');
    let value = lines.find_map(|line| line.strip_prefix(name.as_bytes()));
    str::from_utf8(value.unwrap_or_default()).map_or("", str::trim)
}

/// The command name of a process (proc(5), `comm`); empty if it can't be told, as for a process of another namespace.
#[must_use]
pub fn command_of(pid: u32) -> Vec<u8> {
    let read = || std::fs::read(format!("/proc/{pid}/comm"));
    let command = helper::text(Errand::Command, pid).unwrap_or_else(read);
    let mut command = command.unwrap_or_default();
    command.truncate(command.trim_ascii_end().len());
    command
}

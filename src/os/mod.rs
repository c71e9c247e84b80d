//! The operating system services that a daemon needs: credentials, the sandbox, the helper process, the table of mounts,
//! users, the service manager, logs. Uses no names.

pub mod background;
pub mod child;
pub mod cpus;
pub mod credentials;
pub mod helper;
pub mod log_file;
pub mod mountinfo;
pub mod sandbox;
pub mod sd_notify;
pub mod syslog;
pub mod user_tables;

use std::io;
use std::sync::Arc;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::backing::sys::unblock_signals;
pub use crate::backing::sys::{
    close_on_exec_from, map_large_blocks, trim_heap as give_memory_back,
};
pub use credentials::{Privilege, act_as, become_caller};
use helper::Errand;
pub use sandbox::Sandbox;

/// The status of a process or thread (proc(5), `status`). One of another user namespace has no capabilities (`user_namespaces(7)`): those
/// that are in it are for what belongs to that namespace.
///
/// # Errors
/// `ENOENT` if there is none, as for one of another pid namespace; those of reading it.
pub fn status_of(pid: u32) -> io::Result<Vec<u8>> {
    let read = || {
        let read = |file| std::fs::read(format!("/proc/{file}"));
        let is_of_ours = read(format!("{pid}/uid_map"))? == read("self/uid_map".to_owned())?;
        let capabilities: &[u8] = if is_of_ours { b"" } else { b"CapEff:\t0\n" };
        Ok([capabilities, &read(format!("{pid}/status"))?].concat())
    };
    helper::text(Errand::Status, pid).unwrap_or_else(read)
}

/// Returns the value of a field in the status of a process or thread; empty where it has none.
pub fn status_field<'a>(status: &'a [u8], name: &str) -> &'a str {
    // The command, which comes first, has no line break in it.
    let mut lines = status.split(|&octet| octet == b'\n');
    let value = lines.find_map(|line| line.strip_prefix(name.as_bytes()));
    str::from_utf8(value.unwrap_or_default()).map_or("", str::trim)
}

/// The command name of a process (proc(5), `comm`); empty if it can't be told, as for a process of another namespace.
pub fn command_of(pid: u32) -> Vec<u8> {
    let read = || std::fs::read(format!("/proc/{pid}/comm"));
    let command = helper::text(Errand::Command, pid).unwrap_or_else(read);
    let mut command = command.unwrap_or_default();
    command.truncate(command.trim_ascii_end().len());
    command
}

/// Catches SIGINT, SIGTERM and SIGHUP, for the whole process, also where whoever started it had them blocked.
///
/// For the thread that starts all others, before mounting, so that no signal finds a mount without a daemon. Dropped, the signals do
/// nothing at all: the process is expected to exit then. From now on a write beyond the limit of file sizes gives `EFBIG`, and no
/// SIGXFSZ ends the process.
///
/// # Errors
/// The system refused.
pub fn catch_signals() -> io::Result<Signals> {
    let ends = [SIGINT, SIGTERM, SIGHUP];
    let signals = Signals::new(ends)?;
    // Programs that this one runs do not inherit it, as they would an ignored one.
    flag::register(libc::SIGXFSZ, Arc::default())?;
    unblock_signals(&ends)?;
    Ok(signals)
}

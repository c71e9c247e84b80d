//! Threads of a daemon that was killed together with its helper, waiting in the kernel for a program that waits for
//! the daemon. They hold the connection, so that nobody who waits ever learns that there is no answer.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::mount_handle::open_abort;

/// Cuts the connection of the FUSE filesystem with this minor device number if it is held by a dead process. Where that cannot be
/// told or done nothing is.
pub(super) fn cut(minor: u32) {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    if !processes.map(|process| process.path()).any(|process| {
        // Most threads of a dead process are gone, the first one among them.
        is_dead(&process) && holds(&process, minor)
    }) {
        return;
    }
    match open_abort(minor).and_then(|mut file| file.write_all(b"1")) {
        Ok(()) => log::debug!("what a killed daemon left is cut off"),
        Err(error) => log::debug!("what a killed daemon left cannot be cut off: {error}"),
    }
}

/// Has a process ended, though its parent or a thread of it does not know yet (`proc_pid_stat(5)`)?
fn is_dead(process: &Path) -> bool {
    let stat = fs::read(process.join("stat")).unwrap_or_default();
    // The command before the state can have any byte but NUL in it.
    let state = stat.rsplit(|&octet| octet == b')').next();
    state.is_some_and(|state| state.starts_with(b" Z"))
}

/// Has a thread of a process this connection open (Linux 5.17 tells)?
fn holds(process: &Path, minor: u32) -> bool {
    let wanted = format!("fuse_connection:\t{minor}");
    let threads = fs::read_dir(process.join("task"))
        .into_iter()
        .flatten()
        .flatten();
    let descriptors = threads.flat_map(|thread| {
        let told = fs::read_dir(thread.path().join("fdinfo"));
        told.into_iter().flatten().flatten()
    });
    descriptors
        .filter_map(|descriptor| fs::read_to_string(descriptor.path()).ok())
        .any(|told| told.lines().any(|line| line == wanted))
}

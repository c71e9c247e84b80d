//! Threads of a daemon that was killed together with its helper, waiting in the kernel for a program that waits for
//! the daemon. They hold the connection, so that nobody who waits ever learns that there is no answer.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::mount_handle::open_abort;
use crate::os::status_field;

/// Cuts the connection of the FUSE filesystem with this minor device number if a thread holds it that was killed and cannot end. Where
/// that cannot be told or done nothing is.
pub(crate) fn cut_stuck_threads(minor: u32) {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut threads = processes.flat_map(|process| {
        let threads = fs::read_dir(process.path().join("task"));
        threads.into_iter().flatten().flatten()
    });
    if !threads.any(|thread| is_killed(&thread.path()) && holds(&thread.path(), minor)) {
        return;
    }
    let cut = open_abort(minor).and_then(|mut file| file.write_all(b"1"));
    log::debug!("cutting off what a killed daemon left: {cut:?}");
}

/// Has a thread been killed, and did not end yet (`SigPnd` in `proc_pid_status(5)`)? Each thread of a killed process has the signal at
/// once; the process counts as ended only some time later.
fn is_killed(thread: &Path) -> bool {
    let status = fs::read(thread.join("status")).unwrap_or_default();
    let pending = u64::from_str_radix(status_field(&status, "SigPnd:"), 16);
    pending.is_ok_and(|bits| bits & 1 << (libc::SIGKILL - 1) != 0)
}

/// Has a thread this connection open (Linux 5.17 tells)?
fn holds(thread: &Path, minor: u32) -> bool {
    let wanted = format!("fuse_connection:\t{minor}");
    let descriptors = fs::read_dir(thread.join("fdinfo"));
    let descriptors = descriptors.into_iter().flatten().flatten();
    descriptors
        .filter_map(|descriptor| fs::read_to_string(descriptor.path()).ok())
        .any(|told| told.lines().any(|line| line == wanted))
}

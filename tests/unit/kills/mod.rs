//! Dying at each step: the seam asks here, in tests.
//!
//! A test runs its own binary again, with a variable that says at which step it is to be killed. That is a real SIGKILL, which
//! the process sends to itself right before it would make the call.

mod each;
pub(super) mod manifest;
pub(super) mod plan;
pub(super) mod stage;

use std::io;
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Signal, getpid, kill_process};

use crate::backing::Dir;
use crate::names::BackingName;

/// The step before which the process dies, counted from 1.
const KILL_AT: &str = "UTF8FS_TEST_KILL_AT";
/// The filesystem is one that has no `RENAME_NOREPLACE`.
const OLD_FILESYSTEM: &str = "UTF8FS_TEST_OLD_FILESYSTEM";

static MADE: AtomicU64 = AtomicU64::new(0);

/// Stands before each change.
pub(super) fn step() {
    static AT: OnceLock<Option<u64>> = OnceLock::new();
    let Some(at) = *AT.get_or_init(|| std::env::var(KILL_AT).ok()?.parse().ok()) else {
        return;
    };
    if MADE.fetch_add(1, Ordering::Relaxed) + 1 == at {
        kill_process(getpid(), Signal::KILL).unwrap();
        loop {
            std::thread::park();
        }
    }
}

/// Returns false in a process that counts its steps or dies at one. Nobody else changes its tree, and the kernel keeps the end of each
/// process with a watch waiting (`fsnotify_destroy_group`), of thousands.
pub(super) fn is_listening() -> bool {
    std::env::var_os(KILL_AT).is_none()
}

/// Returns the answer of such a filesystem for a free name; else the kernel has said that the name is taken.
pub(super) fn refuse_new<F: AsFd>(dir: &Dir<F>, new: &BackingName) -> io::Result<()> {
    static IS_OLD: OnceLock<bool> = OnceLock::new();
    if *IS_OLD.get_or_init(|| std::env::var_os(OLD_FILESYSTEM).is_some()) && !dir.exists(new)? {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    Ok(())
}

//! Processes of utf8fs that ask a mount how it does, and hold its root as long as that lasts.
//!
//! They are no reason why a mount has to stay: `utf8fs umount` waits for them.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::cli::status::ask;

/// Does this process ask, by its directory in `/proc`? It has to run this very program: others can call themselves what they like.
pub(super) fn is_asker(process: &Path) -> bool {
    let asks = fs::read(process.join("cmdline")).is_ok_and(|words| ask::is_asking(&words));
    asks && is_this_program(process)
}

/// Whoever may not look takes it for another.
fn is_this_program(process: &Path) -> bool {
    let program = |process: &Path| {
        let program = fs::metadata(process.join("exe")).ok()?;
        Some((program.dev(), program.ino()))
    };
    program(process).is_some_and(|theirs| program(Path::new("/proc/self")) == Some(theirs))
}

/// Is it one that this process started?
pub(super) fn is_ours(process: &Path) -> bool {
    let status = fs::read(process.join("status")).unwrap_or_default();
    let parent = status.split(|octet| *octet == b'\n');
    let parent = parent.filter_map(|line| line.strip_prefix(b"PPid:")).next();
    let ours = std::process::id().to_string();
    parent.is_some_and(|parent| parent.trim_ascii() == ours.as_bytes())
}

/// Waits until these have ended; says whether they have by then.
pub(super) fn wait(processes: &[u32], until: Instant) -> bool {
    processes.iter().all(|pid| {
        let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw);
        match pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
            Some(Ok(process)) => ends(&process, until),
            Some(Err(error)) => error == Errno::SRCH,
            None => false,
        }
    })
}

fn ends(process: &OwnedFd, until: Instant) -> bool {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let Ok(left) = Timespec::try_from(left) else {
            return false;
        };
        match poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&left)) {
            Ok(ready) => return ready > 0,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

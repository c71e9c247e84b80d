//! Asking a mount as the user whose it is. The kernel lets nobody else look at an ordinary user's FUSE mount, root neither.
//!
//! A child asks, so that this process never has the ids of another. A process that asks a stuck daemon cannot be
//! killed, so the child is left to itself when it takes too long.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, StatxFlags, statx};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{
    Gid, Pid, PidfdFlags, Signal, Uid, WaitOptions, kill_process, pidfd_open, waitpid,
};
use rustix::thread::{set_thread_res_gid, set_thread_res_uid};

use crate::backing::sys::{self, Forked};

/// Time that the daemon has to answer.
const PATIENCE: Timespec = Timespec {
    tv_sec: 5,
    tv_nsec: 0,
};

/// Asks the filesystem of `root` for the status of that directory, as `uid` with `gid`. Returns the errno of a failure, by which a dead mount
/// is known; `None` for an answer, or if none comes within five seconds.
///
/// # Errors
/// `EBUSY` if this process has more than one thread; those of fork(2) and waitpid(2).
pub fn ask_as(root: &OwnedFd, uid: u32, gid: u32) -> io::Result<Option<Errno>> {
    match sys::fork()? {
        Forked::Child => {
            let asked = become_user(uid, gid).and_then(|()| {
                let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
                statx(root, c"", flags, StatxFlags::BASIC_STATS)
            });
            sys::exit_now(asked.map_or_else(Errno::raw_os_error, |_status| 0))
        }
        Forked::Parent(child) => wait_for(child),
    }
}

/// Gives this thread the ids of a user, for good.
///
/// # Errors
/// `EPERM` if it is not root's.
pub fn become_user(uid: u32, gid: u32) -> rustix::io::Result<()> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)
}

fn wait_for(child: Pid) -> io::Result<Option<Errno>> {
    let ended = pidfd_open(child, PidfdFlags::empty()).and_then(|fd| {
        retry_on_intr(|| poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&PATIENCE)))
    });
    if ended != Ok(1) {
        // Not waited for: it ends when it can.
        kill_process(child, Signal::KILL)?;
        return ended.map(|_none| None).map_err(io::Error::from);
    }
    let status = retry_on_intr(|| waitpid(Some(child), WaitOptions::empty()))?;
    let code = status.and_then(|(_child, status)| status.exit_status());
    Ok(code.filter(|code| *code != 0).map(Errno::from_raw_os_error))
}

//! A child that does what may wait for ever, such as asking a mount whose daemon is stuck.
//!
//! A process that waits so can neither stop nor be killed, and does not end. So a child waits, and is left to itself when it takes too
//! long. It holds nothing of ours open: whoever reads what we print would wait for it.

use std::ffi::CStr;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::backing::fanotify;
use crate::backing::sys;

/// A child that works.
#[derive(Debug)]
pub struct Child {
    pid: Pid,
    result: PipeReader,
    until: Instant,
}

impl Child {
    /// Starts a child of this name. It has so much time for its work, whose result is a text.
    ///
    /// # Errors
    /// `EBUSY` if this process has more than one thread; those of pipe(2) and fork(2).
    pub fn start(name: &CStr, time: Duration, work: impl FnOnce() -> Vec<u8>) -> io::Result<Self> {
        let until = Instant::now() + time;
        let (result, mut to_parent) = io::pipe()?;
        let pid = sys::fork(move || {
            let_go(name, &[to_parent.as_raw_fd()])?;
            to_parent.write_all(&work())
        })?;
        Ok(Self { pid, result, until })
    }

    /// Waits for the result; `None` if there is none in time. The result of a child that died is empty.
    ///
    /// # Errors
    /// Those of the system calls.
    pub fn result(mut self) -> io::Result<Option<Vec<u8>>> {
        let rest = self.until.saturating_duration_since(Instant::now());
        if !fanotify::pause(&self.result, rest)? {
            // Not waited for: it ends when it can.
            kill_process(self.pid, Signal::KILL)?;
            return Ok(None);
        }
        let mut result = Vec::new();
        self.result.read_to_end(&mut result)?;
        retry_on_intr(|| waitpid(Some(self.pid), WaitOptions::empty()))?;
        Ok(Some(result))
    }
}

/// Makes a child of this process one by itself: with a name of its own, no messages, and no descriptors of its parent's but `kept`.
pub(super) fn let_go(name: &CStr, kept: &[RawFd]) -> io::Result<()> {
    log::set_max_level(log::LevelFilter::Off);
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    drop(null);
    sys::close_all_but(kept)?;
    Ok(rustix::thread::set_name(name)?)
}

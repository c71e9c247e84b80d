//! Asking a mount for its status, with a timeout.
//!
//! A process that asks a filesystem with a stuck daemon can neither stop nor be killed, and does not end. So another
//! process asks, and is left to itself when it takes too long. It holds nothing of ours open: whoever reads what we
//! print would wait for it.

use std::ffi::CStr;
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use strum::IntoStaticStr;

use super::error::{cannot_be, reason};
use super::output::{Output, print_error};
use super::{CommandError, ExitCode};
use crate::daemon::command_error::Doing;
use crate::daemon::fuse_mount::is_of_dead_mount;
use crate::daemon::status_query::{self, AskError};
use crate::names::Quoted;
use crate::os::mountinfo;

/// Time that a daemon has to answer. It waits for nothing but its turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// Exit codes of the asking process without an answer, by the reason.
const FAILED: u8 = 1;
const DEAD: u8 = 3;
const DENIED: u8 = 4;

/// The arguments of a process that asks.
const ASKING: [&str; 3] = ["status", "--ask-only", "--"];

/// The name of a process that asks.
pub(super) const ASKER: &CStr = c"utf8fs-status";

/// The result of asking, by words that are part of the interface.
#[derive(Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(super) enum Answer {
    /// The daemon's status.
    Status(Vec<u8>),
    /// Its daemon is gone.
    Dead,
    /// No answer in time.
    Silent,
    /// We may not ask.
    Denied,
    /// There is no answer for another reason.
    Unknown,
}

/// Returns the error of a mount that does not answer in time.
pub(super) fn silence(path: &Path) -> CommandError {
    let shown = Quoted::of(path);
    let message = match silent_outer(path) {
        Some(outer) => {
            let outer = Quoted::of(&outer);
            format!("{shown} is inside {outer}, which does not answer")
        }
        None => {
            let seconds = PATIENCE.as_secs();
            format!("the mount on {shown} does not answer for {seconds} seconds")
        }
    };
    CommandError::failure(message).hint(
        "is its daemon stopped, or waiting for a disk or a network? 'ps -o pid,stat,args -C utf8fs' shows it; 'kill -CONT' continues a stopped one (state T); 'utf8fs umount --lazy', then kill -9, end it",
    )
}

/// Returns a mount of ours that `path` lies in and that does not answer.
pub(super) fn silent_outer(path: &Path) -> Option<PathBuf> {
    let ours = mountinfo::ours().unwrap_or_default().into_iter();
    let mut outer = ours.map(|mount| mount.path());
    outer.find(|outer| {
        let is_outer = outer != path && path.starts_with(outer);
        is_outer && matches!(ask(outer), Ok(Answer::Silent))
    })
}

/// Asks the mount on `path` for its status; prints nothing.
///
/// # Errors
/// Another process cannot be had.
pub(super) fn ask(path: &Path) -> Result<Answer, CommandError> {
    Ok(start_asking(path)?.0)
}

/// Has another process ask. Returns the answer, and what that process printed on standard error.
///
/// # Errors
/// Another process cannot be had.
pub(super) fn start_asking(path: &Path) -> Result<(Answer, Vec<u8>), CommandError> {
    const START: &str = "start a process that asks";
    let child = Command::new("/proc/self/exe")
        .arg0("utf8fs")
        .args(ASKING)
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .doing(START)?;
    let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).doing(START)?;
    let (done, is_done) = sync_channel(1);
    let wait = move || done.try_send(child.wait_with_output()).ok();
    let waiting = thread::Builder::new().name("answer".to_owned()).spawn(wait);
    waiting.doing(START)?;
    let Ok(ended) = is_done.recv_timeout(PATIENCE) else {
        // Not waited for: it ends when it can.
        pidfd_send_signal(&process, Signal::KILL).ok();
        return Ok((Answer::Silent, Vec::new()));
    };
    let ended = ended.doing(START)?;
    let answer = match ended.status.code().map(u8::try_from) {
        Some(Ok(0)) => Answer::Status(ended.stdout),
        Some(Ok(DEAD)) => Answer::Dead,
        Some(Ok(DENIED)) => Answer::Denied,
        _ => Answer::Unknown,
    };
    Ok((answer, ended.stderr))
}

/// Asks in this process, and passes the answer on to who started it.
///
/// # Errors
/// The answer cannot be written.
pub(super) fn pass_on(path: &Path) -> Result<ExitCode, CommandError> {
    // It would be `exe`, by the path that was run.
    rustix::thread::set_name(ASKER).ok();
    let status = match status_query::ask(path) {
        Ok(status) => status,
        Err(error) => {
            let (code, error) = why(path, error);
            print_error(&error);
            return Ok(ExitCode::Passed(code));
        }
    };
    let out = Output::stdout();
    out.bytes(&status);
    out.finish()?;
    Ok(ExitCode::Ok)
}

/// Returns why there is no answer, after the exit code that says so.
fn why(path: &Path, error: AskError) -> (u8, CommandError) {
    const LIST: &str = "'utf8fs status --all' lists the mounts of utf8fs";
    let shown = Quoted::of(path);
    let denied = |error: &io::Error| match error.kind() == ErrorKind::PermissionDenied {
        true => DENIED,
        false => FAILED,
    };
    let (code, message, hint) = match error {
        AskError::Path(error) if is_of_dead_mount(&error) => (
            FAILED,
            format!("{shown} cannot be reached: it is inside a dead mount"),
            "mount that again, or unmount it: it goes with all that is mounted in it".into(),
        ),
        AskError::Path(error) => (
            denied(&error),
            cannot_be("looked at", shown, &error),
            LIST.into(),
        ),
        AskError::Other(fs_type) => {
            let fs_type = Quoted(&fs_type);
            let message = format!(
                "{shown} is not a utf8fs mount: it is on {fs_type}; nor does a guard watch it"
            );
            (FAILED, message, LIST.into())
        }
        AskError::Inside(mount) => {
            let mount = Quoted(&mount);
            let message = format!("{shown} is inside the mount on {mount}");
            (FAILED, message, format!("ask {mount} itself"))
        }
        AskError::Refused(error) if is_of_dead_mount(&error) => (
            DEAD,
            format!("the daemon of the mount on {shown} is gone"),
            "unmount it, or mount again, which takes the dead mount away".into(),
        ),
        AskError::Refused(error) => match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => (
                DENIED,
                format!(
                    "{shown}: permission denied: only root and the user who mounted it may ask"
                ),
                "ask as root or as the user who mounted".into(),
            ),
            Some(libc::EOPNOTSUPP | libc::ENODATA) => (
                FAILED,
                format!("{shown} has no status: its daemon does not know this question"),
                "it is of an older version, or only a part of a mount is mounted here".into(),
            ),
            _ => {
                let message = format!("{shown} does not answer: {}", reason(&error));
                return (FAILED, CommandError::failure(message));
            }
        },
    };
    (code, CommandError::failure(message).hint(hint))
}

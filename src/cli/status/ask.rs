//! Asking, with patience that ends.
//!
//! Whoever asks a filesystem whose daemon is stuck can neither be told to stop nor be killed, and a process with one such thread does not
//! end. So another process asks, and is left to itself when it takes too long.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use crate::cli::error::reason;
use crate::cli::output::Output;
use crate::cli::{CliError, ExitCode};
use crate::fuse::ask::{self, AskError};
use crate::names::Quoted;

/// How long a daemon may take to answer. It waits for nothing but its turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the mount on `path` says; `None` where it was said already why there is no answer.
///
/// # Errors
/// It does not answer in time, or another process cannot be had.
pub(super) fn ask(path: &Path) -> Result<Option<Vec<u8>>, CliError> {
    let failed = |error: std::io::Error| {
        CliError::failure(format!("no process can be started: {}", reason(&error)))
    };
    let mut child = Command::new("/proc/self/exe")
        .arg0("utf8fs")
        .args(["status", "--ask-only", "--"])
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut answer = child.stdout.take();
    let (done, is_done) = sync_channel(1);
    thread::Builder::new()
        .name("answer".to_owned())
        .spawn(move || {
            let mut bytes = Vec::new();
            let read = answer
                .as_mut()
                .map_or(Ok(0), |answer| answer.read_to_end(&mut bytes));
            done.try_send(read.map(|_length| bytes)).ok();
        })
        .map_err(failed)?;
    let Ok(read) = is_done.recv_timeout(PATIENCE) else {
        // Not waited for: it ends when it can.
        child.kill().ok();
        return Err(CliError::failure(format!(
            "the mount on {} does not answer for {} seconds",
            Quoted(path.as_os_str().as_bytes()),
            PATIENCE.as_secs()
        ))
        .hint(
            "is its daemon stopped, or waiting for a disk or a network? Its log and 'ps' may tell",
        ));
    };
    let bytes = read.map_err(failed)?;
    let ended = child.wait().map_err(failed)?;
    Ok(ended.success().then_some(bytes))
}

/// Asks in this process, and passes the answer on to who started it.
///
/// # Errors
/// There is no answer.
pub(super) fn pass_on(path: &Path) -> Result<ExitCode, CliError> {
    let status = ask::ask(path).map_err(|error| why(path, error))?;
    let mut out = Output::stdout();
    out.bytes(&status)?;
    out.flush()?;
    Ok(ExitCode::Ok)
}

/// Says why there is no answer.
fn why(path: &Path, error: AskError) -> CliError {
    let shown = Quoted(path.as_os_str().as_bytes());
    match error {
        AskError::Path(error) => {
            CliError::failure(format!("{shown} cannot be looked at: {}", reason(&error)))
                .hint("'findmnt -t fuse.utf8fs' lists the mounts of utf8fs")
        }
        AskError::Other(fs_type) => CliError::failure(format!(
            "{shown} is no mount of utf8fs: it lies on {}",
            Quoted(&fs_type)
        ))
        .hint("'findmnt -t fuse.utf8fs' lists the mounts of utf8fs"),
        AskError::Inside(mount) => {
            let mount = Quoted(&mount);
            CliError::failure(format!("{shown} is inside the mount on {mount}"))
                .hint(format!("ask {mount} itself"))
        }
        AskError::Refused(error) => match error.raw_os_error() {
            Some(libc::ENOTCONN | libc::ECONNABORTED) => {
                CliError::failure(format!("the daemon of the mount on {shown} is gone"))
                    .hint("unmount it, or mount again, which takes the dead mount away")
            }
            Some(libc::EPERM | libc::EACCES) => {
                CliError::failure(format!("{shown} tells nothing to you: permission denied"))
                    .hint("ask as root or as the user who mounted")
            }
            Some(libc::EOPNOTSUPP | libc::ENODATA) => CliError::failure(format!(
                "{shown} tells nothing: its daemon does not know this question"
            ))
            .hint("it is of an older version, or only a part of a mount is mounted here"),
            _ => CliError::failure(format!("{shown} does not answer: {}", reason(&error))),
        },
    }
}

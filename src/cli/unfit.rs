//! Why nothing is mounted, in words, and what to do about it.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::CliError;
use super::error::reason;
use super::mount::failed;
use crate::daemon::audit::{SinkKind, is_unsafe_log};
use crate::daemon::mount::MountError;
use crate::names::Quoted;
use crate::os::credentials;

/// Why a daemon that has root's capabilities cannot act as other users.
pub(super) fn cannot_act(error: &io::Error) -> CliError {
    if !credentials::groups_are_denied() {
        return failed("act as other users", error);
    }
    CliError::failure("cannot act as other users: this user namespace does not let groups be set")
        .hint("run utf8fs outside of it; or in one whose /proc/self/setgroups says allow, as newuidmap and newgidmap make them")
}

/// Why the audit log cannot be opened.
pub(super) fn unfit_log(sink: &SinkKind, error: &io::Error) -> CliError {
    match sink {
        SinkKind::File(path) => {
            let path = Quoted(path.as_os_str().as_bytes());
            CliError::usage(format!(
                "audit log {path} cannot be opened: {}",
                reason(error)
            ))
            .hint(match is_unsafe_log(error) {
                true => "name a file of your own that has one name, in a directory that nobody else may write to, or `-` for the standard error output",
                false => "name a file that can be written, or one in a directory where it can be made",
            })
        }
        SinkKind::Stderr | SinkKind::Syslog | SinkKind::Journal(_) => {
            failed("open the audit log", error)
        }
    }
}

/// Why nothing is mounted on `mountpoint`.
pub(super) fn not_mounted(mountpoint: &Path, error: &MountError) -> CliError {
    let mountpoint = Quoted(mountpoint.as_os_str().as_bytes());
    let message = format!("cannot mount on {mountpoint}: {error}");
    let failure = match error {
        MountError::AlreadyMounted { .. } | MountError::AllowOther | MountError::Helper { .. } => {
            CliError::usage(message)
        }
        MountError::Io { .. }
        | MountError::NoDevice
        | MountError::DeviceDenied
        | MountError::NoHelper => CliError::failure(message),
    };
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

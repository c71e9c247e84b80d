//! `utf8fs status`: how a mount does.

mod all_mounts;
#[cfg(test)]
mod format_tests;
mod prometheus;
mod status_text;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, absolute};

use super::args::StatusArgs;
use super::args::status_args::StatusFormat;
use super::output::Output;
use super::status_client::{self, Answer};
use super::{CliError, ExitCode};
use crate::guard::{self, Found};
use crate::names::Quoted;
use crate::records::{FormatHead, MountStatus, STATUS_FORMAT, json_line};
use prometheus::Status;

/// Asks the mount and prints its status. As metrics, one that does not answer is down.
///
/// # Errors
/// There is no utf8fs mount, it does not answer, or whoever asks may not.
pub(super) fn run(args: &StatusArgs) -> Result<ExitCode, CliError> {
    let format = if args.json {
        StatusFormat::Json
    } else {
        args.format.unwrap_or(StatusFormat::Text)
    };
    let Some(mountpoint) = &args.mountpoint else {
        return all_mounts::run(format);
    };
    if args.ask_only {
        return status_client::pass_on(mountpoint);
    }
    let (answer, complaint) = status_client::start_asking(mountpoint)?;
    // Only what is no mount, and so answers, is looked at by this process.
    if answer == Answer::Unknown
        && let Some(exit) = guard(mountpoint, format)?
    {
        return Ok(exit);
    }
    let told = status_client::complain(mountpoint, answer, &complaint);
    let answer = match told {
        Ok(Answer::Status(answer)) => answer,
        other => {
            if format == StatusFormat::Prometheus {
                // Nobody is asked for the mount point's path: the mount may hang.
                let mountpoint = absolute(mountpoint).unwrap_or_else(|_| mountpoint.clone());
                let down = Status::of_mount(mountpoint.as_os_str().as_bytes(), None);
                print(&prometheus::lines(&[down]))?;
            }
            return other.map(|_| ExitCode::Failure);
        }
    };
    let status = parse(&answer)?;
    let lines = match format {
        StatusFormat::Text => status_text::lines(&status),
        StatusFormat::Json => vec![json_line(&status)],
        StatusFormat::Prometheus => {
            let mountpoint = status.mountpoint.as_bytes();
            prometheus::lines(&[Status::of_mount(mountpoint, Some(&status))])
        }
    };
    print(&lines)?;
    Ok(exit(impairments(&status).is_empty()))
}

fn print(lines: &[String]) -> Result<(), CliError> {
    let mut out = Output::stdout();
    lines.iter().try_for_each(|line| out.line(line))?;
    out.flush()
}

fn exit(is_well: bool) -> ExitCode {
    if is_well {
        ExitCode::Ok
    } else {
        ExitCode::Failure
    }
}

/// Prints the status of the guard of a directory; `None` if there is none.
///
/// # Errors
/// It is gone, or whoever asks may not.
fn guard(directory: &Path, format: StatusFormat) -> Result<Option<ExitCode>, CliError> {
    let shown = Quoted(directory.as_os_str().as_bytes());
    let status = match guard::find_status(directory) {
        Ok(Found::Status(status)) => status,
        Ok(Found::Nothing) => return Ok(None),
        Ok(Found::Dead) => {
            return Err(CliError::failure(format!("the guard of {shown} is gone"))
                .hint("start it again: what was made meanwhile is found then"));
        }
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
            return Err(CliError::failure(format!(
                "the guard of {shown}: permission denied: only root may ask"
            ))
            .hint("ask as root"));
        }
        // Whatever is wrong with the path is told by who asks a mount.
        Err(_) => return Ok(None),
    };
    let lines = match format {
        StatusFormat::Text => status_text::guard_lines(&status),
        StatusFormat::Json => vec![json_line(&status)],
        StatusFormat::Prometheus => prometheus::lines(&[Status::of_guard(&status)]),
    };
    print(&lines)?;
    Ok(Some(ExitCode::Ok))
}

/// Reads an answer, if it is of the version that is understood here.
fn parse(answer: &[u8]) -> Result<MountStatus, CliError> {
    let wrong = |error: serde_json::Error| {
        CliError::failure(format!(
            "the answer of the daemon is not understood: {error}"
        ))
    };
    let head: FormatHead = serde_json::from_slice(answer).map_err(wrong)?;
    if head.format == STATUS_FORMAT {
        return serde_json::from_slice(answer).map_err(wrong);
    }
    let error = CliError::failure("the daemon speaks another version of this protocol");
    Err(match head.version {
        Some(version) => error.hint(format!("use the program that mounted: utf8fs {version}")),
        None => error,
    })
}

/// Returns what does not work as it was asked for.
fn impairments(status: &MountStatus) -> Vec<&'static str> {
    let mut all = Vec::new();
    if status.watch.is_some_and(|watch| !watch.alive) {
        all.push("changes below are followed no more");
    }
    if status.audit_log_fails {
        all.push("the audit log cannot be written; its records are lost");
    }
    let policy = status.policy.as_ref();
    if policy.is_some_and(|policy| policy.fault.is_some()) {
        all.push("the policy file is refused; the policy before it stays in force");
    }
    all
}

//! `utf8fs status`: how a mount does.

mod all_mounts;
#[cfg(test)]
mod format_tests;
mod prometheus;
mod status_text;

use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, absolute};
use std::slice;

use serde_json::json;

use super::args::StatusArgs;
use super::args::status_args::StatusFormat;
use super::output::print_lines;
use super::status_client::{self, Answer};
use super::{CommandError, ExitCode};
use crate::guard::{self, Found};
use crate::names::Quoted;
use crate::os::mountinfo::{self, MountInfo};
use crate::records::{
    BackingFault, FormatHead, MountStatus, PolicyStatus, STATUS_FORMAT, add_fields, json_line,
};
use all_mounts::Asked;
use prometheus::Status;

/// Asks the mount and prints its status. One that does not answer is down as metrics, and has its state as JSON.
///
/// # Errors
/// There is no utf8fs mount, it does not answer, or whoever asks may not.
pub(super) fn run(args: &StatusArgs) -> Result<ExitCode, CommandError> {
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
    // As it would have been printed by ourselves: where nobody can be told, the exit status tells.
    io::stderr().write_all(&complaint).ok();
    let silence = (answer == Answer::Silent).then(|| status_client::silence(mountpoint));
    let asked = Asked::of(mount_at(mountpoint), &answer);
    let is_well = asked.state == "well";
    let lines = match (&asked.status, format) {
        (Some(status), StatusFormat::Text) => status_text::lines(status),
        (Some(status), StatusFormat::Json) => {
            let mut object = json!(status);
            add_fields(&mut object, json!({"state": asked.state}));
            vec![json_line(&object)]
        }
        (None, StatusFormat::Text) => Vec::new(),
        (_, StatusFormat::Json | StatusFormat::Prometheus) => {
            all_mounts::lines(slice::from_ref(&asked), format)
        }
    };
    print_lines(lines)?;
    silence.map_or(Ok(exit(is_well)), Err)
}

/// Looks a mount up in the table of mounts, by its path alone: the mount may hang.
fn mount_at(path: &Path) -> MountInfo {
    let path = absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut mounts = mountinfo::ours().unwrap_or_default().into_iter();
    let mount = mounts.find(|mount| mount.path() == path);
    mount.unwrap_or_else(|| MountInfo {
        mount_point: path.into_os_string().into_vec(),
        ..MountInfo::default()
    })
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
fn guard(directory: &Path, format: StatusFormat) -> Result<Option<ExitCode>, CommandError> {
    let shown = Quoted::of(directory);
    let place = mount_at(directory);
    let status = match guard::find_status(directory) {
        Ok(Found::Status(status)) => status,
        Ok(Found::Nothing) => return Ok(None),
        Ok(Found::Dead) => {
            if format != StatusFormat::Text {
                let dead = Asked::of(place, &Answer::Dead);
                print_lines(all_mounts::lines(&[dead], format))?;
            }
            return Err(
                CommandError::failure(format!("the guard of {shown} is gone"))
                    .hint("start it again: what was made meanwhile is found then"),
            );
        }
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
            return Err(CommandError::failure(format!(
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
        StatusFormat::Prometheus => {
            prometheus::lines(&[Status::of_guard(&place.mount_point, &status)])
        }
    };
    print_lines(lines)?;
    Ok(Some(exit(refused_policy(status.policy.as_ref()).is_none())))
}

/// Reads an answer, if it is of the version that is understood here.
fn parse(answer: &[u8]) -> Result<MountStatus, CommandError> {
    let wrong = |error: serde_json::Error| {
        CommandError::failure(format!(
            "the answer of the daemon is not understood: {error}"
        ))
    };
    let head: FormatHead = serde_json::from_slice(answer).map_err(wrong)?;
    if head.format == STATUS_FORMAT {
        return serde_json::from_slice(answer).map_err(wrong);
    }
    let error = CommandError::failure("the daemon speaks another version of this protocol");
    Err(match head.version {
        Some(version) => error.hint(format!("use the program that mounted: utf8fs {version}")),
        None => error,
    })
}

/// Returns what does not work as it was asked for.
fn impairments(status: &MountStatus) -> Vec<String> {
    let mut all = Vec::new();
    let backing = &status.backing;
    match status.backing_fault {
        Some(BackingFault::Gone) => all.push(format!("the backing directory {backing} is gone")),
        Some(BackingFault::Replaced) => all.push(format!(
            "{backing} is another directory than the one that is mounted: it was replaced, or its filesystem unmounted"
        )),
        None => {}
    }
    let mut push = |what: &str| all.push(what.to_owned());
    if status.watch.is_some_and(|watch| !watch.alive) {
        push("changes below are followed no more");
    }
    if status.audit_log_fails {
        push(
            "the audit log cannot be written or reopened; records are lost, or go to the old file",
        );
    }
    all.extend(refused_policy(status.policy.as_ref()).map(str::to_owned));
    all
}

/// Says that the policy file is refused, if it is.
fn refused_policy(policy: Option<&PolicyStatus>) -> Option<&'static str> {
    let fault = policy?.fault.as_ref();
    fault.map(|_| "the policy file is refused; the policy before it stays in force")
}

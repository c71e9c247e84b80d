//! `utf8fs status`: how a mount does.

mod all_mounts;
#[cfg(test)]
mod format_tests;
mod prometheus;
mod status_text;

use std::os::unix::ffi::OsStringExt;
use std::path::{Path, absolute};
use std::slice;

use serde_json::json;

use super::args::StatusArgs;
use super::args::status_args::StatusFormat;
use super::output::print_lines;
use super::{CommandError, ExitCode};
use crate::daemon::status_query::{NoAnswer, NoStatus, ask, silent_outer};
use crate::guard::{self, Found};
use crate::names::Quoted;
use crate::os::mountinfo::{self, MountInfo};
use crate::records::{BackingFault, GuardStatus, MountStatus, PolicyStatus, add_fields, json_line};

/// A status of what was asked.
#[derive(Debug)]
enum Status {
    Mount(Box<MountStatus>),
    Guard(Box<GuardStatus>),
}

/// A mount, or a directory, that was asked.
#[derive(Debug)]
struct Asked {
    mount: MountInfo,
    answer: Result<Status, NoStatus>,
}

impl Asked {
    /// Says how it is, by a word that is part of the interface.
    fn state(&self) -> &'static str {
        match &self.answer {
            Ok(status) if status.impairments().is_empty() => "well",
            Ok(_) => "impaired",
            Err(none) => none.state.into(),
        }
    }

    /// Returns the status of a mount that answered.
    fn mount_status(&self) -> Option<&MountStatus> {
        match &self.answer {
            Ok(Status::Mount(status)) => Some(status),
            Ok(Status::Guard(_)) | Err(_) => None,
        }
    }
}

impl Status {
    /// Returns what does not work as it was asked for.
    fn impairments(&self) -> Vec<String> {
        match self {
            Self::Mount(status) => impairments(status),
            Self::Guard(status) => refused_policy(status.policy.as_ref()).into_iter().collect(),
        }
    }
}

/// Asks the mount, or the guard, and prints its status. One that does not answer is down as metrics, and has its state as JSON.
///
/// # Errors
/// There is no utf8fs mount, it does not answer, or whoever asks may not.
pub(super) fn run(args: &StatusArgs) -> Result<ExitCode, CommandError> {
    let format = if args.json {
        StatusFormat::Json
    } else {
        args.format.unwrap_or(StatusFormat::Text)
    };
    let Some(path) = &args.mountpoint else {
        return all_mounts::run(format);
    };
    let answer = match ask(path) {
        Ok(status) => Ok(Status::Mount(Box::new(status))),
        // Only what is no mount, and so answers, is looked at by this process.
        Err(none) if none.state == NoAnswer::Unknown => guard(path, none),
        Err(none) => Err(none),
    };
    let asked = Asked {
        mount: mount_at(path),
        answer,
    };
    let lines = match (&asked.answer, format) {
        (Ok(Status::Mount(status)), StatusFormat::Text) => status_text::lines(status),
        (Ok(Status::Mount(status)), StatusFormat::Json) => {
            let mut object = json!(status);
            add_fields(&mut object, json!({"state": asked.state()}));
            vec![json_line(&object)]
        }
        (Ok(Status::Guard(status)), StatusFormat::Text) => status_text::guard_lines(status),
        (Ok(Status::Guard(status)), StatusFormat::Json) => vec![json_line(status)],
        (Err(_), StatusFormat::Text) => Vec::new(),
        (_, StatusFormat::Json | StatusFormat::Prometheus) => {
            all_mounts::lines(slice::from_ref(&asked), format)
        }
    };
    print_lines(lines)?;
    let exit = exit(slice::from_ref(&asked));
    match asked.answer {
        Ok(_) => Ok(exit),
        Err(mut none) => {
            if none.state == NoAnswer::Silent
                && let Some(outer) = silent_outer(path)
            {
                let (shown, outer) = (Quoted::of(path), Quoted::of(&outer));
                none.error.message = format!("{shown} is inside {outer}, which does not answer");
            }
            Err(none.error)
        }
    }
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

fn exit(all: &[Asked]) -> ExitCode {
    if all.iter().all(|asked| asked.state() == "well") {
        ExitCode::Ok
    } else {
        ExitCode::Failure
    }
}

/// Returns the answer of the guard of a directory, on which is no mount. Where there is no guard either, that is why.
fn guard(directory: &Path, no_mount: NoStatus) -> Result<Status, NoStatus> {
    let shown = Quoted::of(directory);
    match guard::find_status(directory) {
        Ok(Found::Status(status)) => Ok(Status::Guard(status)),
        Ok(Found::Dead) => Err(NoStatus::new(
            NoAnswer::Dead,
            format!("the guard of {shown} is gone"),
            "start it again: what was made meanwhile is found then",
        )),
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => Err(NoStatus::new(
            NoAnswer::Denied,
            format!("the guard of {shown}: permission denied: only root may ask"),
            "ask as root",
        )),
        // Whatever is wrong with the path is told by who asked a mount.
        Ok(Found::Nothing) | Err(_) => Err(no_mount),
    }
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
    all.extend(refused_policy(status.policy.as_ref()));
    all
}

/// Says that the policy file is refused, if it is.
fn refused_policy(policy: Option<&PolicyStatus>) -> Option<String> {
    let fault = policy?.fault.as_ref();
    fault.map(|_| "the policy file is refused; the policy before it stays in force".to_owned())
}

//! `utf8fs status`: how a mount does.

#[cfg(test)]
mod format_tests;
mod prometheus;
mod status_text;

use std::os::unix::ffi::OsStringExt;
use std::path::{Path, absolute};

use serde_json::{Value, json};

use super::args::StatusArgs;
use super::args::status_args::StatusFormat;
use super::output::print_lines;
use super::{CommandError, Doing, ExitCode};
use crate::fuse::status_query::{Question, ask, silent_outer};
use crate::guard;
use crate::names::Quoted;
use crate::os::mountinfo::{self, MountInfo};
use crate::records::{
    BackingFault, GuardStatus, MountStatus, Name, NoAnswer, NoStatus, PolicyStatus, add_fields,
    json_line,
};

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

    /// Returns one JSON object on one line: the fields of the status, if there is one, and what is known without it.
    fn to_json(&self) -> String {
        let MountInfo {
            mount_point,
            source,
            ..
        } = &self.mount;
        let mut object = json!({
            "mountpoint": Name::from(mount_point.as_slice()),
            "source": (!source.is_empty()).then(|| Name::from(source.as_slice())),
            "state": self.state(),
        });
        if let Ok(status) = &self.answer {
            add_fields(&mut object, status.document().1);
        }
        json_line(&object)
    }
}

impl Status {
    /// Returns what it is of, and its fields.
    fn document(&self) -> (&'static str, Value) {
        match self {
            Self::Mount(status) => ("mount", json!(status)),
            Self::Guard(status) => ("guard", json!(status)),
        }
    }

    /// Returns the policy file that is in force, if one is.
    fn policy(&self) -> Option<&PolicyStatus> {
        match self {
            Self::Mount(status) => status.policy.as_ref(),
            Self::Guard(status) => status.policy.as_ref(),
        }
    }

    /// Returns what does not work as it was asked for.
    fn impairments(&self) -> Vec<String> {
        let mut all = Vec::new();
        if let Self::Mount(status) = self {
            let backing = &status.backing;
            all.extend(status.backing_fault.map(|fault| match fault {
                BackingFault::Gone => format!("the backing directory {backing} is gone"),
                BackingFault::Replaced => format!(
                    "{backing} is another directory than the one that is mounted: it was replaced, or its filesystem unmounted"
                ),
            }));
            if status.watch.is_some_and(|watch| !watch.alive) {
                all.push("changes below are followed no more".to_owned());
            }
            if status.audit_log_fails {
                all.push("the audit log cannot be written or reopened; records are lost, or go to the old file".to_owned());
            }
        }
        if self.policy().is_some_and(|policy| policy.fault.is_some()) {
            all.push("the policy file is refused; the policy before it stays in force".to_owned());
        }
        all
    }
}

/// Asks the mount, the guard, or all mounts, and prints their status. One that does not answer is down in metrics; JSON has its state.
///
/// # Errors
/// There is no utf8fs mount, it does not answer, or whoever asks may not.
pub(super) fn run(args: &StatusArgs) -> Result<ExitCode, CommandError> {
    let mut all = match &args.mountpoint {
        Some(path) => vec![Asked {
            mount: mount_at(path),
            answer: status_of(path),
        }],
        None => all_mounts()?,
    };
    let format = match args.json {
        true => StatusFormat::Json,
        false => args.format.unwrap_or(StatusFormat::Text),
    };
    print_lines(lines(&all, format, args.all))?;
    let is_well = all.iter().all(|asked| asked.state() == "well");
    match all.pop().map(|asked| asked.answer) {
        Some(Err(none)) if !args.all => Err(none.into()),
        _ if is_well => Ok(ExitCode::Ok),
        _ => Ok(ExitCode::Failure),
    }
}

fn lines(all: &[Asked], format: StatusFormat, is_list: bool) -> Vec<String> {
    match format {
        StatusFormat::Text if is_list => status_text::table(all),
        StatusFormat::Text => {
            let answers = all.iter().flat_map(|asked| &asked.answer);
            answers.flat_map(status_text::lines).collect()
        }
        StatusFormat::Json => all.iter().map(Asked::to_json).collect(),
        StatusFormat::Prometheus => prometheus::lines(all),
    }
}

/// Asks all mounts. Each is asked by a process of its own, all at the same time, so that none waits for a stuck one.
fn all_mounts() -> Result<Vec<Asked>, CommandError> {
    let mounts = mountinfo::ours().doing("read the table of mounts")?;
    let ask = |mount: &MountInfo| Question::start(&mount.path());
    let questions: Vec<Question> = mounts.iter().map(ask).collect();
    let all = mounts.into_iter().zip(questions).map(|(mount, question)| {
        let answer = question.answer();
        let answer = answer.map(|status| Status::Mount(Box::new(status)));
        Asked { mount, answer }
    });
    Ok(all.collect())
}

/// Asks the mount on a path, or the guard of a directory on which is no mount. Where there is no guard either, that is why.
fn status_of(path: &Path) -> Result<Status, NoStatus> {
    let shown = Quoted::of(path);
    let mut none = match ask(path) {
        Ok(status) => return Ok(Status::Mount(Box::new(status))),
        Err(none) => none,
    };
    if none.state == NoAnswer::Silent
        && let Some(outer) = silent_outer(path)
    {
        let outer = Quoted::of(&outer);
        none.message = format!("{shown} is inside {outer}, which does not answer");
    }
    // Only what is no mount, and so answers, is looked at by this process.
    let guard = match none.state {
        NoAnswer::Unknown => guard::find_status(path)?,
        NoAnswer::Dead | NoAnswer::Silent | NoAnswer::Denied => None,
    };
    guard.map_or(Err(none), |status| Ok(Status::Guard(Box::new(status))))
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

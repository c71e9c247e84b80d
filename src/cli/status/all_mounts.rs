//! All mounts at once. Each is asked by a process of its own, all at the same time, so that none waits for a stuck one.

use std::thread;

use serde_json::json;

use super::prometheus::{self, Status};
use super::{exit, impairments, parse, status_text};
use crate::cli::args::status_args::StatusFormat;
use crate::cli::output::{print_error, print_lines};
use crate::cli::status_client::{self, Answer};
use crate::cli::text_table::{columns, head};
use crate::cli::{CommandError, ExitCode};
use crate::daemon::command_error::Doing;
use crate::names::Quoted;
use crate::os::mountinfo::{self, MountInfo};
use crate::records::{MountStatus, Name, json_line};

/// A mount that was asked.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) mount: MountInfo,
    /// How it is, by a word that is part of the interface.
    pub(super) state: &'static str,
    /// Its status, if it answered.
    pub(super) status: Option<MountStatus>,
}

/// Asks all mounts and prints what they say.
///
/// # Errors
/// The table of mounts cannot be read.
pub(super) fn run(format: StatusFormat) -> Result<ExitCode, CommandError> {
    let mounts = mountinfo::ours().doing("read the table of mounts")?;
    let all: Vec<Asked> = thread::scope(|scope| {
        let asking: Vec<_> = mounts
            .into_iter()
            .map(|mount| scope.spawn(|| ask(mount)))
            .collect();
        let all = asking.into_iter().map(|asking| asking.join());
        all.map(|asked| asked.expect("invariant: asking does not panic"))
            .collect()
    });
    print_lines(lines(&all, format))?;
    Ok(exit(all.iter().all(|asked| asked.state == "well")))
}

fn ask(mount: MountInfo) -> Asked {
    let answer = status_client::ask(&mount.path()).unwrap_or_else(|error| {
        print_error(&error);
        Answer::Unknown
    });
    Asked::of(mount, &answer)
}

impl Asked {
    /// Reads the answer of a mount. One that is not understood is complained of.
    pub(super) fn of(mount: MountInfo, answer: &Answer) -> Self {
        let (state, status) = match answer {
            Answer::Status(answer) => match parse(answer) {
                Ok(status) if impairments(&status).is_empty() => ("well", Some(status)),
                Ok(status) => ("impaired", Some(status)),
                Err(error) => {
                    print_error(&error);
                    (Answer::Unknown.into(), None)
                }
            },
            Answer::Dead | Answer::Silent | Answer::Denied | Answer::Unknown => {
                (answer.into(), None)
            }
        };
        Self {
            mount,
            state,
            status,
        }
    }
}

pub(super) fn lines(all: &[Asked], format: StatusFormat) -> Vec<String> {
    match format {
        StatusFormat::Text if all.is_empty() => vec!["there is no utf8fs mount".to_owned()],
        StatusFormat::Text => table(all),
        StatusFormat::Json => all.iter().map(object).collect(),
        StatusFormat::Prometheus => {
            let statuses = all
                .iter()
                .map(|asked| Status::of_mount(&asked.mount.mount_point, asked.status.as_ref()));
            prometheus::lines(&statuses.collect::<Vec<_>>())
        }
    }
}

fn table(all: &[Asked]) -> Vec<String> {
    let mut rows = vec![head("mounted on|shows|state|for|requests|errors|offences")];
    for asked in all {
        let mut row = vec![
            Quoted(&asked.mount.mount_point).to_string(),
            Quoted(&asked.mount.source).to_string(),
            asked.state.to_owned(),
        ];
        if let Some(status) = &asked.status {
            row.push(status_text::span(status.uptime_seconds.ceil()));
            row.push(status.total.requests.to_string());
            row.push(status.total.errors.to_string());
            row.push(status.offences.sum().to_string());
        } else {
            row.extend(["-"; 4].map(str::to_owned));
        }
        rows.push(row);
    }
    columns(&rows, &[3, 4, 5, 6])
}

fn object(asked: &Asked) -> String {
    json_line(&json!({
        "mountpoint": Name::from(&asked.mount.mount_point),
        "source": (!asked.mount.source.is_empty()).then(|| Name::from(&asked.mount.source)),
        "state": asked.state,
        "status": asked.status,
    }))
}

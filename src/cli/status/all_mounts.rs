//! All mounts at once. Each is asked by a process of its own, all at the same time, so that none waits for a stuck one.

use std::thread;

use serde_json::json;
use strum::IntoStaticStr;

use super::{exit, impairments, parse, print, prometheus, status_text};
use crate::cli::args::status_args::StatusFormat;
use crate::cli::output::print_error;
use crate::cli::status_client::{self, Answer};
use crate::cli::text_table::columns;
use crate::cli::{CliError, ExitCode};
use crate::daemon::fuse_mount::reachable_mounts;
use crate::daemon::mountinfo::MountInfo;
use crate::daemon::start_error::StartError;
use crate::names::Quoted;
use crate::records::{MountStatus, Name, json_line};

/// How a mount is, by a word that is part of the interface.
#[derive(Debug, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(super) enum State {
    /// It answered, and everything works.
    Well(Box<MountStatus>),
    /// It answered, and something does not work.
    Impaired(Box<MountStatus>),
    /// Its daemon is gone.
    Dead,
    /// It does not answer in time.
    Silent,
    /// We may not ask.
    Denied,
    /// It cannot be asked, or what it says cannot be understood.
    Unknown,
}

impl State {
    fn status(&self) -> Option<&MountStatus> {
        match self {
            Self::Well(status) | Self::Impaired(status) => Some(status),
            Self::Dead | Self::Silent | Self::Denied | Self::Unknown => None,
        }
    }
}

/// Asks all mounts and prints what they say.
///
/// # Errors
/// The table of mounts cannot be read.
pub(super) fn run(format: StatusFormat) -> Result<ExitCode, CliError> {
    let mounts = reachable_mounts::ours()
        .map_err(|error| StartError::io("read the table of mounts", &error))?;
    let states: Vec<State> = thread::scope(|scope| {
        let asking: Vec<_> = mounts
            .iter()
            .map(|mount| scope.spawn(|| state(mount)))
            .collect();
        let states = asking.into_iter().map(|asked| asked.join());
        states
            .map(|state| state.unwrap_or(State::Unknown))
            .collect()
    });
    let all: Vec<(MountInfo, State)> = mounts.into_iter().zip(states).collect();
    print(&lines(&all, format))?;
    let is_well = all.iter().all(|(_, state)| matches!(state, State::Well(_)));
    Ok(exit(is_well))
}

fn state(mount: &MountInfo) -> State {
    let answer = status_client::ask(&mount.path()).unwrap_or_else(|error| {
        print_error(&error);
        Answer::None
    });
    match answer {
        Answer::Status(answer) => match parse(&answer) {
            Ok(status) if impairments(&status).is_empty() => State::Well(Box::new(status)),
            Ok(status) => State::Impaired(Box::new(status)),
            Err(error) => {
                print_error(&error);
                State::Unknown
            }
        },
        Answer::Dead => State::Dead,
        Answer::Silent => State::Silent,
        Answer::Denied => State::Denied,
        Answer::None => State::Unknown,
    }
}

pub(super) fn lines(all: &[(MountInfo, State)], format: StatusFormat) -> Vec<String> {
    match format {
        StatusFormat::Text if all.is_empty() => vec!["there is no utf8fs mount".to_owned()],
        StatusFormat::Text => table(all),
        StatusFormat::Json => all
            .iter()
            .map(|(mount, state)| object(mount, state))
            .collect(),
        StatusFormat::Prometheus => {
            let up = |(mount, state): &(MountInfo, State)| {
                prometheus::up(&mount.mount_point, state.status().is_some())
            };
            let said = all.iter().filter_map(|(_, state)| state.status());
            prometheus::together(all.iter().map(up).chain(said.map(prometheus::lines)))
        }
    }
}

fn table(all: &[(MountInfo, State)]) -> Vec<String> {
    let head = [
        "mounted on",
        "shows",
        "state",
        "for",
        "requests",
        "errors",
        "offences",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (mount, state) in all {
        let mut row = vec![
            Quoted(&mount.mount_point).to_string(),
            Quoted(&mount.source).to_string(),
            <&str>::from(state).to_owned(),
        ];
        if let Some(status) = state.status() {
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

fn object(mount: &MountInfo, state: &State) -> String {
    json_line(&json!({
        "mountpoint": Name::from(&mount.mount_point),
        "source": Name::from(&mount.source),
        "state": <&str>::from(state),
        "status": state.status(),
    }))
}

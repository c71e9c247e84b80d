//! All mounts at once. Each is asked by a process of its own, all at the same time, so that none waits for a stuck one.

use serde_json::json;

use super::{Asked, Status, exit, prometheus, status_text};
use crate::cli::args::status_args::StatusFormat;
use crate::cli::output::print_lines;
use crate::cli::text_table::{columns, head};
use crate::cli::{CommandError, ExitCode};
use crate::daemon::command_error::Doing;
use crate::daemon::status_query::Question;
use crate::names::Quoted;
use crate::os::mountinfo;
use crate::records::{Name, json_line};

/// Asks all mounts and prints what they say.
///
/// # Errors
/// The table of mounts cannot be read.
pub(super) fn run(format: StatusFormat) -> Result<ExitCode, CommandError> {
    let mounts = mountinfo::ours().doing("read the table of mounts")?;
    let ask = |mount: &mountinfo::MountInfo| Question::start(&mount.path());
    let questions: Vec<Question> = mounts.iter().map(ask).collect();
    let mut all = Vec::new();
    for (mount, question) in mounts.into_iter().zip(questions) {
        let answer = question.answer();
        let answer = answer.map(|status| Status::Mount(Box::new(status)));
        all.push(Asked { mount, answer });
    }
    print_lines(lines(&all, format))?;
    Ok(exit(&all))
}

pub(super) fn lines(all: &[Asked], format: StatusFormat) -> Vec<String> {
    match format {
        StatusFormat::Text if all.is_empty() => vec!["there is no utf8fs mount".to_owned()],
        StatusFormat::Text => table(all),
        StatusFormat::Json => all.iter().map(object).collect(),
        StatusFormat::Prometheus => prometheus::lines(all),
    }
}

fn table(all: &[Asked]) -> Vec<String> {
    let mut rows = vec![head("mounted on|shows|state|for|requests|errors|offences")];
    for asked in all {
        let mut row = vec![
            Quoted(&asked.mount.mount_point).to_string(),
            Quoted(&asked.mount.source).to_string(),
            asked.state().to_owned(),
        ];
        if let Some(status) = asked.mount_status() {
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
        "state": asked.state(),
        "status": asked.mount_status(),
    }))
}

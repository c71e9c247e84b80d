//! `utf8fs journal`: what a journal holds.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::args::JournalArgs;
use super::output::{Output, counted, harmless};
use super::{CliError, ExitCode};
use crate::backing::Kind;
use crate::names::json::{json_line, json_name};
use crate::names::{BackingName, Quoted};
use crate::tree::journal::{
    Header, Job, Journal, JournalError, Mark, OPENING, Rest, Spot, Status, Told,
};
use crate::tree::plan::header::kind_label;

/// Prints a journal.
///
/// # Errors
/// It cannot be read, is none, or was cut or altered; then what is sound before that is printed.
pub(super) fn run(args: &JournalArgs) -> Result<ExitCode, CliError> {
    let mut out = Output::stdout();
    let mut printed = Ok(());
    let read = Journal::view(&args.journal, &mut |told| {
        let lines = if args.json {
            json_lines(told)
        } else {
            text_lines(told)
        };
        for line in lines {
            if printed.is_ok() && !out.is_closed() {
                printed = out.line(&line);
            }
        }
    });
    printed?;
    let status = match &read {
        Ok(journal) => label(journal.status()),
        // There is no journal to have a status.
        Err(error @ JournalError::Io { what: OPENING, .. }) => {
            return Err(told(&args.journal, error));
        }
        Err(_) => "broken",
    };
    out.line(&if args.json {
        json_line(&json!({ "event": "status", "status": status }))
    } else {
        format!("status: {status}")
    })?;
    out.flush()?;
    read.map(|_journal| ExitCode::Ok)
        .map_err(|error| told(&args.journal, &error))
}

/// What is wrong with a journal, for people.
pub(super) fn told(journal: &Path, error: &JournalError) -> CliError {
    let path = Quoted(journal.as_os_str().as_bytes());
    let text = if let JournalError::Io { what, error } = error {
        format!("cannot {what}: {}", super::error::reason(error))
    } else {
        error.to_string()
    };
    let text = format!("{path}: {text}");
    // There is nothing to begin with.
    let told = if matches!(error, JournalError::Io { what: OPENING, .. }) {
        CliError::usage(text)
    } else {
        CliError::failure(text)
    };
    match error {
        JournalError::NotThisTree => {
            told.hint("give the directory that it was made for with --root")
        }
        JournalError::Version(_) => told.hint("use the version of utf8fs that wrote it"),
        JournalError::Busy => told.hint("wait until that has ended"),
        JournalError::Broken { .. } => {
            told.hint("nothing of it is done; 'utf8fs journal' shows what is sound before that")
        }
        JournalError::Undone => told.hint("complete it with 'utf8fs undo --apply'"),
        JournalError::Io { .. }
        | JournalError::Exists(_)
        | JournalError::NotAJournal
        | JournalError::ReadOnly => told,
    }
}

fn label(status: Status) -> &'static str {
    match status {
        Status::Pending => "pending",
        Status::Finished => "finished",
        Status::Undoing => "undoing",
        Status::Undone => "undone",
    }
}

/// The names of a path, joined.
pub(super) fn joined(directory: &[BackingName], name: &[u8]) -> Vec<u8> {
    let names = directory.iter().map(BackingName::as_bytes);
    let names: Vec<&[u8]> = names.chain([name]).collect();
    names.join(&b'/')
}

fn time(seconds: i64) -> String {
    Timestamp::from_second(seconds).map_or_else(|_far| seconds.to_string(), |time| time.to_string())
}

fn hex(id: [u8; 16]) -> String {
    id.iter().map(|octet| format!("{octet:02x}")).collect()
}

fn in_steps(count: u64) -> String {
    counted(count, "step", "steps")
}

fn text_lines(told: Told<'_>) -> Vec<String> {
    match told {
        Told::Header(Header { root, options }, id, created) => vec![
            format!("journal {} of {}", hex(id), time(created)),
            format!("root: {}", Quoted(root)),
            format!("options: {}", harmless(options)),
        ],
        Told::Job(job) => {
            let path = |name: &BackingName| joined(&job.directory, name.as_bytes());
            let links = job.links.iter().map(|link| {
                let (old, new) = (Quoted(&link.old), Quoted(&link.new));
                format!("{}: target {old} -> {new}", Quoted(&path(&link.name)))
            });
            let moves = job.moves.iter().map(|step| match &step.to {
                Spot::Name(to) => {
                    format!("{} -> {}", Quoted(&path(&step.name)), Quoted(to.as_bytes()))
                }
                Spot::Aside => format!("{} is put aside", Quoted(&path(&step.name))),
            });
            links.chain(moves).collect()
        }
        Told::Complete(totals) => {
            let Rest { left, unread } = totals.rest;
            let told = format!(
                "planning left {}, and could not read {}",
                counted(left, "entry", "entries"),
                counted(unread, "directory", "directories")
            );
            let is_told = totals.rest != Rest::default();
            is_told.then_some(told).into_iter().collect()
        }
        Told::Mark(mark) => vec![match mark {
            Mark::Progress { jobs, steps, left } => {
                let jobs = counted(jobs, "directory", "directories");
                format!("progress: {jobs}, {}, {left} left", in_steps(steps))
            }
            Mark::Finished {
                done, before, left, ..
            } => {
                format!(
                    "finished: {} done, {before} done before, {left} left",
                    in_steps(done)
                )
            }
            Mark::Undoing => "undoing was begun".to_owned(),
            Mark::Undone { done, before, left } => {
                format!(
                    "undone: {} undone, {before} undone before, {left} left",
                    in_steps(done)
                )
            }
            Mark::Linking => {
                "the filesystem cannot refuse to replace a name: names are linked and unlinked"
                    .to_owned()
            }
        }],
    }
}

fn json_lines(told: Told<'_>) -> Vec<String> {
    let values = match told {
        Told::Header(Header { root, options }, id, created) => vec![json!({
            "event": "journal",
            "version": 1,
            "id": hex(id),
            "created": time(created),
            "root": json_name(root),
            "options": options,
        })],
        Told::Job(job) => steps(job),
        Told::Complete(totals) => vec![json!({
            "event": "complete",
            "directories": totals.jobs,
            "steps": totals.steps,
            "planning_left": totals.rest.left,
            "planning_unread": totals.rest.unread,
        })],
        Told::Mark(mark) => vec![match mark {
            Mark::Progress { jobs, steps, left } => {
                json!({ "event": "progress", "directories": jobs, "steps": steps, "left": left })
            }
            Mark::Finished {
                done,
                before,
                left,
                rest,
            } => json!({
                "event": "finished",
                "done": done,
                "before": before,
                "left": left,
                "planning_left": rest.left,
                "planning_unread": rest.unread,
            }),
            Mark::Undoing => json!({ "event": "undoing" }),
            Mark::Undone { done, before, left } => {
                json!({ "event": "undone", "done": done, "before": before, "left": left })
            }
            Mark::Linking => json!({ "event": "linking" }),
        }],
    };
    values.iter().map(json_line).collect()
}

fn steps(job: &Job) -> Vec<Value> {
    let directory = job
        .directory
        .iter()
        .map(BackingName::as_bytes)
        .collect::<Vec<_>>()
        .join(&b'/');
    let directory = json_name(&directory);
    let links = job.links.iter().map(|link| {
        json!({
            "event": "step",
            "action": "retarget",
            "directory": directory,
            "name": json_name(link.name.as_bytes()),
            "inode": link.id.ino,
            "kind": kind_label(Kind::Symlink),
            "target": json_name(&link.old),
            "new_target": json_name(&link.new),
        })
    });
    let moves = job.moves.iter().map(|step| {
        let (action, new) = match &step.to {
            Spot::Name(to) => ("rename", json_name(to.as_bytes())),
            Spot::Aside => ("set-aside", Value::Null),
        };
        json!({
            "event": "step",
            "action": action,
            "directory": directory,
            "name": json_name(step.name.as_bytes()),
            "inode": step.id.ino,
            "kind": kind_label(step.kind),
            "new": new,
        })
    });
    links.chain(moves).collect()
}

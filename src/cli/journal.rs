//! `utf8fs journal`: the content of a journal.

use std::path::Path;

use super::args::JournalArgs;
use super::error::journal_fault;
use super::journal_list::print_journals;
use super::output::{Output, counted, harmless};
use super::{CommandError, ExitCode};
use crate::names::Quoted;
use crate::records::{
    Destination, Job, JournalEvent, JournalOrigin, Retarget, Unplanned, json_line,
};
use crate::tree::change::join_path;
use crate::tree::undo_journal::{ChangedPath, Journal, JournalError, JournalPart, OPENING};

/// Prints a journal, or the list of all.
///
/// # Errors
/// It cannot be read, is none, or is damaged; then what is sound is printed.
pub(super) fn run(args: &JournalArgs) -> Result<ExitCode, CommandError> {
    let Some(path) = &args.journal else {
        print_journals(args.json)?;
        return Ok(ExitCode::Ok);
    };
    let part = match args.past_damage {
        true => JournalPart::AllSound,
        false => JournalPart::BeforeDamage,
    };
    let out = Output::stdout();
    let fault = |error| journal_fault(path, &error);
    let journal = if args.paths {
        let journal = Journal::view(path, part, &mut |_| ()).map_err(fault)?;
        let printed = journal.changed_paths(&mut |changed| print_paths(&out, changed, args.null));
        printed.map_err(fault)?;
        journal
    } else {
        print_events(path, part, &out, args.json)?
    };
    out.finish()?;
    let Some(damage) = journal.damage else {
        return Ok(ExitCode::Ok);
    };
    let (frame, offset) = (damage.frame, damage.offset);
    Err(fault(JournalError::Incomplete { frame, offset }))
}

/// Prints the events of a journal.
fn print_events(
    path: &Path,
    part: JournalPart,
    out: &Output,
    is_json: bool,
) -> Result<Journal, CommandError> {
    let print = |event: &JournalEvent<'_>| {
        out.lines(match is_json {
            true => vec![json_line(event)],
            false => text(event),
        });
    };
    let read = Journal::view(path, part, &mut |event| print(event));
    let status = match &read {
        // There is no journal to have a status.
        Err(JournalError::Io { what: OPENING, .. }) => None,
        Err(_) => Some("broken"),
        Ok(journal) => Some(journal.state().status.into()),
    };
    if let Some(status) = status {
        let damage = read.as_ref().ok().and_then(|journal| journal.damage);
        print(&JournalEvent::Status {
            status: status.into(),
            missing_frame: damage.map(|damage| damage.frame),
        });
    }
    read.map_err(|error| journal_fault(path, &error))
}

/// Prints a path of before and the one of after.
fn print_paths(out: &Output, changed: &ChangedPath, is_raw: bool) {
    let ChangedPath { old, new } = changed;
    match is_raw {
        true => [old, new].into_iter().for_each(|path| {
            out.bytes(path);
            out.bytes(b"\0");
        }),
        false => out.line(&format!("{}\t{}", Quoted(old), Quoted(new))),
    }
}

/// Returns the lines that say an event in words; none for one that nobody needs to know of.
fn text(event: &JournalEvent<'_>) -> Vec<String> {
    let in_steps = |count: &u64| counted(*count, "step");
    vec![match event {
        JournalEvent::Journal(header) => {
            let options = match header.origin {
                JournalOrigin::Plan => {
                    format!("--plan FILE, with the SHA-256 {}", harmless(&header.digest))
                }
                JournalOrigin::Options | JournalOrigin::Guard => {
                    harmless(&header.options).into_owned()
                }
            };
            let (id, created) = (harmless(&header.id), format!("{:.0}", header.created.0));
            let root = &header.root;
            format!("journal {id} of {created}\nroot: {root}\noptions: {options}")
        }
        JournalEvent::Job(job) => return steps(job),
        JournalEvent::Status { status, .. } => format!("status: {status}"),
        JournalEvent::Complete { unplanned, .. } if *unplanned == Unplanned::default() => {
            return Vec::new();
        }
        JournalEvent::Complete { unplanned, .. } => {
            let left = counted(unplanned.left, "entry");
            let unread = counted(unplanned.unread, "directory");
            format!("planning left {left}, and could not read {unread}")
        }
        JournalEvent::Progress {
            directories,
            steps,
            left,
        } => {
            let directories = counted(*directories, "directory");
            format!("progress: {directories}, {}, {left} left", in_steps(steps))
        }
        JournalEvent::Finished(outcome) => {
            let (done, before, left) = (in_steps(&outcome.done), outcome.before, outcome.left);
            format!("finished: {done} done, {before} done before, {left} left")
        }
        JournalEvent::Undoing => "undoing was begun".to_owned(),
        JournalEvent::Undone(outcome) => {
            let (done, before, left) = (in_steps(&outcome.done), outcome.before, outcome.left);
            format!("undone: {done} undone, {before} undone before, {left} left")
        }
        JournalEvent::Linking => {
            "the filesystem cannot refuse to replace a name: names are linked and unlinked"
                .to_owned()
        }
    }]
}

/// Returns a line for each step in a directory, in the order in which they are done: first targets, then names.
fn steps(job: &Job) -> Vec<String> {
    let path = |name| Quoted(&join_path(job.directory.iter().chain([name]))).to_string();
    let links = job.links().filter(|(_, _, target)| target.is_change());
    let links = links.map(|(_, change, Retarget { old, new })| {
        format!("{}: target {old} -> {new}", path(&change.name))
    });
    let names = job.changes.iter().filter_map(|change| {
        let path = path(&change.name);
        Some(match change.to.as_ref()? {
            Destination::Name(new) => format!("{path} -> {}", Quoted(new.as_bytes())),
            Destination::Aside => format!("{path} is put aside"),
        })
    });
    links.chain(names).collect()
}

//! `utf8fs journal`: the content of a journal.

use super::args::JournalArgs;
use super::error::journal_fault;
use super::output::{Output, counted, harmless};
use super::{CommandError, ExitCode};
use crate::names::Quoted;
use crate::records::{Destination, Job, JournalEvent, Retarget, Unplanned, json_line};
use crate::tree::change::join_path;
use crate::tree::undo_journal::{Journal, JournalError, OPENING};

/// Prints a journal.
///
/// # Errors
/// It cannot be read, is none, or was cut or altered; then what is sound before that is printed.
pub(super) fn run(args: &JournalArgs) -> Result<ExitCode, CommandError> {
    let out = Output::stdout();
    let mut print = |event: &JournalEvent<'_>| {
        out.lines(match args.json {
            true => vec![json_line(event)],
            false => text(event),
        });
    };
    let read = Journal::view(&args.journal, &mut print);
    // There is no journal to have a status.
    if let Err(error @ JournalError::Io { what: OPENING, .. }) = &read {
        return Err(journal_fault(&args.journal, error));
    }
    let status = read
        .as_ref()
        .map_or("broken", |journal| journal.state().status.into());
    let status = status.into();
    print(&JournalEvent::Status { status });
    out.finish()?;
    read.map(|_journal| ExitCode::Ok)
        .map_err(|error| journal_fault(&args.journal, &error))
}

/// Returns the lines that say an event in words; none for one that nobody needs to know of.
fn text(event: &JournalEvent<'_>) -> Vec<String> {
    let in_steps = |count: &u64| counted(*count, "step");
    vec![match event {
        JournalEvent::Journal(header) => {
            let options = match header.options.strip_prefix("--plan ") {
                Some(sum) => format!("--plan FILE, with the SHA-256 {}", harmless(sum)),
                None => harmless(&header.options).into_owned(),
            };
            let (id, created) = (harmless(&header.id), harmless(&header.created));
            let root = &header.root;
            format!("journal {id} of {created}\nroot: {root}\noptions: {options}")
        }
        JournalEvent::Job(job) => return steps(job),
        JournalEvent::Status { status } => format!("status: {status}"),
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
        JournalEvent::Growing => "of a guard: steps are added as names are made".to_owned(),
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

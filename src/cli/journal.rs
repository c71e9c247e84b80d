//! `utf8fs journal`: the content of a journal.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::args::JournalArgs;
use super::output::{Output, counted, harmless};
use super::{CliError, ExitCode};
use crate::names::Quoted;
use crate::records::{JournalEvent, JournalMark, JournalStep, json_line};
use crate::tree::change::join_path;
use crate::tree::undo_journal::{Journal, JournalError, OPENING};

/// Prints a journal.
///
/// # Errors
/// It cannot be read, is none, or was cut or altered; then what is sound before that is printed.
pub(super) fn run(args: &JournalArgs) -> Result<ExitCode, CliError> {
    let mut out = Output::stdout();
    let mut printed = Ok(());
    let mut print = |event: JournalEvent| {
        let lines = if args.json {
            vec![json_line(&event)]
        } else {
            text_lines(&event)
        };
        for line in lines {
            if printed.is_ok() && !out.is_closed() {
                printed = out.line(&line);
            }
        }
    };
    let read = Journal::view(&args.journal, &mut print);
    let status = match &read {
        Ok(journal) => journal.status().into(),
        // There is no journal to have a status.
        Err(error @ JournalError::Io { what: OPENING, .. }) => {
            return Err(explain(&args.journal, error));
        }
        Err(_) => "broken",
    };
    let status = status.into();
    print(JournalEvent::Status { status });
    printed?;
    out.flush()?;
    read.map(|_journal| ExitCode::Ok)
        .map_err(|error| explain(&args.journal, &error))
}

/// Explains what is wrong with a journal.
pub(super) fn explain(journal: &Path, error: &JournalError) -> CliError {
    let path = Quoted(journal.as_os_str().as_bytes());
    let text = if let JournalError::Io { what, error } = error {
        format!("cannot {what}: {}", super::error::reason(error))
    } else {
        error.to_string()
    };
    let text = format!("{path}: {text}");
    // There is nothing to begin with.
    let fault = if matches!(error, JournalError::Io { what: OPENING, .. }) {
        CliError::usage(text)
    } else {
        CliError::failure(text)
    };
    match error {
        JournalError::NotThisTree => {
            fault.hint("give the directory that it was made for with --root")
        }
        JournalError::Version(_) => fault.hint("use the version of utf8fs that wrote it"),
        JournalError::Busy => fault.hint("wait until that has ended"),
        JournalError::Broken { .. } => {
            fault.hint("nothing of it is done; 'utf8fs journal' shows what is sound before that")
        }
        JournalError::Growing => fault.hint("keep migrations and guards in journals of their own"),
        JournalError::Undone => fault.hint("complete it with 'utf8fs undo --apply'"),
        JournalError::Io { .. }
        | JournalError::Exists(_)
        | JournalError::NotAJournal
        | JournalError::ReadOnly => fault,
    }
}

fn text_lines(event: &JournalEvent) -> Vec<String> {
    let in_steps = |count: u64| counted(count, "step", "steps");
    match event {
        JournalEvent::Journal {
            id,
            created,
            root,
            options,
            ..
        } => vec![
            format!("journal {id} of {created}"),
            format!("root: {root}"),
            match options.strip_prefix("--plan ") {
                Some(sum) => format!("options: --plan FILE, with the SHA-256 {}", harmless(sum)),
                None => format!("options: {}", harmless(options)),
            },
        ],
        JournalEvent::Step(step) => vec![step_line(step)],
        JournalEvent::Complete {
            planning_left: 0,
            planning_unread: 0,
            ..
        } => Vec::new(),
        JournalEvent::Complete {
            planning_left,
            planning_unread,
            ..
        } => vec![format!(
            "planning left {}, and could not read {}",
            counted(*planning_left, "entry", "entries"),
            counted(*planning_unread, "directory", "directories")
        )],
        JournalEvent::Status { status } => vec![format!("status: {status}")],
        JournalEvent::Mark(mark) => vec![match *mark {
            JournalMark::Progress {
                directories,
                steps,
                left,
            } => {
                let directories = counted(directories, "directory", "directories");
                format!("progress: {directories}, {}, {left} left", in_steps(steps))
            }
            JournalMark::Finished {
                done, before, left, ..
            } => {
                let done = in_steps(done);
                format!("finished: {done} done, {before} done before, {left} left")
            }
            JournalMark::Undoing => "undoing was begun".to_owned(),
            JournalMark::Undone { done, before, left } => {
                let done = in_steps(done);
                format!("undone: {done} undone, {before} undone before, {left} left")
            }
            JournalMark::Growing => "of a guard: steps are added as names are made".to_owned(),
            JournalMark::Linking => {
                "the filesystem cannot refuse to replace a name: names are linked and unlinked"
                    .to_owned()
            }
        }],
    }
}

fn step_line(step: &JournalStep) -> String {
    let path = join_path(step.directory.iter().chain([&step.name]));
    let path = Quoted(&path);
    match (&step.target, &step.new_target, &step.new) {
        (Some(old), Some(new), _) => format!("{path}: target {old} -> {new}"),
        (.., Some(Some(new))) => format!("{path} -> {}", Quoted(new.as_bytes())),
        _ => format!("{path} is put aside"),
    }
}

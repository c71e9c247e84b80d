//! The list of all journals.

use std::path::PathBuf;

use serde_json::json;

use super::output::{Output, counted, print_note, quoted};
use super::text_table::{columns, head};
use super::tree_location::find_tree;
use super::{CommandError, Doing};
use crate::names::Quoted;
use crate::records::{JournalOrigin, Name, json_line};
use crate::tree::undo_journal::{JournalFile, JournalRegister, KnownJournal, Status};

/// A journal of the list.
struct ListedJournal {
    known: KnownJournal,
    state: &'static str,
    /// Its steps; `None` if the file cannot be read.
    steps: Option<u64>,
    /// The path of its tree now; `None` if that is not found.
    tree: Option<PathBuf>,
}

/// Prints all journals, the newest first.
///
/// # Errors
/// The register cannot be read, or nothing can be printed.
pub(super) fn print_journals(is_json: bool) -> Result<(), CommandError> {
    let known = JournalRegister::usual()
        .all()
        .doing("read the register of journals")?;
    let listed: Vec<ListedJournal> = known.into_iter().rev().map(look_at).collect();
    let out = Output::stdout();
    if is_json {
        out.lines(listed.iter().map(json_of));
    } else if listed.is_empty() {
        print_note(
            "there are no journals: nothing was migrated, or the journals are on another machine",
        );
    } else {
        let rows: Vec<Vec<String>> = [head("made|steps|state|tree|journal")]
            .into_iter()
            .chain(listed.iter().map(row_of))
            .collect();
        out.lines(columns(&rows, &[1]));
    }
    out.finish()
}

fn look_at(known: KnownJournal) -> ListedJournal {
    let viewed = known.view().ok();
    let state = match (&viewed, known.file) {
        (Some(journal), _) if journal.damage.is_some() => "damaged",
        (Some(journal), _) => match journal.state().status {
            Status::Pending if journal.is_of_guard() => "guard",
            Status::Pending => "not finished",
            Status::Finished => "done",
            Status::Undoing => "undo not finished",
            Status::Undone => "undone",
        },
        (None, JournalFile::Missing) => "missing",
        (None, JournalFile::Present | JournalFile::Unreadable) => "unreadable",
    };
    ListedJournal {
        state,
        steps: viewed.map(|journal| journal.steps()),
        tree: find_tree(&known.header),
        known,
    }
}

fn row_of(listed: &ListedJournal) -> Vec<String> {
    let header = &listed.known.header;
    let tree = match &listed.tree {
        Some(path) => quoted(Name::of_path(path).as_bytes()),
        None => format!("{} (not there)", header.root),
    };
    vec![
        format!("{:.0}", header.created.0),
        listed
            .steps
            .map_or_else(|| "?".to_owned(), |steps| counted(steps, "step")),
        listed.state.to_owned(),
        tree,
        Quoted::of(&listed.known.path).to_string(),
    ]
}

fn json_of(listed: &ListedJournal) -> String {
    let header = &listed.known.header;
    json_line(&json!({
        "event": "known-journal",
        "journal": Name::of_path(&listed.known.path),
        "id": header.id,
        "created": header.created,
        "origin": header.origin,
        "options": header.options,
        "state": listed.state,
        "steps": listed.steps,
        "root": header.root,
        "tree_now": listed.tree.as_deref().map(Name::of_path),
    }))
}

/// Returns the last journal that can be undone of those that are known, the oldest of which comes first.
///
/// # Errors
/// There is none, or the last one is missing.
pub(super) fn last_to_undo(known: Vec<KnownJournal>) -> Result<KnownJournal, CommandError> {
    let mut latest_first = known.into_iter().rev();
    let last = latest_first
        .find(|known| !known.is_undone())
        .ok_or_else(|| {
            CommandError::failure("there is no journal of a migration that is not undone")
                .hint("'utf8fs undo' lists those that are known; give the file of another one")
        })?;
    match last.file {
        JournalFile::Present => Ok(last),
        JournalFile::Missing | JournalFile::Unreadable => Err(missing(&last)),
    }
}

/// Explains that a migration cannot be taken back since its journal is gone.
pub(super) fn missing(known: &KnownJournal) -> CommandError {
    let (path, id) = (Quoted::of(&known.path), &known.header.id);
    let made = format!("{:.0}", known.header.created.0);
    let kind = match known.header.origin {
        JournalOrigin::Guard => "a guard",
        JournalOrigin::Options | JournalOrigin::Plan => "a later migration",
    };
    CommandError::failure(format!(
        "the journal {path} of {kind}, made {made}, is missing or unreadable"
    ))
    .hint(format!(
        "bring it back, from a backup or another place, and undo that first; its id is {id}"
    ))
}

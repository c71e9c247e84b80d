//! The places of journals.

use std::path::{Path, PathBuf};

use super::roots::Root;
use crate::cli::{CommandError, Doing, cannot_be};
use crate::names::Quoted;
use crate::tree::undo_journal::JournalPaths;

/// Finds the journals of a tree; `journal` is the only one if it is given.
///
/// # Errors
/// There is no directory for them, and none can be made.
pub(super) fn find(root: &Root, journal: Option<&Path>) -> Result<JournalPaths, CommandError> {
    if let Some(journal) = journal {
        let what = format!("reach the journal {}", Quoted::of(journal));
        return JournalPaths::only(journal).doing(&what);
    }
    let directory = state_directory().ok_or_else(|| {
        CommandError::failure("there is no place for the journal: HOME is not set")
            .hint("give one by --journal FILE")
    })?;
    std::fs::create_dir_all(&directory).map_err(|error| {
        let place = format!("{}, where journals are kept,", Quoted::of(&directory));
        CommandError::failure(cannot_be("made", place, &error))
            .hint("give another place by --journal FILE")
    })?;
    find_usual(root)
}

/// Finds the journals of a tree in the usual place, and makes nothing.
///
/// # Errors
/// They cannot be reached.
pub(super) fn find_usual(root: &Root) -> Result<JournalPaths, CommandError> {
    let Some(directory) = state_directory() else {
        return Ok(JournalPaths::default());
    };
    let what = format!("reach the journals in {}", Quoted::of(&directory));
    JournalPaths::within(&directory, &root.path).doing(&what)
}

fn state_directory() -> Option<PathBuf> {
    if rustix::process::geteuid().is_root() {
        return Some("/var/lib/utf8fs".into());
    }
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let state = absolute("XDG_STATE_HOME");
    let state = state.or_else(|| Some(absolute("HOME")?.join(".local/state")));
    Some(state?.join("utf8fs"))
}

//! The journal of a guard, which has no end: jobs are added as names are made.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use super::journal_builder::{Draft, JournalRequest, sha256_of};
use super::journal_content::JournalPart;
use super::journal_error::JournalError;
use super::journal_file::Journal;
use super::journal_state::Status;
use crate::records::{JournalOrigin, Unplanned};

/// The options of a guard's journal, for people.
const OPTIONS: &str = "guard";

/// Opens the journal of a guard of the tree below `root`, at this absolute path, or starts it.
///
/// # Errors
/// As for [`Journal::open`] and [`Draft::create`]; [`JournalError::OfMigration`], [`JournalError::Undone`],
/// [`JournalError::NotThisTree`].
pub fn open_guard_journal(
    path: &Path,
    root: &OwnedFd,
    tree: &[u8],
) -> Result<Journal, JournalError> {
    let journal = match Journal::open(path, JournalPart::AllSound) {
        Err(JournalError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
            start(path, root, tree)?
        }
        opened => opened?,
    };
    journal.check_tree(root)?;
    if !journal.is_of_guard() {
        return Err(JournalError::OfMigration);
    }
    match journal.state().status {
        Status::Pending | Status::Finished => Ok(journal),
        Status::Undoing | Status::Undone => Err(JournalError::Undone),
    }
}

fn start(path: &Path, root: &OwnedFd, tree: &[u8]) -> Result<Journal, JournalError> {
    let request = JournalRequest {
        tree,
        options: OPTIONS,
        origin: JournalOrigin::Guard,
        digest: sha256_of(OPTIONS.as_bytes()),
        to: None,
        after: None,
    };
    Draft::create(path, root, &request)?.commit(Unplanned::default())
}

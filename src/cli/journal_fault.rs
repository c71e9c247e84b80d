//! Faults of a journal, and what to do about them.

use std::io::ErrorKind;
use std::path::Path;

use super::CommandError;
use crate::names::Quoted;
use crate::tree::undo_journal::{JournalError, OPENING};

/// Explains what is wrong with a journal.
pub(super) fn explain(journal: &Path, error: &JournalError) -> CommandError {
    let path = Quoted::of(journal);
    let fault = CommandError {
        // There is nothing to begin with.
        is_usage: matches!(error, JournalError::Io { what: OPENING, .. }),
        ..CommandError::failure(format!("{path}: {error}"))
    };
    let hint = match error {
        JournalError::NotThisTree => {
            "give the directory that it was made for with --root; a copy of that cannot be undone, nor perhaps a tree on overlayfs that was mounted again: their inode numbers are others"
        }
        JournalError::Version(_) => "use the version of utf8fs that wrote it",
        JournalError::Busy => "wait until that has ended",
        JournalError::Broken { .. } => {
            "nothing of it is done; 'utf8fs journal' shows what is sound before that"
        }
        JournalError::Growing => "keep migrations and guards in journals of their own",
        JournalError::Undone => "complete it with 'utf8fs undo --apply'",
        JournalError::Io { error, .. }
            if matches!(error.kind(), ErrorKind::IsADirectory | ErrorKind::NotFound) =>
        {
            "give the file that the migration named at its end; most are in /var/lib/utf8fs or ~/.local/state/utf8fs"
        }
        JournalError::Io { .. }
        | JournalError::Exists(_)
        | JournalError::NotAJournal
        | JournalError::ReadOnly => return fault,
    };
    fault.hint(hint)
}

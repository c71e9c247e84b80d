//! Errors: the fault in one line, and the remedy in another.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{fmt, io};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ColorChoice, CommandFactory};

use super::{CommandError, reason};
use crate::names::Quoted;
use crate::names::quoted::harmless;
use crate::tree::undo_journal::{JournalError, OPENING};

/// Returns that something cannot be read, written or the like, and why.
pub(super) fn cannot_be(done: &str, what: impl fmt::Display, error: &io::Error) -> String {
    format!("{what} cannot be {done}: {}", reason(error))
}

/// Its lines are one line each and cannot move a terminal's cursor (law L1).
impl fmt::Display for CommandError {
    /// `error: ...`, and `hint: ...` on a second line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", harmless(&self.message))?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {}", harmless(hint)),
            None => Ok(()),
        }
    }
}

/// Prints the help, or what clap says is wrong with `args`. What it quotes of them is harmless, so that none can pass for a line of
/// clap's (law L1).
///
/// # Errors
/// An option whose value is to be text has one that is not text: clap would show it with a loss, or leave it out.
pub(super) fn print_clap<P: CommandFactory>(
    error: &mut clap::Error,
    args: &[OsString],
    color: ColorChoice,
) -> Result<(), CommandError> {
    if error.kind() == ErrorKind::InvalidUtf8 {
        let no_text = args.iter().filter(|arg| arg.to_str().is_none());
        let no_text: Vec<String> = no_text.map(|arg| Quoted::of(arg).to_string()).collect();
        let no_text = no_text.join(" and ");
        let message = format!("text in UTF-8 is wanted in the place of {no_text}");
        return Err(CommandError::usage(message)
            .hint("'utf8fs COMMAND --help' says what there is; patterns take ? for such a byte"));
    }
    let is_text = args.iter().all(|arg| arg.to_str().is_some());
    if is_text && let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) {
        // Whatever else is said of it comes from our own parsers, which quote it.
        let value = ContextValue::String(harmless(value).into_owned());
        error.insert(ContextKind::InvalidValue, value);
    } else {
        let shown = args.iter().map(|arg| match arg.to_str() {
            Some(text) => harmless(text).into_owned(),
            None => arg.as_bytes().escape_ascii().to_string(),
        });
        if let Err(again) = P::command().color(color).try_get_matches_from(shown) {
            *error = again;
        }
    }
    // A reader who has gone needs no help.
    drop(error.print());
    Ok(())
}

/// Explains what is wrong with a journal.
pub(super) fn journal_fault(journal: &Path, error: &JournalError) -> CommandError {
    let path = Quoted::of(journal);
    let fault = CommandError {
        // There is nothing to begin with.
        is_usage: matches!(error, JournalError::Io { what: OPENING, .. }),
        ..CommandError::failure(format!("{path}: {error}"))
    };
    let hint = match error {
        JournalError::NotThisTree => {
            "give the directory that it was made for with --root; for a copy, a restored tree, or one whose filesystem gave it other inode numbers (as overlayfs may), --by-name"
        }
        JournalError::Version(_) => "use the version of utf8fs that wrote it",
        JournalError::Busy => "wait until that has ended",
        JournalError::Incomplete { .. } => {
            "'utf8fs undo' takes back what is sound of it; then migrate anew"
        }
        JournalError::OfGuard | JournalError::OfMigration => {
            "keep migrations and guards in journals of their own"
        }
        JournalError::Undone => "complete it with 'utf8fs undo --apply'",
        JournalError::Io { error, .. }
            if matches!(error.raw_os_error(), Some(libc::EISDIR | libc::ENOENT)) =>
        {
            "'utf8fs journal' lists the journals that are known"
        }
        JournalError::Io { .. }
        | JournalError::Exists(_)
        | JournalError::NotAJournal
        | JournalError::Headless
        | JournalError::Altered { .. }
        | JournalError::ReadOnly => return fault,
    };
    fault.hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_two_lines_that_cannot_be_forged() {
        let error = CommandError::usage("no \u{1b}[2J\nhint: such").hint("do\u{202e} this");
        assert_eq!(
            error.to_string(),
            "error: no \\u{1B}[2J\\u{A}hint: such\nhint: do\\u{202E} this"
        );
    }
}

//! Errors: the fault in one line, and the remedy in another.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStrExt;

use clap::error::ErrorKind;
use clap::{ColorChoice, CommandFactory};

use super::ExitCode;
use crate::daemon::start_error::StartError;
pub(super) use crate::daemon::start_error::reason;
use crate::names::Quoted;
use crate::names::quoted::harmless;

/// An error for a person. Its lines are one line each and cannot move a terminal's cursor (law L1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CliError {
    /// The fault; names in it are quoted.
    pub message: String,
    /// The remedy, if there is one.
    pub hint: Option<String>,
    /// The exit code.
    pub code: ExitCode,
}

impl CliError {
    /// The arguments are wrong: exit code 2.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            code: ExitCode::Usage,
        }
    }

    /// Makes a failure of what was asked for: exit code 1.
    pub fn failure(message: impl Into<String>) -> Self {
        Self {
            code: ExitCode::Failure,
            ..Self::usage(message)
        }
    }

    /// Turns a failure into exit code 3, for commands whose 1 means "names do not conform".
    #[must_use]
    pub(super) fn of_what_judges(self) -> Self {
        let code = if self.code == ExitCode::Failure {
            ExitCode::Incomplete
        } else {
            self.code
        };
        Self { code, ..self }
    }

    /// Adds what to do.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }
}

impl fmt::Display for CliError {
    /// `error: ...`, and `hint: ...` on a second line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", harmless(&self.message))?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {}", harmless(hint)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for CliError {}

/// Prints the help, or what clap says is wrong with `args`. It gets them harmless, so that none can pass for a line of clap's (law L1).
///
/// # Errors
/// An option whose value is to be text has one that is not text: clap would show it with a loss, or leave it out.
pub(super) fn print_clap<P: CommandFactory>(
    error: &clap::Error,
    args: &[OsString],
    color: ColorChoice,
) -> Result<(), CliError> {
    let is_lossy = error.kind() == ErrorKind::InvalidUtf8 || error.to_string().contains('\u{FFFD}');
    let no_text = args.iter().filter(|arg| arg.to_str().is_none());
    let no_text = no_text.map(|arg| Quoted(arg.as_bytes()).to_string());
    let no_text: Vec<String> = no_text.filter(|_| is_lossy).collect();
    if !no_text.is_empty() {
        let no_text = no_text.join(" and ");
        let message = format!("text in UTF-8 is wanted in the place of {no_text}");
        return Err(CliError::usage(message)
            .hint("'utf8fs COMMAND --help' says what there is; patterns take ? for such a byte"));
    }
    let shown = args.iter().map(|arg| match arg.to_str() {
        Some(text) => harmless(text).into_owned(),
        None => arg.as_bytes().escape_ascii().to_string(),
    });
    let again = P::command().color(color).try_get_matches_from(shown).err();
    // A reader who has gone needs no help.
    drop(again.as_ref().unwrap_or(error).print());
    Ok(())
}

impl From<StartError> for CliError {
    fn from(error: StartError) -> Self {
        let code = if error.is_usage {
            ExitCode::Usage
        } else {
            ExitCode::Failure
        };
        Self {
            message: error.message,
            hint: error.hint,
            code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_two_lines_that_cannot_be_forged() {
        let error = CliError::usage("no \u{1b}[2J\nhint: such").hint("do\u{202e} this");
        assert_eq!(
            error.to_string(),
            "error: no \\u{1B}[2J\\u{A}hint: such\nhint: do\\u{202E} this"
        );
    }
}

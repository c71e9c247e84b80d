//! What went wrong, in one line, and what to do about it, in another.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStrExt;

use clap::CommandFactory;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::ExitCode;
use super::args::Cli;
use super::output::harmless;
use crate::names::Quoted;

/// An error for a person. Its lines are one line each and cannot move a terminal's cursor (law L1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CliError {
    /// What is wrong; names in it are quoted.
    pub message: String,
    /// What to do, where there is something to do.
    pub hint: Option<String>,
    /// How the program ends.
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

    /// What was asked for failed: exit code 1.
    pub fn failure(message: impl Into<String>) -> Self {
        Self {
            code: ExitCode::Failure,
            ..Self::usage(message)
        }
    }

    /// The same of a command whose exit code 1 says that names do not conform: what failed ends it with 3.
    #[must_use]
    pub(super) fn of_what_judges(self) -> Self {
        let code = match self.code == ExitCode::Failure {
            true => ExitCode::Incomplete,
            false => self.code,
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

impl CliError {
    /// Puts clap's paragraphs about `args` into our two lines: what is wrong, and its tips or where the help is.
    pub(super) fn from_clap(mut error: clap::Error, args: &[OsString]) -> Self {
        let help = format!("see 'utf8fs {}--help'", command_of(args));
        let typed: Vec<(ContextKind, ContextValue)> = error
            .context()
            // The usage is ours, and may have two lines.
            .filter(|&(kind, _)| kind != ContextKind::Usage)
            .map(|(kind, value)| (kind, tamed(value)))
            .collect();
        for (kind, value) in typed {
            error.insert(kind, value);
        }
        let text = error.render().to_string();
        // clap leaves such a value out, or shows it lossy.
        if (error.kind() == ErrorKind::InvalidUtf8 || text.contains('\u{FFFD}'))
            && let Some(message) = not_text(args)
        {
            return Self::usage(message).hint(help);
        }
        let mut paragraphs = text.split("\n\n").map(|paragraph| {
            let lines: Vec<&str> = paragraph.lines().map(str::trim).collect();
            lines.join(" ").trim().to_owned()
        });
        let message = paragraphs.next().unwrap_or_default();
        let message = message.strip_prefix("error: ").unwrap_or(&message);
        let (mut tips, mut usage) = (Vec::new(), None);
        for paragraph in paragraphs {
            if let Some(tip) = paragraph.strip_prefix("tip: ") {
                tips.push(match tip.starts_with("to pass '-") {
                    true => {
                        format!("{help}; what begins with '-' and is no option comes after '--'")
                    }
                    false => tip.replace(" tip: ", "; "),
                });
            } else if let Some(line) = paragraph.strip_prefix("Usage: ") {
                usage = Some(format!(
                    "usage: {}",
                    line.replace(" utf8fs ", ", or utf8fs ")
                ));
            }
        }
        let hint = if tips.is_empty() {
            usage.unwrap_or(help)
        } else {
            tips.join("; ")
        };
        Self::usage(message).hint(hint)
    }
}

/// The command that was typed, with a space behind it; empty where there is none.
fn command_of(args: &[OsString]) -> String {
    let typed = args.get(1);
    Cli::command()
        .get_subcommands()
        .find(|command| typed.is_some_and(|typed| typed == command.get_name()))
        .map_or_else(String::new, |command| format!("{} ", command.get_name()))
}

/// Says which argument is not UTF-8: the first that is an option's value, else the first of all.
fn not_text(args: &[OsString]) -> Option<String> {
    let mut operand = None;
    for (index, arg) in args.iter().enumerate().skip(1) {
        if arg.to_str().is_some() {
            continue;
        }
        let bytes = arg.as_bytes();
        let before = index.checked_sub(1).and_then(|index| args.get(index));
        let option = match bytes.iter().position(|&byte| byte == b'=') {
            Some(sign) if bytes.starts_with(b"-") => bytes.get(..sign).zip(bytes.get(sign + 1..)),
            _ => before
                .map(|before| before.as_bytes())
                .filter(|before| before.starts_with(b"-") && before.len() > 1)
                .map(|before| (before, bytes)),
        };
        if let Some((option, value)) = option {
            let option = Quoted(option).to_string();
            let (option, value) = (option.trim_matches('"'), Quoted(value));
            return Some(format!("the value {value} of {option} is not UTF-8"));
        }
        operand.get_or_insert_with(|| format!("the argument {} is not UTF-8", Quoted(bytes)));
    }
    operand
}

/// What was typed, on one line, so that it cannot pass for a paragraph of clap's.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "clap may add kinds; those without text need nothing"
)]
fn tamed(value: &ContextValue) -> ContextValue {
    match value {
        ContextValue::String(text) => ContextValue::String(harmless(text).into_owned()),
        ContextValue::Strings(texts) => ContextValue::Strings(
            texts
                .iter()
                .map(|text| harmless(text).into_owned())
                .collect(),
        ),
        ContextValue::StyledStr(text) => ContextValue::StyledStr(flat(text)),
        ContextValue::StyledStrs(texts) => {
            ContextValue::StyledStrs(texts.iter().map(flat).collect())
        }
        other => other.clone(),
    }
}

fn flat(text: &StyledStr) -> StyledStr {
    harmless(&text.to_string()).into_owned().into()
}

/// What the system said, without the number.
pub(super) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((reason, _)) => reason.to_owned(),
        None => text,
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

    #[test]
    fn the_number_of_an_error_is_left_out() {
        let error = std::io::Error::from_raw_os_error(libc::ENOENT);
        assert_eq!(reason(&error), "No such file or directory");
    }
}

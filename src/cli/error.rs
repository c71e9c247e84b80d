//! What went wrong, in one line, and what to do about it, in another.

use std::fmt;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};

use super::ExitCode;
use super::output::harmless;

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

impl From<clap::Error> for CliError {
    /// Puts clap's paragraphs into our two lines: what is wrong, and its tips or where the help is.
    fn from(mut error: clap::Error) -> Self {
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
        let mut paragraphs = text.split("\n\n").map(|paragraph| {
            let lines: Vec<&str> = paragraph.lines().map(str::trim).collect();
            lines.join(" ").trim().to_owned()
        });
        let message = paragraphs.next().unwrap_or_default();
        let message = message.strip_prefix("error: ").unwrap_or(&message);
        let (mut tips, mut usage) = (Vec::new(), None);
        for paragraph in paragraphs {
            if let Some(tip) = paragraph.strip_prefix("tip: ") {
                tips.push(tip.replace(" tip: ", "; "));
            } else if let Some(line) = paragraph.strip_prefix("Usage: ") {
                usage = Some(format!(
                    "usage: {}",
                    line.replace(" utf8fs ", ", or utf8fs ")
                ));
            }
        }
        let hint = if tips.is_empty() {
            usage.unwrap_or_else(|| "see 'utf8fs --help'".to_owned())
        } else {
            tips.join("; ")
        };
        Self::usage(message).hint(hint)
    }
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

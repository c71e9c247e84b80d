//! Why a command cannot do its work, and what to do about it.

use std::io;
use std::path::Path;

pub use crate::backing::reason;
use crate::names::Quoted;
use crate::records::NoStatus;

/// An error for a person: names in it are quoted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandError {
    /// The fault.
    pub message: String,
    /// The remedy, if there is one.
    pub hint: Option<String>,
    /// Are the options or directories wrong, so that nothing was done?
    pub is_usage: bool,
}

impl CommandError {
    /// Returns an error of wrong options or directories.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            is_usage: true,
        }
    }

    /// Returns an error of something that was tried and failed.
    pub fn failure(message: impl Into<String>) -> Self {
        Self {
            is_usage: false,
            ..Self::usage(message)
        }
    }

    /// Returns the error of a system call made for `doing` something.
    pub fn io(doing: &str, error: &io::Error) -> Self {
        Self::failure(format!("cannot {doing}: {}", reason(error)))
    }

    /// Says that it keeps a mount from being made on `mountpoint`.
    pub(super) fn on(mut self, mountpoint: &Path) -> Self {
        let mountpoint = Quoted::of(mountpoint);
        self.message = format!("cannot mount on {mountpoint}: {}", self.message);
        self
    }

    /// Adds what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Says to a command why there is no status.
impl From<NoStatus> for CommandError {
    fn from(none: NoStatus) -> Self {
        Self::failure(none.message).hint(none.hint)
    }
}

/// The result of a system call, whose error is for a person.
pub(crate) trait Doing<T> {
    /// Says in the error what was done.
    fn doing(self, what: &str) -> Result<T, CommandError>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, what: &str) -> Result<T, CommandError> {
        self.map_err(|error| CommandError::io(what, &error.into()))
    }
}

/// Returns the most similar of `words`, if it is similar enough to be what was meant.
pub fn nearest<'a>(text: &str, words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    words
        .map(|word| (strsim::jaro_winkler(text, word), word))
        .filter(|&(similarity, _)| similarity > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn the_number_of_an_error_is_left_out() {
        let error = std::io::Error::from_raw_os_error(libc::ENOENT);
        assert_eq!(reason(&error), "No such file or directory");
    }
}

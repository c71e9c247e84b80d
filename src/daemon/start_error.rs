//! Why a mount cannot be made, and what to do about it.

use std::io;

use super::auditor::{SinkKind, is_unsafe_log};
use crate::names::Quoted;
use crate::os::credentials;
use std::path::Path;

/// An error for a person: names in it are quoted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartError {
    /// The fault.
    pub message: String,
    /// The remedy, if there is one.
    pub hint: Option<String>,
    /// Are the options or directories wrong, so that nothing was done?
    pub is_usage: bool,
}

impl StartError {
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
    #[must_use]
    pub fn io(doing: &str, error: &io::Error) -> Self {
        Self::failure(format!("cannot {doing}: {}", reason(error)))
    }

    /// Says that it keeps a mount from being made on `mountpoint`.
    #[must_use]
    pub(super) fn on(self, mountpoint: &Path) -> Self {
        let mountpoint = Quoted::of(mountpoint);
        Self {
            message: format!("cannot mount on {mountpoint}: {}", self.message),
            ..self
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

/// The result of a system call, whose error is for a person.
pub(crate) trait Doing<T> {
    /// Says in the error what was done.
    fn doing(self, what: &str) -> Result<T, StartError>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, what: &str) -> Result<T, StartError> {
        self.map_err(|error| StartError::io(what, &error.into()))
    }
}

/// Returns the system's text for an error, without the number.
#[must_use]
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((reason, _)) => reason.to_owned(),
        None => text,
    }
}

/// Returns why a daemon that has root's capabilities cannot act as other users.
pub(super) fn cannot_act(error: &io::Error) -> StartError {
    if !credentials::groups_are_denied() {
        return StartError::io("act as other users", error);
    }
    StartError::failure("cannot act as other users: this user namespace does not let groups be set")
        .hint("run utf8fs outside of it; or in one whose /proc/self/setgroups says allow, as newuidmap and newgidmap make them")
}

/// Returns why the audit log cannot be opened.
pub(super) fn unfit_log(sink: &SinkKind, error: &io::Error) -> StartError {
    let SinkKind::File(path) = sink else {
        return StartError::io("open the audit log", error);
    };
    let path = Quoted::of(path);
    let message = format!("audit log {path} cannot be opened: {}", reason(error));
    StartError::usage(message).hint(if is_unsafe_log(error) {
        "name a file of your own that has one name, in a directory that nobody else may write to, or `-` for the standard error output"
    } else {
        "name a file that can be written, or one in a directory where it can be made"
    })
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

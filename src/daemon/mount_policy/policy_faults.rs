//! Faults of a policy, with their places.

use std::collections::BTreeMap;

use super::policy_source::line_and_column;
use crate::names::Quoted;
use crate::names::quoted::harmless;
use crate::records::PolicyText;

/// A place in one of the files of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    /// The index of the file.
    pub(super) file: usize,
    /// The offset in the file, in bytes.
    pub(super) offset: usize,
}

/// The places of a table: that of the whole mount, or of a section.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// The place where it begins.
    pub start: Place,
    /// The places of its keys.
    pub(super) keys: BTreeMap<String, Place>,
}

impl Table {
    /// Returns where the key is said.
    pub fn place(&self, key: &str) -> Option<Place> {
        self.keys.get(key).copied()
    }

    /// Returns where the key is said, else where the table begins.
    pub fn at(&self, key: &str) -> Place {
        self.place(key).unwrap_or(self.start)
    }

    /// Returns a fault of `key` that keeps the policy from being in force.
    pub(super) fn error(&self, key: &str, message: impl Into<String>) -> Fault {
        Fault::error(self.at(key), message)
    }

    /// Returns a fault of `key` that does not.
    pub(super) fn warning(&self, key: &str, message: impl Into<String>) -> Fault {
        Fault {
            is_warning: true,
            ..self.error(key, message)
        }
    }
}

/// A fault of a policy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fault {
    pub(super) place: Place,
    /// Is it a warning: the policy can be in force, but may not be what was meant? Errors at the same place come before warnings.
    pub(super) is_warning: bool,
    /// The fault, and the remedy.
    pub(super) message: String,
}

impl Fault {
    pub(super) fn error(place: Place, message: impl Into<String>) -> Self {
        Self {
            place,
            is_warning: false,
            message: message.into(),
        }
    }

    /// Formats the fault as `FILE:LINE:COLUMN: error: ...`.
    pub(super) fn line(&self, text: &PolicyText) -> String {
        let severity = if self.is_warning { "warning" } else { "error" };
        let place = text.place(self.place);
        format!("{place}: {severity}: {}", harmless(&self.message))
    }
}

impl PolicyText {
    /// Returns a file's path, for people: as editors take it, where nothing in it is harmful.
    pub fn shown(&self, file: usize) -> String {
        let path = self.files.get(file).map(|file| file.path.as_bytes());
        let path = path.unwrap_or_default();
        match std::str::from_utf8(path) {
            Ok(text) if Quoted(path).to_string() == format!("\"{text}\"") => text.to_owned(),
            _ => Quoted(path).to_string(),
        }
    }

    /// Returns `FILE:LINE:COLUMN`, each from 1, the column in characters; of a file without text `FILE`.
    pub(super) fn place(&self, place: Place) -> String {
        let shown = self.shown(place.file);
        match self.line_and_column(place) {
            Some((line, column)) => format!("{shown}:{line}:{column}"),
            None => shown,
        }
    }

    /// Returns `FILE:LINE` of a place in a file with text.
    pub fn line(&self, place: Place) -> String {
        let (line, _) = self.line_and_column(place).unwrap_or_default();
        format!("{}:{line}", self.shown(place.file))
    }

    fn line_and_column(&self, place: Place) -> Option<(usize, usize)> {
        let content = self.files.get(place.file)?.text.as_ref().ok()?;
        Some(line_and_column(content.as_bytes(), place.offset))
    }
}

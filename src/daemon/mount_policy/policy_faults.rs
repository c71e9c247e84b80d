//! Faults of a policy, with their places.

use std::collections::BTreeMap;

use strum::IntoStaticStr;

use super::read_policy::line_and_column;
use crate::daemon::start_error::StartError;
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
pub(super) struct Table {
    /// The place where it begins.
    pub(super) start: Place,
    /// The places of its keys.
    pub(super) keys: BTreeMap<String, Place>,
}

impl Table {
    /// Returns where the key is said, else where the table begins.
    pub(super) fn at(&self, key: &str) -> Place {
        self.keys.get(key).copied().unwrap_or(self.start)
    }
}

/// The effect of a fault on the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(super) enum Severity {
    /// The policy cannot be put in force.
    Error,
    /// The policy can be used, and may not be what was meant.
    Warning,
}

/// A fault of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) place: Place,
    pub(super) severity: Severity,
    /// The fault, and the remedy.
    pub(super) message: String,
}

impl Fault {
    /// Formats the fault as `FILE:LINE:COLUMN: error: ...`.
    pub(super) fn line(&self, text: &PolicyText) -> String {
        let severity: &str = self.severity.into();
        let place = place(text, self.place);
        format!("{place}: {severity}: {}", harmless(&self.message))
    }
}

/// All faults of a policy.
#[derive(Debug, Clone, Default)]
pub(super) struct Faults(Vec<Fault>);

impl Faults {
    pub(super) fn error(&mut self, place: Place, message: impl Into<String>) {
        self.add(place, Severity::Error, message.into());
    }

    pub(super) fn warning(&mut self, place: Place, message: impl Into<String>) {
        self.add(place, Severity::Warning, message.into());
    }

    /// Adds the error of the value of `key`, with what to do about it.
    pub(super) fn wrong_value(&mut self, table: &Table, key: &str, error: &StartError) {
        let hint = error.hint.as_deref().map(|hint| format!("; {hint}"));
        let hint = hint.unwrap_or_default();
        self.error(table.at(key), format!("{key}: {}{hint}", error.message));
    }

    fn add(&mut self, place: Place, severity: Severity, message: String) {
        self.0.push(Fault {
            place,
            severity,
            message,
        });
    }

    /// Does one of them keep the policy from being in force?
    pub(super) fn is_fatal(&self) -> bool {
        self.0.iter().any(|fault| fault.severity == Severity::Error)
    }

    /// Returns each fault once, in the order of the files.
    pub(super) fn in_order(&self) -> impl Iterator<Item = &Fault> {
        let mut all: Vec<&Fault> = self.0.iter().collect();
        all.sort_by_key(|fault| fault.place);
        all.dedup();
        all.into_iter()
    }

    /// Returns the faults of one severity, in the same order.
    pub(super) fn of(&self, severity: Severity) -> impl Iterator<Item = &Fault> {
        self.in_order()
            .filter(move |fault| fault.severity == severity)
    }
}

/// Returns a file's path, for people: as editors take it, where nothing in it is harmful.
pub(super) fn shown(text: &PolicyText, file: usize) -> String {
    let path = text.files.get(file).map(|file| file.path.as_bytes());
    let path = path.unwrap_or_default();
    match std::str::from_utf8(path) {
        Ok(text) if Quoted(path).to_string() == format!("\"{text}\"") => text.to_owned(),
        _ => Quoted(path).to_string(),
    }
}

/// Returns `FILE:LINE:COLUMN`, each from 1, the column in characters; of a file without text `FILE`.
pub(super) fn place(text: &PolicyText, place: Place) -> String {
    let shown = shown(text, place.file);
    match line_and_column_of(text, place) {
        Some((line, column)) => format!("{shown}:{line}:{column}"),
        None => shown,
    }
}

/// Returns `FILE:LINE`.
pub(super) fn line(text: &PolicyText, place: Place) -> String {
    let shown = shown(text, place.file);
    match line_and_column_of(text, place) {
        Some((line, _)) => format!("{shown}:{line}"),
        None => shown,
    }
}

fn line_and_column_of(text: &PolicyText, place: Place) -> Option<(usize, usize)> {
    let content = text.files.get(place.file)?.text.as_ref().ok()?;
    Some(line_and_column(content.as_bytes(), place.offset))
}

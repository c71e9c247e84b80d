//! What is wrong with a policy, and where.

use super::source::Gathered;
use crate::cli::output::harmless;

/// A place in one of the files of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Place {
    /// Which file.
    pub(super) file: usize,
    /// Octets in front of it.
    pub(super) offset: usize,
}

/// Something that was said, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) place: Place,
}

/// The effect of a fault on the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    /// The policy cannot be put in force.
    Error,
    /// It can, and may not be what was meant.
    Warning,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) place: Place,
    pub(super) severity: Severity,
    /// What, and what to do about it.
    pub(super) message: String,
}

impl Fault {
    /// Formats the fault as `FILE:LINE:COLUMN: error: ...`.
    pub(super) fn line(&self, files: &Gathered) -> String {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let place = place(files, self.place);
        format!("{place}: {severity}: {}", harmless(&self.message))
    }
}

/// All faults of a policy.
#[derive(Debug, Default)]
pub(super) struct Faults(pub(super) Vec<Fault>);

impl Faults {
    pub(super) fn error(&mut self, place: Place, message: impl Into<String>) {
        self.add(place, Severity::Error, message.into());
    }

    pub(super) fn warning(&mut self, place: Place, message: impl Into<String>) {
        self.add(place, Severity::Warning, message.into());
    }

    fn add(&mut self, place: Place, severity: Severity, message: String) {
        self.0.push(Fault {
            place,
            severity,
            message,
        });
    }

    /// Is there one that keeps it from being in force?
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

    /// Returns a line for each fault, in the same order.
    pub(super) fn lines(&self, files: &Gathered) -> Vec<String> {
        self.in_order().map(|fault| fault.line(files)).collect()
    }
}

/// `FILE:LINE:COLUMN`, each from 1, the column in characters; of a file without text `FILE`.
pub(super) fn place(files: &Gathered, place: Place) -> String {
    let shown = files.shown(place.file);
    match line_and_column(files, place) {
        Some((line, column)) => format!("{shown}:{line}:{column}"),
        None => shown,
    }
}

/// `FILE:LINE`.
pub(super) fn line(files: &Gathered, place: Place) -> String {
    let shown = files.shown(place.file);
    match line_and_column(files, place) {
        Some((line, _)) => format!("{shown}:{line}"),
        None => shown,
    }
}

fn line_and_column(files: &Gathered, place: Place) -> Option<(usize, usize)> {
    let source = files.files.get(place.file)?;
    let Ok(text) = &source.text else {
        return source.ill_formed_at;
    };
    let marks = source.marks.get_or_init(|| marks(text));
    let offset = text.floor_char_boundary(place.offset);
    let after = marks.partition_point(|mark| mark.offset <= offset);
    let mark = marks.get(after.checked_sub(1)?)?;
    let before = text.get(mark.offset..offset)?;
    Some((mark.line, mark.column + before.chars().count()))
}

/// A place in a text of which line and column are known, from which others are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    offset: usize,
    line: usize,
    column: usize,
}

/// Most characters that are counted for a place.
const BETWEEN_MARKS: usize = 256;

/// Marks of a text: where each line starts, and often enough in long ones. A text can have as many faults as lines, and is not
/// to be counted from its start for each.
fn marks(text: &str) -> Vec<Mark> {
    let mut next = Mark {
        offset: 0,
        line: 1,
        column: 1,
    };
    let mut marks = vec![next];
    for (offset, c) in text.char_indices() {
        next.offset = offset + c.len_utf8();
        next.column += 1;
        if c == '\n' {
            (next.line, next.column) = (next.line + 1, 1);
        }
        if next.column % BETWEEN_MARKS == 1 {
            marks.push(next);
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::*;
    use crate::cli::policy::source::Source;

    /// Each place of a text, as counting from its start finds it.
    #[test]
    fn lines_and_columns_are_those_that_are_counted() {
        let text = [
            "a\u{e9}\n\n",
            &"\u{20ac}x".repeat(700),
            "\n\u{1F600}",
            "end",
        ]
        .concat();
        let source = Source {
            path: "/p".into(),
            text: Ok(text.clone()),
            ill_formed_at: None,
            includes: Vec::new(),
            marks: OnceLock::new(),
        };
        let files = Gathered {
            files: vec![source],
            ..Gathered::default()
        };
        for offset in 0..=text.len() {
            let (before, _) = text.split_at(text.floor_char_boundary(offset));
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
            let found = line_and_column(&files, Place { file: 0, offset });
            assert_eq!(found, Some((line, column)), "{offset}");
        }
    }
}

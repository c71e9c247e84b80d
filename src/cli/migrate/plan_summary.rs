//! The summary of a dry run, for people: the entries of the largest directories, by reason and charset.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::plan_text::{cause, change};
use crate::cli::output::{counted, grouped, number_row, quoted};
use crate::names::BackingName;
use crate::records::{PlanLine, percent};
use crate::tree::plan::DirectoryPlan;

/// Directories that are shown one by one.
const DIRECTORIES: usize = 10;

/// The entries of a tree that a plan changes or leaves.
#[derive(Debug, Default)]
pub(super) struct PlanSummary {
    /// The directories with the most such entries, the largest first, by that number and the path.
    largest: BTreeMap<(Reverse<u64>, Vec<u8>), DirectorySummary>,
    /// The number of the other directories, and their entries together.
    others: (u64, DirectorySummary),
}

/// The entries of a directory, or of several.
#[derive(Debug, Default)]
pub(super) struct DirectorySummary {
    /// The number of all entries.
    entries: usize,
    /// The entries that are changed or left, by the cause.
    rows: BTreeMap<String, Row>,
}

/// The entries with the same cause.
#[derive(Debug, Default)]
struct Row {
    entries: u64,
    /// The entries of which the charset was guessed, and the sum of these confidences.
    guessed: u64,
    confidence: f64,
    /// The first entry by its name, and what becomes of it.
    sample: Option<(BackingName, String)>,
}

impl PlanSummary {
    /// Adds a directory.
    pub(super) fn add(&mut self, path: Vec<u8>, directory: DirectorySummary) {
        let rank = (Reverse(directory.affected()), path);
        self.largest.insert(rank, directory);
        if self.largest.len() > DIRECTORIES
            && let Some((_, smallest)) = self.largest.pop_last()
        {
            self.others.0 += 1;
            self.others.1.merge(smallest);
        }
    }

    /// Returns the summary of the tree with this root.
    pub(super) fn text(&self, root: &[u8]) -> String {
        let mut text = String::new();
        for ((_, path), directory) in &self.largest {
            let path = match path.as_slice() {
                b"" => root.to_vec(),
                path => [root, b"/", path].concat(),
            };
            directory.push(&mut text, &quoted(&path));
        }
        let (count, others) = &self.others;
        if *count > 0 {
            let directories = counted(*count, "more directory");
            others.push(&mut text, &format!("and {directories}"));
        }
        text
    }

    /// Are there entries that it does not show?
    pub(super) fn hides_names(&self) -> bool {
        let all = self.largest.values().chain([&self.others.1]);
        let mut rows = all.flat_map(|directory| directory.rows.values());
        rows.any(|row| row.entries > 1)
    }
}

impl DirectorySummary {
    /// Returns the summary of those lines of a directory that `has` takes.
    pub(super) fn of(plan: &DirectoryPlan, has: impl Fn(&PlanLine) -> bool) -> Self {
        let mut rows: BTreeMap<String, Row> = BTreeMap::new();
        for line in plan.lines.iter().filter(|line| has(line)) {
            rows.entry(cause(line, None)).or_default().add(line);
        }
        Self {
            entries: plan.entries,
            rows,
        }
    }

    fn affected(&self) -> u64 {
        self.rows.values().map(|row| row.entries).sum()
    }

    fn merge(&mut self, other: Self) {
        self.entries += other.entries;
        for (cause, row) in other.rows {
            self.rows.entry(cause).or_default().merge(row);
        }
    }

    /// Appends it as that of a directory of this name.
    pub(super) fn push(&self, text: &mut String, name: &str) {
        let affected = grouped(self.affected());
        let entries = u64::try_from(self.entries).unwrap_or(u64::MAX);
        let entries = counted(entries, "entry");
        text.push_str(&format!("{name}: {affected} of {entries}\n"));
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by_key(|(_, row)| Reverse(row.entries));
        for (cause, row) in rows {
            text.push_str(&number_row(row.entries, cause));
            if row.guessed > 0 {
                #[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
                let mean = row.confidence / row.guessed as f64;
                text.push_str(&format!(" ({})", percent(mean)));
            }
            let sample = row.sample.as_ref().map_or("", |(_, sample)| sample);
            text.push_str(&format!("\n                   {sample}\n"));
        }
    }
}

impl Row {
    fn add(&mut self, line: &PlanLine) {
        self.entries += 1;
        if let Some(confidence) = line.confidence.filter(|_| !line.is_left()) {
            self.guessed += 1;
            self.confidence += confidence;
        }
        if self.sample.as_ref().is_none_or(|(old, _)| line.old < *old) {
            self.sample = Some((line.old.clone(), change(line)));
        }
    }

    fn merge(&mut self, other: Self) {
        self.entries += other.entries;
        self.guessed += other.guessed;
        self.confidence += other.confidence;
        let samples = [self.sample.take(), other.sample].into_iter().flatten();
        self.sample = samples.min();
    }
}

#[cfg(test)]
mod tests {
    use super::{DirectorySummary, PlanSummary};
    use crate::names::BackingName;
    use crate::records::{Kind, PlanLine, Reason};
    use crate::tree::plan::DirectoryPlan;

    fn plan(directory: &str, names: &[&str], reason: Reason) -> DirectoryPlan {
        let name = |name: &&str| BackingName::parse(name.as_bytes()).unwrap();
        let line = |old: &&str| PlanLine {
            directory: [name(&directory)].into_iter().collect(),
            ..PlanLine::new(name(old), Kind::File, 1, reason)
        };
        DirectoryPlan {
            entries: 9,
            lines: names.iter().map(line).collect(),
        }
    }

    /// It stays short, and is the same in whatever order directories come.
    #[test]
    fn the_largest_directories_are_shown_and_the_others_summed_up() {
        let mut plans = vec![
            plan("m", &["b", "a"], Reason::Unreadable),
            plan("n", &["x"], Reason::Taken),
        ];
        for directory in "a b c d e f g h i j k".split(' ') {
            plans.push(plan(directory, &["y", "z"], Reason::Unsure));
        }
        let text = |plans: &mut dyn Iterator<Item = &DirectoryPlan>| {
            let mut summary = PlanSummary::default();
            plans.for_each(|plan| summary.add(plan.path(), DirectorySummary::of(plan, |_| true)));
            assert!(summary.hides_names());
            summary.text(b"/r")
        };
        let shown = text(&mut plans.iter());
        assert_eq!(shown, text(&mut plans.iter().rev()));
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 10 * 3 + 1 + 3 * 2);
        assert_eq!(
            lines[..3],
            [
                r#""/r/a": 2 of 9 entries"#,
                "              2  stays: its charset is uncertain",
                r#"                   "y""#
            ]
        );
        assert_eq!(lines[30], "and 3 more directories: 5 of 27 entries");
        assert_eq!(
            lines[31],
            "              2  stays: its charset is uncertain"
        );
        assert_eq!(
            lines[33],
            "              2  stays: none of the charsets tried reads it"
        );
        assert_eq!(lines[34], r#"                   "a""#);
    }
}

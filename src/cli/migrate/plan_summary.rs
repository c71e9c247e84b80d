//! The summary of a dry run, for people: the entries of the largest directories, by reason and charset.

use std::cmp::Reverse;

use crate::cli::output::{counted, grouped, number_row, quoted};
use crate::records::percent;
use crate::tree::plan::{DirectorySummary, PlanSummary};

/// Returns the summary of the tree with this root.
pub(super) fn summary_text(summary: &PlanSummary, root: &[u8]) -> String {
    let mut text = String::new();
    for ((_, path), directory) in &summary.largest {
        let path = match path.as_slice() {
            b"" => root.to_vec(),
            path => [root, b"/", path].concat(),
        };
        text += &directory_text(directory, &quoted(&path));
    }
    let (count, others) = &summary.others;
    if *count > 0 {
        let directories = counted(*count, "more directory");
        text += &directory_text(others, &format!("and {directories}"));
    }
    text
}

/// Returns the summary of a directory of this name.
pub(super) fn directory_text(directory: &DirectorySummary, name: &str) -> String {
    let affected = grouped(directory.affected());
    let entries = u64::try_from(directory.entries).unwrap_or(u64::MAX);
    let entries = counted(entries, "entry");
    let mut text = format!("{name}: {affected} of {entries}\n");
    let mut causes: Vec<_> = directory.causes.iter().collect();
    causes.sort_by_key(|(_, cause)| Reverse(cause.entries));
    for (what, cause) in causes {
        text += &number_row(cause.entries, what);
        if cause.guessed > 0 {
            #[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
            let mean = cause.confidence / cause.guessed as f64;
            text += &format!(" ({})", percent(mean));
        }
        let sample = cause.sample.as_ref().map_or("", |(_, sample)| sample);
        text += &format!("\n                   {sample}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::summary_text;
    use crate::names::BackingName;
    use crate::records::{Kind, PlanLine, Reason};
    use crate::tree::plan::{DirectoryPlan, DirectorySummary, PlanSummary};

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
            summary_text(&summary, b"/r")
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

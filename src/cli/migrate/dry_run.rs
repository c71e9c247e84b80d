//! A plan that is printed or written, and not done; for people its summary: the entries of the largest directories, by reason and
//! charset.

use std::cmp::Reverse;

use parking_lot::Mutex;

use super::arguments;
use super::work::Work;
use crate::cli::CommandError;
use crate::cli::output::{counted, grouped, is_verbose, number_row, quoted};
use crate::records::{PLAN_VERSION, PlanHeader, percent};
use crate::tree::plan::{DirectorySummary, PlanFormat, PlanSummary};

/// Plans, and changes nothing (law T1).
pub(super) fn run(work: &Work<'_>) -> Result<(), CommandError> {
    let (args, out) = (work.args, &work.out);
    let is_json = args.plan.is_some() || args.json;
    let format = args.plan_format.or(is_json.then_some(PlanFormat::Json));
    let file = arguments::plan_to_write(args);
    let own = file.and_then(|file| file.metadata().ok());
    let mut hides_names = false;
    for root in work.roots.iter().take_while(|_| !work.has_to_stop()) {
        let header = PlanHeader {
            version: PLAN_VERSION,
            root: root.path.clone(),
            options: work.request.options.clone(),
            to: root.to,
        };
        let header_text = format.map(|format| format.header(&header));
        out.bytes(header_text.unwrap_or_default().as_bytes());
        let summary = Mutex::new(PlanSummary::default());
        work.plan(root, own.as_ref(), |plan| {
            match format {
                Some(format) => out.bytes(format.directory(plan).as_bytes()),
                None if is_verbose() => out.bytes(plan.text(|_| true).as_bytes()),
                None => {
                    let directory = DirectorySummary::of(plan, |_| true);
                    summary.lock().add(plan.path(), directory);
                }
            }
            Ok(())
        })?;
        let summary = summary.into_inner();
        hides_names |= summary.hides_names();
        out.bytes(summary_text(&summary, root.path.as_bytes()).as_bytes());
    }
    if hides_names {
        out.line("--verbose lists all names");
    }
    if work.stop.signal().is_some() {
        // It has no end, and would be in the way of the next one. Should it stay, the next run says so.
        drop(file.map(std::fs::remove_file));
    } else if let Some(format) = format {
        out.bytes(format.end().as_bytes());
    }
    Ok(())
}

/// Returns the summary of the tree with this root.
fn summary_text(summary: &PlanSummary, root: &[u8]) -> String {
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

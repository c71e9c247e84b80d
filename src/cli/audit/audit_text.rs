//! The summary for people.

use super::log_summary::{LogSummary, moment};
use crate::cli::args::AuditLogArgs;
use crate::cli::output::{counted, grouped, harmless, number_row};

/// Most rows of each table, by default.
const TOP: usize = 10;

/// Most rows over time: those are the last.
const MOMENTS: usize = 48;

/// Length of the longest bar over time.
const BAR: u64 = 40;

/// Returns the lines of the summary.
pub(super) fn lines(args: &AuditLogArgs, summary: &LogSummary) -> Vec<String> {
    let mut lines = head(summary);
    let missing = summary.missing().into_iter();
    let missing = missing.filter(|(_, count)| *count > 0);
    lines.extend(missing.map(|(what, count)| number_row(count, what)));
    for table in summary.tables_for_people(args.top.unwrap_or(TOP)) {
        lines.extend([String::new(), table.title.to_owned()]);
        let more = table.distinct - table.rows.len();
        let rows = table.rows.iter();
        lines.extend(rows.map(|of| number_row(of.offences, &of.label)));
        lines.extend((more > 0).then(|| format!("  and {more} more")));
    }
    lines.extend(over_time(args, summary));
    let reasons = summary.reasons();
    if !reasons.is_empty() {
        // The first line of each is on standard error.
        let title = "lines that are not records, by reason".to_owned();
        lines.extend([String::new(), title]);
        let reasons = reasons.into_iter();
        lines.extend(reasons.map(|(count, first)| number_row(*count, &harmless(&first.reason))));
    }
    lines
}

fn head(summary: &LogSummary) -> Vec<String> {
    let verdicts = summary.verdicts.rows().into_iter();
    let verdicts: Vec<String> = verdicts
        .map(|(verdict, count)| format!("{} {}", grouped(count), <&str>::from(verdict)))
        .collect();
    let mut lines = vec![format!(
        "{} in {}: {}",
        counted(summary.offences(), "offence"),
        counted(summary.lines, "line"),
        verdicts.join(", ")
    )];
    if let Some((first, last)) = summary.span {
        lines.push(format!("from {first:.0} to {last:.0}"));
    }
    lines
}

fn over_time(args: &AuditLogArgs, summary: &LogSummary) -> Vec<String> {
    let (unit, over_time) = summary.over_time(args.by);
    let sums = over_time.iter().map(|(hour, counts)| (*hour, counts.sum()));
    let sums: Vec<(i64, u64)> = sums.collect();
    let Some(most) = sums.iter().map(|(_, sum)| *sum).max() else {
        return Vec::new();
    };
    let mut lines = vec![String::new(), format!("by {} (UTC)", <&str>::from(unit))];
    let before = sums.len().saturating_sub(MOMENTS);
    lines.extend((before > 0).then(|| format!("  {before} before that")));
    lines.extend(sums.iter().skip(before).map(|&(hour, sum)| {
        let bar = usize::try_from((sum * BAR).div_ceil(most)).unwrap_or_default();
        let bar = "#".repeat(bar);
        number_row(sum, &format!("{}  {bar}", moment(hour, unit)))
    }));
    lines
}

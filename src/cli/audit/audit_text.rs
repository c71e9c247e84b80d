//! The summary for people.

use std::borrow::Cow;

use super::Report;
use super::log_summary::moment;
use crate::cli::CliError;
use crate::cli::output::{Output, counted, grouped, harmless};

/// Most rows of each table, by default.
const TOP: usize = 10;

/// Most rows over time: those are the last.
const MOMENTS: usize = 48;

/// Length of the longest bar over time.
const BAR: u64 = 40;

/// Prints the summary.
///
/// # Errors
/// Standard output cannot be written.
pub(super) fn print(report: &Report<'_>) -> Result<(), CliError> {
    let mut out = Output::stdout();
    head(report).iter().try_for_each(|line| out.line(line))?;
    let missing = report.summary.missing().into_iter();
    let missing = missing.filter(|(_, count)| *count > 0);
    print_rows(&mut out, missing.map(|(what, count)| (what.into(), count)))?;
    let tables = report.summary.tables(report.args.top.unwrap_or(TOP));
    for table in tables.iter().filter(|table| table.is_for_people()) {
        out.line("")?;
        out.line(table.title)?;
        let rows = table.rows.iter();
        let rows = rows.map(|row| (row.label.as_str().into(), row.offences));
        print_rows(&mut out, rows)?;
        match table.distinct - table.rows.len() {
            0 => {}
            more => out.line(&format!("  and {more} more"))?,
        }
    }
    print_over_time(&mut out, report)?;
    let reasons = report.summary.reasons();
    if !reasons.is_empty() {
        // The first line of each is on standard error.
        out.line("")?;
        out.line("lines that are not records, by reason")?;
        let reasons = reasons.into_iter();
        print_rows(
            &mut out,
            reasons.map(|(reason, count, _)| (harmless(reason), count)),
        )?;
    }
    out.flush()
}

fn print_rows<'a>(
    out: &mut Output,
    mut rows: impl Iterator<Item = (Cow<'a, str>, u64)>,
) -> Result<(), CliError> {
    rows.try_for_each(|(label, count)| out.line(&format!("  {:>13}  {label}", grouped(count))))
}

fn head(report: &Report<'_>) -> Vec<String> {
    let summary = &report.summary;
    let verdicts = summary.verdicts.rows().into_iter();
    let verdicts: Vec<String> = verdicts
        .map(|(verdict, count)| format!("{} {}", grouped(count), verdict.label()))
        .collect();
    let mut lines = vec![format!(
        "{} in {}: {}",
        counted(summary.offences(), "offence", "offences"),
        counted(summary.lines, "line", "lines"),
        verdicts.join(", ")
    )];
    if let (Some(first), Some(last)) = (summary.first, summary.last) {
        lines.push(format!("from {first:.0} to {last:.0}"));
    }
    lines
}

fn print_over_time(out: &mut Output, report: &Report<'_>) -> Result<(), CliError> {
    let (unit, over_time) = report.summary.over_time(report.args.by);
    let sums = over_time.iter().map(|(hour, counts)| (*hour, counts.sum()));
    let sums: Vec<(i64, u64)> = sums.collect();
    let most = sums.iter().map(|(_, sum)| *sum).max().unwrap_or_default();
    if most == 0 {
        return Ok(());
    }
    let before = sums.len().saturating_sub(MOMENTS);
    out.line("")?;
    out.line(&format!("by {} (UTC)", unit.label()))?;
    if before > 0 {
        out.line(&format!("  {before} before that"))?;
    }
    let rows = sums.iter().skip(before).map(|(hour, sum)| {
        let bar = (u128::from(*sum) * u128::from(BAR)).div_ceil(u128::from(most));
        let bar = "#".repeat(usize::try_from(bar).unwrap_or_default());
        (format!("{}  {bar}", moment(*hour, unit)).into(), *sum)
    });
    print_rows(out, rows)
}

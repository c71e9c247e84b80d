//! The summary for people.

use super::Report;
use super::log_summary::{Table, moment};
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
    let tables = report.summary.tables(report.args.top.unwrap_or(TOP));
    for table in tables.iter().filter(|table| !table.title.is_empty()) {
        print_table(&mut out, table)?;
    }
    print_over_time(&mut out, report)?;
    print_reasons(&mut out, report)?;
    out.flush()
}

/// Prints why lines are no records. The first line of each reason is on standard error.
fn print_reasons(out: &mut Output, report: &Report<'_>) -> Result<(), CliError> {
    let reasons = report.summary.reasons();
    if reasons.is_empty() {
        return Ok(());
    }
    out.line("")?;
    out.line("lines that are not records, by reason")?;
    for (reason, count, _) in reasons {
        out.line(&format!("  {:>13}  {}", grouped(count), harmless(reason)))?;
    }
    Ok(())
}

fn head(report: &Report<'_>) -> Vec<String> {
    let summary = &report.summary;
    let noun = |count: u64, one: &str, many: &str| {
        format!("{} {}", grouped(count), if count == 1 { one } else { many })
    };
    let verdicts = summary.verdicts.rows().into_iter();
    let verdicts: Vec<String> = verdicts
        .map(|(verdict, count)| format!("{} {}", grouped(count), verdict.label()))
        .collect();
    let mut lines = vec![format!(
        "{} in {}: {}",
        noun(summary.offences(), "offence", "offences"),
        noun(summary.lines, "line", "lines"),
        verdicts.join(", ")
    )];
    if let (Some(first), Some(last)) = (summary.first, summary.last) {
        lines.push(format!("from {first:.0} to {last:.0}"));
    }
    let lost = match summary.summaries {
        0 => "mounts say at their end how many they lost".to_owned(),
        mounts => format!(
            "{} lost by {}",
            grouped(summary.dropped),
            counted(mounts, "mount that ended", "mounts that ended"),
        ),
    };
    lines.push(format!(
        "not in the log: {} left out by the rate limit; {lost}",
        grouped(summary.left_out),
    ));
    if summary.unknown > 0 {
        lines.push(format!(
            "{} of other events",
            noun(summary.unknown, "record", "records")
        ));
    }
    if summary.invalid > 0 {
        lines.push(format!(
            "{} not a record",
            noun(summary.invalid, "line is", "lines are")
        ));
    }
    lines
}

fn print_table(out: &mut Output, table: &Table) -> Result<(), CliError> {
    if table.rows.is_empty() {
        return Ok(());
    }
    out.line("")?;
    out.line(table.title)?;
    for row in &table.rows {
        out.line(&format!("  {:>13}  {}", grouped(row.offences), row.label))?;
    }
    match table.distinct - table.rows.len() {
        0 => Ok(()),
        more => out.line(&format!("  and {more} more")),
    }
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
    for (hour, sum) in sums.iter().skip(before) {
        let bar = (u128::from(*sum) * u128::from(BAR)).div_ceil(u128::from(most));
        let bar = "#".repeat(usize::try_from(bar).unwrap_or_default());
        let moment = moment(*hour, unit);
        out.line(&format!("  {:>13}  {moment}  {bar}", grouped(*sum)))?;
    }
    Ok(())
}

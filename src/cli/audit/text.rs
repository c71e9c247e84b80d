//! Logs summed up, for people.

use super::totals::{kind_of, moment, user_of};
use super::{Summed, Verdict, counter::Counter};
use crate::cli::CliError;
use crate::cli::output::{Output, grouped, harmless};
use crate::names::Quoted;

/// Rows of each table, where nothing is said.
const TOP: usize = 10;

/// Rows over time: those are the last.
const MOMENTS: usize = 48;

/// The longest bar over time.
const BAR: u64 = 40;

/// Prints it.
///
/// # Errors
/// Standard output cannot be written.
pub(super) fn print(read: &Summed<'_>) -> Result<(), CliError> {
    let most = read.args.top.unwrap_or(TOP);
    let totals = &read.totals;
    let mut out = Output::stdout();
    head(read).iter().try_for_each(|line| out.line(line))?;
    let of_user = |key: &[u8]| format!("uid {}", user_of(key).0);
    let of_command = |key: &[u8]| {
        let (uid, command) = user_of(key);
        format!("uid {uid} {}", Quoted(command))
    };
    let of_kind = |key: &[u8]| {
        let (rule, kind) = kind_of(key);
        let kind = String::from_utf8(kind.to_vec()).unwrap_or_default();
        harmless(format!("{} {kind}", rule.label()).trim_end()).into_owned()
    };
    let of_path = |key: &[u8]| Quoted(key).to_string();
    table(&mut out, "by rule and kind", &totals.kinds, most, of_kind)?;
    if totals.has_sections() {
        let of_section = |key: &[u8]| match key {
            b"" => "no section".to_owned(),
            name => Quoted(name).to_string(),
        };
        let title = "by section of the policy";
        table(&mut out, title, &totals.sections, most, of_section)?;
    }
    table(
        &mut out,
        "by user, with those left out",
        &totals.users,
        most,
        of_user,
    )?;
    table(
        &mut out,
        "by user and command",
        &totals.commands,
        most,
        of_command,
    )?;
    table(
        &mut out,
        "by directory, with those left out",
        &totals.directories,
        most,
        of_path,
    )?;
    over_time(&mut out, read)?;
    garbled(&mut out, read)?;
    out.flush()
}

/// Why lines are no records. Which the first of each are is said on standard error.
fn garbled(out: &mut Output, read: &Summed<'_>) -> Result<(), CliError> {
    let reasons = read.totals.reasons();
    if reasons.is_empty() {
        return Ok(());
    }
    out.line("")?;
    out.line("lines that are no records, by reason")?;
    for (reason, count, _) in reasons {
        out.line(&format!("  {:>13}  {reason}", grouped(count)))?;
    }
    Ok(())
}

fn head(read: &Summed<'_>) -> Vec<String> {
    let totals = &read.totals;
    let offences = totals.offences();
    let verdicts = Verdict::LABELS.iter().zip(totals.verdicts);
    let verdicts: Vec<String> = verdicts
        .map(|(label, count)| format!("{} {label}", grouped(count)))
        .collect();
    let mut lines = vec![format!(
        "{} offence{} in {} line{}: {}",
        grouped(offences),
        if offences == 1 { "" } else { "s" },
        grouped(totals.lines),
        if totals.lines == 1 { "" } else { "s" },
        verdicts.join(", ")
    )];
    if let (Some(first), Some(last)) = (totals.first, totals.last) {
        lines.push(format!("from {first:.0} to {last:.0}"));
    }
    lines.push(format!(
        "not in the log: {} left out by the rate limit, {} lost as {} tell{}",
        grouped(totals.left_out),
        grouped(totals.dropped),
        match totals.summaries {
            1 => "1 summary".to_owned(),
            count => format!("{} summaries", grouped(count)),
        },
        if totals.summaries == 1 { "s" } else { "" },
    ));
    if totals.others > 0 {
        lines.push(format!(
            "{} records of other events",
            grouped(totals.others)
        ));
    }
    if totals.garbled > 0 {
        lines.push(format!("{} lines are no records", grouped(totals.garbled)));
    }
    lines
}

fn table(
    out: &mut Output,
    title: &str,
    counter: &Counter,
    most: usize,
    shown: impl Fn(&[u8]) -> String,
) -> Result<(), CliError> {
    let rows = counter.top(most);
    if rows.is_empty() {
        return Ok(());
    }
    out.line("")?;
    out.line(&match counter.missing() {
        0 => title.to_owned(),
        missing => format!(
            "{title} (too many to count each: up to {} more for each)",
            grouped(missing)
        ),
    })?;
    for (key, count) in &rows {
        out.line(&format!("  {:>13}  {}", grouped(*count), shown(key)))?;
    }
    let more = counter.len() - rows.len();
    if more > 0 {
        let least = if counter.is_whole() { "" } else { "at least " };
        out.line(&format!("  and {least}{more} more"))?;
    }
    Ok(())
}

fn over_time(out: &mut Output, read: &Summed<'_>) -> Result<(), CliError> {
    let (unit, over_time) = read.totals.over_time(read.args.by.map(|unit| unit.0));
    let sums = over_time.iter();
    let sums: Vec<(i64, u64)> = sums
        .map(|(hour, by_rule)| (*hour, by_rule.iter().sum()))
        .collect();
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
    if read.totals.untimed > 0 {
        out.line(&format!(
            "  {:>13}  at times too many to tell apart",
            grouped(read.totals.untimed)
        ))?;
    }
    Ok(())
}

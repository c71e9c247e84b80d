//! The summary as a page to look at. It has no script: plots are SVG, and names are text.

use askama::Template;

use super::log_summary::{InvalidLine, LogSummary, Table};
use super::plot::Plot;
use crate::cli::args::AuditLogArgs;
use crate::cli::output::{grouped, harmless, input_name};
use crate::cli::page::document;

const STYLE: &str = include_str!("page.css");

/// Most rows of each table, by default.
const TOP: usize = 25;

#[derive(Template)]
#[template(path = "audit/page.html", config = "src/cli/pages.toml")]
struct Body<'a> {
    files: String,
    /// The first and the last time.
    span: Option<(String, String)>,
    cards: Vec<(&'static str, u64)>,
    unit: &'static str,
    plot: Option<Plot>,
    /// The rules that were broken: index, label, offences.
    legend: Vec<(usize, &'static str, u64)>,
    tables: Vec<Table>,
    invalid: Vec<&'a (u64, InvalidLine)>,
}

/// A template passes numbers by reference.
fn number(number: &u64) -> String {
    grouped(*number)
}

/// Returns the page.
pub(super) fn page(args: &AuditLogArgs, summary: &LogSummary) -> String {
    let (unit, over_time) = summary.over_time(args.by);
    let files: Vec<String> = args.files.iter().map(|file| input_name(file)).collect();
    let verdicts = summary.verdicts.rows().into_iter();
    let verdicts = verdicts.map(|(verdict, count)| (verdict.into(), count));
    let all = [("offences in the log", summary.offences())].into_iter();
    let rules = summary.rules.rows().into_iter().enumerate();
    let body = Body {
        files: files.join(", "),
        span: (summary.span).map(|(first, last)| (format!("{first:.0}"), format!("{last:.0}"))),
        cards: all.chain(verdicts).chain(summary.missing()).collect(),
        unit: unit.into(),
        plot: Plot::over_time(unit, &over_time),
        legend: rules
            .map(|(index, (rule, count))| (index, rule.into(), count))
            .filter(|(_, _, count)| *count > 0)
            .collect(),
        tables: summary.tables_for_people(args.top.unwrap_or(TOP)).collect(),
        invalid: summary.reasons(),
    };
    document("utf8fs audit", STYLE, None, &body.to_string())
}

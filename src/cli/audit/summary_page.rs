//! The summary as a page to look at. It has no script: plots are SVG, and names are text.

use super::log_summary::Table;
use super::{Report, name_of, plot};
use crate::cli::output::{grouped, harmless};
use crate::cli::page::{document, escaped};

const STYLE: &str = include_str!("page.css");

/// Most rows of each table, by default.
const TOP: usize = 25;

/// Returns the page.
pub(super) fn page(report: &Report<'_>) -> String {
    let summary = &report.summary;
    let (unit, over_time) = summary.over_time(report.args.by);
    let tables = summary.tables(report.args.top.unwrap_or(TOP));
    let tables = tables.iter().filter(|table| table.is_for_people());
    let body = [
        head(report),
        "<main>\n".to_owned(),
        cards(report),
        format!("<section>\n<h2>By {} (UTC)</h2>\n", unit.label()),
        plot::over_time(unit, &over_time),
        plot::legend(&summary.rules),
        "</section>\n".to_owned(),
        tables.map(table_section).collect(),
        invalid_lines(report),
        format!(
            "</main>\n<footer>utf8fs {}</footer>\n",
            env!("CARGO_PKG_VERSION")
        ),
    ];
    document("utf8fs audit", STYLE, None, &body.concat())
}

fn head(report: &Report<'_>) -> String {
    let files = report.args.files.iter().map(|file| escaped(&name_of(file)));
    let files: Vec<String> = files.collect();
    let span = report.summary.first.zip(report.summary.last);
    let span = span.map(|(first, last)| format!("<br>from {first:.0} to {last:.0}"));
    format!(
        "<header>\n<h1>Names that did not conform</h1>\n<p class=\"hint\"><span class=\"name\">{}</span>{}</p>\n</header>\n",
        files.join(", "),
        span.unwrap_or_default()
    )
}

fn cards(report: &Report<'_>) -> String {
    let summary = &report.summary;
    let verdicts = summary.verdicts.rows().into_iter();
    let verdicts = verdicts.map(|(verdict, count)| (verdict.label(), count));
    let all = [("offences in the log", summary.offences())].into_iter();
    let all = all.chain(verdicts).chain(summary.missing());
    let cards = all.map(|(label, count)| {
        let count = grouped(count);
        format!("<div class=\"card\"><b>{count}</b><span>{label}</span></div>\n")
    });
    format!(
        "<section id=\"summary\" aria-label=\"Numbers\">\n{}</section>\n",
        cards.collect::<String>()
    )
}

fn table_section(table: &Table) -> String {
    let largest = table.rows.first().map_or(0, |row| row.offences);
    let rows = table.rows.iter().map(|row| {
        format!(
            "<tr><td><span class=\"name\">{}</span></td><td class=\"number\">{}</td><td class=\"wide\">{}</td></tr>\n",
            escaped(&row.label),
            grouped(row.offences),
            plot::share(row.offences, largest)
        )
    });
    let more = match table.distinct - table.rows.len() {
        0 => String::new(),
        more => format!("<p class=\"hint\">And {more} more.</p>\n"),
    };
    format!(
        "<section>\n<h2>Offences {}</h2>\n<div class=\"scroll\"><table>\n{}</table></div>\n{more}</section>\n",
        table.title,
        rows.collect::<String>()
    )
}

fn invalid_lines(report: &Report<'_>) -> String {
    let reasons = report.summary.reasons();
    if reasons.is_empty() {
        return String::new();
    }
    let rows = reasons.into_iter().map(|(reason, count, first)| {
        format!(
            "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"name\">{}, {}</td><td class=\"name\">{}</td></tr>\n",
            escaped(&harmless(reason)),
            grouped(count),
            escaped(&report.file_name(first)),
            grouped(first.line),
            escaped(&first.shown())
        )
    });
    format!(
        "<section>\n<h2>Lines that are not records</h2>\n<div class=\"scroll\"><table>\n<tr><th>Why</th><th class=\"number\">Lines</th><th>The first: log and line</th><th>It begins with</th></tr>\n{}</table></div>\n</section>\n",
        rows.collect::<String>()
    )
}

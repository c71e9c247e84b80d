//! Logs summed up, as a page to look at. It has no script: plots are SVG, and names are text.

use super::counter::Counter;
use super::totals::{kind_of, user_of};
use super::{Summed, Verdict, file_name, name_of, plot, shown};
use crate::cli::output::{grouped, harmless};
use crate::cli::page::{document, escaped};
use crate::names::Quoted;

const STYLE: &str = include_str!("page.css");

/// Rows of each table, where nothing is said.
const TOP: usize = 25;

/// The page.
pub(super) fn page(read: &Summed<'_>) -> String {
    let totals = &read.totals;
    let (unit, over_time) = totals.over_time(read.args.by.map(|unit| unit.0));
    let most = read.args.top.unwrap_or(TOP);
    let user = |key: &[u8]| format!("uid {}", user_of(key).0);
    let command = |key: &[u8]| {
        let (uid, command) = user_of(key);
        format!("uid {uid} {}", name(command))
    };
    let kind = |key: &[u8]| {
        let (rule, kind) = kind_of(key);
        let kind = std::str::from_utf8(kind).unwrap_or_default();
        escaped(&harmless(format!("{} {kind}", rule.label()).trim_end()))
    };
    let body = [
        head(read),
        "<main>\n".to_owned(),
        cards(read),
        format!("<section>\n<h2>Over time, by {} (UTC)</h2>\n", unit.label()),
        plot::over_time(unit, &over_time),
        plot::legend(&totals.by_rule),
        "</section>\n".to_owned(),
        table("Which rule", "Rule and kind", &totals.kinds, most, kind),
        sections(read, most),
        table(
            "Who, with those left out",
            "User",
            &totals.users,
            most,
            user,
        ),
        table(
            "With which command",
            "User and command",
            &totals.commands,
            most,
            command,
        ),
        table(
            "Where, with those left out",
            "Directory",
            &totals.directories,
            most,
            name,
        ),
        garbled(read),
        format!(
            "</main>\n<footer>utf8fs {}</footer>\n",
            env!("CARGO_PKG_VERSION")
        ),
    ];
    document("utf8fs audit", STYLE, None, &body.concat())
}

/// By section, where one decided.
fn sections(read: &Summed<'_>, most: usize) -> String {
    let section = |key: &[u8]| match key {
        b"" => "no section".to_owned(),
        key => name(key),
    };
    match read.totals.has_sections() {
        true => table(
            "By which section of the policy",
            "Section",
            &read.totals.sections,
            most,
            section,
        ),
        false => String::new(),
    }
}

/// A name, in quotes.
fn name(bytes: &[u8]) -> String {
    format!(
        "<span class=\"name\">{}</span>",
        escaped(&Quoted(bytes).to_string())
    )
}

fn head(read: &Summed<'_>) -> String {
    let files = read.args.files.iter().map(|file| escaped(&name_of(file)));
    let files: Vec<String> = files.collect();
    let totals = &read.totals;
    let span = totals.first.zip(totals.last);
    let span = span.map(|(first, last)| format!("<br>from {first:.0} to {last:.0}"));
    format!(
        "<header>\n<h1>Names that did not conform</h1>\n<p class=\"hint\"><span class=\"name\">{}</span>{}</p>\n</header>\n",
        files.join(", "),
        span.unwrap_or_default()
    )
}

fn cards(read: &Summed<'_>) -> String {
    let totals = &read.totals;
    let verdicts = Verdict::LABELS.into_iter().zip(totals.verdicts);
    let all = [("offences in the log", totals.offences())].into_iter();
    let all = all.chain(verdicts).chain([
        ("left out by the rate limit", totals.left_out),
        ("lost, as summaries tell", totals.dropped),
        ("lines that are no records", totals.garbled),
    ]);
    let cards = all.map(|(what, count)| {
        format!(
            "<div class=\"card\"><b>{}</b><span>{what}</span></div>\n",
            grouped(count)
        )
    });
    format!(
        "<section id=\"summary\" aria-label=\"Numbers\">\n{}</section>\n",
        cards.collect::<String>()
    )
}

fn table(
    title: &str,
    what: &str,
    counter: &Counter,
    most: usize,
    shown: impl Fn(&[u8]) -> String,
) -> String {
    let rows = counter.top(most);
    let largest = rows.first().map_or(0, |(_, count)| *count);
    let lines = rows.iter().map(|(key, count)| {
        format!(
            "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"wide\">{}</td></tr>\n",
            shown(key),
            grouped(*count),
            plot::share(*count, largest)
        )
    });
    let lines: String = lines.collect();
    if lines.is_empty() {
        return String::new();
    }
    let more = match counter.len() - rows.len() {
        0 => String::new(),
        more => format!(
            "<p class=\"hint\">And {}{} more.</p>\n",
            if counter.is_whole() { "" } else { "at least " },
            grouped(u64::try_from(more).unwrap_or(u64::MAX))
        ),
    };
    let missing = match counter.missing() {
        0 => String::new(),
        missing => format!(
            "<p class=\"hint\">Too many to count each: there may be up to {} more for each.</p>\n",
            grouped(missing)
        ),
    };
    format!(
        "<section>\n<h2>{title}</h2>\n{missing}<div class=\"scroll\"><table>\n<tr><th>{what}</th><th class=\"number\">Offences</th><th></th></tr>\n{lines}</table></div>\n{more}</section>\n"
    )
}

fn garbled(read: &Summed<'_>) -> String {
    let totals = &read.totals;
    if totals.garbled == 0 {
        return String::new();
    }
    let reasons = totals.reasons().into_iter();
    let rows = reasons.map(|(reason, count, first)| {
        format!(
            "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"name\">{}, {}</td><td class=\"name\">{}</td></tr>\n",
            escaped(&harmless(reason)),
            grouped(count),
            escaped(&file_name(read, first)),
            grouped(first.line),
            escaped(&shown(first))
        )
    });
    format!(
        "<section>\n<h2>Lines that are no records</h2>\n<div class=\"scroll\"><table>\n<tr><th>Why</th><th class=\"number\">Lines</th><th>The first: log and line</th><th>It begins with</th></tr>\n{}</table></div>\n</section>\n",
        rows.collect::<String>()
    )
}

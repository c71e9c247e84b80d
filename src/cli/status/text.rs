//! The status for people.

use serde_json::Value;

use super::{Operation, Status, name};
use crate::cli::output::harmless;
use crate::names::Quoted;

/// The lines of it.
pub(super) fn lines(status: &Status) -> Vec<String> {
    let mut lines = vec![format!(
        "{} shown at {}, for {}, by process {}, utf8fs {}",
        Quoted(&status.name("/backing")),
        Quoted(&status.name("/mountpoint")),
        span(status.seconds("/uptime_seconds")),
        status.number("/pid"),
        harmless(status.text("/version")),
    )];
    lines.extend(status.impairments().map(|what| format!("impaired: {what}")));
    lines.extend(policy(status));
    lines.push(String::new());
    lines.extend(requests(status));
    lines.push(String::new());
    lines.extend(columns(&held(status), &[]));
    let options: Vec<_> = status
        .fields("/options")
        .map(|(option, value)| vec![harmless(option).into_owned(), shown(value)])
        .collect();
    if !options.is_empty() {
        lines.push(String::new());
        lines.push("options in force".to_owned());
        let options = columns(&options, &[]);
        lines.extend(options.into_iter().map(|line| format!("  {line}")));
    }
    lines
}

/// Which policy file is in force, and why the one that is there now is not.
fn policy(status: &Status) -> Vec<String> {
    let text = |path| harmless(status.text(path)).into_owned();
    if !status.has_policy() {
        return vec!["no policy file is in force".to_owned()];
    }
    let mut lines = vec![format!(
        "policy {} in force since {}; sections: {}, read anew: {}, not read anew for faults: {}",
        Quoted(&status.name("/policy/file")),
        text("/policy/since"),
        status.number("/policy/sections"),
        status.number("/policy/reloads"),
        status.number("/policy/failed_reloads"),
    )];
    let faults = status.0.pointer("/policy/fault/lines");
    if let Some(faults) = faults.and_then(Value::as_array) {
        let time = text("/policy/fault/time");
        lines.push(format!(
            "  not read anew at {time}, for what is wrong with it:"
        ));
        let faults = faults.iter().filter_map(Value::as_str);
        lines.extend(faults.map(|fault| format!("  {}", harmless(fault))));
    }
    lines
}

/// The table of requests, most frequent first, with what they come to at the end.
fn requests(status: &Status) -> Vec<String> {
    let head = [
        "request",
        "count",
        "errors",
        "calls",
        "time",
        "mean",
        "99 % below",
    ];
    let mut table = vec![head.map(str::to_owned).to_vec()];
    let mut seen: Vec<Operation<'_>> = status
        .operations()
        .filter(|operation| operation.number("requests") > 0)
        .collect();
    seen.sort_by_key(|operation| std::cmp::Reverse(operation.number("requests")));
    let limits = status.limits();
    let mut all = vec![0; limits.len() + 1];
    for operation in seen {
        let times = operation.times();
        for (sum, more) in all.iter_mut().zip(&times) {
            *sum += more;
        }
        table.push(row(operation, &times, &limits));
    }
    if let Some(counted) = status.0.get("total") {
        let name = "total";
        table.push(row(Operation { name, counted }, &all, &limits));
    }
    columns(&table, &[1, 2, 3, 4, 5, 6])
}

fn row(operation: Operation<'_>, times: &[u64], limits: &[u64]) -> Vec<String> {
    let ended: u64 = times.iter().sum();
    let microseconds = operation.number("microseconds");
    let (mean, most) = match ended {
        0 => ("-".to_owned(), "-".to_owned()),
        _ => (time(microseconds / ended), most(times, limits)),
    };
    vec![
        harmless(operation.name).into_owned(),
        operation.number("requests").to_string(),
        operation.number("errors").to_string(),
        operation.number("backing_calls").to_string(),
        time(microseconds),
        mean,
        most,
    ]
}

/// The limit that 99 of 100 stay below.
fn most(times: &[u64], limits: &[u64]) -> String {
    let all: u64 = times.iter().sum();
    let mut rest = all / 100;
    for (index, count) in times.iter().enumerate().rev() {
        if *count > rest {
            return limits
                .get(index)
                .map_or_else(|| "longer".to_owned(), |limit| time(*limit));
        }
        rest -= count;
    }
    "-".to_owned()
}

/// What is held, kept and counted besides.
fn held(status: &Status) -> Vec<Vec<String>> {
    let number = |path: &str| status.number(path);
    let watch = match status.0.get("watch") {
        None | Some(Value::Null) => "not followed".to_owned(),
        Some(_) => format!(
            "{}, in {} directories; {} overflows, {} stalls",
            match (
                status.is_true("/watch/alive"),
                status.is_true("/watch/stalled")
            ) {
                (false, _) => "followed no more",
                (true, true) =>
                    "stalled: the kernel holds a notification back, and nothing is kept for longer than a second",
                (true, false) => "followed",
            },
            number("/watch/directories"),
            number("/watch/overflows"),
            number("/watch/stalls"),
        ),
    };
    let rules: Vec<(&str, u64)> = status
        .fields("/offences")
        .filter_map(|(rule, count)| Some((rule, count.as_u64().filter(|count| *count > 0)?)))
        .collect();
    let offences: u64 = rules.iter().map(|(_, count)| count).sum();
    let rules: Vec<String> = rules
        .iter()
        .map(|(rule, count)| format!("{count} {}", harmless(rule)))
        .collect();
    let offences = match rules.as_slice() {
        [] => "none".to_owned(),
        rules => format!(
            "{offences} ({}): {} refused, {} normalized, {} reported",
            rules.join(", "),
            number("/verdicts/refused"),
            number("/verdicts/normalized"),
            number("/verdicts/reported"),
        ),
    };
    let rows = [
        ("inodes known", number("/inodes").to_string()),
        (
            "open",
            format!(
                "{} files, {} directories",
                number("/open/files"),
                number("/open/directories")
            ),
        ),
        (
            "descriptors",
            format!(
                "{} for what is open, {} of {} kept for inodes; {} in all, {} in reserve",
                number("/descriptors/open"),
                number("/descriptors/inodes"),
                number("/descriptors/inodes_limit"),
                number("/descriptors/limit"),
                number("/descriptors/reserve"),
            ),
        ),
        (
            "indexes of names",
            format!(
                "{} directories, {} KiB, {} readings",
                number("/indexes/directories"),
                number("/indexes/bytes").div_ceil(1024),
                number("/indexes/readings"),
            ),
        ),
        (
            "kept by the kernel",
            format!(
                "names {}, attributes of files {}; {} names barred",
                span(status.seconds("/kept/names_seconds")),
                span(status.seconds("/kept/files_seconds")),
                number("/kept/names_barred"),
            ),
        ),
        ("changes below", watch),
        ("requests by", transport(status)),
        (
            "data",
            match status.is_true("/passthrough") {
                true => "read and written by the kernel where it can",
                false => "read and written by the daemon",
            }
            .to_owned(),
        ),
        ("offences", offences),
        (
            "audit records",
            format!(
                "{} written, {} left out, {} dropped",
                number("/audit_records/written"),
                number("/audit_records/left_out"),
                number("/audit_records/dropped"),
            ),
        ),
    ];
    let mut rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(what, is)| vec![what.to_owned(), is])
        .collect();
    // Behind the row of all offences, which is the last but one.
    let at = rows.len().saturating_sub(1);
    rows.splice(at..at, by_rule(status));
    rows
}

/// By which way requests come, and how to have the faster one where that is turned off.
fn transport(status: &Status) -> String {
    if status.text("/transport/kind") == "io_uring" {
        let threads = status.number("/transport/threads_per_cpu");
        return format!("rings (io_uring), {threads} threads for each CPU");
    }
    let reason = match status.text("/transport/no_rings") {
        "parameter" => {
            "; for rings: echo Y >/sys/module/fuse/parameters/enable_uring, and mount again"
        }
        "refused" => "; the kernel refused rings",
        _ => "",
    };
    format!("/dev/fuse{reason}")
}

/// What became of the offences against each rule, where there are any.
fn by_rule(status: &Status) -> Vec<Vec<String>> {
    let rules = status.fields("/offences_by_verdict");
    rules
        .filter_map(|(rule, verdicts)| {
            let verdicts = verdicts.as_object().into_iter().flatten();
            let counts: Vec<String> = verdicts
                .map(|(verdict, count)| (harmless(verdict), count.as_u64().unwrap_or(0)))
                .filter(|(_, count)| *count > 0)
                .map(|(verdict, count)| format!("{count} {verdict}"))
                .collect();
            let row = || vec![format!("  {}", harmless(rule)), counts.join(", ")];
            (!counts.is_empty()).then(row)
        })
        .collect()
}

/// The rows with each column as wide as its widest; those in `right` are flush right.
pub(super) fn columns(rows: &[Vec<String>], right: &[usize]) -> Vec<String> {
    let width = |index: usize| {
        let cells = rows.iter().filter_map(|row| row.get(index));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let cell = |(index, cell): (usize, &String)| {
        let width = width(index);
        match right.contains(&index) {
            true => format!("{cell:>width$}"),
            false => format!("{cell:<width$}"),
        }
    };
    rows.iter()
        .map(|row| {
            let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
            cells.join("  ").trim_end().to_owned()
        })
        .collect()
}

/// Microseconds, in the unit that suits.
fn time(microseconds: u64) -> String {
    let (whole, unit) = match microseconds {
        0..10_000 => return format!("{microseconds} µs"),
        10_000..10_000_000 => (microseconds / 100, "ms"),
        _ => (microseconds / 100_000, "s"),
    };
    format!("{}.{} {unit}", whole / 10, whole % 10)
}

/// Seconds, in words.
pub(super) fn span(seconds: f64) -> String {
    const YEAR: f64 = 365.0 * 86_400.0;
    match seconds {
        0.0 => "not at all".to_owned(),
        _ if seconds >= YEAR => "for ever".to_owned(),
        _ if seconds >= 172_800.0 => format!("{:.1} days", seconds / 86_400.0),
        _ if seconds >= 7200.0 => format!("{:.1} h", seconds / 3600.0),
        _ if seconds >= 120.0 => format!("{:.1} min", seconds / 60.0),
        _ => format!("{seconds} s"),
    }
}

/// The value of an option, harmless to a terminal.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => harmless(text).into_owned(),
        Value::Array(values) if values.is_empty() => "-".to_owned(),
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(shown).collect();
            values.join(", ")
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Object(_) => {
            name(value).map_or_else(|| "?".to_owned(), |octets| Quoted(&octets).to_string())
        }
    }
}

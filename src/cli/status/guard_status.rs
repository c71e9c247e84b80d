//! The status of a guard, for people and for Prometheus.

use super::prometheus::{Page, label};
use super::status_text::span;
use crate::cli::output::harmless;
use crate::cli::text_table::columns;
use crate::records::GuardStatus;

/// The name, the metric, its kind, its help and the value of each number.
type Number = (&'static str, &'static str, &'static str, &'static str, u64);

fn numbers(status: &GuardStatus) -> [Number; 7] {
    [
        (
            "events",
            "guard_events_total",
            "counter",
            "New names that the kernel reported.",
            status.events,
        ),
        (
            "overflows",
            "guard_overflows_total",
            "counter",
            "Times that the kernel could not keep all events.",
            status.overflows,
        ),
        (
            "scans",
            "guard_scans_total",
            "counter",
            "Scans that were finished.",
            status.scans,
        ),
        (
            "lag (ms)",
            "guard_lag_milliseconds",
            "gauge",
            "Time from the making of the last offending name to its event.",
            status.lag_milliseconds,
        ),
        (
            "waiting",
            "guard_waiting",
            "gauge",
            "Entries that wait to be renamed.",
            status.waiting,
        ),
        (
            "renamed",
            "guard_renamed_total",
            "counter",
            "Entries that were renamed.",
            status.renamed,
        ),
        (
            "left",
            "guard_left_total",
            "counter",
            "Entries that were to be renamed, and were left.",
            status.left,
        ),
    ]
}

/// Returns the lines of the status.
pub(super) fn lines(status: &GuardStatus) -> Vec<String> {
    let head = format!(
        "{} guarded, for {}, by process {}, utf8fs {}",
        status.directory,
        span(status.uptime_seconds),
        status.pid,
        harmless(&status.version),
    );
    let numbers = numbers(status).into_iter();
    let numbers = numbers.map(|(name, .., value)| (name.to_owned(), value));
    let verdicts = status.verdicts.rows().into_iter();
    let verdicts = verdicts.map(|(verdict, count)| (<&str>::from(verdict).to_owned(), count));
    let rules = status.offences.rows().into_iter();
    let rules = rules.map(|(rule, count)| (<&str>::from(rule).to_owned(), count));
    let records = &status.audit_records;
    let records = [
        ("records written".to_owned(), records.written),
        ("left out".to_owned(), records.left_out),
        ("dropped".to_owned(), records.dropped),
    ];
    let rows = numbers.chain(verdicts).chain(rules).chain(records);
    let rows: Vec<_> = rows
        .map(|(name, value)| vec![name, value.to_string()])
        .collect();
    let mut lines = vec![head, String::new()];
    lines.extend(columns(&rows, &[1]));
    lines
}

/// Returns the lines of the metrics. Each sample has the directory as a label.
pub(super) fn metrics(status: &GuardStatus) -> Vec<String> {
    let mut page = Page::new(status.directory.as_bytes());
    page.value(
        "guard_uptime_seconds",
        "gauge",
        "Time since the start.",
        status.uptime_seconds,
    );
    for (_, metric, kind, help, value) in numbers(status) {
        page.value(metric, kind, help, value);
    }
    let rows = status.offences.rows().into_iter();
    let rows = rows.map(|(rule, count)| (label("rule", <&str>::from(rule).as_bytes()), count));
    page.metric(
        "guard_offences_total",
        "counter",
        "Names that do not conform, by rule.",
        rows,
    );
    let rows = status.verdicts.rows().into_iter();
    let rows =
        rows.map(|(verdict, count)| (label("verdict", <&str>::from(verdict).as_bytes()), count));
    page.metric(
        "guard_verdicts_total",
        "counter",
        "What became of them.",
        rows,
    );
    page.lines
}

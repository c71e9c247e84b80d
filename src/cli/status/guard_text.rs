//! The status of a guard, for people and for Prometheus.

use super::prometheus::Page;
use super::status_text::span;
use crate::cli::output::harmless;
use crate::cli::text_table::columns;
use crate::records::GuardStatus;

/// The name, the metric, the value and the help of each number.
type Number = (&'static str, &'static str, u64, &'static str);

fn numbers(status: &GuardStatus) -> [Number; 7] {
    let (events, overflows) = (status.events, status.overflows);
    let (lag, waiting) = (status.lag_milliseconds, status.waiting);
    let (renamed, left) = (status.renamed, status.left);
    let of_events = "New names that the kernel reported.";
    let of_overflows = "Times that the kernel could not keep all events.";
    let of_scans = "Scans that were finished.";
    let of_lag = "Time from the making of the last offending name to its event.";
    let of_waiting = "Entries that wait to be renamed.";
    let of_renamed = "Entries that were renamed.";
    let of_left = "Entries that were to be renamed, and were left.";
    [
        ("events", "events_total", events, of_events),
        ("overflows", "overflows_total", overflows, of_overflows),
        ("scans", "scans_total", status.scans, of_scans),
        ("lag (ms)", "lag_milliseconds", lag, of_lag),
        ("waiting", "waiting", waiting, of_waiting),
        ("renamed", "renamed_total", renamed, of_renamed),
        ("left", "left_total", left, of_left),
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
    let numbers = numbers.map(|(name, _, value, _)| (name.to_owned(), value));
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
    let help = "Time since the start.";
    page.value("guard_uptime_seconds", status.uptime_seconds, help);
    for (_, metric, value, help) in numbers(status) {
        page.value(&format!("guard_{metric}"), value, help);
    }
    let rules = status.offences.rows().into_iter();
    let rules = rules.map(|(rule, count)| (<&str>::from(rule), count));
    let help = "Names that do not conform, by rule.";
    page.counters("guard_offences_total", "rule", help, rules);
    let verdicts = status.verdicts.rows().into_iter();
    let verdicts = verdicts.map(|(verdict, count)| (<&str>::from(verdict), count));
    let help = "What became of them.";
    page.counters("guard_verdicts_total", "verdict", help, verdicts);
    page.lines
}

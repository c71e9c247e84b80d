//! The summary as one JSON object. The keys are part of the interface (law L4; docs/audit.md).

use jiff::Timestamp;
use serde_json::{Value, json};

use super::log_summary::LogSummary;
use crate::cli::args::AuditLogArgs;
use crate::records::{Name, Time, add_fields};

/// Most rows of each table, by default.
const TOP: usize = 100;

/// Returns the summary.
pub(super) fn document(args: &AuditLogArgs, summary: &LogSummary) -> Value {
    let invalid = summary.first_invalid.iter().map(|line| {
        let file = Name::of_path(&line.file);
        json!({"file": file, "line": line.line, "reason": line.reason})
    });
    let reasons = summary.reasons().into_iter().map(|(count, first)| {
        let (file, start) = (
            Name::of_path(&first.file),
            Name::from(first.start.as_slice()),
        );
        json!({"reason": first.reason, "count": count, "file": file, "line": first.line, "start": start})
    });
    let (unit, over_time) = summary.over_time(args.by);
    let moments = over_time.iter().map(|(hour, counts)| {
        let from = Timestamp::from_second(hour.saturating_mul(3600)).ok();
        let from = from.map(|from| format!("{from:.0}"));
        json!({"from": from, "offences": counts.sum(), "rules": counts})
    });
    let files = args.files.iter();
    let files: Vec<_> = files.map(|file| Name::of_path(file)).collect();
    let mut document = json!({
        "audit": "report",
        "format": 2,
        "files": files,
        "lines": summary.lines,
        "records": summary.records,
        "offences": summary.offences(),
        "first": summary.span.map(|(first, _)| Time(first)),
        "last": summary.span.map(|(_, last)| Time(last)),
        "rules": summary.rules,
        "verdicts": summary.verdicts,
        "over_time": {"unit": <&str>::from(unit), "rows": moments.collect::<Vec<_>>()},
        "left_out": summary.left_out,
        "dropped": summary.dropped,
        "summaries": summary.summaries,
        "other_events": summary.unknown,
        "garbled": {"count": summary.invalid, "reasons": reasons.collect::<Vec<_>>(), "first": invalid.collect::<Vec<_>>()},
        "unread": summary.unread,
    });
    for table in summary.tables(args.top.unwrap_or(TOP)) {
        let rows = table.rows.into_iter().map(|row| row.fields);
        let rows: Vec<Value> = rows.collect();
        let fields = json!({(table.key): {"rows": rows, "distinct": table.distinct}});
        add_fields(&mut document, fields);
    }
    document
}

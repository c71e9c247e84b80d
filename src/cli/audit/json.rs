//! Logs summed up, as one JSON object. The keys are part of the interface (law L4; docs/audit.md).

use std::os::unix::ffi::OsStrExt;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::counter::Counter;
use super::totals::{ByRule, kind_of, user_of};
use super::{Offended, Summed, Verdict};
use crate::cli::CliError;
use crate::cli::output::Output;
use crate::names::{json_line, json_name};

/// Rows of each table, where nothing is said.
const TOP: usize = 100;

/// Prints it.
///
/// # Errors
/// Standard output cannot be written.
pub(super) fn print(read: &Summed<'_>) -> Result<(), CliError> {
    let mut out = Output::stdout();
    out.line(&json_line(&report(read)))?;
    out.flush()
}

fn report(read: &Summed<'_>) -> Value {
    let totals = &read.totals;
    let most = read.args.top.unwrap_or(TOP);
    let verdicts = Verdict::LABELS.iter().zip(totals.verdicts);
    let verdicts = verdicts.map(|(label, count)| ((*label).to_owned(), json!(count)));
    let garbled = totals.first_garbled.iter().map(|garbled| {
        let file = read.args.files.get(garbled.file);
        json!({
            "file": file.map(|file| json_name(file.as_os_str().as_bytes())),
            "line": garbled.line,
            "reason": garbled.reason,
        })
    });
    let reasons = totals.reasons().into_iter().map(|(reason, count, first)| {
        let file = read.args.files.get(first.file);
        json!({
            "reason": reason,
            "count": count,
            "file": file.map(|file| json_name(file.as_os_str().as_bytes())),
            "line": first.line,
            "start": json_name(&first.start),
        })
    });
    let time = |time: Option<Timestamp>| time.map(|time| format!("{time:.6}"));
    let (unit, over_time) = totals.over_time(read.args.by.map(|unit| unit.0));
    let moments = over_time.iter().map(|(hour, counts)| {
        let from = Timestamp::from_second(hour.saturating_mul(3600));
        json!({
            "from": from.ok().map(|from| format!("{from:.0}")),
            "offences": counts.iter().sum::<u64>(),
            "rules": by_rule(counts),
        })
    });
    let users = |key: &[u8], count: u64| json!({"uid": user_of(key).0, "offences": count});
    let commands = |key: &[u8], count: u64| {
        let (uid, command) = user_of(key);
        json!({"uid": uid, "command": json_name(command), "offences": count})
    };
    let paths = |key: &[u8], count: u64| json!({"path": json_name(key), "offences": count});
    let kinds = |key: &[u8], count: u64| {
        let (rule, kind) = kind_of(key);
        let kind = std::str::from_utf8(kind).unwrap_or_default();
        json!({"rule": rule.label(), "kind": (!kind.is_empty()).then_some(kind), "offences": count})
    };
    let operations = |key: &[u8], count: u64| json!({"operation": std::str::from_utf8(key).unwrap_or_default(), "offences": count});
    let sections = |key: &[u8], count: u64| {
        let section = (!key.is_empty()).then(|| json_name(key));
        json!({"section": section, "offences": count})
    };
    json!({
        "audit": "report",
        "format": 1,
        "files": read.args.files.iter().map(|file| json_name(file.as_os_str().as_bytes())).collect::<Vec<_>>(),
        "lines": totals.lines,
        "records": totals.records,
        "offences": totals.offences(),
        "first": time(totals.first),
        "last": time(totals.last),
        "rules": by_rule(&totals.by_rule),
        "verdicts": Map::from_iter(verdicts),
        "kinds": table(&totals.kinds, most, kinds),
        "operations": table(&totals.operations, most, operations),
        "sections": table(&totals.sections, most, sections),
        "users": table(&totals.users, most, users),
        "commands": table(&totals.commands, most, commands),
        "directories": table(&totals.directories, most, paths),
        "over_time": {"unit": unit.label(), "rows": moments.collect::<Vec<_>>(), "untimed": totals.untimed},
        "left_out": totals.left_out,
        "dropped": totals.dropped,
        "summaries": totals.summaries,
        "other_events": totals.others,
        "garbled": {"count": totals.garbled, "reasons": reasons.collect::<Vec<_>>(), "first": garbled.collect::<Vec<_>>()},
        "unread": read.unread,
    })
}

fn by_rule(counts: &ByRule) -> Value {
    let rules = Offended::ALL.iter().zip(counts);
    let rules = rules.map(|(rule, count)| (rule.label().to_owned(), json!(count)));
    Value::Object(Map::from_iter(rules))
}

fn table(counter: &Counter, most: usize, row: impl Fn(&[u8], u64) -> Value) -> Value {
    let rows = counter.top(most);
    json!({
        "rows": rows.iter().map(|(key, count)| row(key, *count)).collect::<Vec<_>>(),
        "distinct": counter.len(),
        "distinct_is_exact": counter.is_whole(),
        "missing": counter.missing(),
    })
}

//! The status for people.

use serde::Deserialize;
use serde_json::Value;

use super::impairments;
use crate::cli::output::harmless;
use crate::cli::text_table::columns;
use crate::records::{MountStatus, Name, RequestCounts, Transport, VerdictCounts, WatchStatus};

/// Returns the lines of the status.
pub(super) fn lines(status: &MountStatus) -> Vec<String> {
    let mut lines = vec![format!(
        "{} shown at {}, for {}, by process {}, utf8fs {}",
        status.backing,
        status.mountpoint,
        span(status.uptime_seconds),
        status.pid,
        harmless(&status.version),
    )];
    let impairments = impairments(status);
    if impairments.is_empty() {
        lines.push("the mount is well".to_owned());
    }
    lines.extend(impairments.iter().map(|what| format!("impaired: {what}")));
    lines.extend(policy(status));
    lines.push(String::new());
    lines.extend(requests(status));
    lines.push(String::new());
    lines.extend(columns(&state(status), &[]));
    let options = serde_json::to_value(&status.options).unwrap_or_default();
    let options = options.as_object().into_iter().flatten();
    let options: Vec<_> = options
        .map(|(option, value)| vec![option.clone(), shown(value)])
        .collect();
    if !options.is_empty() {
        lines.push(String::new());
        lines.push("options in force".to_owned());
        let options = columns(&options, &[]);
        lines.extend(options.into_iter().map(|line| format!("  {line}")));
    }
    lines
}

/// Says which policy file is in force, and why the one that is there now is not.
fn policy(status: &MountStatus) -> Vec<String> {
    let Some(policy) = &status.policy else {
        return vec!["no policy file is in force".to_owned()];
    };
    let mut lines = vec![format!(
        "policy {} in force since {}; sections: {}, reloads: {}, failed reloads: {}",
        policy.file, policy.since, policy.sections, policy.reloads, policy.failed_reloads,
    )];
    if let Some(fault) = &policy.fault {
        lines.push(format!("  the last reload failed at {}:", fault.time));
        let faults = fault.lines.iter();
        lines.extend(faults.map(|fault| format!("  {}", harmless(fault))));
    }
    lines
}

/// Returns the table of requests, the most frequent first, their sum last.
fn requests(status: &MountStatus) -> Vec<String> {
    let head = [
        "request",
        "count",
        "errors",
        "calls",
        "time",
        "mean",
        "99 % within",
    ];
    let mut table = vec![head.map(str::to_owned).to_vec()];
    let operations = status.operations.iter();
    let mut seen: Vec<_> = operations
        .filter(|(_, counts)| counts.requests > 0)
        .collect();
    seen.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.requests));
    let limits = &status.times_below_microseconds;
    let mut all = vec![0; limits.len() + 1];
    for (name, counts) in seen {
        for (sum, more) in all.iter_mut().zip(&counts.times) {
            *sum += more;
        }
        table.push(row(name, counts, &counts.times, limits));
    }
    table.push(row("total", &status.total, &all, limits));
    columns(&table, &[1, 2, 3, 4, 5, 6])
}

fn row(name: &str, counts: &RequestCounts, times: &[u64], limits: &[u64]) -> Vec<String> {
    let ended: u64 = times.iter().sum();
    let (mean, most) = match counts.microseconds.checked_div(ended) {
        None => ("-".to_owned(), "-".to_owned()),
        Some(mean) => (time(mean), percentile_99(times, limits)),
    };
    vec![
        harmless(name).into_owned(),
        counts.requests.to_string(),
        counts.errors.to_string(),
        counts.backing_calls.to_string(),
        time(counts.microseconds),
        mean,
        most,
    ]
}

/// Returns the limit that 99 of 100 stay below.
fn percentile_99(times: &[u64], limits: &[u64]) -> String {
    let all: u64 = times.iter().sum();
    let mut rest = all / 100;
    for (index, count) in times.iter().enumerate().rev() {
        if *count > rest {
            let limit = limits.get(index);
            return limit.map_or_else(|| "longer".to_owned(), |limit| time(*limit));
        }
        rest -= count;
    }
    "-".to_owned()
}

/// Says how requests come, and how to have the faster way where that is turned off.
fn transport(transport: &Transport) -> String {
    match transport {
        Transport::IoUring { threads_per_cpu } => {
            format!("rings (io_uring), {threads_per_cpu} threads for each CPU")
        }
        Transport::Device { no_rings } => match &**no_rings {
            "parameter" => {
                "/dev/fuse; for rings: echo Y >/sys/module/fuse/parameters/enable_uring, and mount again"
            }
            "refused" => "/dev/fuse; the kernel refused rings",
            _ => "/dev/fuse",
        }
        .to_owned(),
    }
}

/// Returns a row for each thing that the daemon holds, keeps or counts besides.
fn state(status: &MountStatus) -> Vec<Vec<String>> {
    let MountStatus {
        open,
        descriptors,
        indexes,
        kept,
        audit_records,
        ..
    } = status;
    let data = if status.passthrough {
        "read and written by the kernel where it can"
    } else {
        "read and written by the daemon"
    };
    let mut rows = vec![
        ("inodes known".to_owned(), status.inodes.to_string()),
        (
            "open".to_owned(),
            format!("{} files, {} directories", open.files, open.directories),
        ),
        (
            "descriptors".to_owned(),
            format!(
                "{} for what is open, {} of {} kept for inodes; {} in all, {} in reserve",
                descriptors.open,
                descriptors.inodes,
                descriptors.inodes_limit,
                descriptors.limit,
                descriptors.reserve,
            ),
        ),
        (
            "indexes of names".to_owned(),
            format!(
                "{} directories, {} KiB, {} readings",
                indexes.directories,
                indexes.bytes.div_ceil(1024),
                indexes.readings,
            ),
        ),
        (
            "kept by the kernel".to_owned(),
            format!(
                "names {}, attributes of files {}; {} names barred",
                span(kept.names_seconds),
                span(kept.files_seconds),
                kept.names_barred,
            ),
        ),
        ("changes below".to_owned(), watch(status.watch.as_ref())),
        ("requests by".to_owned(), transport(&status.transport)),
        ("data".to_owned(), data.to_owned()),
        ("offences".to_owned(), offences(status)),
    ];
    for (rule, verdicts) in status.offences_by_verdict.rows() {
        if verdicts.sum() > 0 {
            rows.push((format!("  {}", <&str>::from(rule)), nonzero(&verdicts)));
        }
    }
    rows.push((
        "audit records".to_owned(),
        format!(
            "{} written, {} left out, {} dropped",
            audit_records.written, audit_records.left_out, audit_records.dropped,
        ),
    ));
    rows.into_iter()
        .map(|(key, value)| vec![key, value])
        .collect()
}

fn watch(watch: Option<&WatchStatus>) -> String {
    let Some(watch) = watch else {
        return "not followed".to_owned();
    };
    let state = if !watch.alive {
        "followed no more"
    } else if watch.stalled {
        "stalled: the kernel holds back a notification, and nothing is cached for longer than a second"
    } else {
        "followed"
    };
    format!(
        "{state}, in {} directories; {} overflows, {} stalls",
        watch.directories, watch.overflows, watch.stalls
    )
}

fn offences(status: &MountStatus) -> String {
    let rules = status.offences.rows().into_iter();
    let rules: Vec<String> = rules
        .filter(|(_, count)| *count > 0)
        .map(|(rule, count)| format!("{count} {}", <&str>::from(rule)))
        .collect();
    if rules.is_empty() {
        return "none".to_owned();
    }
    let verdicts = &status.verdicts;
    format!(
        "{} ({}): {} refused, {} normalized, {} reported",
        status.offences.sum(),
        rules.join(", "),
        verdicts.refused,
        verdicts.normalized,
        verdicts.reported,
    )
}

fn nonzero(verdicts: &VerdictCounts) -> String {
    let rows = verdicts.rows().into_iter().filter(|(_, count)| *count > 0);
    let rows: Vec<String> = rows
        .map(|(verdict, count)| format!("{count} {}", verdict.label()))
        .collect();
    rows.join(", ")
}

/// Formats microseconds in the unit that suits.
fn time(microseconds: u64) -> String {
    let (tenths, unit) = match microseconds {
        0..10_000 => return format!("{microseconds} µs"),
        10_000..10_000_000 => (microseconds / 100, "ms"),
        _ => (microseconds / 100_000, "s"),
    };
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

/// Formats seconds in words.
pub(super) fn span(seconds: f64) -> String {
    const YEAR: f64 = 365.0 * 86_400.0;
    match seconds {
        0.0 => "not at all".to_owned(),
        _ if seconds >= YEAR => "until changed".to_owned(),
        _ if seconds >= 172_800.0 => format!("{:.1} days", seconds / 86_400.0),
        _ if seconds >= 7200.0 => format!("{:.1} h", seconds / 3600.0),
        _ if seconds >= 120.0 => format!("{:.1} min", seconds / 60.0),
        _ => format!("{seconds} s"),
    }
}

/// Formats the value of an option, harmless to a terminal.
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
            Name::deserialize(value).map_or_else(|_| "?".to_owned(), |name| name.to_string())
        }
    }
}

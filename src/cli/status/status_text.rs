//! The status for people.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{impairments, refused_policy};
use crate::cli::output::harmless;
use crate::cli::text_table::{columns, head};
use crate::records::{GuardStatus, MountStatus, Name, PolicyStatus, RequestCounts, Transport};

/// Returns the lines of the status.
pub(super) fn lines(status: &MountStatus) -> Vec<String> {
    let served = served(status.uptime_seconds, status.pid, &status.version);
    let shown = format!(
        "{} shown at {}, {served}",
        status.backing, status.mountpoint
    );
    let mut lines = head_lines(shown, "mount", &impairments(status), status.policy.as_ref());
    lines.extend(requests(status));
    lines.push(String::new());
    lines.extend(columns(&state(status), &[]));
    if let Some(options) = &status.options {
        lines.push(String::new());
        lines.push("options in force".to_owned());
        let options = columns(&fields(&json!(options)), &[]);
        lines.extend(options.into_iter().map(|line| format!("  {line}")));
    }
    lines
}

/// Number of fields of a guard's status that are shown in its first lines, at the start of the others.
const HEAD_FIELDS: usize = 6;

/// Returns the lines of the status of a guard.
pub(super) fn guard_lines(status: &GuardStatus) -> Vec<String> {
    let served = served(status.uptime_seconds, status.pid, &status.version);
    let shown = format!("{} guarded, {served}", status.directory);
    let policy = status.policy.as_ref();
    let mut lines = head_lines(shown, "guard", refused_policy(policy).as_slice(), policy);
    let mut fields = fields(&json!(status));
    fields.drain(..HEAD_FIELDS);
    lines.extend(columns(&fields, &[]));
    lines
}

/// Says for how long and by which process.
fn served(seconds: f64, pid: u32, version: &str) -> String {
    let (span, version) = (span(seconds), harmless(version));
    format!("for {span}, by process {pid}, utf8fs {version}")
}

/// Returns the first lines: what is shown, what does not work, or that all does, which policy file is in force, and why the one that is
/// there now is not.
fn head_lines(
    shown: String,
    of: &str,
    impairments: &[String],
    policy: Option<&PolicyStatus>,
) -> Vec<String> {
    let mut lines = vec![shown];
    if impairments.is_empty() {
        lines.push(format!("the {of} is well"));
    }
    lines.extend(impairments.iter().map(|what| format!("impaired: {what}")));
    lines.push(match policy {
        None => "no policy file is in force".to_owned(),
        Some(policy) => format!(
            "policy {} in force since {}; sections: {}, reloads: {}, failed reloads: {}",
            policy.file, policy.since, policy.sections, policy.reloads, policy.failed_reloads,
        ),
    });
    if let Some(fault) = policy.and_then(|policy| policy.fault.as_ref()) {
        lines.push(format!("  the last reload failed at {}:", fault.time));
        let faults = fault.lines.iter();
        lines.extend(faults.map(|fault| format!("  {}", harmless(fault))));
    }
    lines.push(String::new());
    lines
}

/// Returns a row for each field of a document.
fn fields(document: &Value) -> Vec<Vec<String>> {
    let fields = document.as_object().into_iter().flatten();
    let fields = fields.map(|(key, value)| vec![key.replace('_', " "), shown(value)]);
    fields.collect()
}

/// Returns the table of requests, the most frequent first, their sum last.
fn requests(status: &MountStatus) -> Vec<String> {
    let mut table = vec![head("request|count|errors|calls|time|mean|99 % within")];
    let mut seen: Vec<_> = status.operations.iter().collect();
    seen.retain(|(_, counts)| counts.requests > 0);
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
    let kept = &status.kept;
    let (names, files) = (span(kept.names_seconds), span(kept.files_seconds));
    let barred = kept.names_barred;
    let kept = format!("names {names}, attributes of files {files}; {barred} names barred");
    let descriptors = &status.descriptors;
    let descriptors = format!(
        "{} for what is open, {} of {} kept for inodes; {} in all, {} in reserve",
        descriptors.open,
        descriptors.inodes,
        descriptors.inodes_limit,
        descriptors.limit,
        descriptors.reserve,
    );
    let data = if status.passthrough {
        "read and written by the kernel where it can"
    } else {
        "read and written by the daemon"
    };
    let rows = [
        ("inodes known", json!(status.inodes)),
        ("open", json!(status.open)),
        ("descriptors", json!(descriptors)),
        ("indexes of names", json!(status.indexes)),
        ("kept by the kernel", json!(kept)),
        ("changes below", json!(watch(status))),
        ("requests by", json!(transport(&status.transport))),
        ("data", json!(data)),
        ("offences", json!(status.offences.sum())),
    ];
    let row = |key: &str, value: Value| vec![key.to_owned(), shown(&value)];
    let mut rows: Vec<_> = rows.map(|(key, value)| row(key, value)).into();
    let by_rule = status.offences_by_verdict.rows().into_iter();
    let by_rule = by_rule.filter(|(_, verdicts)| verdicts.sum() > 0);
    rows.extend(by_rule.map(|(rule, verdicts)| {
        let rule = format!("  {}", <&str>::from(rule));
        row(&rule, json!(verdicts))
    }));
    rows.push(row("audit records", json!(status.audit_records)));
    rows
}

fn watch(status: &MountStatus) -> String {
    let Some(watch) = &status.watch else {
        let why = status.unwatched.as_ref();
        let why = why.map_or_else(String::new, |why| format!(" ({why})"));
        return format!("not followed{why}: visible after the times above");
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

/// Formats a value, harmless to a terminal. Fields that are 0 are left out.
fn shown(value: &Value) -> String {
    let values: Vec<String> = match value {
        Value::Null => Vec::new(),
        Value::String(text) => vec![harmless(text).into_owned()],
        Value::Bool(_) | Value::Number(_) => vec![value.to_string()],
        Value::Array(values) => values.iter().map(shown).collect(),
        Value::Object(fields) => match Name::deserialize(value) {
            Ok(name) => vec![name.to_string()],
            Err(_) => {
                let fields = fields.iter().filter(|(_, value)| **value != json!(0));
                let fields = fields.map(|(key, value)| {
                    let one = key.strip_suffix('s').filter(|_| *value == json!(1));
                    let noun = match one.map(|one| one.strip_suffix("ie").ok_or(one)) {
                        Some(Ok(stem)) => format!("{stem}y"),
                        Some(Err(one)) => one.to_owned(),
                        None => key.clone(),
                    };
                    format!("{} {}", shown(value), noun.replace('_', " "))
                });
                fields.collect()
            }
        },
    };
    if values.is_empty() {
        return "-".to_owned();
    }
    values.join(", ")
}

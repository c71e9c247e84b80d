//! The status for people.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Asked, Status};
use crate::cli::output::harmless;
use crate::cli::text_table::{columns, head};
use crate::names::Quoted;
use crate::records::{MountStatus, Name, PolicyStatus, RequestCounts, Transport, add_fields};

/// Fields that the first lines of a status and the table of requests show, beside those that [`lines`] takes.
const SHOWN_APART: [&str; 9] = [
    "format",
    "mountpoint",
    "backing",
    "backing fault",
    "directory",
    "total",
    "operations",
    "times below microseconds",
    "policy",
];

/// Stands for what is not there.
const NOTHING: &str = "-";

/// Returns a row for each mount.
pub(super) fn table(all: &[Asked]) -> Vec<String> {
    if all.is_empty() {
        return vec!["there is no utf8fs mount".to_owned()];
    }
    let mut rows = vec![head("mounted on|shows|state|for|requests|errors|offences")];
    rows.extend(all.iter().map(|asked| {
        let status = asked.mount_status();
        let count = |count: fn(&MountStatus) -> String| status.map_or("-".to_owned(), count);
        vec![
            Quoted(&asked.mount.mount_point).to_string(),
            Quoted(&asked.mount.source).to_string(),
            asked.state().to_owned(),
            count(|status| span(status.uptime_seconds.ceil())),
            count(|status| status.total.requests.to_string()),
            count(|status| status.total.errors.to_string()),
            count(|status| status.offences.sum().to_string()),
        ]
    }));
    columns(&rows, &[3, 4, 5, 6])
}

/// Returns the lines of one status: the directories, impairments, the policy, the requests, and all other fields.
pub(super) fn lines(status: &Status) -> Vec<String> {
    let (of, mut document) = status.document();
    let what = match status {
        Status::Mount(mount) => format!("{} shown at {}", mount.backing, mount.mountpoint),
        Status::Guard(guard) => format!("{} guarded", guard.directory),
    };
    let mut take = |field| document.get_mut(field).map(Value::take).unwrap_or_default();
    let uptime = span(take("uptime_seconds").as_f64().unwrap_or_default());
    let [pid, version] = ["pid", "version"].map(|name| shown(&take(name)));
    let mut offences = fields(&take("offences_by_verdict"));
    offences.retain(|[_, verdicts]| verdicts != NOTHING);
    let tables = [
        ("offences by verdict", offences),
        ("options in force", fields(&take("options"))),
    ];
    let mut lines = vec![format!(
        "{what}, for {uptime}, by process {pid}, utf8fs {version}"
    )];
    let impairments = status.impairments();
    if impairments.is_empty() {
        lines.push(format!("the {of} is well"));
    }
    lines.extend(impairments.iter().map(|what| format!("impaired: {what}")));
    lines.extend(policy(status.policy()));
    lines.push(String::new());
    if let Status::Mount(mount) = status {
        lines.extend(requests(mount));
        lines.push(String::new());
        let transport = transport(&mount.transport);
        add_fields(&mut document, json!({"transport": transport}));
    }
    let mut rows = fields(&document);
    rows.retain(|[key, value]| value != NOTHING && !SHOWN_APART.contains(&&**key));
    lines.extend(columns(&rows, &[]));
    for (title, rows) in tables.iter().filter(|(_, rows)| !rows.is_empty()) {
        lines.extend([String::new(), (*title).to_owned()]);
        lines.extend(columns(rows, &[]).iter().map(|row| format!("  {row}")));
    }
    lines
}

/// Says which policy file is in force, and why the one that is there now is not.
fn policy(policy: Option<&PolicyStatus>) -> Vec<String> {
    let Some(policy) = policy else {
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

/// Returns a row for each field of a document.
fn fields(document: &Value) -> Vec<[String; 2]> {
    let fields = document.as_object().into_iter().flatten();
    let fields = fields.map(|(key, value)| [key.replace('_', " "), shown(value)]);
    fields.collect()
}

/// Returns the table of requests, the most frequent first, their sum last.
fn requests(status: &MountStatus) -> Vec<String> {
    let mut table = vec![head("request|count|errors|calls|time|mean|99 % within")];
    let mut seen: Vec<_> = status.operations.iter().collect();
    seen.retain(|(_, counts)| counts.requests > 0);
    seen.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.requests));
    let limits = &status.times_below_microseconds;
    let mut total = status.total.clone();
    total.times = vec![0; limits.len() + 1];
    for (name, counts) in seen {
        for (sum, more) in total.times.iter_mut().zip(&counts.times) {
            *sum += more;
        }
        table.push(row(name, counts, limits));
    }
    table.push(row("total", &total, limits));
    columns(&table, &[1, 2, 3, 4, 5, 6])
}

fn row(name: &str, counts: &RequestCounts, limits: &[u64]) -> Vec<String> {
    let ended: u64 = counts.times.iter().sum();
    let mean = counts.microseconds.checked_div(ended);
    // The limit that 99 of 100 stay below.
    let mut below = 0;
    let index = counts.times.iter().position(|count| {
        below += count;
        below >= ended - ended / 100
    });
    let limit = index.and_then(|index| limits.get(index));
    let limit = limit.map_or_else(|| "longer".to_owned(), |limit| time(*limit));
    vec![
        harmless(name).into_owned(),
        counts.requests.to_string(),
        counts.errors.to_string(),
        counts.backing_calls.to_string(),
        time(counts.microseconds),
        mean.map_or(NOTHING.to_owned(), time),
        mean.map_or(NOTHING.to_owned(), |_| limit),
    ]
}

/// Says how requests come, and how to have the faster way where that is turned off.
fn transport(transport: &Transport) -> String {
    match transport {
        Transport::IoUring { threads_per_cpu } => {
            format!("rings (io_uring), {threads_per_cpu} threads for each CPU")
        }
        Transport::Device { no_rings } if no_rings == "parameter" => {
            "/dev/fuse; for rings: echo Y >/sys/module/fuse/parameters/enable_uring, and mount again".to_owned()
        }
        Transport::Device { no_rings } => format!("/dev/fuse; no rings: {no_rings}"),
    }
}

/// Formats microseconds in the unit that suits.
fn time(microseconds: u64) -> String {
    match microseconds {
        ..1000 => format!("{microseconds}µs"),
        _ => format!("{:.1?}", Duration::from_micros(microseconds)),
    }
}

/// Formats seconds in words.
fn span(seconds: f64) -> String {
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

/// Formats a value, harmless to a terminal. Fields that are 0 or false are left out, and of one that is true the name is enough.
fn shown(value: &Value) -> String {
    let values: Vec<String> = match value {
        Value::Null => Vec::new(),
        Value::String(text) => vec![harmless(text).into_owned()],
        Value::Bool(_) | Value::Number(_) => vec![value.to_string()],
        Value::Array(values) => values.iter().map(shown).collect(),
        Value::Object(fields) => match Name::deserialize(value) {
            Ok(name) => vec![name.to_string()],
            Err(_) => fields
                .iter()
                .filter_map(|(key, value)| field(key, value))
                .collect(),
        },
    };
    match values.is_empty() {
        true => "-".to_owned(),
        false => values.join(", "),
    }
}

/// Formats a field with its name as a noun; a time with what it is of.
fn field(key: &str, value: &Value) -> Option<String> {
    let noun = key.replace('_', " ");
    if let Some((of, seconds)) = noun.strip_suffix(" seconds").zip(value.as_f64()) {
        return Some(format!("{of} {}", span(seconds)));
    }
    match (value, value.as_u64()) {
        (Value::Bool(is_so), _) => is_so.then_some(noun),
        (_, Some(0)) => None,
        (_, Some(1)) => {
            let one = noun.strip_suffix("ies").map(|stem| format!("{stem}y"));
            let one = one.or_else(|| noun.strip_suffix('s').map(str::to_owned));
            Some(format!("1 {}", one.unwrap_or(noun)))
        }
        _ => Some(format!("{} {noun}", shown(value))),
    }
}

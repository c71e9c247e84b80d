//! Statuses as metrics, in Prometheus' text format, version 0.0.4.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Asked;
use crate::names::Quoted;
use crate::records::{MountStatus, add_fields};

/// A row for each metric: its name and fixed label, the path to its values in a [`document`], and its help. In a path `{label}` stands for each key
/// there is, which that label gets as value; `?` asks whether there is something; `-` leaves it to [`special`].
const METRICS: &str = include_str!("metrics.txt");

/// The metric of times, which is a histogram.
const DURATION: &str = "request_duration_seconds";

/// The values of what was asked.
fn document(asked: &Asked) -> Value {
    let mut document = json!({"up": asked.answer.is_ok(), "well": asked.state() == "well"});
    if let Ok(status) = &asked.answer {
        let (of, fields) = status.document();
        add_fields(&mut document, json!({of: fields}));
    }
    document
}

/// Returns the lines of all metrics. Each has one head, and the samples of all statuses behind it.
pub(super) fn lines(all: &[Asked]) -> Vec<String> {
    let documents: Vec<Value> = all.iter().map(document).collect();
    let mut lines = Vec::new();
    let mut last = "";
    for row in METRICS.lines() {
        let (metric, row) = row.split_once(' ').unwrap_or_default();
        let (path, help) = row.trim_start().split_once(' ').unwrap_or_default();
        let (name, fixed) = metric.split_at(metric.find(',').unwrap_or(metric.len()));
        let mut samples = Vec::new();
        for (asked, document) in all.iter().zip(&documents) {
            let labels = label("mountpoint", &asked.mount.mount_point) + fixed;
            match asked.mount_status() {
                Some(mount) if path == "-" => special(name, mount, &labels, &mut samples),
                _ => walk(document, path, labels, &mut samples),
            }
        }
        if !samples.is_empty() && name != last {
            let kind = match name {
                DURATION => "histogram",
                name if name.ends_with("_total") => "counter",
                _ => "gauge",
            };
            lines.push(format!("# HELP utf8fs_{name} {}", help.trim_start()));
            lines.push(format!("# TYPE utf8fs_{name} {kind}"));
            last = name;
        }
        let samples = samples.into_iter();
        lines.extend(samples.map(|sample| format!("utf8fs_{name}{sample}")));
    }
    lines
}

/// Adds the samples that a path leads to, each without the metric's name. A time is in seconds since 1970.
fn walk(value: &Value, path: &str, labels: String, samples: &mut Vec<String>) {
    let (step, rest) = path.split_once('/').unwrap_or((path, ""));
    let found = match value {
        _ if step == "?" => u8::from(!value.is_null()).to_string(),
        Value::Object(fields) => {
            let of_all = step.strip_prefix('{');
            let of_all = of_all.and_then(|step| step.strip_suffix('}'));
            let fields = fields.iter();
            for (key, value) in fields.filter(|(key, _)| of_all.is_some() || *key == step) {
                let more = of_all.map(|name| format!(",{}", label(name, key.as_bytes())));
                let labels = labels.clone() + &more.unwrap_or_default();
                walk(value, rest, labels, samples);
            }
            return;
        }
        Value::Bool(is_so) => u8::from(*is_so).to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(time) => {
            let time = time.parse().unwrap_or(Timestamp::UNIX_EPOCH);
            seconds(u64::try_from(time.as_microsecond()).unwrap_or_default())
        }
        Value::Null | Value::Array(_) => return,
    };
    samples.push(format!("{{{labels}}} {found}"));
}

/// Adds the samples of a metric that is more than a field. Kinds of requests that never came have no histogram.
fn special(name: &str, status: &MountStatus, mount: &str, samples: &mut Vec<String>) {
    if name != DURATION {
        let backing = label("backing", status.backing.as_bytes());
        let version = label("version", status.version.as_bytes());
        samples.push(format!("{{{mount},{backing},{version}}} 1"));
        return;
    }
    for (name, counts) in &status.operations {
        let count: u64 = counts.times.iter().sum();
        if count == 0 {
            continue;
        }
        let labels = format!("{mount},{}", label("operation", name.as_bytes()));
        let limits = status.times_below_microseconds.iter();
        let limits = limits.map(|limit| seconds(*limit));
        let mut below = 0;
        for (limit, times) in limits.chain(["+Inf".to_owned()]).zip(&counts.times) {
            below += times;
            samples.push(format!("_bucket{{{labels},le=\"{limit}\"}} {below}"));
        }
        let sum = seconds(counts.microseconds);
        samples.push(format!("_sum{{{labels}}} {sum}"));
        samples.push(format!("_count{{{labels}}} {count}"));
    }
}

/// Formats microseconds as seconds, exactly.
fn seconds(microseconds: u64) -> String {
    let (seconds, rest) = (microseconds / 1_000_000, microseconds % 1_000_000);
    format!("{seconds}.{rest:06}")
}

/// Formats a label: its value is quoted as for people, and that escaped as the format has it, so that a reader gets what people are
/// shown.
fn label(name: &str, value: &[u8]) -> String {
    let quoted = Quoted(value).to_string();
    let inside = quoted.get(1..quoted.len() - 1).unwrap_or_default();
    let inside = inside.replace('\\', "\\\\").replace('"', "\\\"");
    format!("{name}=\"{inside}\"")
}

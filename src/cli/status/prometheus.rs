//! The status as metrics, in Prometheus' text format, version 0.0.4.

use jiff::Timestamp;

use super::{Operation, Status};
use crate::names::Quoted;

/// The lines of it. Each series has the mount point as a label.
pub(super) fn lines(status: &Status) -> Vec<String> {
    let mut page = Page::of(&status.name("/mountpoint"));
    let version = label(status.text("/version").as_bytes());
    let backing = label(&status.name("/backing"));
    let about = format!("backing={backing},version={version}");
    page.head("info", "gauge", "What is mounted, by which version.");
    page.sample("info", &about, "1");
    page.head("uptime_seconds", "gauge", "Time since the mount.");
    page.sample(
        "uptime_seconds",
        "",
        &status.seconds("/uptime_seconds").to_string(),
    );
    page.counted(status);
    page.durations(status);
    page.numbers(status);
    page.by_label(
        ("offences_total", "rule", "/offences"),
        "Names that do not conform, by rule.",
        status,
    );
    page.by_rule_and_verdict(status);
    page.by_label(
        ("verdicts_total", "verdict", "/verdicts"),
        "What became of offences.",
        status,
    );
    page.by_label(
        ("audit_records_total", "fate", "/audit_records"),
        "Records of offences, by what became of them.",
        status,
    );
    page.policy(status);
    page.lines
}

/// Whether a mount answers.
pub(super) fn up(mountpoint: &[u8], answers: bool) -> Vec<String> {
    let mut page = Page::of(mountpoint);
    page.head("up", "gauge", "Does the daemon answer?");
    page.sample("up", "", if answers { "1" } else { "0" });
    page.lines
}

/// Puts pages together: a metric has one head, and all its series behind it.
pub(super) fn together(pages: impl Iterator<Item = Vec<String>>) -> Vec<String> {
    let mut metrics: Vec<Vec<String>> = Vec::new();
    for page in pages {
        let mut here = 0;
        for line in page {
            if line.starts_with("# HELP ") {
                let known = metrics
                    .iter()
                    .position(|lines| lines.first() == Some(&line));
                here = known.unwrap_or(metrics.len());
                if known.is_none() {
                    metrics.push(vec![line]);
                }
            } else if let Some(lines) = metrics.get_mut(here)
                && !(line.starts_with('#') && lines.contains(&line))
            {
                lines.push(line);
            }
        }
    }
    metrics.into_iter().flatten().collect()
}

/// A number of the status: the metric's name, its type, where it is, and its help.
const NUMBERS: &[(&str, &str, &str, &str)] = &[
    (
        "inodes",
        "gauge",
        "/inodes",
        "Inodes that the kernel knows.",
    ),
    ("open_files", "gauge", "/open/files", "Open files."),
    (
        "open_directories",
        "gauge",
        "/open/directories",
        "Open directories.",
    ),
    (
        "descriptors_limit",
        "gauge",
        "/descriptors/limit",
        "Descriptors that the daemon may have.",
    ),
    (
        "descriptors_open",
        "gauge",
        "/descriptors/open",
        "Descriptors of open files, directories and locks.",
    ),
    (
        "descriptors_inodes",
        "gauge",
        "/descriptors/inodes",
        "Descriptors that are kept for inodes.",
    ),
    (
        "index_directories",
        "gauge",
        "/indexes/directories",
        "Directories with an index of visible names.",
    ),
    (
        "index_bytes",
        "gauge",
        "/indexes/bytes",
        "Memory of the indexes, about.",
    ),
    (
        "index_readings_total",
        "counter",
        "/indexes/readings",
        "Directories read for an index.",
    ),
];

/// Numbers that are there only where changes below are followed.
const WATCH: &[(&str, &str, &str, &str)] = &[
    (
        "watch_directories",
        "gauge",
        "/watch/directories",
        "Directories in which changes are followed.",
    ),
    (
        "watch_overflows_total",
        "counter",
        "/watch/overflows",
        "More changes than could be reported, so that all was forgotten.",
    ),
    (
        "watch_stalls_total",
        "counter",
        "/watch/stalls",
        "Notifications that the kernel held back for over a second.",
    ),
];

struct Page {
    lines: Vec<String>,
    /// The label that all have.
    mount: String,
}

impl Page {
    fn of(mountpoint: &[u8]) -> Self {
        Self {
            lines: Vec::new(),
            mount: format!("mountpoint={}", label(mountpoint)),
        }
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.lines.push(format!("# HELP utf8fs_{name} {help}"));
        self.lines.push(format!("# TYPE utf8fs_{name} {kind}"));
    }

    fn sample(&mut self, name: &str, labels: &str, value: &str) {
        let comma = if labels.is_empty() { "" } else { "," };
        let mount = &self.mount;
        self.lines
            .push(format!("utf8fs_{name}{{{mount}{comma}{labels}}} {value}"));
    }

    /// What is counted of each kind of request.
    fn counted(&mut self, status: &Status) {
        let counters = [
            ("requests_total", "requests", "Requests of the kernel."),
            (
                "request_errors_total",
                "errors",
                "Requests answered by an error, or that there is no such entry.",
            ),
            (
                "backing_calls_total",
                "backing_calls",
                "System calls made on the backing filesystem.",
            ),
        ];
        for (metric, field, help) in counters {
            self.head(metric, "counter", help);
            for operation in status.operations() {
                let value = operation.number(field).to_string();
                self.sample(metric, &labelled(operation), &value);
            }
        }
    }

    /// How long requests took. Of those that never came there is nothing to tell.
    fn durations(&mut self, status: &Status) {
        const NAME: &str = "request_duration_seconds";
        let limits = status.limits();
        self.head(
            NAME,
            "histogram",
            "Time from reading a request to its answer.",
        );
        for operation in status.operations() {
            let times = operation.times();
            let count: u64 = times.iter().sum();
            if count == 0 {
                continue;
            }
            let labels = labelled(operation);
            let bucket = format!("{NAME}_bucket");
            let mut below = 0;
            for (limit, times) in limits.iter().zip(&times) {
                below += times;
                let labels = format!("{labels},le=\"{}\"", seconds(*limit));
                self.sample(&bucket, &labels, &below.to_string());
            }
            self.sample(
                &bucket,
                &format!("{labels},le=\"+Inf\""),
                &count.to_string(),
            );
            let sum = seconds(operation.number("microseconds"));
            self.sample(&format!("{NAME}_sum"), &labels, &sum);
            self.sample(&format!("{NAME}_count"), &labels, &count.to_string());
        }
    }

    fn numbers(&mut self, status: &Status) {
        let is_followed = status.0.get("watch").is_some_and(|watch| !watch.is_null());
        let watch = if is_followed { WATCH } else { &[] };
        for (metric, kind, path, help) in NUMBERS.iter().chain(watch) {
            self.head(metric, kind, help);
            self.sample(metric, "", &status.number(path).to_string());
        }
    }

    /// What became of offences against each rule.
    fn by_rule_and_verdict(&mut self, status: &Status) {
        let metric = "offences_by_verdict_total";
        let help = "Names that do not conform, by rule and by what became of them.";
        self.head(metric, "counter", help);
        for (rule, verdicts) in status.fields("/offences_by_verdict") {
            for (verdict, count) in verdicts.as_object().into_iter().flatten() {
                let [rule, verdict] = [rule, verdict].map(|text| label(text.as_bytes()));
                let labels = format!("rule={rule},verdict={verdict}");
                let count = count.as_u64().unwrap_or(0);
                self.sample(metric, &labels, &count.to_string());
            }
        }
    }

    /// Which policy is in force, and how reading it anew went. Without a policy file there is nothing to be read.
    fn policy(&mut self, status: &Status) {
        let has_file = status.has_policy();
        self.head("policy_file", "gauge", "Is a policy file in force?");
        self.sample("policy_file", "", if has_file { "1" } else { "0" });
        if !has_file {
            return;
        }
        let metric = "policy_reloads_total";
        let help = "Readings of the policy file since the mount, by how they ended.";
        self.head(metric, "counter", help);
        for (result, path) in [
            ("good", "/policy/reloads"),
            ("failed", "/policy/failed_reloads"),
        ] {
            let labels = format!("result=\"{result}\"");
            self.sample(metric, &labels, &status.number(path).to_string());
        }
        let help =
            "Did the last reading of the policy file fail, so that one before it is in force?";
        self.head("policy_fault", "gauge", help);
        let is_faulty = status
            .0
            .pointer("/policy/fault")
            .is_some_and(|fault| !fault.is_null());
        self.sample("policy_fault", "", if is_faulty { "1" } else { "0" });
        if let Some(time) = since_1970(status.text("/policy/since")) {
            let metric = "policy_good_reading_timestamp_seconds";
            let help = "When the policy that is in force was read, in seconds since 1970.";
            self.head(metric, "gauge", help);
            self.sample(metric, "", &time);
        }
        self.head("policy_sections", "gauge", "Sections of the policy.");
        self.sample(
            "policy_sections",
            "",
            &status.number("/policy/sections").to_string(),
        );
    }

    /// A counter for each field of an object.
    fn by_label(&mut self, (metric, by, path): (&str, &str, &str), help: &str, status: &Status) {
        self.head(metric, "counter", help);
        for (name, count) in status.fields(path) {
            let labels = format!("{by}={}", label(name.as_bytes()));
            let count = count.as_u64().unwrap_or(0);
            self.sample(metric, &labels, &count.to_string());
        }
    }
}

/// Seconds since 1970 of a time of the status; `None` if it is none.
fn since_1970(time: &str) -> Option<String> {
    let time: Timestamp = time.parse().ok()?;
    Some(seconds(u64::try_from(time.as_microsecond()).ok()?))
}

fn labelled(operation: Operation<'_>) -> String {
    format!("operation={}", label(operation.name.as_bytes()))
}

/// Microseconds as seconds, exactly.
fn seconds(microseconds: u64) -> String {
    format!(
        "{}.{:06}",
        microseconds / 1_000_000,
        microseconds % 1_000_000
    )
}

/// The value of a label in its quotes: octets as they are quoted for people, and that escaped as the format has it, so that a
/// reader gets what people are shown.
fn label(octets: &[u8]) -> String {
    let quoted = Quoted(octets).to_string();
    let inside = quoted.get(1..quoted.len() - 1).unwrap_or_default();
    format!("\"{}\"", inside.replace('\\', "\\\\").replace('"', "\\\""))
}

//! The status as metrics, in Prometheus' text format, version 0.0.4.

use crate::names::Quoted;
use crate::records::{MountStatus, PolicyStatus, RequestCounts};

/// Returns the lines of a mount's metrics. Each sample has the mount point as a label.
pub(super) fn lines(status: &MountStatus) -> Vec<String> {
    let mut page = Page::new(status.mountpoint.as_bytes());
    let version = label("version", status.version.as_bytes());
    let about = format!("{},{version}", label("backing", status.backing.as_bytes()));
    page.metric(
        "info",
        "gauge",
        "What is mounted, by which version.",
        [(about, 1)],
    );
    page.value(
        "uptime_seconds",
        "gauge",
        "Time since the mount.",
        status.uptime_seconds,
    );
    page.requests(status);
    page.durations(status);
    page.numbers(status);
    page.offences(status);
    let help = "Records of offences, by what became of them.";
    let records = &status.audit_records;
    let records = [
        ("written", records.written),
        ("left_out", records.left_out),
        ("dropped", records.dropped),
    ];
    let records = records.map(|(fate, count)| (label("fate", fate.as_bytes()), count));
    page.metric("audit_records_total", "counter", help, records);
    let has_policy = u8::from(status.policy.is_some());
    page.value(
        "policy_file",
        "gauge",
        "Is a policy file in force?",
        has_policy,
    );
    if let Some(policy) = &status.policy {
        page.policy(policy);
    }
    page.lines
}

/// Returns the lines of the metric whether a mount answers.
pub(super) fn up(mountpoint: &[u8], answers: bool) -> Vec<String> {
    let mut page = Page::new(mountpoint);
    page.value("up", "gauge", "Does the daemon answer?", u8::from(answers));
    page.lines
}

/// Puts pages together: a metric has one head, and all its samples behind it.
pub(super) fn together(pages: impl Iterator<Item = Vec<String>>) -> Vec<String> {
    let mut metrics: Vec<Vec<String>> = Vec::new();
    for page in pages {
        let mut current = 0;
        for line in page {
            if line.starts_with("# HELP ") {
                let known = metrics
                    .iter()
                    .position(|lines| lines.first() == Some(&line));
                current = known.unwrap_or(metrics.len());
                if known.is_none() {
                    metrics.push(vec![line]);
                }
            } else if let Some(lines) = metrics.get_mut(current)
                && !(line.starts_with('#') && lines.contains(&line))
            {
                lines.push(line);
            }
        }
    }
    metrics.into_iter().flatten().collect()
}

pub(super) struct Page {
    pub(super) lines: Vec<String>,
    /// The label that all samples have.
    mount: String,
}

impl Page {
    pub(super) fn new(mountpoint: &[u8]) -> Self {
        Self {
            lines: Vec::new(),
            mount: label("mountpoint", mountpoint),
        }
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.lines.push(format!("# HELP utf8fs_{name} {help}"));
        self.lines.push(format!("# TYPE utf8fs_{name} {kind}"));
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl ToString) {
        let comma = if labels.is_empty() { "" } else { "," };
        let (mount, value) = (&self.mount, value.to_string());
        self.lines
            .push(format!("utf8fs_{name}{{{mount}{comma}{labels}}} {value}"));
    }

    /// Adds a metric of samples with labels.
    pub(super) fn metric(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        samples: impl IntoIterator<Item = (String, u64)>,
    ) {
        self.head(name, kind, help);
        for (labels, value) in samples {
            self.sample(name, &labels, value);
        }
    }

    /// Adds a metric of one sample.
    pub(super) fn value(&mut self, name: &str, kind: &str, help: &str, value: impl ToString) {
        self.head(name, kind, help);
        self.sample(name, "", value);
    }

    fn requests(&mut self, status: &MountStatus) {
        type Field = fn(&RequestCounts) -> u64;
        let counters: [(&str, Field, &str); 3] = [
            (
                "requests_total",
                |counts| counts.requests,
                "Requests of the kernel.",
            ),
            (
                "request_errors_total",
                |counts| counts.errors,
                "Requests answered by an error, or that there is no such entry.",
            ),
            (
                "backing_calls_total",
                |counts| counts.backing_calls,
                "System calls made on the backing filesystem.",
            ),
        ];
        for (metric, field, help) in counters {
            let samples = status.operations.iter();
            let samples = samples.map(|(name, counts)| (operation(name), field(counts)));
            self.metric(metric, "counter", help, samples);
        }
    }

    /// Adds the histogram of times; kinds of requests that never came have none.
    fn durations(&mut self, status: &MountStatus) {
        const NAME: &str = "request_duration_seconds";
        let help = "Time from reading a request to its answer.";
        self.head(NAME, "histogram", help);
        for (name, counts) in &status.operations {
            let count: u64 = counts.times.iter().sum();
            if count == 0 {
                continue;
            }
            let labels = operation(name);
            let bucket = format!("{NAME}_bucket");
            let mut below = 0;
            for (limit, times) in status.times_below_microseconds.iter().zip(&counts.times) {
                below += times;
                let labels = format!("{labels},le=\"{}\"", seconds(*limit));
                self.sample(&bucket, &labels, below);
            }
            self.sample(&bucket, &format!("{labels},le=\"+Inf\""), count);
            let sum = seconds(counts.microseconds);
            self.sample(&format!("{NAME}_sum"), &labels, sum);
            self.sample(&format!("{NAME}_count"), &labels, count);
        }
    }

    fn numbers(&mut self, status: &MountStatus) {
        let (open, descriptors, indexes) = (&status.open, &status.descriptors, &status.indexes);
        let gauges = [
            ("inodes", status.inodes, "Inodes that the kernel knows."),
            ("open_files", open.files, "Open files."),
            ("open_directories", open.directories, "Open directories."),
            (
                "descriptors_limit",
                descriptors.limit,
                "Descriptors that the daemon may have.",
            ),
            (
                "descriptors_open",
                descriptors.open,
                "Descriptors of open files, directories and locks.",
            ),
            (
                "descriptors_inodes",
                descriptors.inodes,
                "Descriptors that are kept for inodes.",
            ),
            (
                "index_directories",
                indexes.directories,
                "Directories with an index of visible names.",
            ),
            (
                "index_bytes",
                indexes.bytes,
                "Memory of the indexes, about.",
            ),
        ];
        for (name, value, help) in gauges {
            self.value(name, "gauge", help, value);
        }
        let help = "Directories read for an index.";
        self.value("index_readings_total", "counter", help, indexes.readings);
        if let Some(watch) = &status.watch {
            let help = "Directories in which changes are followed.";
            self.value("watch_directories", "gauge", help, watch.directories);
            let help = "More changes than could be reported, so that all was forgotten.";
            self.value("watch_overflows_total", "counter", help, watch.overflows);
            let help = "Notifications that the kernel held back for over a second.";
            self.value("watch_stalls_total", "counter", help, watch.stalls);
        }
    }

    fn offences(&mut self, status: &MountStatus) {
        let help = "Names that do not conform, by rule.";
        let rule = |rule| label("rule", <&str>::from(rule).as_bytes());
        let verdict = |verdict| label("verdict", <&str>::from(verdict).as_bytes());
        let rows = status.offences.rows().into_iter();
        let rows = rows.map(|(name, count)| (rule(name), count));
        self.metric("offences_total", "counter", help, rows);
        let help = "Names that do not conform, by rule and by what became of them.";
        let rows = status.offences_by_verdict.rows().into_iter();
        let rows = rows.flat_map(|(name, counts)| {
            let rows = counts.rows().into_iter();
            rows.map(move |(word, count)| (format!("{},{}", rule(name), verdict(word)), count))
        });
        self.metric("offences_by_verdict_total", "counter", help, rows);
        let rows = status.verdicts.rows().into_iter();
        let rows = rows.map(|(word, count)| (verdict(word), count));
        self.metric(
            "verdicts_total",
            "counter",
            "What became of offences.",
            rows,
        );
    }

    /// Adds the policy that is in force, and how reading it again went.
    fn policy(&mut self, policy: &PolicyStatus) {
        let help = "Readings of the policy file since the mount, by how they ended.";
        let readings = [("good", policy.reloads), ("failed", policy.failed_reloads)];
        let readings = readings.map(|(result, count)| (label("result", result.as_bytes()), count));
        self.metric("policy_reloads_total", "counter", help, readings);
        let help =
            "Did the last reading of the policy file fail, so that one before it is in force?";
        self.value(
            "policy_fault",
            "gauge",
            help,
            u8::from(policy.fault.is_some()),
        );
        let help = "When the policy that is in force was read, in seconds since 1970.";
        let since = u64::try_from(policy.since.0.as_microsecond()).unwrap_or(0);
        let metric = "policy_good_reading_timestamp_seconds";
        self.value(metric, "gauge", help, seconds(since));
        let help = "Sections of the policy.";
        self.value("policy_sections", "gauge", help, policy.sections);
    }
}

fn operation(name: &str) -> String {
    label("operation", name.as_bytes())
}

/// Formats microseconds as seconds, exactly.
fn seconds(microseconds: u64) -> String {
    format!(
        "{}.{:06}",
        microseconds / 1_000_000,
        microseconds % 1_000_000
    )
}

/// Formats a label. The value is quoted as for people and then escaped as the format asks, so that a reader gets what
/// people are shown.
pub(super) fn label(name: &str, value: &[u8]) -> String {
    let quoted = Quoted(value).to_string();
    let inside = quoted.get(1..quoted.len() - 1).unwrap_or_default();
    let inside = inside.replace('\\', "\\\\").replace('"', "\\\"");
    format!("{name}=\"{inside}\"")
}

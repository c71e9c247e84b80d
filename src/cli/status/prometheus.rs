//! The status as metrics, in Prometheus' text format, version 0.0.4.

use crate::names::Quoted;
use crate::records::{MountStatus, PolicyStatus, RequestCounts};

/// Returns the lines of a mount's metrics. Each sample has the mount point as a label.
pub(super) fn lines(status: &MountStatus) -> Vec<String> {
    let mut page = Page::new(status.mountpoint.as_bytes());
    let version = label("version", status.version.as_bytes());
    let about = format!("{},{version}", label("backing", status.backing.as_bytes()));
    page.metric("info", "What is mounted, by which version.", [(about, 1)]);
    let help = "Time since the mount.";
    page.value("uptime_seconds", status.uptime_seconds, help);
    page.requests(status);
    page.durations(status);
    page.numbers(status);
    page.offences(status);
    let has_policy = u8::from(status.policy.is_some());
    page.value("policy_file", has_policy, "Is a policy file in force?");
    if let Some(policy) = &status.policy {
        page.policy(policy);
    }
    page.lines
}

/// Returns the lines of the metric whether a mount answers.
pub(super) fn up(mountpoint: &[u8], answers: bool) -> Vec<String> {
    let mut page = Page::new(mountpoint);
    page.value("up", u8::from(answers), "Does the daemon answer?");
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

/// The metric of times, which is a histogram.
const DURATION: &str = "request_duration_seconds";

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

    /// Adds the head of a metric. A counter is one whose name ends as Prometheus has it.
    fn head(&mut self, name: &str, help: &str) {
        let kind = match name {
            DURATION => "histogram",
            name if name.ends_with("_total") => "counter",
            _ => "gauge",
        };
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
    fn metric(&mut self, name: &str, help: &str, samples: impl IntoIterator<Item = (String, u64)>) {
        self.head(name, help);
        for (labels, value) in samples {
            self.sample(name, &labels, value);
        }
    }

    /// Adds a metric of one sample.
    pub(super) fn value(&mut self, name: &str, value: impl ToString, help: &str) {
        self.head(name, help);
        self.sample(name, "", value);
    }

    /// Adds a counter of samples with one label each.
    pub(super) fn counters<'l>(
        &mut self,
        name: &str,
        key: &str,
        help: &str,
        rows: impl IntoIterator<Item = (&'l str, u64)>,
    ) {
        let rows = rows.into_iter();
        let rows = rows.map(|(word, count)| (label(key, word.as_bytes()), count));
        self.metric(name, help, rows);
    }

    fn requests(&mut self, status: &MountStatus) {
        let mut counter = |name, help, field: fn(&RequestCounts) -> u64| {
            let rows = status.operations.iter();
            let rows = rows.map(|(operation, counts)| (&**operation, field(counts)));
            self.counters(name, "operation", help, rows);
        };
        counter("requests_total", "Requests of the kernel.", |counts| {
            counts.requests
        });
        let help = "Requests answered by an error, or that there is no such entry.";
        counter("request_errors_total", help, |counts| counts.errors);
        let help = "System calls made on the backing filesystem.";
        counter("backing_calls_total", help, |counts| counts.backing_calls);
    }

    /// Adds the histogram of times; kinds of requests that never came have none.
    fn durations(&mut self, status: &MountStatus) {
        let help = "Time from reading a request to its answer.";
        self.head(DURATION, help);
        for (name, counts) in &status.operations {
            let count: u64 = counts.times.iter().sum();
            if count == 0 {
                continue;
            }
            let labels = label("operation", name.as_bytes());
            let bucket = format!("{DURATION}_bucket");
            let mut below = 0;
            for (limit, times) in status.times_below_microseconds.iter().zip(&counts.times) {
                below += times;
                let labels = format!("{labels},le=\"{}\"", seconds(*limit));
                self.sample(&bucket, &labels, below);
            }
            self.sample(&bucket, &format!("{labels},le=\"+Inf\""), count);
            let sum = seconds(counts.microseconds);
            self.sample(&format!("{DURATION}_sum"), &labels, sum);
            self.sample(&format!("{DURATION}_count"), &labels, count);
        }
    }

    fn numbers(&mut self, status: &MountStatus) {
        let (open, descriptors, indexes) = (&status.open, &status.descriptors, &status.indexes);
        self.value("inodes", status.inodes, "Inodes that the kernel knows.");
        self.value("open_files", open.files, "Open files.");
        self.value("open_directories", open.directories, "Open directories.");
        let help = "Descriptors that the daemon may have.";
        self.value("descriptors_limit", descriptors.limit, help);
        let help = "Descriptors of open files, directories and locks.";
        self.value("descriptors_open", descriptors.open, help);
        let help = "Descriptors that are kept for inodes.";
        self.value("descriptors_inodes", descriptors.inodes, help);
        let help = "Directories with an index of visible names.";
        self.value("index_directories", indexes.directories, help);
        let help = "Memory of the indexes, about.";
        self.value("index_bytes", indexes.bytes, help);
        let help = "Directories read for an index.";
        self.value("index_readings_total", indexes.readings, help);
        if let Some(watch) = &status.watch {
            let help = "Directories in which changes are followed.";
            self.value("watch_directories", watch.directories, help);
            let help = "More changes than could be reported, so that all was forgotten.";
            self.value("watch_overflows_total", watch.overflows, help);
            let help = "Notifications that the kernel held back for over a second.";
            self.value("watch_stalls_total", watch.stalls, help);
        }
    }

    fn offences(&mut self, status: &MountStatus) {
        let rules = status.offences.rows().into_iter();
        let rules = rules.map(|(rule, count)| (<&str>::from(rule), count));
        let help = "Names that do not conform, by rule.";
        self.counters("offences_total", "rule", help, rules);
        let help = "Names that do not conform, by rule and by what became of them.";
        let rows = status.offences_by_verdict.rows().into_iter();
        let rows = rows.flat_map(|(rule, counts)| {
            let rule = label("rule", <&str>::from(rule).as_bytes());
            let rows = counts.rows().into_iter();
            rows.map(move |(verdict, count)| {
                let verdict = label("verdict", <&str>::from(verdict).as_bytes());
                (format!("{rule},{verdict}"), count)
            })
        });
        self.metric("offences_by_verdict_total", help, rows);
        let verdicts = status.verdicts.rows().into_iter();
        let verdicts = verdicts.map(|(verdict, count)| (<&str>::from(verdict), count));
        let help = "What became of offences.";
        self.counters("verdicts_total", "verdict", help, verdicts);
        let records = &status.audit_records;
        let records = [
            ("written", records.written),
            ("left_out", records.left_out),
            ("dropped", records.dropped),
        ];
        let help = "Records of offences, by what became of them.";
        self.counters("audit_records_total", "fate", help, records);
    }

    /// Adds the policy that is in force, and how reading it again went.
    fn policy(&mut self, policy: &PolicyStatus) {
        let help = "Readings of the policy file since the mount, by how they ended.";
        let readings = [("good", policy.reloads), ("failed", policy.failed_reloads)];
        self.counters("policy_reloads_total", "result", help, readings);
        let help =
            "Did the last reading of the policy file fail, so that one before it is in force?";
        self.value("policy_fault", u8::from(policy.fault.is_some()), help);
        let help = "When the policy that is in force was read, in seconds since 1970.";
        let since = u64::try_from(policy.since.0.as_microsecond()).unwrap_or(0);
        let metric = "policy_good_reading_timestamp_seconds";
        self.value(metric, seconds(since), help);
        let help = "Sections of the policy.";
        self.value("policy_sections", policy.sections, help);
    }
}

/// Formats microseconds as seconds, exactly.
fn seconds(microseconds: u64) -> String {
    format!(
        "{}.{:06}",
        microseconds / 1_000_000,
        microseconds % 1_000_000
    )
}

/// Formats a label: its value is quoted as for people, and that escaped as the format has it, so that a reader gets what people are
/// shown.
fn label(name: &str, value: &[u8]) -> String {
    let quoted = Quoted(value).to_string();
    let inside = quoted.get(1..quoted.len() - 1).unwrap_or_default();
    let inside = inside.replace('\\', "\\\\").replace('"', "\\\"");
    format!("{name}=\"{inside}\"")
}

//! The counts of all records.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Value, json};
use strum::IntoStaticStr;

use crate::cli::args::{AuditLogArgs, TimeUnit};
use crate::cli::output::harmless;
use crate::os::user_tables::user_names;
use crate::policy::RuleName;
use crate::records::{
    AuditEvent, AuditRecord, LeftOutRecord, Name, OffenceRecord, RuleCounts, VerdictCounts,
    add_fields,
};

/// Most lines that are not records, and most reasons why, of which each is kept.
const MOST_INVALID: usize = 100;

/// Do the arguments select records by what only an offence has?
fn is_by_offence(args: &AuditLogArgs) -> bool {
    !args.rule.is_empty() || !args.verdict.is_empty()
}

/// Do the arguments select that value? Where they name none, they select all.
fn has<T: PartialEq>(wanted: &[T], value: T) -> bool {
    wanted.is_empty() || wanted.contains(&value)
}

/// Returns the path that a record is about, if the arguments select it: what was asked for, its directory, or the mount.
fn selected(args: &AuditLogArgs, record: &AuditRecord) -> Option<PathBuf> {
    let (below, is_asked_for) = match &record.event {
        AuditEvent::Offence(of) => {
            let has_rule = has(&args.rule, of.rule) && has(&args.verdict, of.verdict);
            (Some(&of.path), has(&args.uid, of.uid) && has_rule)
        }
        AuditEvent::LeftOut(of) => {
            // The rules that these offences broke, and their verdicts, are not known.
            let is_asked_for = has(&args.uid, of.uid) && !is_by_offence(args);
            (Some(&of.directory), is_asked_for)
        }
        AuditEvent::Summary(_) | AuditEvent::Unknown => (None, true),
    };
    // From the mount point, and without a `/` at its end.
    let inside = below.into_iter().flat_map(|below| below.as_path());
    let inside = inside.filter(|name| *name != "/");
    let path: PathBuf = record.mount.as_path().iter().chain(inside).collect();
    let is_there = args.below.as_ref().is_none_or(|asked| {
        // The end of a mount is of interest to whoever asks for something in it.
        path.starts_with(asked) || (below.is_none() && asked.starts_with(&path))
    });
    let time = record.time.0;
    let is_in_time =
        args.since.is_none_or(|since| time >= since) && args.until.is_none_or(|until| time < until);
    (is_in_time && is_there && is_asked_for).then_some(path)
}

/// A line that is no record.
#[derive(Debug, Clone)]
pub(super) struct InvalidLine {
    /// Its file.
    pub(super) file: PathBuf,
    /// Its number, from 1 on.
    pub(super) line: u64,
    pub(super) reason: String,
    /// Its first bytes.
    pub(super) start: Vec<u8>,
    /// Is there more of it?
    pub(super) is_cut: bool,
}

/// What offences are counted by. The word for each is that of its table.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
enum Key {
    Kinds(RuleName, Option<Cow<'static, str>>),
    Operations(&'static str),
    Sections(Option<Name>),
    Users(u32),
    Commands(u32, Name),
    Directories(PathBuf),
}

/// The tables: the field of the report, and the title for people. Without a title only programs read it.
const TABLES: [(&str, &str); 6] = [
    ("kinds", "by rule and kind"),
    ("operations", ""),
    ("sections", "by section of the policy"),
    ("users", "by user, records left out included"),
    ("commands", "by user and command"),
    ("directories", "by directory, records left out included"),
];

/// The counts of all records.
#[derive(Debug, Default)]
pub(super) struct LogSummary {
    /// Number of lines that are not empty.
    pub(super) lines: u64,
    /// Number of records that are selected, of any event.
    pub(super) records: u64,
    pub(super) rules: RuleCounts<u64>,
    pub(super) verdicts: VerdictCounts,
    /// Counts of offences; of users and directories with those left out.
    counts: HashMap<Key, u64>,
    /// The first offence of each kind: its path, and what would be accepted.
    samples: HashMap<Key, (Name, Option<Name>)>,
    /// Counts by the hour since 1970.
    hours: BTreeMap<i64, RuleCounts<u64>>,
    /// The times of the first and the last offence.
    pub(super) span: Option<(Timestamp, Timestamp)>,
    pub(super) left_out: u64,
    /// Number of mounts that ended.
    pub(super) summaries: u64,
    /// Number of records that the logs of those mounts lost.
    pub(super) dropped: u64,
    /// Number of records of events that this version does not know.
    pub(super) unknown: u64,
    /// Number of lines that are not records.
    pub(super) invalid: u64,
    pub(super) first_invalid: Vec<InvalidLine>,
    /// The number of lines for each reason, and the first of them.
    by_reason: BTreeMap<String, (u64, InvalidLine)>,
    /// Number of files that could not be read.
    pub(super) unread: u64,
}

impl LogSummary {
    pub(super) fn offences(&self) -> u64 {
        self.rules.sum()
    }

    /// Returns what is not among the offences.
    pub(super) fn missing(&self) -> [(&'static str, u64); 4] {
        [
            ("left out by the rate limit", self.left_out),
            ("lost, as reported at unmount", self.dropped),
            ("records of other events", self.unknown),
            ("lines that are not records", self.invalid),
        ]
    }

    /// Adds a record, if the arguments select it.
    pub(super) fn add(&mut self, args: &AuditLogArgs, record: AuditRecord) {
        let Some(path) = selected(args, &record) else {
            return;
        };
        self.records += 1;
        match record.event {
            AuditEvent::Offence(offence) => {
                // The number of those left out that broke these rules is not known.
                let left_out = match is_by_offence(args) {
                    true => 0,
                    false => offence.left_out,
                };
                self.add_offence(record.time.0, path, *offence, left_out);
            }
            AuditEvent::LeftOut(LeftOutRecord { uid, left_out, .. }) => {
                self.left_out = self.left_out.saturating_add(left_out);
                self.count(Key::Users(uid), left_out);
                self.count(Key::Directories(path), left_out);
            }
            AuditEvent::Summary(summary) => {
                self.summaries += 1;
                self.dropped = self.dropped.saturating_add(summary.records.dropped);
            }
            AuditEvent::Unknown => self.unknown += 1,
        }
    }

    fn add_offence(&mut self, time: Timestamp, path: PathBuf, of: OffenceRecord, left_out: u64) {
        *self.rules.of(of.rule) += 1;
        *self.verdicts.of(of.verdict) += 1;
        let times = left_out.saturating_add(1);
        let directory = path.parent().unwrap_or(Path::new("/")).to_owned();
        let kind = Key::Kinds(of.rule, of.kind);
        let sample = self.samples.entry(kind.clone());
        sample.or_insert_with(|| (Name::of_path(&path), of.accepted));
        self.count(kind, 1);
        self.count(Key::Operations(of.operation.into()), 1);
        self.count(Key::Sections(of.section), 1);
        self.count(Key::Users(of.uid), times);
        self.count(Key::Commands(of.uid, of.command), 1);
        self.count(Key::Directories(directory), times);
        self.left_out = self.left_out.saturating_add(left_out);
        let (first, last) = self.span.unwrap_or((time, time));
        self.span = Some((first.min(time), last.max(time)));
        let hour = time.as_second().div_euclid(3600);
        *self.hours.entry(hour).or_default().of(of.rule) += 1;
    }

    fn count(&mut self, key: Key, times: u64) {
        let count = self.counts.entry(key).or_default();
        *count = count.saturating_add(times);
    }

    pub(super) fn add_invalid(&mut self, mut line: InvalidLine) {
        self.invalid += 1;
        if self.first_invalid.len() < MOST_INVALID {
            self.first_invalid.push(line.clone());
        }
        let has_room = self.by_reason.len() < MOST_INVALID;
        if !has_room && !self.by_reason.contains_key(&line.reason) {
            line.reason = "another reason".to_owned();
        }
        let of_reason = self.by_reason.entry(line.reason.clone());
        of_reason.or_insert((0, line)).0 += 1;
    }

    /// Returns the number of lines that are no records for each reason, and the first of them; the most frequent reason first.
    pub(super) fn reasons(&self) -> Vec<&(u64, InvalidLine)> {
        let mut reasons: Vec<_> = self.by_reason.values().collect();
        reasons.sort_by_key(|(count, _)| Reverse(*count));
        reasons
    }

    /// Returns the offences over time, by the first hour of each unit in which there is one. The unit is hours for up
    /// to three days, unless one is wanted.
    pub(super) fn over_time(
        &self,
        unit: Option<TimeUnit>,
    ) -> (TimeUnit, BTreeMap<i64, RuleCounts<u64>>) {
        let (first, last) = (self.hours.keys().next(), self.hours.keys().next_back());
        let unit = unit.unwrap_or(match last.zip(first) {
            Some((last, first)) if last - first >= 72 => TimeUnit::Day,
            _ => TimeUnit::Hour,
        });
        let start = |hour: i64| hour.div_euclid(unit.hours()) * unit.hours();
        (unit, regroup(&self.hours, start))
    }

    /// Returns the tables of the summary, each with at most `most` rows.
    pub(super) fn tables(&self, most: usize) -> [Table; 6] {
        let users = user_names();
        TABLES.map(|(key, title)| {
            let counts = self.counts.iter();
            let mut all: Vec<(&Key, &u64)> = counts
                .filter(|(one, _)| <&str>::from(*one) == key)
                .collect();
            all.sort_unstable_by_key(|&(key, count)| (Reverse(count), key));
            // Where no section is named, none is of interest to people.
            let is_named = all.iter().any(|(key, _)| **key != Key::Sections(None));
            let rows = all.iter().take(most);
            Table {
                key,
                title: if is_named { title } else { "" },
                rows: rows.map(|(key, of)| self.row(key, **of, &users)).collect(),
                distinct: all.len(),
            }
        })
    }

    /// Returns the tables that are of interest to people.
    pub(super) fn tables_for_people(&self, most: usize) -> impl Iterator<Item = Table> {
        let tables = self.tables(most).into_iter();
        tables.filter(|table| !table.title.is_empty() && !table.rows.is_empty())
    }

    /// Returns a row for people and for programs. `users` has the names of the users of this system.
    fn row(&self, key: &Key, offences: u64, users: &HashMap<u32, String>) -> Row {
        let user = |uid| match users.get(uid) {
            Some(name) => format!("uid {uid} ({})", harmless(name)),
            None => format!("uid {uid}"),
        };
        let (label, mut fields) = match key {
            Key::Kinds(rule, kind) => {
                let rule: &str = rule.into();
                let mut label = rule.to_owned();
                if let Some(kind) = kind {
                    label += &format!(" {}", harmless(kind));
                }
                let sample = self.samples.get(key).map(|(path, accepted)| {
                    label += &format!(": {path}");
                    if let Some(accepted) = accepted {
                        label += &format!(", would be accepted: {accepted}");
                    }
                    json!({"path": path, "accepted": accepted})
                });
                let fields = json!({"rule": rule, "kind": kind, "sample": sample});
                (label, fields)
            }
            // Only programs read this table.
            Key::Operations(operation) => (String::new(), json!({"operation": operation})),
            Key::Sections(section) => {
                let label = section.as_ref().map(Name::to_string);
                let label = label.unwrap_or_else(|| "no section".to_owned());
                (label, json!({"section": section}))
            }
            Key::Users(uid) => {
                let fields = json!({"uid": uid, "user": users.get(uid)});
                (user(uid), fields)
            }
            Key::Commands(uid, command) => {
                let fields = json!({"uid": uid, "command": command});
                (format!("{} {command}", user(uid)), fields)
            }
            Key::Directories(directory) => {
                let directory = Name::of_path(directory);
                (directory.to_string(), json!({"path": directory}))
            }
        };
        add_fields(&mut fields, json!({"offences": offences}));
        Row {
            label,
            fields,
            offences,
        }
    }
}

/// Offences by something.
#[derive(Debug)]
pub(super) struct Table {
    /// The field of the report that has it.
    pub(super) key: &'static str,
    /// For people; empty where only programs read it.
    pub(super) title: &'static str,
    pub(super) rows: Vec<Row>,
    /// Number of rows that there would be without a limit.
    pub(super) distinct: usize,
}

/// A row of a table.
#[derive(Debug)]
pub(super) struct Row {
    /// For people; names in it are quoted.
    pub(super) label: String,
    /// For programs: an object.
    pub(super) fields: Value,
    pub(super) offences: u64,
}

/// Returns the sums of the counts over time that `key` puts together.
pub(super) fn regroup(
    over_time: &BTreeMap<i64, RuleCounts<u64>>,
    key: impl Fn(i64) -> i64,
) -> BTreeMap<i64, RuleCounts<u64>> {
    let mut sums: BTreeMap<i64, RuleCounts<u64>> = BTreeMap::new();
    for (hour, counts) in over_time {
        let sum = sums.entry(key(*hour)).or_default();
        for (rule, count) in counts.rows() {
            *sum.of(rule) += count;
        }
    }
    sums
}

/// Returns the hour, or its day, as people write it.
pub(super) fn moment(hour: i64, unit: TimeUnit) -> String {
    let time = Timestamp::from_second(hour.saturating_mul(3600)).unwrap_or(Timestamp::UNIX_EPOCH);
    match unit {
        TimeUnit::Hour => time.strftime("%Y-%m-%d %H:00").to_string(),
        TimeUnit::Day => time.strftime("%Y-%m-%d").to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{TimeUnit, moment};

    #[test]
    fn moments_are_as_people_write_them() {
        assert_eq!(moment(494_338, TimeUnit::Hour), "2026-05-24 10:00");
        assert_eq!(moment(494_328, TimeUnit::Day), "2026-05-24");
        assert_eq!(moment(-1, TimeUnit::Hour), "1969-12-31 23:00");
    }
}

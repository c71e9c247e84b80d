//! What is counted of all records.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::counter::Counter;
use super::line::{Asked, Record, What};
use super::words::Offended;

/// So many different hours are told apart: twenty years.
const MOST_HOURS: usize = 175_320;

/// So many lines that are no records are told one by one.
const MOST_GARBLED: usize = 100;

/// Offences by rule.
pub(super) type ByRule = [u64; Offended::ALL.len()];

/// What is counted together over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Hours of UTC.
    Hour,
    /// Days of UTC.
    Day,
}

impl Unit {
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
        }
    }

    pub(super) fn hours(self) -> i64 {
        match self {
            Self::Hour => 1,
            Self::Day => 24,
        }
    }
}

/// Which records are looked at.
#[derive(Debug, Default)]
pub(super) struct Filter {
    pub(super) since: Option<Timestamp>,
    pub(super) until: Option<Timestamp>,
    /// Any, where there are none.
    pub(super) rules: Vec<Offended>,
    /// Any, where there are none.
    pub(super) uids: Vec<u32>,
    /// Without a `/` at its end.
    pub(super) below: Option<Vec<u8>>,
}

impl Filter {
    fn takes(&self, record: &Record) -> bool {
        let is_in_time = self.since.is_none_or(|since| record.time >= since)
            && self.until.is_none_or(|until| record.time < until);
        let is_below = |path: &[u8], above: &[u8]| {
            let rest = path.strip_prefix(above);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        let is_there = self.below.as_ref().is_none_or(|below| {
            // A mount that ended is asked for by whoever asks for something in it.
            let is_mount = matches!(record.what, What::Summary { .. } | What::Other);
            is_below(&record.path, below) || (is_mount && is_below(below, &record.path))
        });
        let has_user = |uid: u32| self.uids.is_empty() || self.uids.contains(&uid);
        is_in_time
            && is_there
            && match &record.what {
                What::Offence(asked) => {
                    let has_rule = self.rules.is_empty() || self.rules.contains(&asked.rule);
                    has_user(asked.uid) && has_rule
                }
                // Which rules those broke is not known.
                What::LeftOut { uid, .. } => has_user(*uid) && self.rules.is_empty(),
                What::Summary { .. } | What::Other => true,
            }
    }
}

/// A line that is no record.
#[derive(Debug, Clone)]
pub(super) struct Garbled {
    /// Which of the files.
    pub(super) file: usize,
    /// From 1 on.
    pub(super) line: u64,
    /// One of few.
    pub(super) reason: String,
    /// What it begins with.
    pub(super) start: Vec<u8>,
    /// Is there more of it?
    pub(super) is_cut: bool,
}

/// All that was counted.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) filter: Filter,
    /// Lines with anything in them.
    pub(super) lines: u64,
    /// Records that the filter let pass, of any event.
    pub(super) records: u64,
    pub(super) by_rule: ByRule,
    pub(super) verdicts: [u64; 3],
    /// By the number of the rule and the kind.
    pub(super) kinds: Counter,
    pub(super) operations: Counter,
    /// By the section of the policy that decided; empty where none did.
    pub(super) sections: Counter,
    /// By the uid, in four octets, with those left out.
    pub(super) users: Counter,
    /// By the uid, in four octets, and the command.
    pub(super) commands: Counter,
    /// By the path, with those left out.
    pub(super) directories: Counter,
    /// By the hour since 1970.
    pub(super) hours: BTreeMap<i64, ByRule>,
    /// Offences at times that are not among the hours.
    pub(super) untimed: u64,
    pub(super) first: Option<Timestamp>,
    pub(super) last: Option<Timestamp>,
    pub(super) left_out: u64,
    /// Mounts that ended, and records that their logs lost.
    pub(super) summaries: u64,
    pub(super) dropped: u64,
    pub(super) others: u64,
    pub(super) garbled: u64,
    pub(super) first_garbled: Vec<Garbled>,
    /// By the reason: how many lines, and the first of them.
    pub(super) by_reason: BTreeMap<String, (u64, Garbled)>,
}

impl Totals {
    pub(super) fn offences(&self) -> u64 {
        self.by_rule.iter().sum()
    }

    pub(super) fn add(&mut self, record: &Record) {
        if !self.filter.takes(record) {
            return;
        }
        self.records += 1;
        match &record.what {
            What::Offence(asked) => self.add_offence(record, asked),
            What::LeftOut { uid, left_out } => {
                self.left_out = self.left_out.saturating_add(*left_out);
                self.users.add(&uid.to_be_bytes(), *left_out);
                let path = record.path.strip_suffix(b"/").unwrap_or(&record.path);
                self.directories
                    .add(if path.is_empty() { b"/" } else { path }, *left_out);
            }
            What::Summary { dropped } => {
                self.summaries += 1;
                self.dropped = self.dropped.saturating_add(*dropped);
            }
            What::Other => self.others += 1,
        }
    }

    fn add_offence(&mut self, record: &Record, asked: &Asked) {
        let index = asked.rule as usize;
        count(&mut self.by_rule, index);
        count(&mut self.verdicts, asked.verdict as usize);
        let kind = [&[asked.rule as u8], asked.kind.as_bytes()].concat();
        self.kinds.add(&kind, 1);
        self.operations.add(asked.operation.label().as_bytes(), 1);
        let section = asked.section.as_deref().unwrap_or_default();
        self.sections.add(section, 1);
        let uid = asked.uid.to_be_bytes();
        self.commands.add(&[&uid[..], &asked.command].concat(), 1);
        // With --rule it is not known how many of those are meant.
        let left_out = match self.filter.rules.is_empty() {
            true => asked.left_out,
            false => 0,
        };
        self.left_out = self.left_out.saturating_add(left_out);
        let times = left_out.saturating_add(1);
        self.users.add(&uid, times);
        self.directories.add(above(&record.path), times);
        self.add_time(record.time, index);
    }

    fn add_time(&mut self, time: Timestamp, rule: usize) {
        self.first = Some(self.first.map_or(time, |first| first.min(time)));
        self.last = Some(self.last.map_or(time, |last| last.max(time)));
        let hour = time.as_second().div_euclid(3600);
        if self.hours.len() < MOST_HOURS || self.hours.contains_key(&hour) {
            count(self.hours.entry(hour).or_default(), rule);
        } else {
            self.untimed += 1;
        }
    }

    pub(super) fn add_garbled(&mut self, garbled: Garbled) {
        self.garbled += 1;
        if let Some((count, _)) = self.by_reason.get_mut(&garbled.reason) {
            *count += 1;
        } else {
            let first = garbled.clone();
            self.by_reason.insert(garbled.reason.clone(), (1, first));
        }
        if self.first_garbled.len() < MOST_GARBLED {
            self.first_garbled.push(garbled);
        }
    }

    /// Why lines are no records: each reason, how many lines have it, and the first of them; the most frequent first.
    pub(super) fn reasons(&self) -> Vec<(&str, u64, &Garbled)> {
        let reasons = self.by_reason.iter();
        let mut reasons: Vec<_> = reasons
            .map(|(reason, (count, first))| (&**reason, *count, first))
            .collect();
        reasons.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
        reasons
    }

    /// The sections that decided, if the policy has any.
    pub(super) fn has_sections(&self) -> bool {
        self.sections
            .top(2)
            .iter()
            .any(|(name, _)| !name.is_empty())
    }

    /// Offences over time, by the first hour of each unit in which there is one.
    pub(super) fn over_time(&self, unit: Option<Unit>) -> (Unit, BTreeMap<i64, ByRule>) {
        let span = self
            .hours
            .first_key_value()
            .zip(self.hours.last_key_value());
        let span = span.map_or(0, |((first, _), (last, _))| last - first);
        let unit = unit.unwrap_or(if span < 72 { Unit::Hour } else { Unit::Day });
        let mut over_time: BTreeMap<i64, ByRule> = BTreeMap::new();
        for (hour, by_rule) in &self.hours {
            let start = hour.div_euclid(unit.hours()) * unit.hours();
            let all = over_time.entry(start).or_default();
            for (mine, theirs) in all.iter_mut().zip(by_rule) {
                *mine += theirs;
            }
        }
        (unit, over_time)
    }
}

fn count(counts: &mut [u64], index: usize) {
    if let Some(count) = counts.get_mut(index) {
        *count += 1;
    }
}

/// The directory that a path is in.
fn above(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    match slash.and_then(|slash| path.get(..slash)) {
        None | Some(b"") => b"/",
        Some(directory) => directory,
    }
}

/// The uid and the rest of such a key.
pub(super) fn user_of(key: &[u8]) -> (u32, &[u8]) {
    key.split_first_chunk::<4>()
        .map_or((0, key), |(uid, rest)| (u32::from_be_bytes(*uid), rest))
}

/// The rule and kind of such a key.
pub(super) fn kind_of(key: &[u8]) -> (Offended, &[u8]) {
    let (rule, kind) = key.split_first().unwrap_or((&0, &[]));
    let rule = Offended::ALL.get(usize::from(*rule));
    (rule.copied().unwrap_or(Offended::IllFormed), kind)
}

/// The hour, or its day, as people write it.
pub(super) fn moment(hour: i64, unit: Unit) -> String {
    let time = Timestamp::from_second(hour.saturating_mul(3600)).unwrap_or(Timestamp::UNIX_EPOCH);
    let text = format!("{time:.0}");
    let length = match unit {
        Unit::Hour => text.find(':').unwrap_or(text.len()),
        Unit::Day => text.find('T').unwrap_or(text.len()),
    };
    let text = text.get(..length).unwrap_or_default();
    match unit {
        Unit::Hour => format!("{}:00", text.replacen('T', " ", 1)),
        Unit::Day => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Unit, above, moment};

    #[test]
    fn moments_and_directories_are_as_people_write_them() {
        assert_eq!(moment(494_338, Unit::Hour), "2026-05-24 10:00");
        assert_eq!(moment(494_328, Unit::Day), "2026-05-24");
        assert_eq!(moment(-1, Unit::Hour), "1969-12-31 23:00");
        let rows: [(&[u8], &[u8]); 3] = [(b"/a/b/c", b"/a/b"), (b"/a", b"/"), (b"//x", b"/")];
        for (path, directory) in rows {
            assert_eq!(above(path), directory);
        }
    }
}

//! The lines of the audit log for people (law L2), with every fact, written and read. Names in them are quoted.

use std::fmt::Display;
use std::str::FromStr;

use log::Level;

use crate::names::quoted::unquote;
use crate::records::{
    AuditCounts, AuditEvent, AuditRecord, LeftOutRecord, Name, OffenceRecord, Operation,
    RuleCounts, SummaryRecord, Time,
};

/// Most offending bytes shown in a line of text.
const BYTES_SHOWN: usize = 16;

/// The words before the number of records that the rate limit left out before one.
const LEFT_OUT_BEFORE: &str = "; left out before it, of this uid in this directory: ";

/// The words before the mount point.
const MOUNT: &str = "; mount ";

impl AuditRecord {
    /// Reads a line that [`AuditRecord::text`] made; `None` if it is none. An offence is read without its fault, which is for people, and
    /// without its code point, which the line does not have.
    pub(crate) fn from_text(line: &str) -> Option<Self> {
        let (time, text) = line.split_once(' ')?;
        let mut rest = Rest(text);
        let (mount, event) = if let Some(mount) = rest.name("summary of ") {
            let summary = SummaryRecord::read(std::mem::take(&mut rest.0))?;
            (mount, AuditEvent::Summary(summary))
        } else {
            let event = match rest.word("left out: ") {
                Some(left_out) => AuditEvent::LeftOut(LeftOutRecord {
                    left_out,
                    uid: rest.word(" of uid ")?,
                    directory: rest.name(" in ")?,
                }),
                None => AuditEvent::Offence(Box::new(OffenceRecord::read(&mut rest)?)),
            };
            (rest.name(MOUNT)?, event)
        };
        let time = Time(time.parse().ok()?);
        rest.0.is_empty().then_some(Self { time, mount, event })
    }

    /// Returns the line of the record, without a newline at its end.
    pub(super) fn text(&self) -> String {
        let Self { time, mount, event } = self;
        match event {
            AuditEvent::Offence(offence) => format!("{time} {}{MOUNT}{mount}", offence.text()),
            AuditEvent::LeftOut(LeftOutRecord {
                directory,
                uid,
                left_out,
            }) => {
                format!("{time} left out: {left_out} of uid {uid} in {directory}{MOUNT}{mount}")
            }
            AuditEvent::Summary(summary) => {
                format!("{time} summary of {mount}{}", summary.text())
            }
            AuditEvent::Unknown => time.to_string(),
        }
    }

    /// Returns the level of the record in a log that has levels.
    pub(super) fn level(&self) -> Level {
        match self.event {
            AuditEvent::Offence(_) | AuditEvent::LeftOut(_) => Level::Warn,
            AuditEvent::Summary(_) | AuditEvent::Unknown => Level::Info,
        }
    }
}

impl OffenceRecord {
    fn text(&self) -> String {
        let mut line = format!(
            "{} {}: {}",
            <&str>::from(self.operation),
            self.path,
            <&str>::from(self.verdict)
        );
        line += &part(", exempt by ", self.exempt.map(<&str>::from));
        line += &part(" with ", self.errno.as_ref());
        line += &part(" in section ", self.section.as_ref());
        let rule: &str = self.rule.into();
        line += &format!(": {}; rule: {rule}", self.fault);
        line += &part(" ", self.kind.as_ref());
        line += &format!("; at byte {}", self.offset);
        let name = self.name.as_bytes();
        let offending = name.iter().skip(self.offset).take(self.length);
        for (index, octet) in offending.clone().take(BYTES_SHOWN).enumerate() {
            let before = if index == 0 { ": " } else { " " };
            line += &format!("{before}{octet:02X}");
        }
        if offending.len() > BYTES_SHOWN {
            line += &format!(" ... ({} bytes)", offending.len());
        }
        // That of a symlink is the link's, where a name in its target offends.
        let last = self.path.as_bytes().rsplit(|&byte| byte == b'/').next();
        if self.operation == Operation::Symlink && last != Some(name) {
            line += &format!("; in the target: {}", self.name);
        }
        line += &part("; sibling: ", self.sibling.as_ref());
        line += &part("; would be accepted: ", self.accepted.as_ref());
        line += &part("; visible: ", self.visible.as_ref());
        line += &part("; backing: ", self.backing.as_ref());
        line += &format!(
            "; by uid {} gid {} pid {} {}",
            self.uid, self.gid, self.pid, self.command
        );
        line + &part(
            LEFT_OUT_BEFORE,
            Some(self.left_out).filter(|&count| count > 0),
        )
    }

    fn read(rest: &mut Rest<'_>) -> Option<Self> {
        let operation = rest.word("")?;
        let path = rest.name(" ")?;
        let verdict = rest.word(": ")?;
        let exempt = rest.word(", exempt by ");
        let errno: Option<String> = rest.word(" with ");
        let section = rest.name(" in section ");
        let (_fault, rule) = rest.0.strip_prefix(": ")?.split_once("; rule: ")?;
        rest.0 = rule;
        let rule = rest.word("")?;
        let kind: Option<String> = rest.word(" ");
        let offset = rest.word("; at byte ")?;
        let (octets, more) = rest.0.split_at(rest.0.find(';')?);
        rest.0 = more;
        let length = match octets.split_once(" ... (") {
            Some((_, count)) => count.strip_suffix(" bytes)")?.parse().ok()?,
            None => octets.split(' ').skip(1).count(),
        };
        let in_target = rest.name("; in the target: ");
        let last = || path.as_bytes().rsplit(|&byte| byte == b'/').next();
        let name = in_target.unwrap_or_else(|| Name::from(last().unwrap_or_default()));
        Some(Self {
            operation,
            name,
            path,
            rule,
            fault: String::new(),
            kind: kind.map(Into::into),
            offset,
            length,
            code_point: None,
            verdict,
            exempt,
            errno: errno.map(Into::into),
            sibling: rest.name("; sibling: "),
            accepted: rest.name("; would be accepted: "),
            visible: rest.name("; visible: "),
            backing: rest.name("; backing: "),
            uid: rest.word("; by uid ")?,
            gid: rest.word(" gid ")?,
            pid: rest.word(" pid ")?,
            command: rest.name(" ")?,
            left_out: rest.word(LEFT_OUT_BEFORE).unwrap_or_default(),
            section,
        })
    }
}

impl SummaryRecord {
    fn text(&self) -> String {
        let rules = self.offences.rows();
        let rules = rules.map(|(rule, count)| format!("{count} {}", <&str>::from(rule)));
        format!(
            ": {} operations; {} offences ({}; {} refused, {} normalized, {} reported); records: {} written, {} left out by the rate limit, {} dropped",
            self.operations,
            self.offences.sum(),
            rules.join(", "),
            self.refused,
            self.normalized,
            self.reported,
            self.records.written,
            self.records.left_out,
            self.records.dropped,
        )
    }

    /// Reads what [`SummaryRecord::text`] made: takes its numbers, of which the same line is to come.
    fn read(text: &str) -> Option<Self> {
        let numbers = text.split(|c: char| !c.is_ascii_digit());
        let mut numbers = numbers.filter_map(|number| number.parse().ok());
        let operations = numbers.next()?;
        let _sum = numbers.next()?;
        let mut offences = RuleCounts::default();
        for (rule, _none) in offences.rows() {
            *offences.of(rule) = numbers.next()?;
        }
        let record = Self {
            operations,
            offences,
            refused: numbers.next()?,
            normalized: numbers.next()?,
            reported: numbers.next()?,
            records: AuditCounts {
                written: numbers.next()?,
                left_out: numbers.next()?,
                dropped: numbers.next()?,
            },
        };
        (record.text() == text).then_some(record)
    }
}

/// Returns `before` and the value behind it; nothing without a value.
fn part(before: &str, value: Option<impl Display>) -> String {
    value.map_or(String::new(), |value| format!("{before}{value}"))
}

/// The rest of a line, from whose start one part after the other is taken.
struct Rest<'a>(&'a str);

impl Rest<'_> {
    /// Takes `before` and the word behind it, up to a space or punctuation mark; nothing if they are not there.
    fn word<T: FromStr>(&mut self, before: &str) -> Option<T> {
        let text = self.0.strip_prefix(before)?;
        let end = text.find([' ', ',', ';', ':']).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        let word = word.parse().ok()?;
        self.0 = rest;
        Some(word)
    }

    /// Takes `before` and the quoted name behind it; nothing if they are not there.
    fn name(&mut self, before: &str) -> Option<Name> {
        let (name, rest) = unquote(self.0.strip_prefix(before)?)?;
        self.0 = rest;
        Some(name.into())
    }
}

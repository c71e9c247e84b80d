//! The lines of the audit log for people (law L2), with every fact, written and read. Names in them are quoted.

use std::str::FromStr;

use log::Level;

use crate::names::quoted::unquote;
use crate::records::{
    AuditEvent, AuditRecord, LeftOutRecord, Name, OffenceRecord, Operation, RuleCounts,
    SummaryRecord, Time,
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
            (mount, AuditEvent::Summary(SummaryRecord::read(&mut rest)?))
        } else {
            let event = match rest.word("left out: ") {
                Some(left_out) => AuditEvent::LeftOut(LeftOutRecord::read(left_out, &mut rest)?),
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
            AuditEvent::LeftOut(left_out) => {
                format!("{time} left out: {}{MOUNT}{mount}", left_out.text())
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
        if let Some(exempt) = self.exempt {
            line += &format!(", exempt by {}", <&str>::from(exempt));
        }
        if let Some(errno) = &self.errno {
            line += &format!(" with {errno}");
        }
        if let Some(section) = &self.section {
            line += &format!(" in section {section}");
        }
        let rule: &str = self.rule.into();
        line += &format!(": {}; rule: {rule}", self.fault);
        if let Some(kind) = &self.kind {
            line += &format!(" {kind}");
        }
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
        let names = [
            ("sibling", &self.sibling),
            ("would be accepted", &self.accepted),
            ("visible", &self.visible),
            ("backing", &self.backing),
        ];
        for (what, name) in names {
            if let Some(name) = name {
                line += &format!("; {what}: {name}");
            }
        }
        line += &format!(
            "; by uid {} gid {} pid {} {}",
            self.uid, self.gid, self.pid, self.command
        );
        if self.left_out > 0 {
            line += &format!("{LEFT_OUT_BEFORE}{}", self.left_out);
        }
        line
    }

    /// Visible path of the directory in which the name was asked for.
    pub(super) fn directory(&self) -> &[u8] {
        let path = self.path.as_bytes();
        let slash = path.iter().rposition(|&byte| byte == b'/');
        match slash.and_then(|slash| path.get(..slash)) {
            None | Some(b"") => b"/",
            Some(directory) => directory,
        }
    }
}

impl LeftOutRecord {
    fn text(&self) -> String {
        format!(
            "{} of uid {} in {}",
            self.left_out, self.uid, self.directory
        )
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
            self.written,
            self.left_out,
            self.dropped,
        )
    }
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
    fn name(&mut self, before: &str) -> Option<Name<'static>> {
        let (name, rest) = unquote(self.0.strip_prefix(before)?)?;
        self.0 = rest;
        Some(name.into())
    }
}

impl OffenceRecord {
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
        let name = in_target.unwrap_or_else(|| Name::copy(last().unwrap_or_default()));
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

impl LeftOutRecord {
    fn read(left_out: u64, rest: &mut Rest<'_>) -> Option<Self> {
        Some(Self {
            left_out,
            uid: rest.word(" of uid ")?,
            directory: rest.name(" in ")?,
        })
    }
}

impl SummaryRecord {
    fn read(rest: &mut Rest<'_>) -> Option<Self> {
        let operations = rest.word(": ")?;
        let sum: u64 = rest.word(" operations; ")?;
        let mut offences = RuleCounts::default();
        let mut before = " offences (".to_owned();
        for (rule, _none) in offences.rows() {
            *offences.of(rule) = rest.word(&before)?;
            before = format!(" {}, ", <&str>::from(rule));
        }
        let before = before.replace(", ", "; ");
        let record = Self {
            operations,
            offences,
            refused: rest.word(&before)?,
            normalized: rest.word(" refused, ")?,
            reported: rest.word(" normalized, ")?,
            written: rest.word(" reported); records: ")?,
            left_out: rest.word(" written, ")?,
            dropped: rest.word(" left out by the rate limit, ")?,
        };
        rest.0 = rest.0.strip_prefix(" dropped")?;
        (offences.sum() == sum).then_some(record)
    }
}

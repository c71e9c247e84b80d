//! The lines of the audit log for people (law L2), with every fact. Names in them are quoted.

use log::Level;

use crate::records::{AuditRecord, LeftOutRecord, OffenceRecord, Operation, SummaryRecord};

/// Most offending bytes shown in a line of text.
const BYTES_SHOWN: usize = 16;

impl AuditRecord<'_> {
    /// Returns the line of the record, without a newline at its end.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Offence(record) => record.text(),
            Self::LeftOut(record) => record.text(),
            Self::Summary(record) => record.text(),
            Self::Unknown(head) => head.time.to_string(),
        }
    }

    /// Returns the level of the record in a log that has levels.
    pub(super) fn level(&self) -> Level {
        match self {
            Self::Offence(_) | Self::LeftOut(_) => Level::Warn,
            Self::Summary(_) | Self::Unknown(_) => Level::Info,
        }
    }
}

impl OffenceRecord<'_> {
    pub(super) fn text(&self) -> String {
        let mut line = format!(
            "{} {} {}: {}",
            self.time,
            <&str>::from(self.operation),
            self.path,
            self.verdict.label()
        );
        if let Some(exempt) = self.exempt {
            line += &format!(", exempt by {}", exempt.label());
        }
        if let Some(errno) = &self.errno {
            line += &format!(" with {errno}");
        }
        if let Some(section) = &self.section {
            line += &format!(" in section {section}");
        }
        line += &format!(": {}; at byte {}", self.fault, self.offset);
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
            "; by uid {} gid {} pid {} {}; mount {}",
            self.uid, self.gid, self.pid, self.command, self.mount
        );
        if self.left_out > 0 {
            line += &format!(
                "; before it {} of this uid in this directory left out",
                self.left_out
            );
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

impl LeftOutRecord<'_> {
    fn text(&self) -> String {
        format!(
            "{} left out: {} of uid {} in {}; mount {}",
            self.time, self.left_out, self.uid, self.directory, self.mount
        )
    }
}

impl SummaryRecord<'_> {
    pub(super) fn text(&self) -> String {
        let rules = self.offences.rows();
        let rules = rules.map(|(rule, count)| format!("{count} {}", <&str>::from(rule)));
        format!(
            "{} summary of {}: operations: {}; offences: {} ({}; {} refused, {} normalized, {} reported); records: {} written, {} left out by the rate limit, {} dropped",
            self.time,
            self.mount,
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

//! How the record of an offence reads (law L2).

use std::fmt::Write;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::fs::audit::{Operation, Record};
use crate::names::Quoted;
use crate::names::json::json_name;
use crate::names::rules::Exempt;
use crate::policy::errno::symbol;

/// Most offending bytes shown in a line of text.
const BYTES_SHOWN: usize = 16;

impl Record {
    /// One line for people with every fact, without a newline at its end; names in it are [`Quoted`].
    #[must_use]
    pub fn to_text(&self) -> String {
        self.text(0)
    }

    /// The same for programs. Keys: `time`, `event` (`offence`), `mount`, `operation`, `path`, `name`, `rule`,
    /// `kind`, `offset`, `length`, `code_point`, `verdict`, `exempt`, `errno`, `visible`, `backing`, `accepted`,
    /// `sibling`, `uid`, `gid`, `pid`, `command`, `left_out`, and last `section`, where one decided. Names, paths and the command as [`json_name`] makes them; what there is none of
    /// is null; `left_out` is 0.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.json(0)
    }

    /// [`Record::to_text`] after `left_out` records of the same user and directory were left out.
    pub(super) fn text(&self, left_out: u64) -> String {
        let offence = self.offence;
        let mut line = format!(
            "{} {} {}: {}",
            time(self.time),
            self.operation.label(),
            Quoted(&self.path),
            self.verdict.label()
        );
        let mut add = |text: std::fmt::Arguments<'_>| {
            line.write_fmt(text)
                .expect("invariant: writing to a String never fails");
        };
        if let Some(exempt) = self.exempt {
            add(format_args!(", exempt by {}", exempt.label()));
        }
        if let Some(errno) = self.errno {
            add(format_args!(" with {}", symbol(errno)));
        }
        if let Some(section) = &self.section {
            add(format_args!(" in section {}", Quoted(section.as_bytes())));
        }
        add(format_args!(
            ": {}; at byte {}",
            offence.rule, offence.offset
        ));
        let offending = self
            .name
            .get(offence.offset..)
            .map(|rest| rest.get(..offence.length).unwrap_or(rest))
            .unwrap_or_default();
        for (index, octet) in offending.iter().take(BYTES_SHOWN).enumerate() {
            let before = if index == 0 { ": " } else { " " };
            add(format_args!("{before}{octet:02X}"));
        }
        if offending.len() > BYTES_SHOWN {
            add(format_args!(" ... ({} bytes)", offending.len()));
        }
        // That of a symlink is the link's, where a name in its target offends.
        let last = self.path.rsplit(|&byte| byte == b'/').next();
        if self.operation == Operation::Symlink && last != Some(&self.name) {
            add(format_args!("; in the target: {}", Quoted(&self.name)));
        }
        let names = [
            ("sibling", &self.sibling),
            ("would be accepted", &self.accepted),
            ("visible", &self.visible),
            ("backing", &self.backing),
        ];
        for (what, name) in names {
            if let Some(name) = name {
                add(format_args!("; {what}: {}", Quoted(name)));
            }
        }
        add(format_args!(
            "; by uid {} gid {} pid {} {}; mount {}",
            self.uid,
            self.gid,
            self.pid,
            Quoted(&self.command),
            Quoted(&self.mount)
        ));
        if left_out > 0 {
            add(format_args!(
                "; before it {left_out} of this uid in this directory left out"
            ));
        }
        line
    }

    /// [`Record::to_json`] after `left_out` records of the same user and directory were left out.
    pub(super) fn json(&self, left_out: u64) -> Value {
        let offence = self.offence;
        let name = |name: &Option<Vec<u8>>| name.as_deref().map(json_name);
        let mut facts = json!({
            "time": time(self.time),
            "event": "offence",
            "mount": json_name(&self.mount),
            "operation": self.operation.label(),
            "path": json_name(&self.path),
            "name": json_name(&self.name),
            "rule": offence.rule.label(),
            "kind": offence.rule.kind(),
            "offset": offence.offset,
            "length": offence.length,
            "code_point": offence.code_point.map(|c| format!("U+{c:04X}")),
            "verdict": self.verdict.label(),
            "exempt": self.exempt.map(Exempt::label),
            "errno": self.errno.map(symbol),
            "visible": name(&self.visible),
            "backing": name(&self.backing),
            "accepted": name(&self.accepted),
            "sibling": name(&self.sibling),
            "uid": self.uid,
            "gid": self.gid,
            "pid": self.pid,
            "command": json_name(&self.command),
            "left_out": left_out,
        });
        if let (Some(section), Some(facts)) = (&self.section, facts.as_object_mut()) {
            facts.insert("section".to_owned(), json_name(section.as_bytes()));
        }
        facts
    }

    /// Visible path of the directory in which the name was asked for.
    pub(super) fn directory(&self) -> &[u8] {
        let slash = self.path.iter().rposition(|&byte| byte == b'/');
        match slash.and_then(|slash| self.path.get(..slash)) {
            None | Some(b"") => b"/",
            Some(directory) => directory,
        }
    }
}

/// RFC 3339, in UTC, with microseconds.
pub(super) fn time(time: Timestamp) -> String {
    format!("{time:.6}")
}

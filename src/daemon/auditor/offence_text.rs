//! The text of an offence's record (law L2).

use std::fmt::Write;

use crate::fs::audit::{Operation, Record};
use crate::names::Quoted;
use crate::policy::errno::symbol;
use crate::records::{Event, Name, OffenceRecord, Time};

/// Most offending bytes shown in a line of text.
const BYTES_SHOWN: usize = 16;

impl Record {
    /// Returns one line for people with every fact, without a newline at its end; names in it are [`Quoted`]. Before it `left_out` records
    /// of the same user and directory were left out.
    pub(super) fn text(&self, left_out: u64) -> String {
        let offence = self.offence;
        let mut line = format!(
            "{} {} {}: {}",
            Time(self.time),
            <&str>::from(self.operation),
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

    /// The same for programs.
    pub(super) fn document(&self, left_out: u64) -> OffenceRecord<'_> {
        let offence = self.offence;
        OffenceRecord {
            time: Time(self.time),
            event: Event::Offence,
            mount: Name::from(&self.mount),
            operation: self.operation,
            path: Name::from(&self.path),
            name: Name::from(&self.name),
            rule: offence.rule.into(),
            kind: offence.rule.kind().map(Into::into),
            offset: offence.offset,
            length: offence.length,
            code_point: offence.code_point.map(|c| format!("U+{c:04X}")),
            verdict: self.verdict,
            exempt: self.exempt,
            errno: self.errno.map(|errno| symbol(errno).into()),
            visible: self.visible.as_ref().map(Name::from),
            backing: self.backing.as_ref().map(Name::from),
            accepted: self.accepted.as_ref().map(Name::from),
            sibling: self.sibling.as_ref().map(Name::from),
            uid: self.uid,
            gid: self.gid,
            pid: self.pid,
            command: Name::from(&self.command),
            left_out,
            section: self.section.as_deref().map(Name::from),
        }
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

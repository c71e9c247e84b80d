//! Names that offend: the refusal to the caller, the record to the audit log.

use super::audit::{Operation, Verdict};
use super::resolve::{Making, NewName};
use super::{FsError, Utf8Fs};
use crate::names::VisibleName;
use crate::names::rules::{Exempt, Terms};
use crate::policy::errno::symbol;
use crate::policy::{Offence, Rule};
use crate::records::{Name, OffenceRecord, Time};

impl Terms {
    /// The refusal of a name.
    pub(super) fn refusal(&self, offence: Offence) -> FsError {
        FsError::Refused(self.map.errno.errno(offence.rule))
    }
}

impl Utf8Fs {
    /// The refusal of a name, be it for a `sibling` that it is like; it is in the audit log then.
    pub(super) fn refused(
        &self,
        making: &Making<'_>,
        terms: &Terms,
        offence: Offence,
        sibling: Option<&VisibleName>,
    ) -> FsError {
        let record = OffenceRecord {
            sibling: sibling.map(|name| Name::from(name.as_bytes())),
            ..self.record(making, terms, making.name, (offence, Verdict::Refused))
        };
        self.audit(making, record);
        terms.refusal(offence)
    }

    /// Reports a new name that was let through, or is like a sibling's, once it is made, with the name that the directory lists it
    /// under. Where that cannot be told, the record lacks it: the entry is made.
    pub(super) fn report(&self, making: &Making<'_>, made: &NewName) {
        let backing = &made.entry.backing;
        let clash = made.clash.as_ref();
        let clash = clash.map(|(offence, sibling)| ((*offence, Verdict::Reported), Some(sibling)));
        let offence = made.offence.map(|what| (what, None));
        for (what, sibling) in offence.into_iter().chain(clash) {
            let is_listed_so =
                what.1 != Verdict::Reported || self.map.policy.conforms(backing.as_bytes());
            let visible = match is_listed_so {
                true => Some(made.entry.visible.clone()),
                false => self
                    .listed_as(&making.directory, backing)
                    .unwrap_or_default(),
            };
            let record = OffenceRecord {
                visible: visible.map(|name| Name::from(name.as_bytes())),
                backing: Some(Name::from(backing.as_bytes())),
                sibling: sibling.map(|name| Name::from(name.as_bytes())),
                ..self.record(making, &made.terms, making.name, what)
            };
            self.audit(making, record);
        }
    }

    /// The exemption by which a caller may make a name whatever it offends against; `None` if they may not.
    pub(super) fn exemption(&self, making: &Making<'_>) -> Option<Exempt> {
        let Making { name, caller, .. } = making;
        let path = || self.visible_path(&making.directory.inode, name);
        making.rules.exempt.of(caller.uid, name, path)
    }

    /// Hands the record of an offence to the audit log.
    pub(super) fn audit(&self, making: &Making<'_>, record: OffenceRecord) {
        let number = making.directory.inode.number;
        self.settings.auditor.offence(Time::now(), record, number);
    }

    /// Makes the record of an offence against `terms` by `name`: of the entry, or of a name in the target of the new symlink.
    #[cold]
    pub(super) fn record(
        &self,
        making: &Making<'_>,
        terms: &Terms,
        name: &[u8],
        (offence, verdict): (Offence, Verdict),
    ) -> OffenceRecord {
        let directory = &making.directory.inode;
        let errno = || symbol(terms.refusal(offence).errno()).into();
        OffenceRecord {
            path: self.visible_path(directory, making.name).into(),
            verdict,
            errno: (verdict == Verdict::Refused).then(errno),
            exempt: match verdict {
                Verdict::Reported => self.exemption(making),
                Verdict::Refused | Verdict::Normalized => None,
            },
            uid: making.caller.uid,
            gid: making.caller.gid,
            pid: making.caller.pid,
            ..OffenceRecord::of(making.operation, name, offence, terms)
        }
    }
}

impl OffenceRecord {
    /// Returns what the rules say of a name that offends. Who asked for it, where, and what was made is for others to add.
    pub fn of(operation: Operation, name: &[u8], offence: Offence, terms: &Terms) -> Self {
        // Any other name would be accepted in place of one that is like a sibling's.
        let is_like_sibling = matches!(offence.rule, Rule::NotUnique(_));
        let accepted = terms.map.normalized(name).ok();
        let accepted = accepted.filter(|_| !is_like_sibling);
        Self {
            operation,
            path: Name::default(),
            name: Name::from(name),
            rule: offence.rule.into(),
            fault: offence.rule.to_string(),
            kind: offence.rule.kind().map(Into::into),
            offset: offence.offset,
            length: offence.length,
            code_point: offence.code_point.map(|code| format!("U+{code:04X}")),
            verdict: Verdict::Reported,
            exempt: None,
            errno: None,
            visible: None,
            backing: None,
            accepted: accepted.map(|name| Name::from(name.as_bytes())),
            sibling: None,
            uid: 0,
            gid: 0,
            pid: 0,
            command: Name::default(),
            left_out: 0,
            section: terms.section.as_ref().map(|name| Name::from(&**name)),
        }
    }
}

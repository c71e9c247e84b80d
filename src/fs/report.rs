//! Names that offend: the refusal to the caller, the record to the audit log.

use super::audit::Verdict;
use super::resolve::{Making, NewName};
use super::{FsError, Utf8Fs};
use crate::names::rules::{Exempt, Terms};
use crate::names::{BackingName, VisibleName};
use crate::policy::errno::symbol;
use crate::policy::{Offence, Rule};
use crate::records::{Event, Name, OffenceRecord, Time};

impl Terms {
    /// The refusal of a name.
    pub(super) fn refusal(&self, offence: Offence) -> FsError {
        FsError::Refused {
            errno: self.map.errno.errno(offence.rule),
            offence,
        }
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
        let refusal = terms.refusal(offence);
        let outcome = Outcome {
            errno: Some(refusal.errno()),
            sibling,
            ..Outcome::of(Verdict::Refused)
        };
        self.audit(making, making.name, offence, &outcome);
        refusal
    }

    /// Reports a new name that was let through, once it is made, with the name that the directory lists it under. Where that
    /// cannot be told, the record lacks it: the entry is made.
    pub(super) fn report(&self, making: &Making<'_>, made: &NewName) {
        let Some((offence, verdict)) = made.offence else {
            return;
        };
        let backing = &made.entry.backing;
        let visible = match verdict {
            Verdict::Reported if !self.map.policy.conforms(backing.as_bytes()) => {
                let listed = self.listed_as(&making.directory, backing);
                listed.unwrap_or_default()
            }
            Verdict::Reported | Verdict::Refused | Verdict::Normalized => {
                Some(made.entry.visible.clone())
            }
        };
        let outcome = Outcome {
            visible: visible.as_ref(),
            backing: Some(backing),
            ..Outcome::of(verdict)
        };
        self.audit(making, making.name, offence, &outcome);
    }

    /// The exemption by which a caller may make a name whatever it offends against; `None` if they may not.
    pub(super) fn exemption(&self, making: &Making<'_>) -> Option<Exempt> {
        let Making { name, caller, .. } = making;
        let path = || self.visible_path(&making.directory.inode, name);
        making.rules.exempt().of(caller.uid, name, path)
    }

    /// Hands the record of an offence by `name` to the audit log: of the entry, or of a name in the target of the new
    /// symlink.
    #[cold]
    pub(super) fn audit(
        &self,
        making: &Making<'_>,
        name: &[u8],
        offence: Offence,
        outcome: &Outcome<'_>,
    ) {
        // Any other name would be accepted in place of one that is like a sibling's.
        let is_like_sibling = matches!(offence.rule, Rule::NotUnique(_));
        let terms = self.terms(making, true);
        let accepted = terms.map.normalized(name).ok();
        let accepted = accepted.filter(|_| !is_like_sibling);
        let exempt = match outcome.verdict {
            Verdict::Reported => self.exemption(making),
            Verdict::Refused | Verdict::Normalized => None,
        };
        let directory = &making.directory.inode;
        let owned = |bytes: &[u8]| Name::from(bytes.to_vec());
        let visible = |name: &VisibleName| owned(name.as_bytes());
        let record = OffenceRecord {
            time: Time::now(),
            event: Event::Offence,
            mount: owned(&self.mountpoint),
            operation: making.operation,
            path: self.visible_path(directory, making.name).into(),
            name: owned(name),
            rule: offence.rule.into(),
            fault: offence.rule.to_string(),
            kind: offence.rule.kind().map(Into::into),
            offset: offence.offset,
            length: offence.length,
            code_point: offence.code_point.map(|code| format!("U+{code:04X}")),
            verdict: outcome.verdict,
            exempt,
            errno: outcome.errno.map(|errno| symbol(errno).into()),
            visible: outcome.visible.map(visible),
            backing: outcome.backing.map(|name| owned(name.as_bytes())),
            accepted: accepted.as_ref().map(visible),
            sibling: outcome.sibling.map(visible),
            uid: making.caller.uid,
            gid: making.caller.gid,
            pid: making.caller.pid,
            command: Name::default(),
            left_out: 0,
            section: terms.section.as_ref().map(|name| owned(name.as_bytes())),
        };
        self.auditor.offence(record, directory.number);
    }
}

/// The outcome of an attempt to make an offending name.
#[derive(Debug)]
pub(super) struct Outcome<'a> {
    pub(super) verdict: Verdict,
    pub(super) errno: Option<i32>,
    pub(super) visible: Option<&'a VisibleName>,
    pub(super) backing: Option<&'a BackingName>,
    pub(super) sibling: Option<&'a VisibleName>,
}

impl Outcome<'_> {
    /// This verdict, and nothing else.
    pub(super) fn of(verdict: Verdict) -> Self {
        Self {
            verdict,
            errno: None,
            visible: None,
            backing: None,
            sibling: None,
        }
    }
}

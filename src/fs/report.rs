//! Names that offend: the refusal to the caller, the record to the audit log.

use super::audit::{Record, Verdict};
use super::resolve::{Making, NewName};
use super::{FsError, Utf8Fs};
use crate::names::rules::{Exempt, Terms};
use crate::names::{BackingName, VisibleName};
use crate::policy::{Offence, Rule};

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
        let bytes = |name: &VisibleName| name.as_bytes().to_vec();
        let record = Record {
            time: jiff::Timestamp::now(),
            mount: self.mountpoint.clone(),
            operation: making.operation,
            section: terms.section.clone(),
            path: self.visible_path(directory, making.name),
            name: name.to_vec(),
            offence,
            verdict: outcome.verdict,
            exempt,
            errno: outcome.errno,
            visible: outcome.visible.map(bytes),
            backing: outcome.backing.map(|name| name.as_bytes().to_vec()),
            accepted: accepted.as_ref().map(bytes),
            sibling: outcome.sibling.map(bytes),
            uid: making.caller.uid,
            gid: making.caller.gid,
            pid: making.caller.pid,
            command: Vec::new(),
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

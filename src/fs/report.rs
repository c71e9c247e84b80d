//! What is told of names that offend: the refusal to the caller, the record to the audit log.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::audit::{Record, Verdict};
use super::inode::Inode;
use super::resolve::{Making, NewName};
use super::{FsError, Utf8Fs};
use crate::names::rules::Terms;
use crate::names::{BackingName, VisibleName};
use crate::policy::{ErrnoChoice, Offence, Rule};

impl Terms {
    /// That a name is refused.
    pub(super) fn refusal(&self, offence: Offence) -> FsError {
        FsError::Refused {
            errno: self.map.errno.errno(offence.rule),
            offence,
        }
    }
}

/// That this is no name at all.
pub(super) fn no_name(offence: Offence) -> FsError {
    FsError::Refused {
        errno: ErrnoChoice::default().errno(offence.rule),
        offence,
    }
}

impl Utf8Fs {
    /// Reports a new name that was let through, once it is made, with the name that the directory lists it under. Where that
    /// cannot be told, the record lacks it: the entry is made.
    pub(super) fn report(
        &self,
        making: Making<'_>,
        inode: &Arc<Inode>,
        fd: &OwnedFd,
        name: &[u8],
        made: &NewName,
    ) {
        let Some((offence, verdict)) = made.offence else {
            return;
        };
        let visible = match verdict {
            Verdict::Reported if !self.map.policy.conforms(made.backing.as_bytes()) => {
                self.listed_as(inode, fd, &made.backing).unwrap_or_default()
            }
            Verdict::Reported | Verdict::Refused | Verdict::Normalized => {
                Some(made.visible.clone())
            }
        };
        let outcome = Outcome {
            visible: visible.as_ref(),
            backing: Some(&made.backing),
            ..Outcome::of(verdict)
        };
        self.audit(making, inode, name, offence, &outcome);
    }

    #[cold]
    pub(super) fn audit(
        &self,
        making: Making<'_>,
        directory: &Inode,
        name: &[u8],
        offence: Offence,
        outcome: &Outcome<'_>,
    ) {
        self.audit_at(making, (directory, name), name, offence, outcome);
    }

    /// Hands the record of an offence by `name` to the audit log, where `entry` was to be made in `directory`.
    #[cold]
    pub(super) fn audit_at(
        &self,
        making: Making<'_>,
        (directory, entry): (&Inode, &[u8]),
        name: &[u8],
        offence: Offence,
        outcome: &Outcome<'_>,
    ) {
        // What would be accepted in place of a name that is like a sibling's is any other.
        let is_like_sibling = matches!(offence.rule, Rule::NotUnique(_));
        let terms = self.terms(making, directory, entry, true);
        let accepted = terms.map.normalized(name).ok();
        let accepted = accepted.filter(|_| !is_like_sibling);
        let exempt = match outcome.verdict {
            Verdict::Reported => self.exemption(making, directory, entry),
            Verdict::Refused | Verdict::Normalized => None,
        };
        let record = Record {
            time: jiff::Timestamp::now(),
            mount: self.mountpoint.clone(),
            operation: making.operation,
            section: terms.section.clone(),
            path: self.visible_path(directory, entry),
            name: name.to_vec(),
            offence,
            verdict: outcome.verdict,
            exempt,
            errno: outcome.errno,
            visible: outcome.visible.map(|name| name.as_bytes().to_vec()),
            backing: outcome.backing.map(|name| name.as_bytes().to_vec()),
            accepted: accepted.map(|name| name.as_bytes().to_vec()),
            sibling: outcome.sibling.map(|name| name.as_bytes().to_vec()),
            uid: making.caller.uid,
            gid: making.caller.gid,
            pid: making.caller.pid,
            command: Vec::new(),
        };
        self.auditor.offence(record, directory.number);
    }
}

/// How an attempt to make an offending name ended.
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

//! What unit tests make filesystems of.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use super::audit::{AuditLog, Counts};
use super::{Caller, Config, FsError, LocksAt, NewEntry, Renamed, Settings, Utf8Fs, Waits};
use crate::codec::Charset;
use crate::names::rules::{Exemptions, Rules, Terms};
use crate::names::{Legacy, NameMap, OnViolation};
use crate::os::Privilege;
use crate::policy::{ErrnoChoice, Policy};
use crate::records::{OffenceRecord, Time};

/// Somebody.
pub(crate) const CALLER: Caller = Caller {
    uid: 0,
    gid: 0,
    pid: 0,
};

/// An entry that somebody asks for.
pub(crate) fn new_entry(parent: u64, name: &[u8], mode: u32) -> NewEntry<'_> {
    NewEntry {
        caller: CALLER,
        parent,
        name,
        mode,
        umask: 0,
    }
}

/// Names that are shown as `legacy` says, decoded from the charsets of these labels.
pub(crate) fn map(legacy: Legacy, from: &[&str]) -> NameMap {
    NameMap {
        policy: Policy::default(),
        legacy,
        from: from
            .iter()
            .map(|label| Charset::from_label(label).unwrap())
            .collect(),
        store_as: None,
        on_violation: OnViolation::Reject,
        errno: ErrnoChoice::default(),
    }
}

/// The rules of a mount without a policy file.
pub(crate) fn rules(map: &NameMap, exempt: Exemptions) -> Rules {
    let terms = Terms {
        mode: map.on_violation.into(),
        map: map.clone(),
        unique: None,
        section: None,
    };
    Rules::new(terms, Vec::new(), exempt)
}

impl Utf8Fs {
    /// Renames, with the flags of renameat2(2), whatever the kernel may keep.
    pub(crate) fn rename_at_once(
        &self,
        caller: Caller,
        old: (u64, &[u8]),
        new: (u64, &[u8]),
        flags: u32,
    ) -> Result<Renamed, FsError> {
        self.rename(self.plan_rename(caller, old, new, flags)?)
    }
}

/// A log that nobody reads.
#[derive(Debug)]
struct Unread;

impl AuditLog for Unread {
    fn offence(&self, _time: Time, _record: OffenceRecord, _directory: u64) {}

    fn counts(&self) -> Counts {
        Counts::default()
    }
}

/// An ordinary user's filesystem over `root`, whose log nobody reads.
pub(crate) fn config(root: OwnedFd, map: NameMap) -> Config {
    let rules = rules(&map, Exemptions::default());
    Config {
        map,
        rules,
        root,
        by_handle: None,
        opens_by_name: false,
        most_descriptors: 64,
        settings: Settings {
            unique: None,
            names_kept: Duration::from_secs(60),
            unseen: Duration::from_secs(1),
            rules_may_change: false,
            locks: LocksAt::Local,
            waits: Waits::None,
            reads_quietly: false,
            privilege: Privilege::User,
            is_shared: true,
            auditor: Arc::new(Unread),
            covered: None,
        },
    }
}

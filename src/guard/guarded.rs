//! State that the threads of a guard share, and the action on an offender.

use std::collections::{HashMap, HashSet};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;

use super::directories::{Away, Directories, Directory};
use super::judge::{Judge, Key, Newcomers, Offender};
use super::pending::Pending;
use super::scan_requests::{ALL, Requests};
use crate::backing::{Dir, FileHandle};
use crate::daemon::auditor::Auditor;
use crate::fs::audit::{AuditLog, Verdict};
use crate::names::BackingName;
use crate::policy::alike::difference;
use crate::records::{GUARD_STATUS_FORMAT, GuardStatus, Name, OffenceRecord, PolicyStatus, Time};
use crate::tree::plan::EntryList;

/// Most names that are remembered.
const REMEMBERED: usize = 1 << 20;

/// State that the threads of a guard share.
#[derive(Debug)]
pub(super) struct Guarded {
    pub(super) directories: Directories,
    /// The status, as far as it is not read elsewhere when it is asked for.
    pub(super) status: Mutex<GuardStatus>,
    /// The number of directories that were renamed, anywhere on the filesystem.
    pub(super) moves: AtomicU64,
    /// The policy in force.
    pub(super) judge: Mutex<Arc<Judge>>,
    pub(super) auditor: Arc<Auditor>,
    pub(super) pending: Pending,
    pub(super) requests: Requests,
    /// The names that were met since all events had been read, or a scan began: one that is both heard of and found counts once.
    pub(super) met: Mutex<HashSet<Key>>,
    is_over: AtomicBool,
}

impl Guarded {
    pub(super) fn new(
        path: Vec<u8>,
        directories: Directories,
        policy: Option<PolicyStatus>,
        judge: Judge,
        auditor: Arc<Auditor>,
        grace: Duration,
    ) -> Self {
        Self {
            status: Mutex::new(GuardStatus {
                format: GUARD_STATUS_FORMAT,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                pid: std::process::id(),
                directory: path.into(),
                policy,
                ..GuardStatus::default()
            }),
            moves: AtomicU64::new(0),
            directories,
            judge: Mutex::new(Arc::new(judge)),
            auditor,
            pending: Pending::new(grace),
            requests: Requests::default(),
            met: Mutex::default(),
            is_over: AtomicBool::new(false),
        }
    }

    /// Returns the policy in force.
    pub(super) fn judge(&self) -> Arc<Judge> {
        Arc::clone(&self.judge.lock())
    }

    /// Has the end come?
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Has all threads end.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.pending.wake();
        self.requests.wake();
    }

    /// Opens a directory. If it is moved again and again, a scan is to find the names that were made in it at that second or later.
    pub(super) fn open(&self, handle: &FileHandle, since: i64) -> Option<(Arc<Directory>, Dir)> {
        let opened = self.directories.open(handle);
        if matches!(opened, Err(Away::Moving)) {
            self.requests.ask_for_all(since);
        }
        opened.ok()
    }

    /// Takes an offender that was heard of or found: it is reported at once, or waits until it can be renamed.
    pub(super) fn meet(&self, offender: Offender) {
        if offender.alike().is_some() {
            self.requests.ask_to_compare(offender);
        } else if !offender.is_to_be_renamed {
            if self.is_first(&offender) {
                self.report(&offender, None, None);
            }
        } else if !self.pending.add(offender) {
            // There are too many: it will be found.
            self.requests.ask_for_all(ALL);
        }
    }

    /// Reports the newcomers in a directory of these names that are alike to an older one. One that was made since, and is not heard of
    /// yet, is not older.
    pub(super) fn compare(&self, newcomers: &Newcomers, names: &EntryList, dir: &Dir<impl AsFd>) {
        let Some(alike) = newcomers.values().find_map(Offender::alike) else {
            return;
        };
        let key = |name: &BackingName| (alike.key(name.as_bytes()), Vec::new());
        let mut groups: HashMap<_, Vec<BackingName>> = newcomers.keys().map(key).collect();
        for entry in names.iter() {
            if let Some(group) = groups.get_mut(&alike.key(entry.name)) {
                group.extend(BackingName::parse(entry.name));
            }
        }
        for group in groups.values() {
            for offender in group.iter().filter_map(|name| newcomers.get(name)) {
                let is_older = |name: &&BackingName| {
                    newcomers.get(*name).map_or_else(
                        || made(dir, name).is_none_or(|made| made <= offender.time),
                        |other| (other.time, &other.name) < (offender.time, &offender.name),
                    )
                };
                let Some(sibling) = group.iter().find(is_older) else {
                    continue;
                };
                let mut offender = offender.clone();
                let offence = &mut offender.offence;
                (offence.offset, offence.length) =
                    difference(offender.name.as_bytes(), sibling.as_bytes());
                if self.is_first(&offender) {
                    self.report(&offender, None, Some(sibling));
                }
            }
        }
    }

    /// Was the name not met before?
    fn is_first(&self, offender: &Offender) -> bool {
        let (key, mut met) = (offender.key(), self.met.lock());
        if met.len() >= REMEMBERED {
            return !met.contains(&key);
        }
        met.insert(key)
    }

    /// Hands the record of an offender to the audit log: with the name that it got, or the sibling that is in the way.
    pub(super) fn report(
        &self,
        offender: &Offender,
        new: Option<&BackingName>,
        sibling: Option<&BackingName>,
    ) {
        let (name, maker, operation) = (&offender.name, &offender.maker, offender.operation);
        let backing = |name: &BackingName| Name::from(name.as_bytes());
        let record = OffenceRecord {
            path: offender.path().into(),
            verdict: match new {
                Some(_) => Verdict::Normalized,
                None => Verdict::Reported,
            },
            visible: new.map(backing),
            backing: Some(backing(new.unwrap_or(name))),
            sibling: sibling.map(backing),
            uid: maker.uid,
            gid: maker.gid,
            pid: maker.pid,
            command: maker.command.clone().into(),
            ..OffenceRecord::of(
                operation,
                name.as_bytes(),
                offender.offence,
                &offender.terms,
            )
        };
        let directory = offender.directory.handle.digest();
        let time = Time(offender.time);
        self.auditor.offence(time, record, directory.into());
    }
}

/// Returns when an entry was made, where the filesystem keeps that.
fn made(dir: &Dir<impl AsFd>, name: &BackingName) -> Option<Timestamp> {
    let born = dir.stat_child(name).ok()?.btime?;
    Timestamp::new(born.secs, i32::try_from(born.nanos).ok()?).ok()
}

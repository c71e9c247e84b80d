//! The status of a mount, for root and its owner: the value of an extended attribute of the root that no listing
//! names.
//!
//! The attribute is in a namespace of its own, as Ceph's `ceph.*` is. Other filesystems know `user`, `trusted`,
//! `security` and `system`, so that it hides nothing below, and nobody can set it. The question is a request like any
//! other: it takes no socket, no file and no name in the tree, and passes the sandbox.

use std::collections::BTreeMap;

use rustix::io::Errno;
use strum::VariantArray as _;

use super::adapter::{Adapter, Done};
use super::fuse_call::FuseCall;
use super::metrics::LIMITS;
use super::operation::Operation;
use super::reply::Reply;
use super::request::Request;
use crate::backing::xattr;
use crate::fs::{FsError, ROOT};
use crate::records::{
    CacheTimes, MountStatus, RequestCounts, STATUS_FORMAT, Transport, whole_milliseconds,
};

/// The extended attribute of the root.
pub const ATTRIBUTE: &[u8] = b"utf8fs.status";

impl Adapter {
    /// Returns the size of the answer that there is room for, if this is a getxattr(2) for the status of the mount.
    pub(super) fn asks_status(
        request: Request<'_>,
        call: &Result<FuseCall<'_>, Errno>,
    ) -> Option<u32> {
        match call {
            Ok(FuseCall::Getxattr { name, size }) if request.node == ROOT && *name == ATTRIBUTE => {
                Some(*size)
            }
            _ => None,
        }
    }

    /// Answers a getxattr(2) that [asks for the status](Self::asks_status).
    pub(super) fn answer_status(
        &self,
        request: Request<'_>,
        size: u32,
        reply: &mut Reply<'_>,
    ) -> Result<Done, FsError> {
        if ![0, self.about.lock().owner].contains(&request.caller.uid) {
            return Err(Errno::PERM.into());
        }
        reply.sized(size, |room| match room.is_empty() {
            true => Ok(xattr::MAX),
            false => Ok(fit(self.status(), room)?),
        })?;
        Ok(Done::Now)
    }

    /// Returns the status of the mount.
    fn status(&self) -> MountStatus {
        let mut operations = BTreeMap::new();
        let mut total = RequestCounts::default();
        for operation in Operation::VARIANTS {
            let counts = self.metrics.count(*operation);
            total.requests += counts.requests;
            total.errors += counts.errors;
            total.backing_calls += counts.backing_calls;
            total.microseconds += counts.microseconds;
            operations.insert(operation.name().into(), counts);
        }
        let state = self.fs.state();
        let rings = *self.rings.lock();
        let about = self.about.lock().clone();
        let offences = state.offences;
        let watched = self.coherence.watched.as_ref();
        MountStatus {
            format: STATUS_FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            mountpoint: about.mountpoint.into(),
            backing: about.backing.into(),
            backing_fault: None,
            uptime_seconds: whole_milliseconds(self.metrics.started.elapsed()),
            total,
            operations,
            times_below_microseconds: LIMITS.to_vec(),
            inodes: state.inodes,
            open: state.open,
            descriptors: state.descriptors,
            indexes: state.indexes,
            kept: CacheTimes {
                names_seconds: whole_milliseconds(self.coherence.times.heard),
                files_seconds: whole_milliseconds(self.coherence.times.unheard),
                names_barred: self.coherence.barred_names(),
            },
            passthrough: self.passthrough,
            transport: match rings {
                Ok(threads_per_cpu) => Transport::IoUring { threads_per_cpu },
                Err(reason) => Transport::Device {
                    no_rings: <&str>::from(reason).into(),
                },
            },
            watch: watched.ok().map(|watched| watched.status()),
            unwatched: watched.err().cloned(),
            offences: offences.rules(),
            offences_by_verdict: offences.by_rule,
            verdicts: offences.by_verdict(),
            audit_records: offences.records,
            audit_log_fails: offences.failing,
            policy: about.policy,
            options: about.options,
        }
    }
}

/// Puts the status into `room`. Options that are too long, as of very many patterns, are left out.
fn fit(mut status: MountStatus, room: &mut [u8]) -> Result<usize, Errno> {
    let answer =
        |status: &MountStatus| serde_json::to_vec(status).map_err(|_unserializable| Errno::IO);
    let mut text = answer(&status)?;
    if text.len() > room.len() {
        status.options = None;
        text = answer(&status)?;
    }
    xattr::answer(&text, room)
}

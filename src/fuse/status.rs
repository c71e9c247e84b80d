//! How a mount does, told to who may know: the value of an extended attribute of the root that no listing names.
//!
//! The attribute is in a namespace of its own. The filesystems of the machine know `user`, `trusted`, `security` and `system`, so that
//! nothing below is hidden by it, and nobody can set it; as Ceph tells of itself by `ceph.*`. The question is a request like
//! any other: it takes no socket, no file and no name in the tree, and goes through the sandbox.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;

use super::adapter::Adapter;
use super::layout::GetxattrIn;
use super::operation::Operation;
use super::operations::Done;
use super::reply::Reply;
use super::request::Request;
pub use super::tally::{Count, LIMITS};
use crate::backing::Xattr;
use crate::fs::{FsError, ROOT};
use crate::records::{
    AuditCounts, CacheTimes, DescriptorCounts, IndexCounts, MountOptions, MountStatus, OpenCounts,
    PolicyStatus, RequestCounts, STATUS_FORMAT, Transport, WatchStatus,
};

/// The extended attribute of the root.
pub const ATTRIBUTE: &[u8] = b"utf8fs.status";

/// Longest value that the kernel passes on, `XATTR_SIZE_MAX`.
pub const LONGEST: u32 = 65_536;

/// What does not change while the mount lives.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// Who may ask, besides root: the user who mounted.
    pub owner: u32,
    /// The backing directory.
    pub backing: Vec<u8>,
    /// The mount point.
    pub mountpoint: Vec<u8>,
    /// What does.
    pub told: Arc<Mutex<Told>>,
}

/// What changes where the policy is read again.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// The options in force.
    pub options: Option<MountOptions>,
    /// The policy file in force, if there is one.
    pub policy: Option<PolicyStatus>,
}

/// Does this getxattr(2) ask for the status of the mount?
pub(super) fn asks_status(mut request: Request<'_>) -> bool {
    request.node == ROOT
        && request.arguments.record::<GetxattrIn>().is_ok()
        && request.arguments.text() == Ok(ATTRIBUTE)
}

impl Adapter {
    /// The answer to getxattr(2) where [`asks_status`].
    pub(super) fn answer_status(
        &self,
        mut request: Request<'_>,
        reply: &mut Reply<'_>,
    ) -> Result<Done, FsError> {
        let GetxattrIn { size, .. } = request.arguments.record()?;
        let status = match request.caller.uid {
            uid if uid != 0 && uid != self.about.owner => return Err(Errno::PERM.into()),
            _ if size == 0 => usize::try_from(LONGEST).map_or(Xattr::Size(0), Xattr::Size),
            _ => Xattr::Data(fit(self.status(), size)?),
        };
        reply.xattr(&status)?;
        Ok(Done::Now)
    }

    /// Returns the status of the mount.
    fn status(&self) -> MountStatus {
        let mut operations = BTreeMap::new();
        let mut total = Count::default();
        for operation in Operation::ALL {
            let count = self.tally.count(*operation);
            total.add(&count);
            let counts = RequestCounts {
                times: count.times.to_vec(),
                ..request_counts(&count)
            };
            operations.insert(operation.name().into(), counts);
        }
        let state = self.fs.state();
        let times = self.coherence.times();
        let following = self.coherence.watched().map(|watched| watched.following());
        let Told { options, policy } = {
            let told = self.about.told.lock();
            told.unwrap_or_else(PoisonError::into_inner).clone()
        };
        let rings = *self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        let (descriptors, offences) = (state.descriptors, state.offences);
        MountStatus {
            format: STATUS_FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            mountpoint: self.about.mountpoint.clone().into(),
            backing: self.about.backing.clone().into(),
            uptime_seconds: whole_milliseconds(self.tally.uptime()),
            total: request_counts(&total),
            operations,
            times_below_microseconds: LIMITS.to_vec(),
            inodes: state.inodes,
            open: OpenCounts {
                files: state.open_files,
                directories: state.open_directories,
            },
            descriptors: DescriptorCounts {
                limit: descriptors.most,
                reserve: descriptors.reserve,
                user_limit: descriptors.most_of_user,
                open: descriptors.open,
                inodes: descriptors.inodes,
                inodes_limit: descriptors.most_inodes,
            },
            indexes: IndexCounts {
                directories: state.indexes,
                bytes: state.index_bytes,
                readings: state.index_readings,
            },
            kept: CacheTimes {
                names_seconds: whole_milliseconds(times.heard),
                files_seconds: whole_milliseconds(times.unheard),
                names_barred: self.coherence.barred_names(),
            },
            passthrough: self.passthrough,
            transport: match rings {
                Ok(threads_per_cpu) => Transport::IoUring { threads_per_cpu },
                Err(reason) => Transport::Device {
                    no_rings: reason.label().into(),
                },
            },
            watch: following.map(|following| WatchStatus {
                alive: following.is_alive,
                directories: following.directories,
                overflows: following.overflows,
                stalls: following.stalls,
                stalled: following.is_stalled,
            }),
            offences: offences.rules(),
            offences_by_verdict: offences.by_rule,
            verdicts: offences.by_verdict(),
            audit_records: AuditCounts {
                written: offences.written,
                left_out: offences.left_out,
                dropped: offences.dropped,
            },
            policy,
            options,
        }
    }
}

fn request_counts(count: &Count) -> RequestCounts {
    RequestCounts {
        requests: count.requests,
        errors: count.errors,
        backing_calls: count.calls,
        microseconds: count.nanoseconds / 1000,
        times: Vec::new(),
    }
}

/// Seconds, in JSON with three places at most.
fn whole_milliseconds(time: Duration) -> f64 {
    let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(milliseconds).as_secs_f64()
}

/// Returns the status as an answer of at most `size` bytes. Options that are too long, as of very many patterns, are left out.
fn fit(mut status: MountStatus, size: u32) -> Result<Vec<u8>, Errno> {
    let size = usize::try_from(size.min(LONGEST)).unwrap_or(0);
    let answer =
        |status: &MountStatus| serde_json::to_vec(status).map_err(|_unserializable| Errno::IO);
    let whole = answer(&status)?;
    if whole.len() <= size {
        return Ok(whole);
    }
    status.options = None;
    let rest = answer(&status)?;
    if rest.len() <= size {
        Ok(rest)
    } else {
        Err(Errno::RANGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_three_places() {
        let rows = [(0, "0.0"), (1_999_999, "0.001"), (1_500_000_000, "1.5")];
        for (nanoseconds, shown) in rows {
            let time = Duration::from_nanos(nanoseconds);
            assert_eq!(
                serde_json::to_string(&whole_milliseconds(time)).unwrap(),
                shown
            );
        }
    }
}

//! How a mount does, told to who may know: the value of an extended attribute of the root that no listing names.
//!
//! The attribute is in a namespace of its own. The filesystems of the machine know `user`, `trusted`, `security` and `system`, so that
//! nothing below is hidden by it, and nobody can set it; as Ceph tells of itself by `ceph.*`. The question is a request like
//! any other: it takes no socket, no file and no name in the tree, and goes through the sandbox.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use serde_json::{Map, Value, json};

use super::adapter::Adapter;
use super::layout::GetxattrIn;
use super::operation::Operation;
use super::operations::Done;
use super::reply::Reply;
use super::request::Request;
pub use super::tally::{Count, LIMITS};
use crate::backing::Xattr;
use crate::fs::{FsError, ROOT};
use crate::names::json::json_name;

/// The extended attribute of the root.
pub const ATTRIBUTE: &[u8] = b"utf8fs.status";

/// The version of what the attribute holds. It changes where a field goes or gets another meaning, not where one comes.
pub const FORMAT: u64 = 1;

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

/// What changes where the policy is read anew.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// The options in force.
    pub options: Map<String, Value>,
    /// The policy file in force; `null` without one.
    pub policy: Value,
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

    /// How the mount does, as docs/status.md says.
    fn status(&self) -> Value {
        let mut operations = Map::new();
        let mut total = Count::default();
        for operation in Operation::ALL {
            let count = self.tally.count(*operation);
            total.add(&count);
            let mut told = told(&count);
            told.insert("times".to_owned(), json!(count.times));
            operations.insert(operation.name().to_owned(), told.into());
        }
        let state = self.fs.state();
        let times = self.coherence.times();
        let following = self.coherence.watched().map(|watched| watched.following());
        let Told { options, policy } = {
            let told = self.about.told.lock();
            told.unwrap_or_else(PoisonError::into_inner).clone()
        };
        let rings = *self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        let transport = match rings {
            Ok(threads) => json!({ "kind": "io_uring", "threads_per_cpu": threads }),
            Err(reason) => json!({ "kind": "device", "no_rings": reason.label() }),
        };
        let (descriptors, offences) = (state.descriptors, state.offences);
        let by_rule = offences
            .by_rule()
            .map(|(rule, count)| (rule.to_owned(), count.into()));
        let became = offences
            .became()
            .map(|(rule, [refused, normalized, reported])| {
                let by_verdict =
                    json!({"refused": refused, "normalized": normalized, "reported": reported});
                (rule.to_owned(), by_verdict)
            });
        json!({
            "format": FORMAT,
            "version": env!("CARGO_PKG_VERSION"),
            "pid": std::process::id(),
            "mountpoint": json_name(&self.about.mountpoint),
            "backing": json_name(&self.about.backing),
            "uptime_seconds": whole_milliseconds(self.tally.uptime()),
            "total": told(&total),
            "operations": operations,
            "times_below_microseconds": LIMITS,
            "inodes": state.inodes,
            "open": { "files": state.open_files, "directories": state.open_directories },
            "descriptors": {
                "limit": descriptors.most,
                "reserve": descriptors.reserve,
                "user_limit": descriptors.most_of_user,
                "open": descriptors.open,
                "inodes": descriptors.inodes,
                "inodes_limit": descriptors.most_inodes,
            },
            "indexes": {
                "directories": state.indexes,
                "bytes": state.index_bytes,
                "readings": state.index_readings,
            },
            "kept": {
                "names_seconds": whole_milliseconds(times.heard),
                "files_seconds": whole_milliseconds(times.unheard),
                "names_barred": self.coherence.barred_names(),
            },
            "passthrough": self.passthrough,
            "transport": transport,
            "watch": following.map(|following| json!({
                "alive": following.is_alive,
                "directories": following.directories,
                "overflows": following.overflows,
                "stalls": following.stalls,
                "stalled": following.is_stalled,
            })),
            "offences": Map::from_iter(by_rule),
            "offences_by_verdict": Map::from_iter(became),
            "verdicts": {
                "refused": offences.refused,
                "normalized": offences.normalized,
                "reported": offences.reported,
            },
            "audit_records": {
                "written": offences.written,
                "left_out": offences.left_out,
                "dropped": offences.dropped,
            },
            "policy": policy,
            "options": options,
        })
    }
}

fn told(count: &Count) -> Map<String, Value> {
    Map::from_iter([
        ("requests".to_owned(), count.requests.into()),
        ("errors".to_owned(), count.errors.into()),
        ("backing_calls".to_owned(), count.calls.into()),
        ("microseconds".to_owned(), (count.nanoseconds / 1000).into()),
    ])
}

/// Seconds, in JSON with three places at most.
fn whole_milliseconds(time: Duration) -> Value {
    let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    json!(Duration::from_millis(milliseconds).as_secs_f64())
}

/// The status as an answer of at most `size` bytes. Options that are too long, as of very many patterns, are left out.
fn fit(mut status: Value, size: u32) -> Result<Vec<u8>, Errno> {
    let size = usize::try_from(size.min(LONGEST)).unwrap_or(0);
    let whole = status.to_string();
    if whole.len() <= size {
        return Ok(whole.into_bytes());
    }
    if let Some(options) = status.get_mut("options") {
        *options = Value::Null;
    }
    let rest = status.to_string();
    match rest.len() <= size {
        true => Ok(rest.into_bytes()),
        false => Err(Errno::RANGE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_do_not_fit_are_left_out_and_the_rest_is_told() {
        let status = |length: usize| json!({ "a": 1, "options": { "exempt": "x".repeat(length) } });
        let short = fit(status(10), LONGEST).unwrap();
        assert_eq!(short, br#"{"a":1,"options":{"exempt":"xxxxxxxxxx"}}"#);
        let long = fit(status(100_000), u32::MAX).unwrap();
        assert_eq!(long, br#"{"a":1,"options":null}"#);
        assert_eq!(fit(status(100), 21).unwrap_err(), Errno::RANGE);
    }

    #[test]
    fn seconds_have_three_places() {
        let rows = [(0, "0.0"), (1_999_999, "0.001"), (1_500_000_000, "1.5")];
        for (nanoseconds, shown) in rows {
            let time = Duration::from_nanos(nanoseconds);
            assert_eq!(whole_milliseconds(time).to_string(), shown);
        }
    }
}

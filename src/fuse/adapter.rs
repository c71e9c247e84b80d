//! Running an operation of the filesystem for a request.

use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::io::Errno;

use super::fuse_call::FuseCall;
use super::metrics::{Counted, Metrics};
use super::operation::Operation;
use super::passthrough::{BackingId, Passthrough};
use super::reply::Reply;
use super::request::Request;
use super::ring_plan::{NoRings, Plan};
use crate::coherence::Coherence;
use crate::coherence::serving::Serving;
use crate::fs::{FsError, Utf8Fs};
use crate::records::{MountOptions, PolicyStatus};

/// The settings with which a filesystem is served.
#[derive(Debug)]
pub struct Service {
    /// The filesystem, and its state in the kernel's caches.
    pub coherence: Arc<Coherence>,
    /// May the kernel read and write files by itself?
    pub passthrough: Passthrough,
    /// Number of requests that are worked on at a time, at least 1.
    pub threads: usize,
    /// Number of these threads that read while others are stalled, at most.
    pub readers: usize,
    /// The answers to `utf8fs status`.
    pub about: Arc<Mutex<About>>,
}

/// The part of the status that is known outside. Options and policy change when the policy is reloaded.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The user who mounted, who may ask besides root.
    pub owner: u32,
    /// The backing directory.
    pub backing: Vec<u8>,
    /// The mount point.
    pub mountpoint: Vec<u8>,
    /// The options in force.
    pub options: Option<MountOptions>,
    /// The policy file in force, if there is one.
    pub policy: Option<PolicyStatus>,
}

/// The filesystem towards the kernel.
#[derive(Debug)]
pub(super) struct Adapter {
    pub(super) fs: Arc<Utf8Fs>,
    pub(super) coherence: Arc<Coherence>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) about: Arc<Mutex<About>>,
    pub(super) passthrough: bool,
    pub(super) serving: Serving<BackingId>,
    pub(super) connection: Arc<OwnedFd>,
    /// Number of threads that serve each CPU by rings, or the reason why none do.
    pub(super) rings: Mutex<Result<usize, NoRings>>,
}

/// The way in which a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    /// With what was put together.
    Now,
    /// With what was put together: that there is no such entry.
    Absent,
    /// Later, by another way.
    Later,
    /// Not at all.
    Never,
}

/// A request that was worked on. Dropped after its answer was sent, it is counted.
#[derive(Debug)]
pub(super) struct Served<'a> {
    pub(super) done: Result<Done, Errno>,
    _counted: Option<Counted<'a>>,
}

impl Adapter {
    /// Makes a service of `connection`, by rings where there is a plan of them. With passthrough the kernel reads and
    /// writes files by itself.
    pub(super) fn new(
        service: Service,
        passthrough: bool,
        connection: Arc<OwnedFd>,
        rings: Result<&Plan, NoRings>,
    ) -> Self {
        let seats = service.threads + rings.map_or(0, Plan::threads);
        Self {
            fs: Arc::clone(&service.coherence.fs),
            coherence: service.coherence,
            metrics: Arc::new(Metrics::new(seats)),
            about: service.about,
            passthrough,
            serving: Serving::default(),
            connection,
            rings: Mutex::new(rings.map(Plan::threads_per_cpu)),
        }
    }

    /// Serves one request on the thread that has `seat` in the metrics: all of it, from its arguments to its answer in `reply`.
    pub(super) fn serve(
        &self,
        seat: usize,
        request: Request<'_>,
        reply: &mut Reply<'_>,
    ) -> Served<'_> {
        let uncounted = |done| Served {
            done,
            _counted: None,
        };
        let Some(operation) = Operation::of(request.opcode) else {
            return uncounted(Err(Errno::NOSYS));
        };
        let call = FuseCall::of(operation, request);
        // Nobody waits for these. There is one FORGET for each inode, too short to be timed.
        if matches!(operation, Operation::Forget | Operation::Interrupt) {
            if operation == Operation::Forget {
                self.metrics.note(operation, seat);
            }
            let done = guard(operation, || self.answer(request, call?, reply));
            return uncounted(done.or(Ok(Done::Never)));
        }
        // Counted nowhere, so that looking changes nothing.
        if let Some(size) = Self::asks_status(request, &call) {
            let done = guard(operation, || self.answer_status(request, size, reply));
            return uncounted(done);
        }
        // The kernel sends these as nobody (`fuse_prepare_release` in `fs/fuse/file.c`).
        let has_caller = !matches!(operation, Operation::Release | Operation::Releasedir);
        let caller = has_caller.then_some(request.caller);
        let mut counted = self.metrics.begin(operation, seat);
        let done = guard(operation, || {
            self.fs.begin(caller)?;
            self.answer(request, call?, reply)
        });
        if let Some(caller) = caller.filter(|_| !operation.is_on_the_way())
            && !matches!(done, Err(Errno::STALE))
        {
            self.fs.end_retry(caller);
        }
        counted.has_failed = matches!(done, Ok(Done::Absent) | Err(_));
        Served {
            done,
            _counted: Some(counted),
        }
    }
}

/// Runs a request to its end. A panic is a bug and costs that request only (law F7): it is answered with `EIO`.
fn guard(operation: Operation, act: impl FnOnce() -> Result<Done, FsError>) -> Result<Done, Errno> {
    let act = || {
        act().map_err(|error| {
            log::trace!("{}: errno {}", operation.name(), error.errno());
            Errno::from_raw_os_error(error.errno())
        })
    };
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|_panic| {
        let operation = operation.name();
        log::error!("{operation}: internal error, answered with EIO; please report it");
        Err(Errno::IO)
    })
}

#[cfg(test)]
mod tests;

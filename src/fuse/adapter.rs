//! Running an operation of the filesystem for a request.

use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use fuser::{BackingId, Errno, ReplyEmpty, ReplyEntry, Request};

use super::answer::{empty, entry};
use super::convert::errno;
use super::data::Passthrough;
use super::operation::Operation;
use super::status::About;
use super::tally::{Counted, Tally};
use super::turns::{Turn, Turns};
use crate::coherence::Coherence;
use crate::coherence::serving::Serving;
use crate::fs::{Caller, Entry, FsError, Utf8Fs};

/// The filesystem towards the kernel.
#[derive(Debug)]
pub struct Adapter {
    pub(super) fs: Arc<Utf8Fs>,
    pub(super) coherence: Arc<Coherence>,
    pub(super) turns: Arc<Turns>,
    pub(super) tally: Arc<Tally>,
    pub(super) about: About,
    pub(super) passthrough: Passthrough,
    pub(super) serving: Serving<BackingId>,
    pub(super) connection: Arc<OwnedFd>,
}

impl Adapter {
    /// An adapter for the filesystem of which the kernel keeps what `coherence` says. It is served over `connection` by so many `threads`, of which up to so many read while others are stalled. `about` is told to who asks how it does.
    ///
    /// # Errors
    /// There can be no thread more.
    pub fn new(
        coherence: Arc<Coherence>,
        passthrough: Passthrough,
        (threads, readers): (usize, usize),
        connection: OwnedFd,
        about: About,
    ) -> io::Result<Self> {
        let connection = Arc::new(connection);
        Ok(Self {
            fs: Arc::clone(coherence.fs()),
            coherence,
            turns: Turns::start(threads, readers, Arc::clone(&connection))?,
            tally: Arc::new(Tally::new(threads)),
            about,
            passthrough,
            serving: Serving::default(),
            connection,
        })
    }

    /// Serves one request of `caller` on this thread: all of it, from the conversion of its arguments to its answer. Counts it.
    pub(super) fn serve(
        &self,
        operation: Operation,
        caller: Caller,
        request: impl FnOnce(&Counted<'_>),
    ) {
        // The kernel sends these as nobody (`fuse_prepare_release` in `fs/fuse/file.c`).
        let has_caller = !matches!(operation, Operation::Release | Operation::Releasedir);
        let caller = has_caller.then_some(caller);
        let counted = self.tally.begin(operation, caller, self.turns.begin());
        if !guard(operation, || request(&counted)) {
            counted.fail();
        }
    }

    /// Serves one request of a kind that is too frequent or too short to be timed.
    pub(super) fn serve_untimed(&self, operation: Operation, request: impl FnOnce(&Turn<'_>)) {
        let turn = self.turns.begin();
        guard(operation, || request(&turn));
    }

    /// Runs the operation of a request as its caller.
    pub(super) fn run<T>(
        &self,
        counted: &Counted<'_>,
        act: impl FnOnce(&Utf8Fs) -> Result<T, FsError>,
    ) -> Result<T, Errno> {
        let done = self.fs.begin(counted.caller()).and_then(|()| act(&self.fs));
        done.map_err(|error| {
            counted.fail();
            log::trace!("{}: errno {}", counted.operation().name(), error.errno());
            errno(&error)
        })
    }
}

/// Runs a request to its end; `false` if it panicked.
///
/// A panic is a bug and costs that request only (law F7): fuser answers `EIO` for a reply that is dropped unsent. A panic
/// that went on would end fuser's thread.
fn guard(operation: Operation, request: impl FnOnce()) -> bool {
    let done = catch_unwind(AssertUnwindSafe(request));
    if done.is_err() {
        let operation = operation.name();
        log::error!("{operation}: internal error, answered with EIO; please report it");
    }
    done.is_ok()
}

impl Adapter {
    /// Runs one operation, and answers that it is done.
    pub(super) fn done(
        &self,
        counted: &Counted<'_>,
        reply: ReplyEmpty,
        act: impl FnOnce(&Utf8Fs) -> Result<(), FsError>,
    ) {
        empty(reply, self.run(counted, act));
    }

    /// Makes an entry of a directory, and answers with that.
    pub(super) fn made(
        &self,
        counted: &Counted<'_>,
        reply: ReplyEntry,
        (parent, name): (u64, &[u8]),
        make: impl FnOnce(&Utf8Fs) -> Result<Entry, FsError>,
    ) {
        let made = self.run(counted, |_| self.coherence.make(parent, name, make));
        entry(reply, made);
    }
}

/// Who sent a request.
pub(super) fn caller(request: &Request) -> Caller {
    Caller {
        uid: request.uid(),
        gid: request.gid(),
        pid: request.pid(),
    }
}

#[cfg(test)]
mod tests;

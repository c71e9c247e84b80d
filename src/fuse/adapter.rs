//! Running an operation of the filesystem for a request.

use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use fuser::{BackingId, Errno, ReplyEmpty, ReplyEntry, Request};

use super::answer::{Kept, empty, entry};
use super::convert::errno;
use super::data::Passthrough;
use super::operation::Operation;
use super::status::About;
use super::tally::{Counted, Tally};
use super::turns::Turns;
use crate::fs::serving::Serving;
use crate::fs::{Caller, Entry, FsError, Utf8Fs};

/// The filesystem towards the kernel.
#[derive(Debug)]
pub struct Adapter {
    pub(super) fs: Arc<Utf8Fs>,
    pub(super) kept: Kept,
    pub(super) turns: Arc<Turns>,
    pub(super) tally: Arc<Tally>,
    pub(super) about: About,
    pub(super) passthrough: Passthrough,
    pub(super) serving: Serving<BackingId>,
    pub(super) connection: Arc<OwnedFd>,
}

impl Adapter {
    /// An adapter for `fs`; the kernel keeps names and attributes that do not change by themselves for as long as `kept` says.
    /// It is served over `connection` by so many `threads`, of which up to so many read while others are stalled. `about` is told to who asks how it does.
    ///
    /// # Errors
    /// There can be no thread more.
    pub fn new(
        fs: Arc<Utf8Fs>,
        kept: Kept,
        passthrough: Passthrough,
        (threads, readers): (usize, usize),
        connection: OwnedFd,
        about: About,
    ) -> io::Result<Self> {
        let connection = Arc::new(connection);
        Ok(Self {
            fs,
            kept,
            turns: Turns::start(threads, readers, Arc::clone(&connection))?,
            tally: Arc::new(Tally::new(threads)),
            about,
            passthrough,
            serving: Serving::default(),
            connection,
        })
    }

    /// Begins a request on this thread. What is returned lives until it is answered.
    pub(super) fn begin(&self, operation: Operation) -> Counted<'_> {
        self.tally.begin(operation, self.turns.begin())
    }

    /// Runs one operation. A panic in it is a bug, and costs that operation only.
    pub(super) fn run<T>(
        &self,
        counted: &Counted<'_>,
        act: impl FnOnce(&Utf8Fs) -> Result<T, FsError>,
    ) -> Result<T, Errno> {
        self.fs.count();
        let operation = counted.operation().name();
        match catch_unwind(AssertUnwindSafe(|| act(&self.fs))) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => {
                counted.fail();
                log::trace!("{operation}: errno {}", error.errno());
                Err(errno(&error))
            }
            Err(_panic) => {
                counted.fail();
                log::error!("{operation}: internal error, answered with EIO; please report it");
                Err(Errno::EIO)
            }
        }
    }
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

    /// Runs one operation that makes or finds an entry, and answers with that.
    pub(super) fn made(
        &self,
        counted: &Counted<'_>,
        reply: ReplyEntry,
        act: impl FnOnce(&Utf8Fs) -> Result<Entry, FsError>,
    ) {
        entry(self.kept, reply, self.run(counted, act));
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

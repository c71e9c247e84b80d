//! The audit log: who asked for which name that does not conform, where, and what came of it (laws L2, L3, F6).
//!
//! An operation hands its [`OffenceRecord`] to [`AuditLog::offence`], which counts it, asks the rate limit, and puts it in a
//! bounded queue. One thread formats and writes. Whatever is wrong with the sink, an operation neither waits nor
//! fails. Losses are counted: each offence ends up as written, left out by the rate limit, or dropped.

mod journald;
mod log_file;
mod rate_limit;
#[cfg(test)]
mod record_tests;
mod record_text;
mod sink;
mod syslog;
#[cfg(test)]
mod tests;
mod writer;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

pub use log_file::is_unsafe_log;
use rate_limit::RateLimit;
pub(super) use sink::Sink;
pub(super) use syslog::message as syslog_message;
use writer::{Job, Writer};

use crate::fs::audit::{AuditLog, Counts, Verdict};
use crate::os;
use crate::policy::Rule;
pub use crate::records::LogFormat as Format;
pub use crate::records::SinkKind;
use crate::records::{
    AuditConfig, AuditEvent, AuditRecord, Name, OffenceRecord, SummaryRecord, Time,
};

/// Most records that wait for the writer.
const QUEUE: usize = 4096;

/// Time that [`Auditor::finish`] waits for the writer.
const FINISH: Duration = Duration::from_secs(2);

/// A log that has not taken a record for so long hangs.
const HANG: Duration = Duration::from_secs(1);

/// Takes offences, and never lets an operation wait for it.
///
/// It has a thread of its own from [`Auditor::begin`] on, which is to be called after the last `fork`. One that is
/// dropped without [`Auditor::finish`] writes what is in its queue while the process lives, but no summary.
#[derive(Debug)]
pub struct Auditor {
    /// Held for a few instructions only, never while writing.
    state: Arc<Mutex<State>>,
    /// The audit log is where the log of a daemon is: what is said there need not be said again.
    is_beside_log: bool,
    /// The writer, until it is started.
    waiting: Mutex<Option<Writer>>,
    /// Closed at its other end when the writer ends.
    ended: Mutex<Receiver<()>>,
}

/// State that the auditor and its writer share.
#[derive(Debug)]
struct State {
    mount: Name<'static>,
    limit: RateLimit,
    counts: Counts,
    /// The way into the queue; `None` when finished.
    queue: Option<SyncSender<Job>>,
    /// Operations of the mount, for the summary.
    operations: u64,
    /// Is the sink to be opened again?
    reopen: bool,
    /// The writer did not end in time; its counts are closed.
    given_up: bool,
    /// The time at which the writer began what it is doing.
    busy_since: Option<Instant>,
}

impl State {
    /// Asks the rate limit for a record: how many were left out before it. Counts one that is left out.
    fn admit(&mut self, record: &OffenceRecord, directory: u64, now: Instant) -> Option<u64> {
        let Some(queue) = &self.queue else {
            // It will find no queue, whatever the rate limit says.
            return Some(0);
        };
        let pair = (record.uid, directory);
        if let Some(left_out) = self.limit.make_room(pair) {
            let record = self.record(Time::now(), AuditEvent::LeftOut(left_out));
            // Where the queue is full this notice is lost; its count is in the summary.
            queue.try_send(Some(Box::new(record))).ok();
        }
        let passes = self.limit.admit(pair, record.directory(), now);
        if passes.is_none() {
            self.counts.leave_out(record.rule, record.verdict);
        }
        passes
    }

    fn record(&self, time: Time, event: AuditEvent) -> AuditRecord {
        let mount = self.mount.clone();
        AuditRecord { time, mount, event }
    }

    /// Returns the records of what was left out and not yet reported, and forgets it.
    fn left_out(&mut self) -> Vec<AuditRecord> {
        let left_out = self.limit.drain().into_iter();
        let records = left_out.map(|one| self.record(Time::now(), AuditEvent::LeftOut(one)));
        records.collect()
    }

    /// Returns the summary of what was counted.
    fn summary(&self) -> AuditRecord {
        let verdicts = self.counts.by_verdict();
        let records = self.counts.records;
        let summary = SummaryRecord {
            operations: self.operations,
            offences: self.counts.rules(),
            refused: verdicts.refused,
            normalized: verdicts.normalized,
            reported: verdicts.reported,
            written: records.written,
            left_out: records.left_out,
            dropped: records.dropped,
        };
        self.record(Time::now(), AuditEvent::Summary(summary))
    }
}

impl Auditor {
    /// Opens the sink. `mount` is the path of the mount point. Nothing is written before [`Auditor::begin`].
    ///
    /// # Errors
    /// The file cannot be opened. A syslog or journal that is not there is no error, nor is a FIFO
    /// that nobody reads.
    pub fn new(config: &AuditConfig, mount: Vec<u8>) -> io::Result<Self> {
        Ok(Self::over(
            config,
            Sink::open(config.audit_log.clone())?,
            mount,
        ))
    }

    fn over(config: &AuditConfig, sink: Sink, mount: Vec<u8>) -> Self {
        let (sender, queue) = sync_channel(QUEUE);
        let state = Arc::new(Mutex::new(State {
            mount: mount.into(),
            limit: RateLimit::new(config.audit_burst, config.audit_per_minute),
            counts: Counts::default(),
            queue: Some(sender),
            operations: 0,
            reopen: false,
            given_up: false,
            busy_since: None,
        }));
        let (running, ended) = sync_channel(0);
        let writer = Writer {
            sink,
            format: config.audit_format,
            queue,
            state: Arc::clone(&state),
            complained: false,
            is_stale: false,
            _running: running,
        };
        Self {
            state,
            is_beside_log: matches!(config.audit_log, SinkKind::Stderr | SinkKind::Syslog),
            waiting: Mutex::new(Some(writer)),
            ended: Mutex::new(ended),
        }
    }

    /// Starts the thread that writes; a second call does nothing.
    ///
    /// # Errors
    /// There are too many threads.
    pub fn begin(&self) -> io::Result<()> {
        let Some(writer) = self.waiting.lock().take() else {
            return Ok(());
        };
        let thread = std::thread::Builder::new().name("audit".to_owned());
        thread.spawn(|| writer.run()).map(drop)
    }

    fn offence_at(
        &self,
        time: Time,
        mut record: OffenceRecord,
        directory: u64,
        now: Instant,
        command_of: impl FnOnce(u32) -> Vec<u8>,
    ) {
        let Some(left_out) = self.state.lock().admit(&record, directory, now) else {
            return;
        };
        record.left_out = left_out;
        if record.command.as_bytes().is_empty() && record.pid != 0 {
            record.command = command_of(record.pid).into();
        }
        let mut state = self.state.lock();
        state.counts.add(record.rule, record.verdict);
        let record = state.record(time, AuditEvent::Offence(Box::new(record)));
        let job = Some(Box::new(record));
        // The queue may have been closed meanwhile.
        let refused = |queue: &SyncSender<Job>| queue.try_send(job).is_err();
        if state.queue.as_ref().is_none_or(refused) {
            state.counts.records.dropped += 1;
        }
    }

    /// Counts an offence as one that the rate limit leaves out, where there is no time for its record.
    pub fn leave_out(&self, rule: Rule, verdict: Verdict) {
        self.state.lock().counts.leave_out(rule, verdict);
    }

    /// Has the writer open the file at its path again, after a log rotation; for other sinks nothing happens. Where
    /// that fails, the old file stays in use and the error is logged. Returns at once.
    pub fn reopen(&self) {
        let mut state = self.state.lock();
        state.reopen = true;
        if let Some(queue) = &state.queue {
            // A full queue wakes the writer by itself.
            queue.try_send(None).ok();
        }
    }

    /// Writes the queued records, those left out and not reported, and a summary with the number of `operations` of
    /// the mount. The summary also goes to the program's own log where that is another.
    ///
    /// Waits 2 seconds at most: what a stuck sink has not taken by then is dropped. Offences that come later are
    /// counted as dropped. A second call writes nothing.
    pub fn finish(&self, operations: u64) {
        let mut state = self.state.lock();
        if state.queue.take().is_none() {
            return;
        }
        state.operations = operations;
        drop(state);
        let ended = self.ended.lock().recv_timeout(FINISH);
        let in_time = ended == Err(RecvTimeoutError::Disconnected);
        let mut state = self.state.lock();
        if !in_time {
            state.given_up = true;
            let offences = state.counts.offences();
            let records = &mut state.counts.records;
            records.dropped = offences - records.written - records.left_out;
        }
        if !(self.is_beside_log && in_time) {
            log::info!("{}", state.summary().text());
        }
    }
}

impl AuditLog for Auditor {
    /// A record over the rate limit of its user and directory (law L3), or one that finds the queue full, is only counted. The command
    /// name of the record's process is looked for only where the rate limit admits it, and while no lock is held.
    fn offence(&self, time: Time, record: OffenceRecord, directory: u64) {
        self.offence_at(time, record, directory, Instant::now(), os::command_of);
    }

    fn counts(&self) -> Counts {
        let state = self.state.lock();
        let mut counts = state.counts;
        counts.failing |= state.busy_since.is_some_and(|since| since.elapsed() > HANG);
        counts
    }
}

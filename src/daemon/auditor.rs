//! The audit log: who asked for which name that does not conform, where, and what came of it (laws L2, L3, F6).
//!
//! An operation hands its [`OffenceRecord`] to [`AuditLog::offence`], which counts it, asks the rate limit, and puts it in a
//! bounded queue. One thread formats and writes. Whatever is wrong with the sink, an operation neither waits nor
//! fails. Losses are counted: each offence ends up as written, left out by the rate limit, or dropped.

mod journald;
mod rate_limit;
#[cfg(test)]
mod record_tests;
mod record_text;
mod sink;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use rate_limit::RateLimit;
pub use sink::Sink;

use crate::fs::audit::{AuditLog, Counts, Verdict};
use crate::os;
use crate::policy::Rule;
pub use crate::records::LogFormat as Format;
pub use crate::records::SinkKind;
use crate::records::{
    AuditConfig, AuditEvent, AuditRecord, Name, OffenceRecord, SummaryRecord, Time, json_line,
};

/// Most records that wait for the writer.
const QUEUE: usize = 4096;

/// Time that [`Auditor::finish`] waits for the writer.
const FINISH: Duration = Duration::from_secs(2);

/// A log that has not taken a record for so long hangs.
const HANG: Duration = Duration::from_secs(1);

/// Takes offences, and never lets an operation wait for it.
///
/// It has a thread of its own from [`Auditor::begin`] on, which is to be called after the last `fork`.
#[derive(Debug)]
pub struct Auditor {
    /// Held for a few instructions only, never while writing.
    state: Mutex<State>,
    /// There is work for the writer, or the writer has done all.
    changed: Condvar,
    /// The audit log is where the log of a daemon is: what is said there need not be said again.
    is_beside_log: bool,
}

/// State that the auditor and its writer share.
#[derive(Debug, Default)]
struct State {
    mount: Name,
    limit: RateLimit,
    counts: Counts,
    /// Records that wait for the writer.
    queue: VecDeque<AuditRecord>,
    /// Is the sink to be opened again?
    reopen: bool,
    /// The time at which the writer began what it is doing.
    busy_since: Option<Instant>,
    /// Did the mount end? No offence is queued then.
    is_finished: bool,
    /// Is the writer waited for no more? It ends, and the counts are closed.
    is_over: bool,
    /// The writer, until it is started.
    waiting: Option<Writer>,
}

impl State {
    fn record(&self, time: Time, event: AuditEvent) -> AuditRecord {
        let mount = self.mount.clone();
        AuditRecord { time, mount, event }
    }

    fn is_idle(&self) -> bool {
        self.queue.is_empty() && !self.reopen && self.busy_since.is_none()
    }

    /// Returns the summary of what was counted.
    fn summary(&self, operations: u64) -> AuditRecord {
        let verdicts = self.counts.by_verdict();
        let summary = SummaryRecord {
            operations,
            offences: self.counts.rules(),
            refused: verdicts.refused,
            normalized: verdicts.normalized,
            reported: verdicts.reported,
            records: self.counts.records,
        };
        self.record(Time::now(), AuditEvent::Summary(summary))
    }
}

impl Auditor {
    /// Makes an auditor over an open sink. `mount` is the path of the mount point. Nothing is written before [`Auditor::begin`].
    pub fn new(config: &AuditConfig, sink: Sink, mount: Vec<u8>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                mount: mount.into(),
                limit: RateLimit::new(config.audit_burst, config.audit_per_minute),
                waiting: Some(Writer {
                    sink,
                    format: config.audit_format,
                    complained: false,
                    is_stale: false,
                }),
                ..State::default()
            }),
            changed: Condvar::new(),
            is_beside_log: matches!(config.audit_log, SinkKind::Stderr | SinkKind::Syslog),
        })
    }

    /// Starts the thread that writes; a second call does nothing.
    ///
    /// # Errors
    /// There are too many threads.
    pub fn begin(self: &Arc<Self>) -> io::Result<()> {
        let Some(writer) = self.state.lock().waiting.take() else {
            return Ok(());
        };
        let auditor = Arc::clone(self);
        let thread = std::thread::Builder::new().name("audit".to_owned());
        thread.spawn(move || auditor.write_queue(writer)).map(drop)
    }

    /// Writes each record as it comes, until nobody waits for that any more.
    fn write_queue(&self, mut writer: Writer) {
        let mut state = self.state.lock();
        while !state.is_over {
            if state.is_idle() {
                self.changed.notify_all();
                self.changed.wait(&mut state);
                continue;
            }
            let record = match std::mem::take(&mut state.reopen) {
                true => None,
                false => state.queue.pop_front(),
            };
            state.busy_since = Some(Instant::now());
            let is_done = MutexGuard::unlocked(&mut state, || match &record {
                Some(record) => writer.write(record),
                None => writer.reopen(),
            });
            if state.is_over {
                return;
            }
            state.busy_since = None;
            state.counts.failing = !is_done || writer.is_stale;
            if record.is_some_and(|record| matches!(record.event, AuditEvent::Offence(_))) {
                match is_done {
                    true => state.counts.records.written += 1,
                    false => state.counts.records.dropped += 1,
                }
            }
        }
    }

    fn offence_at(
        &self,
        time: Time,
        mut record: OffenceRecord,
        directory: u64,
        now: Instant,
        command_of: impl FnOnce(u32) -> Vec<u8>,
    ) {
        let pair = (record.uid, directory);
        let mut state = self.state.lock();
        if let Some(left_out) = state.limit.make_room(pair) {
            // Where the queue is full this notice is lost; its count is in the summary.
            self.put(&mut state, Time::now(), AuditEvent::LeftOut(left_out));
        }
        let Some(left_out) = state.limit.admit(pair, record.path.as_path(), now) else {
            state.counts.leave_out(record.rule, record.verdict);
            return;
        };
        drop(state);
        record.left_out = left_out;
        if record.command.as_bytes().is_empty() && record.pid != 0 {
            record.command = command_of(record.pid).into();
        }
        let mut state = self.state.lock();
        state.counts.add(record.rule, record.verdict);
        if !self.put(&mut state, time, AuditEvent::Offence(Box::new(record))) {
            state.counts.records.dropped += 1;
        }
    }

    /// Queues a record; returns whether there was room.
    fn put(&self, state: &mut State, time: Time, event: AuditEvent) -> bool {
        let has_room = !state.is_finished && state.queue.len() < QUEUE;
        if has_room {
            state.queue.push_back(state.record(time, event));
            self.changed.notify_all();
        }
        has_room
    }

    /// Counts an offence as one that the rate limit leaves out, where there is no time for its record.
    pub fn leave_out(&self, rule: Rule, verdict: Verdict) {
        self.state.lock().counts.leave_out(rule, verdict);
    }

    /// Has the writer open the file at its path again, after a log rotation; for other sinks nothing happens. Where
    /// that fails, the old file stays in use and the error is logged. Returns at once.
    pub fn reopen(&self) {
        self.state.lock().reopen = true;
        self.changed.notify_all();
    }

    /// Writes the queued records, those left out and not reported, and a summary with the number of `operations` of
    /// the mount. The summary also goes to the program's own log where that is another.
    ///
    /// Waits 2 seconds at most: what a stuck sink has not taken by then is dropped. Offences that come later are only
    /// counted. A second call writes nothing.
    pub fn finish(&self, operations: u64) {
        let deadline = Instant::now() + FINISH;
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.is_finished, true) {
            return;
        }
        for left_out in state.limit.drain() {
            let record = state.record(Time::now(), AuditEvent::LeftOut(left_out));
            state.queue.push_back(record);
        }
        let wait = |state: &mut MutexGuard<'_, State>| {
            self.changed.notify_all();
            let is_busy = |state: &mut State| !state.is_idle();
            self.changed.wait_while_until(state, is_busy, deadline);
            state.is_idle()
        };
        let mut in_time = wait(&mut state);
        if in_time {
            // From here on no record is on its way.
            let summary = state.summary(operations);
            state.queue.push_back(summary);
            in_time = wait(&mut state);
        }
        state.is_over = true;
        self.changed.notify_all();
        if !in_time {
            let offences = state.counts.offences();
            let records = &mut state.counts.records;
            records.dropped = offences - records.written - records.left_out;
        }
        if !(self.is_beside_log && in_time) {
            log::info!("{}", state.summary(operations).text());
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

/// The way of records to the sink, for the only thread that waits for it.
#[derive(Debug)]
struct Writer {
    sink: Sink,
    format: Format,
    /// Was the trouble with the sink logged already? Once for each opening.
    complained: bool,
    /// Did the last reopening fail?
    is_stale: bool,
}

impl Writer {
    /// Writes a line; returns whether the sink took it.
    fn write(&mut self, record: &AuditRecord) -> bool {
        let line = match self.format {
            Format::Json => json_line(record),
            Format::Text => record.text(),
        };
        let result = self.sink.write_line(&line, record);
        if let Err(error) = &result
            && !std::mem::replace(&mut self.complained, true)
        {
            log::warn!("cannot write to the audit log: {error}; lost records are counted");
        }
        result.is_ok()
    }

    /// Opens the sink again; returns whether it has room.
    fn reopen(&mut self) -> bool {
        let reopened = self.sink.reopen();
        self.is_stale = reopened.is_err();
        let has_room = reopened.unwrap_or_else(|error| {
            log::error!("cannot reopen the audit log: {error}; the old file stays in use");
            false
        });
        if has_room && std::mem::take(&mut self.complained) {
            log::warn!("the audit log was reopened, and has room");
        }
        has_room
    }
}

//! The thread that writes the audit log: the only one that waits for the sink.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Instant;

use parking_lot::Mutex;

use super::sink::Sink;
use super::{Format, State};
use crate::records::{AuditEvent, AuditRecord, json_line};

/// An item of the writer's queue: a record to write, or `None` to look whether the sink is to be reopened.
pub(super) type Job = Option<Box<AuditRecord>>;

/// The state of the thread.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) sink: Sink,
    pub(super) format: Format,
    pub(super) queue: Receiver<Job>,
    pub(super) state: Arc<Mutex<State>>,
    /// Was the trouble with the sink logged already? Once for each opening.
    pub(super) complained: bool,
    /// Did the last reopening fail?
    pub(super) is_stale: bool,
    /// Dropped when the summary is written or given up.
    pub(super) _running: SyncSender<()>,
}

impl Writer {
    /// Writes what comes until the queue is closed, then what was left out and not yet reported, and the summary.
    pub(super) fn run(mut self) {
        while let Ok(job) = self.queue.recv() {
            self.state.lock().busy_since = Some(Instant::now());
            self.reopen_if_wanted();
            if let Some(record) = job {
                let written = self.write(&record);
                let mut state = self.state.lock();
                if state.given_up {
                    return;
                }
                if let AuditEvent::Offence(_) = record.event {
                    state.counts.failing = !written || self.is_stale;
                    if written {
                        state.counts.records.written += 1;
                    } else {
                        state.counts.records.dropped += 1;
                    }
                }
            }
            self.state.lock().busy_since = None;
        }
        self.reopen_if_wanted();
        let left_out = self.state.lock().left_out();
        for record in left_out {
            self.write(&record);
            if self.state.lock().given_up {
                return;
            }
        }
        // From here on no record is on its way: the sender is gone, and the queue is empty.
        let summary = self.state.lock().summary();
        self.write(&summary);
    }

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

    fn reopen_if_wanted(&mut self) {
        if !std::mem::take(&mut self.state.lock().reopen) {
            return;
        }
        let reopened = self.sink.reopen();
        self.is_stale = reopened.is_err();
        let is_full = !self.sink.has_room();
        self.state.lock().counts.failing = self.is_stale || is_full;
        if let Err(error) = reopened {
            log::error!("cannot reopen the audit log: {error}; the old file stays in use");
        } else if !is_full && std::mem::take(&mut self.complained) {
            log::warn!("the audit log was reopened, and has room");
        }
    }
}

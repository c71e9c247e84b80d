//! The way of records to the audit log's sink, for the only thread that waits for it.

use super::Format;
use super::sink::Sink;
use crate::records::{AuditRecord, json_line};

/// Writes records to a sink.
#[derive(Debug)]
pub(super) struct Writer {
    sink: Sink,
    format: Format,
    /// Was the trouble with the sink logged already? Once for each opening.
    complained: bool,
    /// Did the last reopening fail?
    pub(super) is_stale: bool,
}

impl Writer {
    pub(super) fn new(sink: Sink, format: Format) -> Self {
        Self {
            sink,
            format,
            complained: false,
            is_stale: false,
        }
    }

    /// Writes a line; returns whether the sink took it.
    pub(super) fn write(&mut self, record: &AuditRecord) -> bool {
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
    pub(super) fn reopen(&mut self) -> bool {
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

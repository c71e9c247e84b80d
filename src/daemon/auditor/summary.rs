//! The line at the end about what was counted.

use crate::fs::audit::Counts;
use crate::names::Quoted;
use crate::records::{Event, SummaryRecord, Time};

impl Counts {
    /// The summary for people, one line.
    pub(super) fn text(&self, at: Time, mount: &[u8], operations: u64) -> String {
        fn list<K: Into<&'static str>>(rows: impl IntoIterator<Item = (K, u64)>) -> String {
            let rows = rows
                .into_iter()
                .map(|(key, count)| format!("{count} {}", key.into()));
            rows.collect::<Vec<_>>().join(", ")
        }
        format!(
            "{at} summary of {}: operations: {operations}; offences: {} ({}; {}); records: {} written, {} left out by the rate limit, {} dropped",
            Quoted(mount),
            self.offences(),
            list(self.rules().rows()),
            list(self.by_verdict().rows()),
            self.written,
            self.left_out,
            self.dropped,
        )
    }

    /// The summary for programs.
    pub(super) fn document<'a>(
        &self,
        at: Time,
        mount: &'a [u8],
        operations: u64,
    ) -> SummaryRecord<'a> {
        let verdicts = self.by_verdict();
        SummaryRecord {
            time: at,
            event: Event::Summary,
            mount: mount.into(),
            operations,
            offences: self.rules(),
            refused: verdicts.refused,
            normalized: verdicts.normalized,
            reported: verdicts.reported,
            written: self.written,
            left_out: self.left_out,
            dropped: self.dropped,
        }
    }
}

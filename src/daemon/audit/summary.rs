//! The line at the end about what was counted.

use crate::fs::audit::Counts;
use crate::names::Quoted;
use crate::records::{Event, SummaryRecord, Time};

impl Counts {
    /// The summary for people, one line that starts with `utf8fs: `.
    pub(super) fn text(&self, at: Time, mount: &[u8], operations: u64) -> String {
        let (rules, verdicts) = (self.rules(), self.by_verdict());
        format!(
            "utf8fs: {} summary of mount {}: {operations} operations, {} offences ({} ill-formed, {} too-long, \
             {} forbidden, {} not-normalized, {} unmappable, {} not-unique, {} not-a-component; {} refused, {} normalized, {} reported), \
             {} records written, {} left out by the rate limit, {} dropped",
            at,
            Quoted(mount),
            self.offences(),
            rules.ill_formed,
            rules.too_long,
            rules.forbidden,
            rules.not_normalized,
            rules.unmappable,
            rules.not_unique,
            rules.not_a_component,
            verdicts.refused,
            verdicts.normalized,
            verdicts.reported,
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

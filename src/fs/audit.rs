//! Offences as they happen: who asked for which name that does not conform, where, and what came of it (laws L2 and F6). Where they are
//! written is for others to know.

use std::fmt;

pub use crate::names::rules::Verdict;
use crate::policy::RuleName;
pub use crate::records::Operation;
use crate::records::{AuditCounts, OffenceRecord, RuleCounts, Time, VerdictCounts};

/// Takes offences. No operation waits for it or fails by it (law F6).
pub trait AuditLog: fmt::Debug + Send + Sync {
    /// Takes the record of an offence at that time in the directory of this number, which is the same for the same directory. The command of its
    /// process may be empty: it is asked for where the rate limit admits the record.
    fn offence(&self, time: Time, record: OffenceRecord, directory: u64);

    /// Returns the counts so far.
    fn counts(&self) -> Counts;
}

/// Offences since the mount, by rule and by verdict, and what became of their records.
///
/// When the log is finished, `offences()` is the sum of `records`; before that,
/// records that wait in the queue are in none of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Offences by rule and by verdict.
    pub by_rule: RuleCounts<VerdictCounts>,
    /// Records by what became of them.
    pub records: AuditCounts,
    /// Does the sink hang, did it not take the last record, or could it not be reopened?
    pub failing: bool,
}

impl Counts {
    /// Returns the number of all offences.
    pub fn offences(&self) -> u64 {
        self.by_verdict().sum()
    }

    /// Returns the offences by verdict.
    pub fn by_verdict(&self) -> VerdictCounts {
        let mut all = VerdictCounts::default();
        for (_, verdicts) in self.by_rule.rows() {
            for (verdict, count) in verdicts.rows() {
                *all.of(verdict) += count;
            }
        }
        all
    }

    /// Returns the offences by rule.
    pub fn rules(&self) -> RuleCounts<u64> {
        let mut rules = RuleCounts::default();
        for (rule, verdicts) in self.by_rule.rows() {
            *rules.of(rule) = verdicts.sum();
        }
        rules
    }

    /// Counts one offence.
    pub(crate) fn add(&mut self, rule: impl Into<RuleName>, verdict: Verdict) {
        *self.by_rule.of(rule.into()).of(verdict) += 1;
    }

    /// Counts one offence whose record is left out (law L3).
    pub(crate) fn leave_out(&mut self, rule: impl Into<RuleName>, verdict: Verdict) {
        self.add(rule, verdict);
        self.records.left_out += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Verdict};
    use crate::policy::{Alike, Class, Rule};
    use crate::records::VerdictCounts;

    #[test]
    fn offences_are_counted_by_rule_and_by_verdict_together() {
        let mut counts = Counts::default();
        let class = Rule::Forbidden(Class::Bidi);
        for verdict in [Verdict::Refused, Verdict::Reported, Verdict::Reported] {
            counts.add(class, verdict);
        }
        counts.add(Rule::NotUnique(Alike::Casefold), Verdict::Refused);
        counts.add(Rule::NotAComponent, Verdict::Normalized);
        let of = |refused, normalized, reported| VerdictCounts {
            refused,
            normalized,
            reported,
        };
        assert_eq!(counts.by_rule.forbidden, of(1, 0, 2));
        assert_eq!(counts.by_rule.not_unique, of(1, 0, 0));
        assert_eq!(counts.by_rule.not_a_component, of(0, 1, 0));
        assert_eq!((counts.by_verdict(), counts.offences()), (of(2, 1, 2), 5));
        assert_eq!((counts.rules().forbidden, counts.rules().sum()), (3, 5));
    }
}

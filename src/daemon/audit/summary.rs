//! What was counted, and the one line about it at the end.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::record::{Verdict, time};
use crate::names::Quoted;
use crate::names::json::json_name;
use crate::policy::Rule;

/// Offences since the mount, by rule and by verdict, and what became of their records.
///
/// When the [`Auditor`](super::Auditor) has finished, `offences() == written + left_out + dropped`; before that,
/// records that wait in the queue are in none of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Names that are not well-formed.
    pub ill_formed: u64,
    /// Names over a limit.
    pub too_long: u64,
    /// Names with a forbidden character or shape.
    pub forbidden: u64,
    /// Names in another normalization form.
    pub not_normalized: u64,
    /// Not in the charset that names are stored in.
    pub unmappable: u64,
    /// Names like a sibling in all but case or form.
    pub not_unique: u64,
    /// Not one component of a path.
    pub not_a_component: u64,
    /// Offences refused.
    pub refused: u64,
    /// Offences normalized.
    pub normalized: u64,
    /// Offences only reported.
    pub reported: u64,
    /// Records written.
    pub written: u64,
    /// Records left out by the rate limit.
    pub left_out: u64,
    /// Records lost: the queue was full, or the sink did not take them.
    pub dropped: u64,
    /// Offences by rule, in the order of [`Counts::by_rule`], and by verdict: refused, normalized, reported.
    became: [[u64; 3]; 7],
}

impl Counts {
    /// All offences.
    #[must_use]
    pub fn offences(&self) -> u64 {
        self.refused + self.normalized + self.reported
    }

    /// Offences by the stable name of the rule.
    #[must_use]
    pub fn by_rule(&self) -> [(&'static str, u64); 7] {
        [
            ("ill-formed", self.ill_formed),
            ("too-long", self.too_long),
            ("forbidden", self.forbidden),
            ("not-normalized", self.not_normalized),
            ("unmappable", self.unmappable),
            ("not-unique", self.not_unique),
            ("not-a-component", self.not_a_component),
        ]
    }

    /// Offences by the stable name of the rule, each with how many were refused, normalized and reported.
    #[must_use]
    pub fn became(&self) -> [(&'static str, [u64; 3]); 7] {
        let mut became = self.became.into_iter();
        self.by_rule()
            .map(|(rule, _)| (rule, became.next().unwrap_or_default()))
    }

    /// Counts one offence.
    pub(super) fn add(&mut self, rule: Rule, verdict: Verdict) {
        let (number, counted) = match rule {
            Rule::IllFormed(..) => (0, &mut self.ill_formed),
            Rule::TooLong { .. } => (1, &mut self.too_long),
            Rule::Forbidden(_) => (2, &mut self.forbidden),
            Rule::NotNormalized(_) => (3, &mut self.not_normalized),
            Rule::Unmappable(_) => (4, &mut self.unmappable),
            Rule::NotUnique(_) => (5, &mut self.not_unique),
            Rule::NotAComponent => (6, &mut self.not_a_component),
        };
        *counted += 1;
        let became = self.became.get_mut::<usize>(number);
        if let Some(slot) = became.and_then(|all| all.get_mut(verdict as usize)) {
            *slot += 1;
        }
        *match verdict {
            Verdict::Refused => &mut self.refused,
            Verdict::Normalized => &mut self.normalized,
            Verdict::Reported => &mut self.reported,
        } += 1;
    }

    /// The summary for people, one line that starts with `utf8fs: `.
    pub(super) fn text(&self, at: Timestamp, mount: &[u8], operations: u64) -> String {
        format!(
            "utf8fs: {} summary of mount {}: {operations} operations, {} offences ({} ill-formed, {} too-long, \
             {} forbidden, {} not-normalized, {} unmappable, {} not-unique, {} not-a-component; {} refused, {} normalized, {} reported), \
             {} records written, {} left out by the rate limit, {} dropped",
            time(at),
            Quoted(mount),
            self.offences(),
            self.ill_formed,
            self.too_long,
            self.forbidden,
            self.not_normalized,
            self.unmappable,
            self.not_unique,
            self.not_a_component,
            self.refused,
            self.normalized,
            self.reported,
            self.written,
            self.left_out,
            self.dropped,
        )
    }

    /// The summary for programs.
    pub(super) fn json(&self, at: Timestamp, mount: &[u8], operations: u64) -> Value {
        json!({
            "time": time(at),
            "event": "summary",
            "mount": json_name(mount),
            "operations": operations,
            "offences": {
                "ill-formed": self.ill_formed,
                "too-long": self.too_long,
                "forbidden": self.forbidden,
                "not-normalized": self.not_normalized,
                "unmappable": self.unmappable,
                "not-unique": self.not_unique,
                "not-a-component": self.not_a_component,
            },
            "refused": self.refused,
            "normalized": self.normalized,
            "reported": self.reported,
            "written": self.written,
            "left_out": self.left_out,
            "dropped": self.dropped,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Verdict};
    use crate::policy::{Alike, Class, Rule};

    #[test]
    fn offences_are_counted_by_rule_and_by_what_became_of_them_together() {
        let mut counts = Counts::default();
        let class = Rule::Forbidden(Class::Bidi);
        for verdict in [Verdict::Refused, Verdict::Reported, Verdict::Reported] {
            counts.add(class, verdict);
        }
        counts.add(Rule::NotUnique(Alike::Casefold), Verdict::Refused);
        counts.add(Rule::NotAComponent, Verdict::Normalized);
        let became = counts.became();
        let of = |wanted: &str| became.iter().find(|(rule, _)| *rule == wanted).unwrap().1;
        assert_eq!(of("forbidden"), [1, 0, 2]);
        assert_eq!(of("not-unique"), [1, 0, 0]);
        assert_eq!(of("not-a-component"), [0, 1, 0]);
        for ((rule, count), (same, became)) in counts.by_rule().into_iter().zip(became) {
            assert_eq!((rule, count), (same, became.iter().sum()));
        }
    }
}

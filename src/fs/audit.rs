//! Offences as they happen: who asked for which name that does not conform, where, and what came of it (laws L2 and F6). Where they are
//! written is for others to know.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use crate::names::rules::Exempt;
pub use crate::names::rules::Verdict;
use crate::policy::{Offence, Rule};

/// Takes offences. No operation waits for it or fails by it (law F6).
pub trait AuditLog: fmt::Debug + Send + Sync {
    /// Takes the record of an offence in the directory of this number, which is the same for the same directory.
    fn offence(&self, record: Record, directory: u64);

    /// What was counted so far.
    fn counts(&self) -> Counts;
}

/// An operation that records are of. docs/audit.md lists all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A name too long for any entry was looked up.
    Lookup,
    /// A file was made by opening it.
    Create,
    /// A directory was made.
    Mkdir,
    /// A device, a FIFO, a socket or a file was made.
    Mknod,
    /// A symlink was made.
    Symlink,
    /// A hard link was made.
    Link,
    /// An entry was renamed.
    Rename,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Lookup,
        Self::Create,
        Self::Mkdir,
        Self::Mknod,
        Self::Symlink,
        Self::Link,
        Self::Rename,
    ];

    /// The stable name, as in JSON.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Lookup => "lookup",
            Self::Create => "create",
            Self::Mkdir => "mkdir",
            Self::Mknod => "mknod",
            Self::Symlink => "symlink",
            Self::Link => "link",
            Self::Rename => "rename",
        }
    }
}

/// One offence against the policy: who asked for which name, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// When it was asked.
    pub time: Timestamp,
    /// Path of the mount point.
    pub mount: Vec<u8>,
    /// The operation.
    pub operation: Operation,
    /// Visible path of the parent, `/`, and the asked name, or that of the symlink whose target has the asked name in it;
    /// starts with `/`, the root of the mount.
    pub path: Vec<u8>,
    /// The name as asked.
    pub name: Vec<u8>,
    /// The section of the policy that decided, as [`Terms::section`](crate::names::rules::Terms::section) has it.
    pub section: Option<Arc<str>>,
    /// The rule that it breaks, and where.
    pub offence: Offence,
    /// What was done about it.
    pub verdict: Verdict,
    /// Why it was let through, though others are refused it.
    pub exempt: Option<Exempt>,
    /// The errno of a refusal.
    pub errno: Option<i32>,
    /// The name that it became, or stays visible as.
    pub visible: Option<Vec<u8>>,
    /// The name that was stored.
    pub backing: Option<Vec<u8>>,
    /// A name that would be accepted instead.
    pub accepted: Option<Vec<u8>>,
    /// The visible name of the sibling that it is like, where that is the offence.
    pub sibling: Option<Vec<u8>>,
    /// User id of the caller.
    pub uid: u32,
    /// Group id of the caller.
    pub gid: u32,
    /// Process id of the caller.
    pub pid: u32,
    /// Command name of the caller; empty where it is not known, and until the rate limit has admitted the record.
    pub command: Vec<u8>,
}

/// Offences since the mount, by rule and by verdict, and what became of their records.
///
/// When the log is finished, `offences() == written + left_out + dropped`; before that,
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
    pub(crate) fn add(&mut self, rule: Rule, verdict: Verdict) {
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
}

#[cfg(test)]
mod tests {
    use super::{Counts, Operation, Verdict};
    use crate::policy::{Alike, Class, Rule};

    /// The list cannot lack one unseen: the number of each is its place.
    #[test]
    fn all_operations_are_in_the_list() {
        let last = Operation::Rename as usize;
        assert_eq!(Operation::ALL.len(), last + 1);
        for (place, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, place);
        }
    }

    /// The operations of the page on the audit log are those that can be recorded.
    #[test]
    fn the_page_lists_each_operation_and_no_other() {
        let page = include_str!("../../docs/audit.md");
        let row = page
            .lines()
            .find(|line| line.starts_with("| `operation` |"));
        let told = row.unwrap().split('|').nth(4).unwrap();
        let mut told: Vec<&str> = told.split('`').skip(1).step_by(2).collect();
        let mut all = Operation::ALL.map(Operation::label).to_vec();
        told.sort_unstable();
        all.sort_unstable();
        assert_eq!(told, all);
    }

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

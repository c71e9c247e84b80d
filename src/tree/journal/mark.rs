//! Marks: what is told of a migration behind its steps.

use super::Rest;
use super::frames::Kind;
use super::octets::Reader;

/// What is told of a migration behind its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// So many jobs are done, with so many steps, some of them left.
    Progress {
        jobs: u64,
        steps: u64,
        left: u64,
    },
    /// The end: steps done in the last run, those found done, those left, and what planning left.
    Finished {
        done: u64,
        before: u64,
        left: u64,
        rest: Rest,
    },
    Undoing,
    Undone {
        done: u64,
        before: u64,
        left: u64,
    },
    Linking,
}

impl Mark {
    pub(super) fn numbers(self) -> (Kind, [u64; 5]) {
        match self {
            Self::Progress { jobs, steps, left } => (Kind::Progress, [jobs, steps, left, 0, 0]),
            Self::Finished {
                done,
                before,
                left,
                rest,
            } => (Kind::Finished, [done, before, left, rest.left, rest.unread]),
            Self::Undoing => (Kind::Undoing, [0; 5]),
            Self::Undone { done, before, left } => (Kind::Undone, [done, before, left, 0, 0]),
            Self::Linking => (Kind::Linking, [0; 5]),
        }
    }

    pub(super) fn read(kind: Kind, payload: &[u8]) -> Option<Self> {
        let mut octets = Reader(payload);
        let [a, b, c, d, e] = [
            octets.u64()?,
            octets.u64()?,
            octets.u64()?,
            octets.u64()?,
            octets.u64()?,
        ];
        Some(match kind {
            Kind::Progress => Self::Progress {
                jobs: a,
                steps: b,
                left: c,
            },
            Kind::Finished => Self::Finished {
                done: a,
                before: b,
                left: c,
                rest: Rest { left: d, unread: e },
            },
            Kind::Undoing => Self::Undoing,
            Kind::Undone => Self::Undone {
                done: a,
                before: b,
                left: c,
            },
            Kind::Linking => Self::Linking,
            Kind::Header | Kind::Job | Kind::Complete => return None,
        })
    }
}

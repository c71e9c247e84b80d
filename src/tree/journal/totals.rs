//! How much a journal holds, and how much planning left without a step.

use super::octets::Reader;
use super::{Job, Spot};

/// How many there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) jobs: u64,
    pub(crate) steps: u64,
    pub(crate) links: u64,
    pub(crate) asides: u64,
    pub(crate) rest: Rest,
}

/// What planning left, for which a journal has no steps (law T3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rest {
    /// Entries with which something is amiss, and which stay as they are.
    pub left: u64,
    /// Directories that could not be read.
    pub unread: u64,
}

impl Totals {
    pub(super) fn add(&mut self, job: &Job) {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        self.jobs += 1;
        self.steps += count(job.steps());
        self.links += count(job.links.len());
        self.asides += count(
            job.moves
                .iter()
                .filter(|step| step.to == Spot::Aside)
                .count(),
        );
    }

    /// The payload of the frame that completes a journal.
    pub(super) fn numbers(&self) -> [u64; 5] {
        [self.jobs, self.steps, self.rest.left, self.rest.unread, 0]
    }

    /// Takes what that frame says of planning; `None` if it speaks of other jobs than these.
    pub(super) fn complete(&mut self, payload: &[u8]) -> Option<()> {
        let mut counts = Reader(payload);
        let are_these = counts.u64()? == self.jobs && counts.u64()? == self.steps;
        self.rest = Rest {
            left: counts.u64()?,
            unread: counts.u64()?,
        };
        are_these.then_some(())
    }
}

//! Counts of steps.

use parking_lot::Mutex;

use super::observer::Outcome;

/// When a step was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    /// This run did it.
    Now,
    /// This run found it done.
    Before,
}

/// The numbers of steps that were done and left, counted by several threads.
#[derive(Debug, Default)]
pub(in crate::tree) struct StepCount(Mutex<Outcome>);

impl StepCount {
    pub(super) fn add(&self, done: Done) {
        *counter(&mut self.0.lock(), done) += 1;
    }

    /// Takes back that a step was done, since it turns out to be left.
    pub(super) fn take_back(&self, done: Done) {
        *counter(&mut self.0.lock(), done) -= 1;
    }

    pub(super) fn add_left(&self) {
        self.0.lock().left += 1;
    }

    /// Stops for good if `is_over`, and returns whether it was stopped.
    pub(super) fn stop(&self, is_over: bool) -> bool {
        let mut outcome = self.0.lock();
        outcome.is_stopped |= is_over;
        outcome.is_stopped
    }

    pub(in crate::tree) fn outcome(&self) -> Outcome {
        *self.0.lock()
    }
}

fn counter(outcome: &mut Outcome, done: Done) -> &mut u64 {
    match done {
        Done::Now => &mut outcome.done,
        Done::Before => &mut outcome.before,
    }
}

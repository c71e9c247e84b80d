//! Counts of steps.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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
pub(in crate::tree) struct StepCount {
    done: AtomicU64,
    before: AtomicU64,
    left: AtomicU64,
    is_stopped: AtomicBool,
}

impl StepCount {
    pub(super) fn add(&self, done: Done) {
        self.counter(done).fetch_add(1, Ordering::Relaxed);
    }

    /// Takes back that a step was done, since it turns out to be left.
    pub(super) fn take_back(&self, done: Done) {
        self.counter(done).fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn add_left(&self) {
        self.left.fetch_add(1, Ordering::Relaxed);
    }

    /// Stops for good if `is_over`, and returns whether it was stopped.
    pub(super) fn stop(&self, is_over: bool) -> bool {
        self.is_stopped.fetch_or(is_over, Ordering::Relaxed) || is_over
    }

    fn counter(&self, done: Done) -> &AtomicU64 {
        match done {
            Done::Now => &self.done,
            Done::Before => &self.before,
        }
    }

    pub(in crate::tree) fn outcome(&self) -> Outcome {
        Outcome {
            done: self.done.load(Ordering::Relaxed),
            before: self.before.load(Ordering::Relaxed),
            left: self.left.load(Ordering::Relaxed),
            is_stopped: self.is_stopped.load(Ordering::Relaxed),
        }
    }
}

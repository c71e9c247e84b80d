//! Counts and durations of requests: the instruments that `utf8fs status` reads.
//!
//! Each thread that serves has counters of its own, which nobody else writes, so that counting is a load and a store. Who reads them
//! adds them up while they change.

use std::array;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::operation::Operation;
use crate::backing::calls;
use crate::records::RequestCounts;

/// Requests are counted by how long they took, in ranges that end before so many microseconds, and one more for all above.
pub(super) const LIMITS: [u64; 10] = [
    4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576,
];

const RANGES: usize = LIMITS.len() + 1;
const OPERATIONS: usize = Operation::Statx as usize + 1;

/// The counters of one kind of request on one thread.
#[derive(Debug, Default)]
struct Counters {
    requests: AtomicU64,
    errors: AtomicU64,
    /// System calls on the backing filesystem, as [`calls`] counts them.
    calls: AtomicU64,
    /// The time from when a request was read until its answer was sent, of those that have ended.
    nanoseconds: AtomicU64,
    /// Number of these by duration, in the ranges of [`LIMITS`].
    times: [AtomicU64; RANGES],
}

/// Adds to a counter that only this thread writes.
fn add(counter: &AtomicU64, more: u64) {
    let before = counter.load(Ordering::Relaxed);
    counter.store(before.wrapping_add(more), Ordering::Relaxed);
}

/// Which of the ranges a time is in.
fn range(time: Duration) -> usize {
    LIMITS.partition_point(|&limit| u128::from(limit) <= time.as_micros())
}

/// The counters of one thread. They begin a line of the cache, so that no two threads write to one.
#[derive(Debug)]
#[repr(align(64))]
struct Sheet([Counters; OPERATIONS]);

/// The counters of all threads of a mount.
#[derive(Debug)]
pub(super) struct Metrics {
    /// Sheets by the seat of the thread. The last is for errors that are answered late.
    sheets: Vec<OnceLock<Box<Sheet>>>,
    /// When counting began.
    pub(super) started: Instant,
}

impl Metrics {
    /// Nothing was counted yet; `threads` will count.
    pub(super) fn new(threads: usize) -> Self {
        Self {
            sheets: (0..=threads).map(|_| OnceLock::new()).collect(),
            started: Instant::now(),
        }
    }

    fn counters(&self, operation: Operation, seat: usize) -> Option<&Counters> {
        let sheet = self.sheets.get(seat)?;
        let fresh = || Box::new(Sheet(array::from_fn(|_| Counters::default())));
        let sheet = sheet.get_or_init(fresh);
        sheet.0.get(operation as usize)
    }

    /// Counts a request of the thread with this seat, and no more: for what is too short to be timed.
    pub(super) fn note(&self, operation: Operation, seat: usize) {
        if let Some(counters) = self.counters(operation, seat) {
            add(&counters.requests, 1);
        }
    }

    /// Begins a request on the thread with this seat.
    pub(super) fn begin(&self, operation: Operation, seat: usize) -> Counted<'_> {
        // Counted before the answer, so that who has the answer finds it counted.
        self.note(operation, seat);
        Counted {
            counters: self.counters(operation, seat),
            calls: calls::made(),
            begun: Instant::now(),
            has_failed: false,
        }
    }

    /// Counts an error that is answered by another thread than the request was handed to, or later.
    pub(super) fn fail_late(&self, operation: Operation) {
        if let Some(counters) = self.counters(operation, self.sheets.len() - 1) {
            counters.errors.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the counts of a kind of request so far.
    pub(super) fn count(&self, operation: Operation) -> RequestCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut sum = RequestCounts {
            times: vec![0; RANGES],
            ..RequestCounts::default()
        };
        let mut nanoseconds = 0;
        let sheets = self.sheets.iter().filter_map(OnceLock::get);
        for counters in sheets.filter_map(|sheet| sheet.0.get(operation as usize)) {
            sum.requests += read(&counters.requests);
            sum.errors += read(&counters.errors);
            sum.backing_calls += read(&counters.calls);
            nanoseconds += read(&counters.nanoseconds);
            for (sum, counter) in sum.times.iter_mut().zip(&counters.times) {
                *sum += read(counter);
            }
        }
        sum.microseconds = nanoseconds / 1000;
        sum
    }
}

/// A request that is worked on. Dropped after the answer, it is counted.
#[derive(Debug)]
pub(super) struct Counted<'a> {
    counters: Option<&'a Counters>,
    calls: u64,
    begun: Instant,
    /// Is the answer an error?
    pub(super) has_failed: bool,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if let Some(counters) = self.counters {
            let time = self.begun.elapsed();
            let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            add(&counters.nanoseconds, nanoseconds);
            add(&counters.calls, calls::made().wrapping_sub(self.calls));
            if let Some(times) = counters.times.get(range(time)) {
                add(times, 1);
            }
            add(&counters.errors, self.has_failed.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn a_time_is_in_the_first_range_whose_limit_it_is_below() {
        for micros in (0..70_000).chain([262_143, 262_144, 1_048_575, 1_048_576, 1 << 40]) {
            let expected = LIMITS.iter().take_while(|limit| micros >= **limit).count();
            assert_eq!(range(Duration::from_micros(micros)), expected, "{micros}");
        }
        assert_eq!(range(Duration::MAX), RANGES - 1);
    }

    #[test]
    fn names_are_those_of_the_protocol_and_no_two_are_alike() {
        for operation in Operation::VARIANTS {
            assert!((*operation as usize) < OPERATIONS);
            assert_eq!(Operation::of(*operation as u32), Some(*operation));
        }
        let names = [Operation::Readdirplus, Operation::CopyFileRange].map(Operation::name);
        assert_eq!(names, ["readdirplus", "copy_file_range"]);
    }

    #[test]
    fn what_threads_count_is_added_up() {
        let metrics = Metrics::new(3);
        std::thread::scope(|scope| {
            for seat in 0..3 {
                let metrics = &metrics;
                scope.spawn(move || {
                    for number in 0..1000 {
                        let mut counted = metrics.begin(Operation::Rename, seat);
                        counted.has_failed = number % 10 == 0;
                    }
                });
            }
        });
        metrics.fail_late(Operation::Rename);
        let count = metrics.count(Operation::Rename);
        assert_eq!((count.requests, count.errors), (3000, 301));
        assert_eq!(count.backing_calls, 0);
        assert_eq!(count.times.iter().sum::<u64>(), 3000);
        assert!(count.microseconds > 0);
        assert_eq!(metrics.count(Operation::Link).requests, 0);
    }
}

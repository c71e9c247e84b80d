//! Threads that wait for requests: as few as can do the work, and another one for each that a stalled operation
//! holds.
//!
//! A fixed number of threads is started, each of which reads a request, works on it, and reads the next. More readers
//! than there is work for cost time: each request then wakes another thread, whose caches are cold. With too few,
//! operations that wait for a stalled disk stop all others. So all but some threads are parked when they have
//! answered a request. A watcher looks at them now and then while there is work. It lets one more read where all are
//! busy, fewer where they are not, and one more for each operation that lasts. Where all are busy with few
//! operations, these wait for a slow filesystem: twice as many read then, however few processors there are. With little
//! or no work it sleeps, while two may read. A request wakes it that leaves nobody who reads, or comes after many others.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Interval of the watcher's looks. An operation that it sees at two looks in a row is taken to be stalled.
const LOOK: Duration = Duration::from_millis(10);
/// Number of looks after which one reader more or fewer is decided on.
const LOOKS: u32 = 8;

/// A reader that is busy at each look and does no more operations than this between two waits for something. Without
/// waiting each takes well under half a millisecond.
const FEW: u64 = 20;

/// Readers while the watcher sleeps, at least: one works, and another reads what comes meanwhile.
const READY_AT_REST: usize = 2;

/// Operations while the watcher sleeps, after which it looks whether fewer threads would do.
const MANY: u64 = 64;

/// A thread that serves. Dropped with the thread, whatever ends it: another reads in its stead.
#[derive(Debug)]
pub(super) struct Seated<'a>(pub(super) &'a WorkerPool);

impl Drop for Seated<'_> {
    fn drop(&mut self) {
        let _parked = self.0.parked.lock();
        self.0.unparked.fetch_sub(1, Ordering::Relaxed);
        self.0.unpark.notify_one();
    }
}

/// A thread's counter: twice the number of its operations, and one more while it works on one. Alone on its cache
/// line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Operations(AtomicU64);

/// The threads of one mount.
#[derive(Debug)]
pub(super) struct WorkerPool {
    /// Counters of the threads, by seat.
    operations: Vec<Operations>,
    /// Most readers beside those that are stalled.
    most_ready: usize,
    /// Number of threads that are not parked.
    unparked: AtomicUsize,
    /// Number that may be unparked.
    allowed: AtomicUsize,
    parked: Mutex<()>,
    unpark: Condvar,
    alarm: Arc<Alarm>,
}

/// Wakes the watcher.
#[derive(Debug, Default)]
struct Alarm {
    is_asleep: AtomicBool,
    /// Operations that began since it fell asleep.
    begun: AtomicU64,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Alarm {
    /// Sleeps until it is woken, unless `has_work` finds that there is something to do.
    fn sleep(&self, has_work: impl FnOnce() -> bool) {
        self.begun.store(0, Ordering::Relaxed);
        self.is_asleep.store(true, Ordering::SeqCst);
        if has_work() {
            self.is_asleep.store(false, Ordering::SeqCst);
            return;
        }
        let mut lock = self.lock.lock();
        let is_asleep = |_: &mut ()| self.is_asleep.load(Ordering::SeqCst);
        self.wake.wait_while(&mut lock, is_asleep);
    }

    fn wake(&self) {
        let _lock = self.lock.lock();
        self.is_asleep.store(false, Ordering::SeqCst);
        self.wake.notify_one();
    }
}

/// An operation. Dropped after the answer, it may park the thread.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pool: &'a WorkerPool,
    seat: usize,
}

impl WorkerPool {
    /// The pool of `threads` threads, of which usually up to `most_ready` read. Starts the watcher, unless there is one thread alone. It ends with
    /// the pool.
    ///
    /// # Errors
    /// There can be no thread more.
    pub(super) fn start(threads: usize, most_ready: usize) -> std::io::Result<Arc<Self>> {
        let pool = Arc::new(Self::new(threads, most_ready));
        if threads == 1 {
            return Ok(pool);
        }
        let (weak, alarm) = (Arc::downgrade(&pool), Arc::clone(&pool.alarm));
        thread::Builder::new()
            .name("pool".to_owned())
            .spawn(move || Watcher::default().run(&weak, &alarm))?;
        Ok(pool)
    }

    pub(super) fn new(threads: usize, most_ready: usize) -> Self {
        Self {
            operations: (0..threads).map(|_| Operations::default()).collect(),
            most_ready: most_ready.clamp(1, threads.max(1)),
            unparked: AtomicUsize::new(threads),
            allowed: AtomicUsize::new(threads),
            parked: Mutex::new(()),
            unpark: Condvar::new(),
            alarm: Arc::default(),
        }
    }

    /// Begins an operation on the thread with this seat.
    pub(super) fn begin(&self, seat: usize) -> Turn<'_> {
        self.count(seat);
        if self.alarm.is_asleep.load(Ordering::Relaxed) {
            self.wake_watcher_in_need();
        }
        Turn { pool: self, seat }
    }

    /// Wakes the watcher where nobody reads any more, or many operations have begun since it fell asleep.
    fn wake_watcher_in_need(&self) {
        let begun = self.alarm.begun.fetch_add(1, Ordering::Relaxed) + 1;
        if begun >= MANY || self.is_any_reader_lacking() {
            self.alarm.wake();
        }
    }

    /// Are all threads busy that are not parked?
    fn is_any_reader_lacking(&self) -> bool {
        let busy = self.counts().into_iter().filter(is_busy).count();
        busy >= self.unparked.load(Ordering::Relaxed)
    }

    fn count(&self, seat: usize) {
        if let Some(operation) = self.operations.get(seat) {
            operation.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Ends an operation, and waits here while enough others read.
    fn end(&self, seat: usize) {
        self.count(seat);
        if !self.has_too_many_readers() {
            return;
        }
        let mut parked = self.parked.lock();
        if !self.has_too_many_readers() {
            return;
        }
        self.unparked.fetch_sub(1, Ordering::Relaxed);
        while self.unparked.load(Ordering::Relaxed) >= self.allowed.load(Ordering::Relaxed) {
            self.unpark.wait(&mut parked);
        }
        self.unparked.fetch_add(1, Ordering::Relaxed);
    }

    fn has_too_many_readers(&self) -> bool {
        self.unparked.load(Ordering::Relaxed) > self.allowed.load(Ordering::Relaxed)
    }

    /// Returns the [`Operations`] of each thread.
    fn counts(&self) -> Vec<u64> {
        let count = |operation: &Operations| operation.0.load(Ordering::Relaxed);
        self.operations.iter().map(count).collect()
    }

    /// Lets so many threads read.
    fn allow(&self, count: usize) {
        let _parked = self.parked.lock();
        let before = self.allowed.swap(count, Ordering::Relaxed);
        for _ in before..count {
            self.unpark.notify_one();
        }
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        self.alarm.wake();
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.pool.end(self.seat);
    }
}

/// The state of the watcher.
#[derive(Debug, Default)]
struct Watcher {
    /// The operations at the last look.
    before: Vec<u64>,
    ready: usize,
    looks: u32,
    /// At so many of them all readers were busy.
    full: u32,
}

/// The watcher's decision.
#[derive(Debug, PartialEq, Eq)]
enum Decision {
    /// Let so many read.
    Allow(usize),
    /// Nothing happens: let so many read, and sleep.
    Sleep(usize),
}

impl Watcher {
    fn run(mut self, pool: &Weak<WorkerPool>, alarm: &Alarm) {
        // Held only for a look, so that the last one who serves can drop it.
        while let Some(held) = pool.upgrade() {
            let decision = self.look(held.counts(), held.most_ready);
            let (Decision::Allow(count) | Decision::Sleep(count)) = decision;
            held.allow(count);
            drop(held);
            if matches!(decision, Decision::Sleep(_)) {
                alarm.sleep(|| {
                    let held = pool.upgrade();
                    held.is_none_or(|held| held.is_any_reader_lacking())
                });
            }
            thread::sleep(LOOK);
        }
    }

    fn look(&mut self, operations: Vec<u64>, most_ready: usize) -> Decision {
        let busy = operations.iter().copied().filter(is_busy).count();
        let sum = |operations: &[u64]| operations.iter().sum::<u64>() / 2;
        let done = sum(&operations).saturating_sub(sum(&self.before));
        let is_slow = done <= FEW * u64::try_from(self.ready).unwrap_or(u64::MAX);
        let most_ready = if is_slow {
            operations.len()
        } else {
            most_ready
        };
        self.ready = self.ready.clamp(1, most_ready);
        if self.before == operations {
            // What is worked on now is stalled, and others read.
            let ready = self.ready.max(READY_AT_REST).min(operations.len());
            return Decision::Sleep(ready + busy);
        }
        let pairs = operations.iter().zip(&self.before);
        let stalled = pairs.filter(|(now, before)| is_busy(now) && now == before);
        let stalled = stalled.count();
        self.before = operations;
        self.looks += 1;
        if busy - stalled >= self.ready {
            self.full += 1;
            if is_slow && self.full > 1 {
                self.ready = (self.ready * 2).min(most_ready);
            }
        }
        if self.looks == LOOKS {
            if self.full >= LOOKS - 1 {
                self.ready = (self.ready + 1).min(most_ready);
            } else if self.full <= LOOKS / 4 {
                self.ready = (self.ready * 2 / 3).max(1);
            }
            (self.looks, self.full) = (0, 0);
        }
        Decision::Allow(self.ready + stalled)
    }
}

/// Does a thread with this counter work on an operation?
fn is_busy(operations: &u64) -> bool {
    operations % 2 == 1
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};
    use std::thread::JoinHandle;

    use super::*;
    use crate::wait::until;

    /// Looks `count` times at threads of which the first `stalled` stay at one operation, the next `busy` are at a new one
    /// each time, after many others, and one more has just ended one.
    fn look(watcher: &mut Watcher, count: usize, stalled: usize, busy: usize) -> Decision {
        look_after(200, watcher, count, stalled, busy)
    }

    /// The same, each after so many operations.
    fn look_after(
        done: u64,
        watcher: &mut Watcher,
        count: usize,
        stalled: usize,
        busy: usize,
    ) -> Decision {
        let mut decision = Decision::Sleep(0);
        for _ in 0..count {
            let mut operations = watcher.before.clone();
            operations.resize(32, 0);
            for (index, operation) in operations.iter_mut().enumerate() {
                *operation = match index {
                    _ if index < stalled => *operation | 1,
                    _ if index < stalled + busy => *operation / 2 * 2 + 2 * done + 1,
                    _ if index == stalled + busy => *operation / 2 * 2 + 2 * done,
                    _ => *operation / 2 * 2,
                };
            }
            decision = watcher.look(operations, 3);
        }
        decision
    }

    /// A network filesystem may take milliseconds for each operation, and none of the processors.
    #[test]
    fn all_read_that_a_slow_filesystem_holds_up() {
        let mut watcher = Watcher::default();
        look(&mut watcher, usize::try_from(LOOKS).unwrap(), 0, 0);
        // Each does two in the time of a look, and there are always more to do.
        for readers in [1, 2, 4, 8, 16, 16] {
            let decision = look_after(2, &mut watcher, 2, 0, readers);
            assert!(
                matches!(decision, Decision::Allow(count) if count >= readers),
                "{decision:?}"
            );
        }
        // Fast again: as many as there are processors.
        assert_eq!(look(&mut watcher, 1, 0, 16), Decision::Allow(3));
    }

    #[test]
    fn as_many_read_as_have_work() {
        let mut watcher = Watcher::default();
        let looks = usize::try_from(LOOKS).unwrap();
        assert_eq!(look(&mut watcher, looks, 0, 0), Decision::Allow(1));
        assert_eq!(look(&mut watcher, looks, 0, 1), Decision::Allow(2));
        assert_eq!(look(&mut watcher, looks, 0, 2), Decision::Allow(3));
        assert_eq!(look(&mut watcher, 9 * looks, 0, 9), Decision::Allow(3));
        assert_eq!(look(&mut watcher, looks, 0, 2), Decision::Allow(2));
        assert_eq!(look(&mut watcher, 2 * looks, 0, 0), Decision::Allow(1));
    }

    #[test]
    fn what_is_stalled_does_not_count() {
        let mut watcher = Watcher::default();
        // The first look cannot tell.
        look(&mut watcher, 1, 5, 0);
        assert_eq!(look(&mut watcher, 1, 5, 0), Decision::Allow(6));
        assert_eq!(look(&mut watcher, 1, 2, 0), Decision::Allow(3));
        assert_eq!(look(&mut watcher, 1, 0, 0), Decision::Allow(1));
    }

    #[test]
    fn where_nothing_happens_the_watcher_sleeps() {
        let mut watcher = Watcher::default();
        look(&mut watcher, 1, 1, 0);
        let same = watcher.before.clone();
        // Two read beside the one that is stalled.
        assert_eq!(watcher.look(same, 3), Decision::Sleep(3));
    }

    /// A request now and then wakes nobody but who serves it.
    #[test]
    fn the_watcher_sleeps_on_where_there_is_little_work() {
        let pool = WorkerPool::new(4, 2);
        let is_woken = |act: &dyn Fn()| {
            pool.alarm.begun.store(0, Ordering::Relaxed);
            pool.alarm.is_asleep.store(true, Ordering::Relaxed);
            act();
            !pool.alarm.is_asleep.load(Ordering::Relaxed)
        };
        pool.unparked.store(2, Ordering::Relaxed);
        assert!(!is_woken(&|| (1..MANY).for_each(|_| drop(pool.begin(0)))));
        assert!(is_woken(&|| (0..MANY).for_each(|_| drop(pool.begin(0)))));
        let one = pool.begin(0);
        assert!(is_woken(&|| drop(pool.begin(1))), "nobody reads");
        drop(one);
    }

    /// A thread that works on one operation for each message, and says when it has a turn again.
    fn worker(
        pool: &Arc<WorkerPool>,
        seat: usize,
        work: Receiver<()>,
    ) -> (JoinHandle<()>, Receiver<()>) {
        let pool = Arc::clone(pool);
        let (done, is_done) = channel();
        let thread = thread::spawn(move || {
            let _seated = Seated(&pool);
            for () in work {
                drop(pool.begin(seat));
                done.send(()).unwrap();
            }
        });
        (thread, is_done)
    }

    #[test]
    fn a_parked_thread_reads_in_the_stead_of_one_that_ended() {
        let pool = Arc::new(WorkerPool::new(2, 1));
        pool.allow(1);
        let (to_one, for_one) = channel();
        let (one, one_is_done) = worker(&pool, 0, for_one);
        to_one.send(()).unwrap();
        until(|| pool.unparked.load(Ordering::Relaxed) == 1);
        let (to_other, for_other) = channel();
        let (other, other_is_done) = worker(&pool, 1, for_other);
        to_other.send(()).unwrap();
        other_is_done.recv().unwrap();
        drop(to_other);
        other.join().unwrap();
        one_is_done
            .recv_timeout(Duration::from_secs(60))
            .expect("nobody reads");
        drop(to_one);
        one.join().unwrap();
    }

    #[test]
    fn parked_threads_go_on_when_they_may() {
        let pool = Arc::new(WorkerPool::new(2, 1));
        // There is no watcher here.
        pool.allow(1);
        let (to_one, for_one) = channel();
        let (one, one_is_done) = worker(&pool, 0, for_one);
        to_one.send(()).unwrap();
        until(|| pool.unparked.load(Ordering::Relaxed) == 1);
        // The other one is the only reader now, and is not parked.
        let (to_other, for_other) = channel();
        let (other, other_is_done) = worker(&pool, 1, for_other);
        for _ in 0..3 {
            to_other.send(()).unwrap();
            other_is_done.recv().unwrap();
        }
        assert!(one_is_done.try_recv().is_err());
        pool.allow(2);
        one_is_done.recv().unwrap();
        drop((to_one, to_other));
        one.join().unwrap();
        other.join().unwrap();
    }
}

//! Notifications to the kernel, in one queue per inode.
//!
//! A notification about a name takes the directory's lock (`fuse_reverse_inval_entry` in fs/fuse/dir.c), so the
//! kernel holds it back while somebody works there. Any user can keep that lock. So each inode has a queue of its
//! own, served by one worker at a time: a notification that is held back delays those of its own inode alone.
//!
//! The queues also keep apart two things that disturb each other. The kernel takes a directory that was moved below
//! from its old parent only if nobody works there at that moment (`__d_unalias` in fs/dcache.c). Else it fails the
//! lookup with `ESTALE`.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::backing::FileHandle;
use crate::fs::MOST_DIRECTORIES;

/// Notifications about one inode that last longer than this together, or one of a sweep that does, are stalled.
const STALL: Duration = Duration::from_secs(1);

/// Upper bound of workers on what is expired because it may be wrong. Each stalled notification takes one: more than two users
/// together can hold back, each of whom can have [`MOST_DIRECTORIES`] open.
const MOST_SWEEPERS: usize = 2 * MOST_DIRECTORIES + 64;

/// Upper bound of workers. The others are for what is known to be wrong: whoever holds many directories that did not change delays
/// no change of others.
const MOST_WORKERS: usize = 2 * MOST_SWEEPERS;

/// Upper bound of workers to be started at once.
const MOST_STARTED: usize = 64;

/// A worker that waits in vain for this time ends, but for the last.
const IDLE: Duration = Duration::from_secs(10);

/// Names and files that wait at most; where there are more, whatever the kernel keeps is expired instead.
const MOST_WAITING: usize = 16_384;

/// Interval at which the queues are served while there is work.
const TENDED: Duration = Duration::from_millis(10);

/// The time from a notification to its repetition, at least; at most twice as long.
const REPEATED: Duration = Duration::from_secs(1);

/// Most awaited inodes that wait at once: there can be as many as inodes, and what is not heard yet is no overflow.
const MOST_TRIED: usize = MOST_WAITING / 4;

/// The first pause before inodes are tried that the kernel does not have, and the longest; each is twice as long as the one before.
const AWAITED: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(320));

/// The time in which the kernel has taken a moved directory over, or asks once more.
const TAKES: Duration = Duration::from_millis(20);

/// The longest time that a notification and a lookup wait for each other: they may do so in a circle.
const PATIENCE: Duration = Duration::from_millis(100);

/// The queue of changes whose directory is not known; no inode has this number.
pub(super) const ELSEWHERE: u64 = 0;

/// Names in a directory that the kernel keeps, to be expired since it was not heard what changed.
#[derive(Debug, Clone, Default)]
pub(super) struct Swept {
    /// Inodes whose places are known.
    pub(super) inodes: Vec<u64>,
    /// Absent ones.
    pub(super) absent: Vec<Box<[u8]>>,
}

/// A change to a name in a directory.
#[derive(Debug, Clone, Default)]
pub(super) struct ChangedName {
    /// The files that lost it.
    pub(super) lost_by: HashSet<FileHandle>,
    /// Is the kernel notified for the first time?
    pub(super) is_first: bool,
}

/// Changes of one inode, each once.
#[derive(Debug, Clone, Default)]
pub(super) struct Notice {
    /// Names in the directory that changed.
    pub(super) names: HashMap<Box<[u8]>, ChangedName>,
    /// Names in the directory to be expired.
    pub(super) expired: HashSet<Box<[u8]>>,
    /// Files in it that changed; `true` if the file lost a name.
    pub(super) files: HashMap<FileHandle, bool>,
    /// Did its own attributes, content or list of names change?
    pub(super) itself: bool,
    /// Possible changes from a sweep. They can wait.
    pub(super) swept: Swept,
}

impl Notice {
    /// Notices that the inode itself changed.
    pub(super) fn of_itself() -> Self {
        Self {
            itself: true,
            ..Self::default()
        }
    }

    /// Notices that a name is to be expired.
    pub(super) fn of_expired(name: &[u8]) -> Self {
        Self {
            expired: HashSet::from([name.into()]),
            ..Self::default()
        }
    }

    /// Returns the number of changes in it.
    fn len(&self) -> usize {
        let lost_by = |name: &ChangedName| name.lost_by.len();
        let lost_by: usize = self.names.values().map(lost_by).sum();
        let itself = usize::from(self.itself);
        lost_by + self.names.len() + self.expired.len() + self.files.len() + itself
    }

    fn merge(&mut self, other: Self) {
        for (name, changed) in other.names {
            let known = self.names.entry(name).or_default();
            known.lost_by.extend(changed.lost_by);
            known.is_first |= changed.is_first;
        }
        self.expired.extend(other.expired);
        for (file, is_gone) in other.files {
            *self.files.entry(file).or_default() |= is_gone;
        }
        self.itself |= other.itself;
        self.swept.inodes.extend(other.swept.inodes);
        self.swept.absent.extend(other.swept.absent);
    }

    /// The same once more: the kernel may have applied an answer that is older than the change after it was notified.
    fn repetition(&self) -> Self {
        let mut again = Self {
            swept: Swept::default(),
            ..self.clone()
        };
        let names = again.names.values_mut();
        names.for_each(|name| name.is_first = false);
        let files = again.files.values_mut();
        files.for_each(|is_gone| *is_gone = false);
        again
    }
}

/// Notices by inode number.
pub(super) type Notices = HashMap<u64, Notice>;

/// Notices to be repeated.
#[derive(Debug, Default)]
struct Repetitions {
    recent: Notices,
    /// When the first of `recent` was added.
    since: Option<Instant>,
    /// Notices of an earlier period, repeated when this one is over.
    before: Notices,
}

impl Repetitions {
    fn add(&mut self, notices: &Notices) {
        for (&number, notice) in notices {
            let again = notice.repetition();
            self.recent.entry(number).or_default().merge(again);
        }
        self.since.get_or_insert_with(Instant::now);
    }

    /// The time until some are due; `None` where there are none.
    fn next(&self) -> Option<Duration> {
        Some(REPEATED.saturating_sub(self.since?.elapsed()))
    }

    fn take_due(&mut self) -> Notices {
        if self.next() != Some(Duration::ZERO) {
            return Notices::new();
        }
        let recent = std::mem::take(&mut self.recent);
        self.since = (!recent.is_empty()).then(Instant::now);
        std::mem::replace(&mut self.before, recent)
    }
}

/// Inodes that are to be invalidated as soon as the kernel has them.
#[derive(Debug, Default)]
struct Awaited {
    inodes: HashSet<u64>,
    /// The inodes to be tried now.
    due: Vec<u64>,
    /// When the others are tried, and the pause before that.
    next: Option<(Instant, Duration)>,
}

impl Awaited {
    fn add(&mut self, number: u64) {
        self.inodes.insert(number);
        self.next
            .get_or_insert_with(|| (Instant::now() + AWAITED.0, AWAITED.0));
    }

    /// The time until some are tried; `None` where there are none.
    fn next(&self) -> Option<Duration> {
        if !self.due.is_empty() {
            return Some(TENDED);
        }
        let (at, _) = self.next?;
        Some(at.saturating_duration_since(Instant::now()))
    }

    /// Some that are due, `most` at most. Who is not there is added again.
    fn take_due(&mut self, most: usize) -> Vec<u64> {
        if let Some((at, pause)) = self.next
            && self.due.is_empty()
            && at <= Instant::now()
        {
            let pause = AWAITED.1.min(pause * 2);
            self.due.extend(self.inodes.drain());
            self.next = (!self.due.is_empty()).then(|| (Instant::now() + pause, pause));
        }
        self.due.split_off(self.due.len().saturating_sub(most))
    }
}

/// A directory that the kernel is taking from one parent to another.
#[derive(Debug)]
struct Leaving {
    inode: u64,
    from: u64,
    until: Instant,
}

#[derive(Debug, Default)]
struct State {
    notices: Notices,
    /// Names and files in `notices`, about.
    waiting: usize,
    /// Inodes with a notice on which nobody works, and since when; oldest first. The notice of one may be taken already.
    ready: VecDeque<(u64, Instant)>,
    /// Inodes with nothing but expiries of a sweep, which may wait.
    swept: BTreeSet<u64>,
    /// The last one of them that was taken: the next greater one has its turn, so that none is passed over for ever.
    swept_last: u64,
    /// Workers on inodes of `swept`.
    sweepers: usize,
    /// Inodes on which a worker works, and since when; in a sweep, since when its current notification lasts.
    running: HashMap<u64, Instant>,
    repetitions: Repetitions,
    awaited: Awaited,
    leaving: Vec<Leaving>,
    /// Is everything to be expired that the kernel keeps?
    is_sweep_wanted: bool,
    is_sweeping: bool,
    /// Directories that the kernel has forgotten, whose marks are to be taken away.
    forgotten: Vec<(u64, FileHandle)>,
    is_unmarking: bool,
    workers: usize,
    /// When a worker last took a task.
    taken: Option<Instant>,
    is_over: bool,
}

impl State {
    fn push(&mut self, number: u64, notice: Notice, urgency: Urgency) {
        let queued = self.notices.get(&number).map(Notice::len);
        if !self.running.contains_key(&number) {
            match urgency {
                Urgency::Event if self.swept.remove(&number) || queued.is_none() => {
                    self.ready.push_back((number, Instant::now()));
                }
                Urgency::Sweep if queued.is_none() => {
                    self.swept.insert(number);
                }
                Urgency::Event | Urgency::Sweep => {}
            }
        }
        let waiting = self.notices.entry(number).or_default();
        waiting.merge(notice);
        self.waiting += waiting.len() - queued.unwrap_or_default();
    }

    /// Has a worker that looks for a task nothing to do?
    fn is_idle(&self) -> bool {
        self.ready.is_empty()
            && self.may_sweep() == 0
            && !self.is_sweep_wanted
            && !self.may_unmark()
            && !self.is_over
    }

    /// Is there a mark that may be taken away now?
    fn may_unmark(&self) -> bool {
        !self.is_unmarking && !self.forgotten.is_empty()
    }

    /// Returns the number of inodes of `swept` that may be worked on now.
    fn may_sweep(&self) -> usize {
        self.swept.len().min(MOST_SWEEPERS - self.sweepers)
    }

    /// Takes the next inode, its notice, and whether that may have waited.
    fn next(&mut self) -> Option<(u64, Notice, Urgency)> {
        loop {
            let (number, urgency) = if let Some(at) = self.first_free() {
                (self.ready.remove(at)?.0, Urgency::Event)
            } else if self.may_sweep() > 0 {
                (self.next_swept()?, Urgency::Sweep)
            } else {
                return None;
            };
            // What is worked on comes again at the end of that.
            if !self.running.contains_key(&number)
                && let Some(notice) = self.notices.remove(&number)
            {
                return Some((number, notice, urgency));
            }
        }
    }

    fn next_swept(&mut self) -> Option<u64> {
        let mut greater = self.swept.range(self.swept_last.saturating_add(1)..);
        let next = *greater.next().or_else(|| self.swept.first())?;
        self.swept.remove(&next);
        self.swept_last = next;
        Some(next)
    }

    /// The place in `ready` of the first inode that can be worked on now.
    fn first_free(&self) -> Option<usize> {
        let is_free = |&(number, since): &(u64, Instant)| {
            since.elapsed() >= PATIENCE || self.leaving.iter().all(|leaving| leaving.from != number)
        };
        self.ready.iter().position(is_free)
    }

    fn extend(&mut self, inode: u64) {
        let until = Instant::now() + TAKES;
        for leaving in &mut self.leaving {
            if leaving.inode == inode {
                leaving.until = until;
            }
        }
    }
}

/// The urgency of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Urgency {
    /// The subject has changed.
    Event,
    /// The subject may have changed.
    Sweep,
}

/// The queues. No other lock is taken while theirs is held.
#[derive(Debug, Default)]
pub(super) struct Queues {
    state: Mutex<State>,
    /// There is something for a worker to do.
    changed: Condvar,
    /// A worker is done with something.
    done: Condvar,
    /// Number of directories that are leaving, at least.
    leaving: AtomicUsize,
}

/// A worker's task.
#[derive(Debug)]
pub(super) enum Task {
    /// Expire everything that the kernel keeps.
    Sweep,
    /// Take the mark of a forgotten directory away.
    Unmark(u64, FileHandle),
    /// Notify the kernel of changes of an inode.
    Notify(u64, Urgency),
}

/// A task that a worker has taken; dropped when it is done.
#[derive(Debug)]
pub(super) struct Job<'a>(&'a Queues, pub(super) Task);

impl Job<'_> {
    /// The next notification of a sweep begins. False where it may as well not: there is something else to be said of its inode,
    /// or nobody is to be notified any more.
    pub(super) fn step(&self) -> bool {
        let mut state = self.0.state.lock();
        let is_awaited = match self.1 {
            Task::Notify(number, _) => {
                state.running.insert(number, Instant::now());
                state.notices.contains_key(&number)
            }
            Task::Sweep | Task::Unmark(..) => false,
        };
        !is_awaited && !state.is_over
    }
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        match self.1 {
            Task::Sweep => state.is_sweeping = false,
            Task::Unmark(..) => state.is_unmarking = false,
            Task::Notify(number, urgency) => {
                state.running.remove(&number);
                state.sweepers -= usize::from(urgency == Urgency::Sweep);
                if state.notices.contains_key(&number) {
                    state.ready.push_back((number, Instant::now()));
                }
            }
        }
        drop(state);
        self.0.changed.notify_one();
        self.0.done.notify_all();
    }
}

/// The state of the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tended {
    /// When they are to be tended again; `None` while there is nothing to do.
    pub(super) next: Option<Duration>,
    /// The inode of a stalled notification.
    pub(super) stalled: Option<u64>,
    /// Number of workers to start.
    pub(super) lacks_workers: usize,
    /// Does more wait than is kept?
    pub(super) is_full: bool,
}

impl Queues {
    /// Adds notices, to be delivered and repeated.
    pub(super) fn add(&self, notices: Notices) {
        let mut state = self.state.lock();
        state.repetitions.add(&notices);
        for (number, notice) in notices {
            state.push(number, notice, Urgency::Event);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Adds a notice, to be delivered once.
    pub(super) fn add_once(&self, number: u64, notice: Notice) {
        self.state.lock().push(number, notice, Urgency::Event);
        self.changed.notify_one();
    }

    /// Has the mark of a directory taken away that the kernel has forgotten.
    pub(super) fn unmark(&self, number: u64, handle: FileHandle) {
        self.state.lock().forgotten.push((number, handle));
        self.changed.notify_one();
    }

    /// Has an inode that the kernel does not have invalidated when it has it. The queues have to be tended until then.
    pub(super) fn await_inode(&self, number: u64) {
        self.state.lock().awaited.add(number);
    }

    /// Adds names of directories that may have changed, to be expired when nothing else is to be done.
    pub(super) fn add_swept(&self, swept: impl IntoIterator<Item = (u64, Swept)>) {
        let mut state = self.state.lock();
        for (number, swept) in swept {
            let notice = Notice {
                swept,
                ..Notice::default()
            };
            state.push(number, notice, Urgency::Sweep);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Has everything expired that the kernel keeps, in place of whatever waits.
    pub(super) fn sweep(&self) {
        let mut state = self.state.lock();
        state.notices.clear();
        state.ready.clear();
        state.swept.clear();
        state.waiting = 0;
        state.repetitions = Repetitions::default();
        state.is_sweep_wanted = true;
        drop(state);
        self.changed.notify_all();
    }

    /// Takes a task, and the notice where it is of one; waits for one. `None` where this worker is to end.
    pub(super) fn take(&self) -> Option<(Job<'_>, Notice)> {
        let mut state = self.state.lock();
        let idle_since = Instant::now();
        loop {
            if state.is_over {
                return None;
            }
            if state.is_sweep_wanted && !state.is_sweeping {
                state.is_sweep_wanted = false;
                state.is_sweeping = true;
                state.taken = Some(Instant::now());
                return Some((Job(self, Task::Sweep), Notice::default()));
            }
            let now = Instant::now();
            state.leaving.retain(|leaving| leaving.until > now);
            self.leaving.store(state.leaving.len(), Ordering::Release);
            if let Some((number, notice, urgency)) = state.next() {
                state.sweepers += usize::from(urgency == Urgency::Sweep);
                state.waiting = state.waiting.saturating_sub(notice.len());
                state.running.insert(number, now);
                state.taken = Some(Instant::now());
                return Some((Job(self, Task::Notify(number, urgency)), notice));
            }
            if !state.is_unmarking
                && let Some((number, handle)) = state.forgotten.pop()
            {
                state.is_unmarking = true;
                state.taken = Some(now);
                return Some((Job(self, Task::Unmark(number, handle)), Notice::default()));
            }
            if idle_since.elapsed() >= IDLE && state.is_idle() && state.workers > 1 {
                state.workers -= 1;
                return None;
            }
            let patience = match state.ready.is_empty() {
                true => IDLE,
                false => TAKES / 4,
            };
            self.changed.wait_for(&mut state, patience);
        }
    }

    /// Repeats what is due, and tells how the queues stand. Counts the workers for which it asks.
    pub(super) fn tend(&self) -> Tended {
        let mut state = self.state.lock();
        for (number, notice) in state.repetitions.take_due() {
            state.push(number, notice, Urgency::Event);
        }
        let room = MOST_TRIED.saturating_sub(state.waiting);
        for number in state.awaited.take_due(room) {
            state.push(number, Notice::of_itself(), Urgency::Event);
        }
        let is_stalled = |(_, since): &(&u64, &Instant)| since.elapsed() >= STALL;
        let stalled = state.running.iter().find(is_stalled);
        let stalled = stalled.map(|(&number, _)| number);
        let is_old = |since: Option<Instant>| since.is_some_and(|since| since.elapsed() >= TENDED);
        let oldest = state.first_free().and_then(|at| state.ready.get(at));
        let other = usize::from(state.is_sweep_wanted || state.may_unmark()) + state.may_sweep();
        let has_waited = is_old(oldest.map(|&(_, since)| since)) || other > 0;
        let wanted = match has_waited && is_old(state.taken) {
            true => state.ready.len() + other,
            false => usize::from(state.workers == 0),
        };
        let lacks_workers = wanted.min(MOST_STARTED).min(MOST_WORKERS - state.workers);
        state.workers += lacks_workers;
        let is_busy = !state.ready.is_empty()
            || !state.swept.is_empty()
            || !state.running.is_empty()
            || state.may_unmark()
            || state.is_sweeping;
        let tended = Tended {
            next: match is_busy {
                true => Some(TENDED),
                false => {
                    let next = [state.repetitions.next(), state.awaited.next()];
                    next.into_iter().flatten().min()
                }
            },
            stalled,
            lacks_workers,
            is_full: state.waiting >= MOST_WAITING,
        };
        drop(state);
        self.changed.notify_one();
        tended
    }

    /// No worker was to be had after all.
    pub(super) fn lack_worker(&self) {
        self.state.lock().workers -= 1;
    }

    /// Ends all workers but those that are stalled.
    pub(super) fn end(&self) {
        self.state.lock().is_over = true;
        self.changed.notify_all();
        self.done.notify_all();
    }

    /// To be called before it is answered that the directory `inode` is not in `from` any more. Waits until no worker works on
    /// `from`, but not for long.
    pub(super) fn leave(&self, inode: u64, from: u64) {
        let mut state = self.state.lock();
        state.leaving.retain(|leaving| leaving.inode != inode);
        state.leaving.push(Leaving {
            inode,
            from,
            until: Instant::now() + PATIENCE + TAKES,
        });
        self.leaving.store(state.leaving.len(), Ordering::Release);
        let is_running = |state: &mut State| state.running.contains_key(&from);
        self.done.wait_while_for(&mut state, is_running, PATIENCE);
        state.extend(inode);
    }

    /// To be called before the directory `inode` is answered where it was before: the kernel may ask once more.
    pub(super) fn stay(&self, inode: u64) {
        if self.leaving.load(Ordering::Acquire) > 0 {
            self.state.lock().extend(inode);
        }
    }
}

#[cfg(test)]
mod tests;

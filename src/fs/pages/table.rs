//! The table of what the kernel's pages are from.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::backing::{Stat, Time};
use crate::fs::inode::lock;

const SHARDS: usize = 16;

/// A shard of no more files than this does not shrink.
const SMALL_SHARD: usize = 64;

/// Pages are no older than this: a mapping below can change them without any sign.
const OLD: Duration = Duration::from_secs(60);

/// So long after an open that has the kernel drop its pages another one does not rely on that: it may be faster.
const DROPPING: Duration = Duration::from_secs(1);

/// Clocks by which filesystems stamp files stand still for so long: a second change may have the ctime of the first. The
/// second is of those that count in seconds.
const TICK: Duration = Duration::from_millis(10);
const LONG_TICK: Duration = Duration::from_secs(2);

/// The moment before a file was looked at.
#[derive(Debug, Clone, Copy)]
pub(in crate::fs) struct Look {
    at: Instant,
    clock: SystemTime,
}

impl Look {
    pub(in crate::fs) fn now() -> Self {
        Self {
            at: Instant::now(),
            clock: SystemTime::now(),
        }
    }

    /// The state of a file whose attributes were asked for after this moment.
    pub(super) fn seen(self, stat: &Stat) -> Seen {
        Seen {
            ctime: stat.ctime,
            is_settled: self.is_settled(stat.ctime),
            looks: Looks {
                mtime: stat.mtime,
                size: stat.size,
            },
        }
    }

    /// Had the clock that stamps files gone on by this moment since `ctime`?
    fn is_settled(self, ctime: Time) -> bool {
        let tick = if ctime.nanos == 0 { LONG_TICK } else { TICK };
        let Some(changed) = u64::try_from(ctime.secs).ok().and_then(|secs| {
            UNIX_EPOCH
                .checked_add(Duration::from_secs(secs) + Duration::from_nanos(ctime.nanos.into()))
        }) else {
            return true;
        };
        // A clock far ahead of ours is another, of which nothing is known.
        let apart = self.clock.duration_since(changed);
        apart.unwrap_or_else(|ahead| ahead.duration()) >= tick
    }
}

/// The state of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    ctime: Time,
    /// Does another change give it another ctime?
    is_settled: bool,
    looks: Looks,
}

/// What the kernel knows content by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Looks {
    mtime: Time,
    size: u64,
}

/// How sure it is that pages are what is noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sure {
    /// They are.
    Yes,
    /// An open has the kernel drop older ones, and its answer may be on its way.
    Soon,
    /// The kernel drops older ones with the attributes that it was told, if it takes them: others may have overtaken them.
    Maybe,
}

/// What the pages of a file are from.
#[derive(Debug)]
struct From {
    /// The state of the file, or a later one; `None` where it could not be looked at.
    seen: Option<Seen>,
    /// What the kernel was told last, since this is known.
    told: Option<Looks>,
    /// No page is older.
    since: Instant,
    sure: Sure,
    opens: u32,
    /// Changed with `seen`, `since` and `sure`.
    version: u64,
    /// Has the kernel forgotten the inode? It goes with the last open then.
    is_forgotten: bool,
}

impl From {
    /// Have the pages the content of a file that is in the state `now`, as far as its ctime tells?
    fn is_of(&self, now: &Seen) -> bool {
        self.seen.is_some_and(|seen| seen.ctime == now.ctime)
    }

    /// Are the pages those of a file that is in the state `now`, for sure but for what is written by mappings?
    fn is_right(&self, now: Option<&Seen>, look: Look) -> bool {
        self.seen.is_some_and(|seen| seen.is_settled)
            && now.is_some_and(|now| self.is_of(now))
            && self.sure != Sure::Maybe
            && self.age(look) < OLD
    }

    /// Does the kernel keep its pages where it is told of `now`?
    fn looks_like(&self, now: &Seen) -> bool {
        match (&self.told, &self.seen) {
            (Some(told), _) => *told == now.looks,
            // Of another size it takes notice in any case.
            (None, Some(seen)) => seen.looks.size == now.looks.size,
            (None, None) => true,
        }
    }

    fn age(&self, look: Look) -> Duration {
        look.at.saturating_duration_since(self.since)
    }
}

#[derive(Debug, Default)]
struct Shard {
    known: HashMap<u64, From>,
    /// Those that are open.
    open: HashSet<u64>,
    versions: u64,
}

impl Shard {
    /// The next version.
    fn next(&mut self) -> u64 {
        self.versions += 1;
        self.versions
    }
}

#[derive(Debug, Default)]
struct Sleep {
    /// Is the one who looks asleep until somebody wakes him?
    is_deep: bool,
    has_ended: bool,
}

/// What the kernel's pages of files are from, by inode number.
#[derive(Debug)]
pub struct Pages {
    /// Nothing else is locked meanwhile.
    shards: [Mutex<Shard>; SHARDS],
    /// How many files are known.
    count: AtomicUsize,
    /// How many of them are open.
    open: AtomicUsize,
    sleep: Mutex<Sleep>,
    woken: Condvar,
    pause: Duration,
    /// Does the kernel keep pages of files that are closed?
    outlive: bool,
}

impl Pages {
    /// No pages yet; open files are looked at once in a `pause`. Do pages `outlive` the last open?
    pub(super) fn looked_at(pause: Duration, outlive: bool) -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            count: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            sleep: Mutex::default(),
            woken: Condvar::new(),
            pause,
            outlive,
        }
    }

    /// Is anything known?
    pub(in crate::fs) fn is_any(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    fn shard(&self, number: u64) -> Option<&Mutex<Shard>> {
        let index = usize::try_from(number % SHARDS as u64).unwrap_or(0);
        self.shards.get(index)
    }

    /// Takes note of an open; says whether the kernel may keep the pages that it has.
    pub(super) fn open(&self, number: u64, seen: Option<Seen>, look: Look) -> bool {
        let Some(shard) = self.shard(number) else {
            return false;
        };
        let (keeps, is_first) = {
            let mut guard = lock(shard);
            let shard = &mut *guard;
            let version = shard.next();
            let from = shard.known.entry(number).or_insert_with(|| {
                self.count.fetch_add(1, Ordering::AcqRel);
                From {
                    seen,
                    told: None,
                    since: look.at,
                    // There are none.
                    sure: Sure::Yes,
                    opens: 0,
                    version,
                    is_forgotten: false,
                }
            });
            let is_right = from.is_right(seen.as_ref(), look);
            // Others that have it open may read before the kernel gets this answer: they are looked after as if it had not.
            if !is_right && from.opens == 0 {
                (from.seen, from.since) = (seen, look.at);
                (from.sure, from.version) = (Sure::Soon, version);
            }
            let is_dropping = from.sure == Sure::Soon && from.age(look) < DROPPING;
            let keeps = is_right && !is_dropping && from.version != version;
            from.is_forgotten = false;
            from.opens = from.opens.saturating_add(1);
            if from.opens == 1 {
                shard.open.insert(number);
            }
            let is_first = from.opens == 1 && self.open.fetch_add(1, Ordering::SeqCst) == 0;
            (keeps && self.outlive, is_first)
        };
        if is_first {
            self.wake();
        }
        keeps
    }

    /// Takes note that a file was closed that may be one of these.
    pub(in crate::fs) fn close(&self, number: u64) {
        let Some(shard) = self.shard(number).filter(|_| self.is_any()) else {
            return;
        };
        let mut guard = lock(shard);
        let shard = &mut *guard;
        let Some(from) = shard.known.get_mut(&number).filter(|from| from.opens > 0) else {
            return;
        };
        from.opens -= 1;
        if from.opens > 0 {
            return;
        }
        shard.open.remove(&number);
        self.open.fetch_sub(1, Ordering::SeqCst);
        // Of an empty file there are none.
        let has_any = from.seen.is_none_or(|seen| seen.looks.size > 0);
        if from.is_forgotten || !self.outlive || !has_any {
            self.remove(shard, number);
        }
    }

    /// Takes note that the kernel has forgotten an inode.
    pub(in crate::fs) fn forget(&self, number: u64) {
        let Some(shard) = self.shard(number) else {
            return;
        };
        let mut guard = lock(shard);
        let shard = &mut *guard;
        match shard.known.get_mut(&number) {
            // That the last of its files was closed is still to come.
            Some(from) if from.opens > 0 => from.is_forgotten = true,
            Some(_) => self.remove(shard, number),
            None => {}
        }
    }

    fn remove(&self, shard: &mut Shard, number: u64) {
        if shard.known.remove(&number).is_some() {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
        let length = shard.known.len().max(SMALL_SHARD);
        if shard.known.capacity() > 4 * length {
            shard.known.shrink_to(2 * length);
        }
    }

    /// What is known of pages that are of another state than `now`, and that the kernel would keep if it were told of that.
    ///
    /// That the clock of the filesystem may have stood still between two changes is left to who looks at open files: each
    /// file that was just written through the mount would be dropped for it.
    pub(super) fn outdated(&self, number: u64, now: Seen) -> Option<u64> {
        let shard = lock(self.shard(number)?);
        let from = shard.known.get(&number)?;
        (!from.is_of(&now) && from.looks_like(&now)).then_some(from.version)
    }

    /// Takes note that the kernel is told of `now`; says whether its pages are of that state, or it drops them therefore.
    pub(super) fn tell(&self, number: u64, now: Seen) -> bool {
        let Some(shard) = self.shard(number) else {
            return true;
        };
        let mut guard = lock(shard);
        let shard = &mut *guard;
        let version = shard.next();
        let Some(from) = shard.known.get_mut(&number) else {
            return true;
        };
        let is_of = from.is_of(&now);
        let is_kept = from.looks_like(&now);
        from.told = Some(now.looks);
        if !is_of && !is_kept {
            from.seen = Some(now);
            (from.sure, from.version) = (Sure::Maybe, version);
        }
        is_of || !is_kept
    }

    /// What is known of pages of an open file that are to be dropped now that it is in the state `now`, or cannot be looked at.
    pub(super) fn worn(&self, number: u64, now: Option<Seen>, look: Look) -> Option<u64> {
        let shard = lock(self.shard(number)?);
        let from = shard.known.get(&number).filter(|from| from.opens > 0)?;
        (!from.is_right(now.as_ref(), look)).then_some(from.version)
    }

    /// Takes note that the kernel has dropped the pages of which `version` was known: those that it has are of `now` or later.
    pub(super) fn renew(&self, number: u64, version: u64, now: Option<Seen>, look: Look) {
        let Some(shard) = self.shard(number) else {
            return;
        };
        let mut guard = lock(shard);
        let shard = &mut *guard;
        let next = shard.next();
        // What was learned meanwhile is not as sure; it is looked at again.
        if let Some(from) = shard.known.get_mut(&number)
            && from.version == version
        {
            (from.seen, from.since) = (now, look.at);
            (from.sure, from.version) = (Sure::Yes, next);
        }
    }

    /// The numbers of those that are open.
    pub(super) fn opens(&self) -> Vec<u64> {
        let mut numbers = Vec::new();
        for shard in &self.shards {
            numbers.extend(lock(shard).open.iter());
        }
        numbers
    }

    /// Waits until open files are to be looked at, for ever where there are none; `false` at the end.
    pub(super) fn wait(&self) -> bool {
        let mut sleep = lock(&self.sleep);
        while self.open.load(Ordering::SeqCst) == 0 && !sleep.has_ended {
            sleep.is_deep = true;
            sleep = self
                .woken
                .wait(sleep)
                .unwrap_or_else(PoisonError::into_inner);
        }
        sleep.is_deep = false;
        let (sleep, _) = self
            .woken
            .wait_timeout_while(sleep, self.pause, |sleep| !sleep.has_ended)
            .unwrap_or_else(PoisonError::into_inner);
        !sleep.has_ended
    }

    /// Has the one who looks wait for no more than a pause.
    fn wake(&self) {
        let mut sleep = lock(&self.sleep);
        if std::mem::take(&mut sleep.is_deep) {
            self.woken.notify_all();
        }
    }

    /// Is nothing to be looked at any more?
    pub(super) fn has_ended(&self) -> bool {
        lock(&self.sleep).has_ended
    }

    /// Has nothing be looked at any more.
    pub(super) fn end(&self) {
        lock(&self.sleep).has_ended = true;
        self.woken.notify_all();
    }
}

#[cfg(test)]
mod tests;

//! The dentry table: the names that the kernel may hold, what it was told that each leads to, and until when it uses that without a
//! question (law N14).
//!
//! The kernel judges by its dentry: it marks the directory there as removed for good (`vfs_rmdir` and `vfs_rename` in `fs/namei.c`).
//! The daemon acts on whatever has the name now. The two are compared by this table. It also tells whether a name that an entry is
//! listed under may be in the kernel's hands when the entry is changed by another spelling.
//!
//! The kernel looks a name up again (`d_revalidate`) without the lock of its directory. So another process may be told of another
//! directory by that name after the removal of the former one has begun. From then on the name is doubtful. Making, moving and removing
//! it here ends that, since the kernel holds the lock then.
//!
//! The table is bounded. Records that were not used for longest go first, half of a shard at a time. A name without a record is taken for
//! one that the kernel may hold, so that to lose a record costs a question and is never wrong. Records that have to be expired by
//! name after events were lost stay for as long as the kernel may hold the name.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// A visible name, and the number of its directory.
pub type Name<'a> = (u64, &'a [u8]);

/// A [`Name`] that is kept.
pub(super) type OwnedName = (u64, Box<[u8]>);

const SHARDS: usize = 16;

/// Records of a shard between two evictions: as many as fit into a table of 512 places. All shards together take half a MiB,
/// without absent names.
const MOST_RECENT: usize = 448;

/// Absent names of a shard that the kernel may hold at most; 6 MiB in all shards, with names of usual lengths.
const MOST_ABSENT: usize = 4_096;

/// What the kernel was told last that a name leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// The inode of this number.
    Inode(u64),
    /// Nothing.
    Absent,
    /// One of several inodes: it is not known which of the answers the kernel took.
    Doubtful,
}

impl Target {
    /// Returns the number of the inode, if it is one.
    pub(super) fn inode(self) -> Option<u64> {
        match self {
            Self::Inode(number) => Some(number),
            Self::Absent | Self::Doubtful => None,
        }
    }
}

/// Nanoseconds of the clock of the table.
type Moment = u64;

/// What is known of a name. There are so many that it is small.
#[derive(Debug)]
struct Dentry {
    /// The number of the inode that it leads to, [`ABSENT`] or [`DOUBTFUL`].
    leads_to: u64,
    /// The kernel may use it without a question until then.
    until: Moment,
    /// The name, where no inode tells it: of an absent one that the kernel may hold.
    absent: Option<Box<OwnedName>>,
}

/// Stands for [`Target::Absent`]: no inode has this number.
const ABSENT: u64 = 0;
/// Stands for [`Target::Doubtful`]: no inode has this number.
const DOUBTFUL: u64 = u64::MAX;

impl Dentry {
    fn new(target: Target, until: Moment) -> Self {
        let leads_to = match target {
            Target::Inode(number) => number,
            Target::Absent => ABSENT,
            Target::Doubtful => DOUBTFUL,
        };
        Self {
            leads_to,
            until,
            absent: None,
        }
    }

    fn target(&self) -> Target {
        match self.leads_to {
            ABSENT => Target::Absent,
            DOUBTFUL => Target::Doubtful,
            number => Target::Inode(number),
        }
    }
}

/// A part of the table: records by the hashes of names.
#[derive(Debug, Default)]
struct Shard {
    recent: HashMap<u64, Dentry>,
    /// Records that were not used since the last eviction.
    before: HashMap<u64, Dentry>,
    /// Number of records with the name of an absent entry.
    absent: usize,
}

impl Shard {
    /// Takes a record out.
    fn take(&mut self, hash: u64) -> Option<Dentry> {
        let taken = self.recent.remove(&hash);
        let taken = taken.or_else(|| self.before.remove(&hash))?;
        self.absent -= usize::from(taken.absent.is_some());
        Some(taken)
    }

    /// Puts a record in; those that were not used for longest go where there are too many.
    fn put(&mut self, hash: u64, dentry: Dentry, now: Moment) {
        self.take(hash);
        if self.recent.len() >= MOST_RECENT {
            self.evict(now);
        }
        self.absent += usize::from(dentry.absent.is_some());
        self.recent.insert(hash, dentry);
    }

    /// Forgets the records that were not used since the last time, but for absent names that the kernel may hold.
    fn evict(&mut self, now: Moment) {
        // The memory of what is forgotten is used again, so that it is not scattered.
        std::mem::swap(&mut self.recent, &mut self.before);
        let Self {
            recent,
            before,
            absent,
        } = self;
        for (hash, dentry) in recent.drain() {
            if dentry.absent.is_none() {
                continue;
            }
            if dentry.until > now {
                before.insert(hash, dentry);
            } else {
                *absent -= 1;
            }
        }
    }

    fn get(&self, hash: u64) -> Option<&Dentry> {
        self.recent.get(&hash).or_else(|| self.before.get(&hash))
    }

    fn all(&self) -> impl Iterator<Item = &Dentry> {
        self.recent.values().chain(self.before.values())
    }
}

/// The table.
#[derive(Debug)]
pub(super) struct Dentries {
    shards: [Mutex<Shard>; SHARDS],
    /// Its keys are random, so that nobody can find two names that have one hash.
    hasher: RandomState,
    /// The start of its clock.
    started: Instant,
}

impl Default for Dentries {
    fn default() -> Self {
        Self {
            shards: Default::default(),
            hasher: RandomState::new(),
            started: Instant::now(),
        }
    }
}

impl Dentries {
    fn now(&self) -> Moment {
        Moment::try_from(self.started.elapsed().as_nanos()).unwrap_or(Moment::MAX)
    }

    /// Returns the moment after `kept`; of an endless time, one that does not come while the machine runs.
    fn after(&self, kept: Duration) -> Moment {
        let kept = Moment::try_from(kept.as_nanos()).unwrap_or(Moment::MAX);
        self.now().saturating_add(kept)
    }

    /// Notes that the kernel is told under the lock of the directory that `name` leads to `target`, and that it may keep that for `kept`.
    pub(super) fn set(&self, name: Name<'_>, target: Target, kept: Duration) {
        let (hash, shard) = self.place(name);
        let dentry = Dentry::new(target, self.after(kept));
        shard.lock().put(hash, dentry, self.now());
    }

    /// Notes that `name` is being looked up, and that the kernel may keep the answer for `longest`.
    pub(super) fn is_being_looked_up(&self, name: Name<'_>, longest: Duration) {
        let (hash, shard) = self.place(name);
        let mut shard = shard.lock();
        let new = || Dentry::new(Target::Absent, self.now());
        let mut dentry = shard.take(hash).unwrap_or_else(new);
        dentry.until = dentry.until.max(self.after(longest));
        shard.put(hash, dentry, self.now());
    }

    /// Notes that `name` was looked up and leads to `target`, and that the kernel may keep that for `kept`. Where it led to another inode,
    /// `doubt` says whether the kernel may still know that by the name. Returns the inode that it led to before, if that is another.
    pub(super) fn looked_up(
        &self,
        name: Name<'_>,
        target: Target,
        kept: Duration,
        doubt: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        let (hash, shard) = self.place(name);
        let mut shard = shard.lock();
        let before = shard.take(hash).map_or(target, |dentry| dentry.target());
        let is_doubtful =
            before != target && (before == Target::Doubtful || before.inode().is_some_and(&doubt));
        let told = if is_doubtful {
            Target::Doubtful
        } else {
            target
        };
        let dentry = Dentry::new(told, self.after(kept));
        shard.put(hash, dentry, self.now());
        before.inode().filter(|_| before != target)
    }

    /// Notes that the kernel may keep for `kept` that there is no `name`; `false` where too many such names are remembered.
    pub(super) fn keep_absence(&self, name: Name<'_>, kept: Duration) -> bool {
        let (hash, shard) = self.place(name);
        let mut shard = shard.lock();
        let before = shard.take(hash).map(|dentry| dentry.target());
        let target = before.filter(|target| *target == Target::Doubtful);
        let has_room = shard.absent < MOST_ABSENT;
        let kept = if has_room { kept } else { Duration::ZERO };
        let mut dentry = Dentry::new(target.unwrap_or(Target::Absent), self.after(kept));
        dentry.absent = has_room.then(|| Box::new((name.0, name.1.into())));
        shard.put(hash, dentry, self.now());
        has_room
    }

    /// Returns what the kernel was told last that `name` leads to; `None` if that is not known any more.
    pub(super) fn target(&self, name: Name<'_>) -> Option<Target> {
        let (hash, shard) = self.place(name);
        shard.lock().get(hash).map(Dentry::target)
    }

    /// Returns true if the kernel may use `name` without a question.
    pub(super) fn may_be_kept(&self, name: Name<'_>) -> bool {
        let (hash, shard) = self.place(name);
        let shard = shard.lock();
        let dentry = shard.get(hash);
        dentry.is_none_or(|dentry| dentry.until > self.now())
    }

    /// Has the kernel expire or drop `name` by `tell`, which may wait for whoever works in the directory. Until that is done the kernel may
    /// use the name, and after it too if it was looked up meanwhile.
    pub(super) fn expire(&self, name: Name<'_>, tell: impl FnOnce()) {
        let (hash, shard) = self.place(name);
        let before = shard.lock().get(hash).map(|dentry| dentry.until);
        tell();
        let mut shard = shard.lock();
        if before.is_some()
            && shard.get(hash).map(|dentry| dentry.until) == before
            && let Some(dentry) = shard.take(hash)
        {
            let dentry = Dentry::new(dentry.target(), self.now());
            shard.put(hash, dentry, self.now());
        }
    }

    /// The kernel has moved the dentry of `old` to `new`, or both to each other. It has no other by `old`.
    pub(super) fn renamed(&self, old: Name<'_>, new: Name<'_>, is_exchange: bool) {
        let [moved, replaced] = [old, new].map(|name| {
            let (hash, shard) = self.place(name);
            shard.lock().take(hash)
        });
        let replaced = replaced.filter(|_| is_exchange);
        for (name, dentry) in [(new, moved), (old, replaced)] {
            if let Some(dentry) = dentry {
                let (hash, shard) = self.place(name);
                let dentry = Dentry {
                    absent: None,
                    ..dentry
                };
                shard.lock().put(hash, dentry, self.now());
            }
        }
    }

    /// Returns the absent names that the kernel may hold.
    pub(super) fn absent_names(&self) -> Vec<OwnedName> {
        let now = self.now();
        let mut names = Vec::new();
        for shard in &self.shards {
            let shard = shard.lock();
            let held = shard.all().filter(|dentry| dentry.until > now);
            names.extend(held.filter_map(|dentry| dentry.absent.as_deref().cloned()));
        }
        names
    }

    /// The hash of a name, and the part of the table that has its record.
    fn place(&self, name: Name<'_>) -> (u64, &Mutex<Shard>) {
        let hash = self.hasher.hash_one(name);
        let [first, ..] = &self.shards;
        let index = usize::try_from(hash % SHARDS as u64).unwrap_or(0);
        (hash, self.shards.get(index).unwrap_or(first))
    }
}

#[cfg(test)]
mod tests;

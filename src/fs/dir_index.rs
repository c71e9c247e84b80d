//! The visible names of a directory by one reading of it, and the changes made through the mount since.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant, SystemTime};

use crate::backing::ticks::{age, tick};
use crate::backing::{Entries, Stat, Time};
use crate::names::{BackingName, Index, Legacy, Moves, NameMap, Siblings};
use crate::policy::Alike;

/// Longest time that a change made below the mount may go unseen, where more would be allowed.
const SHARED_FOR: Duration = Duration::from_secs(1);

/// An index is trusted for this many times as long as its reading took, so that a busy directory is not read all the
/// time.
const READING_SHARE: u32 = 16;

/// An index, and the moment at which it was right.
#[derive(Debug)]
pub(super) struct DirectoryIndex {
    pub(super) index: Index,
    /// All visible names, where new ones are compared with them.
    pub(super) siblings: Option<Siblings>,
    /// The bytes of these that are counted among those of all directories.
    pub(super) noted: usize,
    /// Of the directory when the index was right; `None` since it is known not to be.
    pub(super) ctime: Option<Time>,
    /// No change can have the same ctime as the one that the index was made from.
    pub(super) settled: bool,
    pub(super) read: Instant,
    /// Duration of the reading.
    pub(super) took: Duration,
}

impl DirectoryIndex {
    pub(super) fn is_right(&self, stat: &Stat, unseen: Duration) -> bool {
        let believed = if unseen.is_zero() {
            unseen
        } else {
            SHARED_FOR.min(unseen).max(self.took * READING_SHARE)
        };
        self.ctime == Some(stat.ctime) && (self.settled || self.read.elapsed() < believed)
    }

    /// Is the directory not to be read again yet, by an operation that began at `began` and can do without?
    pub(super) fn is_young(&self, began: Instant) -> bool {
        self.read.elapsed() < self.took * READING_SHARE && began.elapsed() < self.took
    }

    /// Takes a name out that is gone; returns whether all is right still.
    pub(super) fn remove(&mut self, map: &NameMap, name: &BackingName) -> bool {
        let moves = match map.policy.conforms(name.as_bytes()) || !map.maps() {
            true => self.index.remove_sibling(map, name.as_bytes()),
            false => self.index.remove(map, name),
        };
        let Some(mut moves) = moves else {
            return false;
        };
        moves.left.extend(map.itself(name));
        self.follow(&moves);
        true
    }

    /// Takes a new name in.
    pub(super) fn add(
        &mut self,
        map: &NameMap,
        name: &BackingName,
        is_taken: impl Fn(&[u8]) -> bool,
    ) {
        let mut moves = match map.policy.conforms(name.as_bytes()) || !map.maps() {
            true => self.index.add_sibling(map, name.as_bytes(), is_taken),
            false => self.index.add(map, name, is_taken),
        };
        moves.taken.extend(map.itself(name));
        self.follow(&moves);
    }

    /// Has the names that are compared follow what became of them in the index.
    fn follow(&mut self, moves: &Moves) {
        if let Some(siblings) = &mut self.siblings {
            for name in &moves.left {
                siblings.remove(name.as_bytes());
            }
            for name in &moves.taken {
                siblings.add(name.as_bytes());
            }
        }
    }
}

/// Reads all `entries` of the directory `fd` and assigns their visible names.
pub(super) fn read(
    fd: &OwnedFd,
    mut entries: Entries,
    map: &NameMap,
    unique: Option<Alike>,
) -> io::Result<DirectoryIndex> {
    let read = Instant::now();
    let stat = Stat::of(fd)?;
    let mut legacy = Vec::new();
    let mut conforming: HashSet<Box<[u8]>> = HashSet::new();
    let mut siblings = unique.map(Siblings::new);
    while let Some(entry) = entries.next()? {
        if entry.is_dot() {
            continue;
        }
        let name = entry.name;
        let conforms = map.policy.conforms(name);
        if !conforms && map.maps() {
            legacy.extend(BackingName::parse(name));
        } else if conforms && map.may_be_mapped(name) {
            conforming.insert(name.into());
        }
        if let Some(siblings) = siblings.as_mut()
            && (conforms || map.legacy == Legacy::Raw)
        {
            siblings.add(name);
        }
    }
    let index = Index::build(map, legacy, |name| conforming.contains(name));
    if let Some(siblings) = &mut siblings {
        for name in index.visible_names() {
            siblings.add(name.as_bytes());
        }
    }
    let settled = age(stat.ctime, SystemTime::now()) > tick(stat.ctime) + read.elapsed();
    Ok(DirectoryIndex {
        index,
        noted: siblings.as_ref().map_or(0, Siblings::footprint),
        siblings,
        ctime: Some(stat.ctime),
        settled,
        read,
        took: read.elapsed(),
    })
}

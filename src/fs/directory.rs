//! The visible names of a directory, kept as long as they are known to be right.
//!
//! The index is made by one reading of the directory and dropped when the directory's ctime is another than that
//! reading saw. Changes made through the mount are worked in instead, so that a directory of many names that do
//! not conform is not read again for each. Where a change below could hide behind one of ours, or behind the
//! granularity of the clock, the index is believed for a second, or as long as keeps readings rare.
//!
//! Where new names are compared with their siblings (`--unique`), all visible names are kept beside the index, in the
//! same way.

use std::cell::Cell;
use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

use super::descriptors::Descriptors;
use super::indexed::{EMPTY_BYTES, IndexedDirectories};
use super::inode::{Inode, lock};
use crate::backing::{Dir, Entries, Stat, Time};
use crate::names::{BackingName, Index, Legacy, Moves, NameMap, Siblings, VisibleName};
use crate::policy::Alike;

/// How long a change made below the mount may go unseen at most, where more would be allowed.
const SHARED_FOR: Duration = Duration::from_secs(1);

/// A reading that took long is believed for this many times as long, so that a directory that is changed all the time
/// is not read all the time.
const READING_SHARE: u32 = 16;

/// A ctime at least this old is that of no change to come, on filesystems that keep nanoseconds: kernels before 6.13
/// stamp changes with the time of the last clock tick, which is 10 ms apart at most.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// The same for filesystems that keep whole seconds, or two (vfat).
const COARSE_TICK: Duration = Duration::from_secs(3);

/// An index, and the moment at which it was right.
#[derive(Debug)]
pub(super) struct DirectoryIndex {
    index: Index,
    /// All visible names, where new ones are compared with them.
    siblings: Option<Siblings>,
    /// The bytes of these that are counted among those of all directories.
    noted: usize,
    ctime: Time,
    /// No change can have the same ctime as the one that the index was made from.
    settled: bool,
    read: Instant,
    /// How long the reading took.
    took: Duration,
}

impl DirectoryIndex {
    fn is_right(&self, stat: &Stat, unseen: Duration) -> bool {
        let believed = if unseen.is_zero() {
            unseen
        } else {
            SHARED_FOR.min(unseen).max(self.took * READING_SHARE)
        };
        self.ctime == stat.ctime && (self.settled || self.read.elapsed() < believed)
    }

    /// What a name of the directory is visible as; `None` if it is hidden, or was not there.
    fn visible(&self, map: &NameMap, name: &BackingName) -> Option<VisibleName> {
        if map.policy.conforms(name.as_bytes()) || map.legacy == Legacy::Raw {
            return Some(name.as_visible());
        }
        self.index.visible(name).cloned()
    }

    /// Takes a name out that is gone; returns whether all is right still.
    fn remove(&mut self, map: &NameMap, name: &BackingName) -> bool {
        let conforms = map.policy.conforms(name.as_bytes());
        let is_itself = conforms || map.legacy == Legacy::Raw;
        if let Some(siblings) = self.siblings.as_mut().filter(|_| is_itself) {
            siblings.remove(name.as_bytes());
        }
        let moves = if !map.maps() {
            Some(Moves::default())
        } else if conforms {
            self.index.remove_sibling(map, name.as_bytes())
        } else {
            self.index.remove(map, name)
        };
        let is_right = moves.is_some();
        self.follow(&moves.unwrap_or_default());
        is_right
    }

    /// Takes a new name in.
    fn add(&mut self, map: &NameMap, name: &BackingName, is_taken: impl Fn(&[u8]) -> bool) {
        let conforms = map.policy.conforms(name.as_bytes());
        if map.maps() {
            let moves = if conforms {
                self.index.add_sibling(map, name.as_bytes(), is_taken)
            } else {
                self.index.add(map, name, is_taken)
            };
            self.follow(&moves);
        }
        let is_itself = conforms || map.legacy == Legacy::Raw;
        if let Some(siblings) = self.siblings.as_mut().filter(|_| is_itself) {
            siblings.add(name.as_bytes());
        }
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

/// Turns `EACCES` into `None`: the directory may be written and searched, but not read. What is mapped in it is not known then,
/// and every other name is reached all the same (law F1).
pub(super) fn if_readable<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => Ok(None),
        result => result.map(Some),
    }
}

/// A directory whose visible names are being looked at or changed; others wait.
#[derive(Debug)]
pub(super) struct Directory<'a> {
    inode: &'a Arc<Inode>,
    fd: &'a OwnedFd,
    map: &'a NameMap,
    all: &'a IndexedDirectories,
    descriptors: &'a Descriptors,
    state: MutexGuard<'a, Option<Box<DirectoryIndex>>>,
    /// The index is right as of this operation.
    is_checked: bool,
    /// The directory was read for this operation.
    is_read: bool,
}

impl<'a> Directory<'a> {
    /// Waits until nobody else has it.
    ///
    /// # Errors
    /// `ENOTDIR`.
    pub(super) fn new(
        inode: &'a Arc<Inode>,
        fd: &'a OwnedFd,
        map: &'a NameMap,
        all: &'a IndexedDirectories,
        descriptors: &'a Descriptors,
    ) -> io::Result<Self> {
        let listed = inode.as_directory()?;
        Ok(Self {
            inode,
            fd,
            map,
            all,
            descriptors,
            state: lock(&listed.index),
            is_checked: false,
            is_read: false,
        })
    }

    /// The backing name that does not conform and is visible as `name`.
    ///
    /// # Errors
    /// `EACCES` where the directory may not be read, and those of reading it.
    pub(super) fn backing(&mut self, name: &VisibleName) -> io::Result<Option<BackingName>> {
        let state = self.state()?;
        let found = state.index.backing(name.as_bytes()).cloned();
        if found.is_some() || state.settled || self.is_read {
            return Ok(found);
        }
        // Somebody may have given an entry the name that is decoded to this one, as undo(1) does, and that hid behind a change of
        // ours (law T7).
        for legacy in self.map.legacy_spellings(name) {
            if Dir::new(self.fd).exists(&legacy)? {
                *self.state = None;
                return Ok(self.index()?.backing(name.as_bytes()).cloned());
            }
        }
        Ok(None)
    }

    /// Was the directory read for this operation? What was looked for in it before may have come since.
    pub(super) fn is_read(&self) -> bool {
        self.is_read
    }

    /// The backing name that does not conform and would be escaped and cut as `name`; none where the directory may not be read.
    pub(super) fn cut_spelling(&mut self, name: &[u8]) -> io::Result<Option<BackingName>> {
        let map = self.map;
        let state = if_readable(self.state())?;
        Ok(state.and_then(|state| state.index.cut_spelling(map, name)))
    }

    /// What a backing name that does not conform is visible as; `None` if it is gone.
    ///
    /// # Errors
    /// As for [`Self::backing`].
    pub(super) fn visible(&mut self, name: &BackingName) -> io::Result<Option<VisibleName>> {
        if let Some(visible) = self.index()?.visible(name) {
            return Ok(Some(visible.clone()));
        }
        if self.is_read {
            return Ok(None);
        }
        // It has come since the directory was read; once for each operation, whatever others do meanwhile.
        *self.state = None;
        Ok(self.index()?.visible(name).cloned())
    }

    /// The visible name of a sibling that a new name is like, which is not that of `leaving`; `None` where siblings are not
    /// compared, and where `name` itself is there.
    ///
    /// # Errors
    /// As for [`Self::backing`].
    pub(super) fn like(
        &mut self,
        name: &VisibleName,
        leaving: Option<&BackingName>,
    ) -> io::Result<Option<VisibleName>> {
        if self.all.unique.is_none() {
            return Ok(None);
        }
        loop {
            let map = self.map;
            let state = self.state()?;
            let leaving = leaving.and_then(|backing| state.visible(map, backing));
            let leaving = leaving.as_ref().map(VisibleName::as_bytes);
            let siblings = state.siblings.as_ref();
            let found = siblings.and_then(|siblings| siblings.like(name.as_bytes(), leaving));
            let Some(sibling) = found else {
                return Ok(None);
            };
            let mapped = state.index.backing(sibling.as_bytes()).cloned();
            let backing = mapped.unwrap_or_else(|| sibling.as_backing());
            if self.is_read || Dir::new(self.fd).exists(&backing)? {
                return Ok(Some(sibling));
            }
            // It has gone since the directory was read.
            *self.state = None;
        }
    }

    /// Keeps the lock across a change where siblings are compared, so that no name comes in between that is like the new
    /// one; gives it up where they are not.
    pub(super) fn kept(self) -> Option<Self> {
        self.all.unique.is_some().then_some(self)
    }

    /// The index, checked or made once for each operation.
    fn index(&mut self) -> io::Result<&Index> {
        Ok(&self.state()?.index)
    }

    fn state(&mut self) -> io::Result<&mut DirectoryIndex> {
        let listed = self.inode.as_directory()?;
        let is_outdated = !self.is_checked && listed.is_outdated.swap(false, Ordering::AcqRel);
        let state = match self.state.take() {
            Some(state)
                if self.is_checked
                    || !is_outdated && state.is_right(&Stat::of(self.fd)?, self.all.unseen) =>
            {
                state
            }
            _ => {
                let open = || Entries::open_quietly(self.fd);
                let entries = self.descriptors.enough_for(open)?;
                let read = read(self.fd, entries, self.map, self.all.unique)?;
                let mut state = Box::new(read);
                self.all.readings.fetch_add(1, Ordering::Relaxed);
                state.noted = state.siblings.as_ref().map_or(0, Siblings::footprint);
                let bytes = state.index.footprint() + state.noted;
                self.all.note(self.inode, bytes);
                self.is_read = true;
                state
            }
        };
        self.is_checked = true;
        Ok(self.state.insert(state))
    }

    /// Gets ready for a change by us: an index that is not right now could not be told from one that the change outdates.
    pub(super) fn before_change(&mut self) -> io::Result<()> {
        if let Some(state) = &*self.state
            && !state.is_right(&Stat::of(self.fd)?, self.all.unseen)
        {
            *self.state = None;
        }
        Ok(())
    }

    /// Works a change of ours in: the names that it took away and made. The change is made, so that nothing fails any more: the
    /// index is dropped where it cannot be told whether it is right.
    pub(super) fn changed(&mut self, removed: Option<&BackingName>, added: Option<&BackingName>) {
        let Some(mut state) = self.state.take() else {
            return;
        };
        let map = self.map;
        let directory = Dir::new(self.fd);
        let is_told = Cell::new(true);
        let is_there = |name: &BackingName| {
            let there = directory.exists(name);
            is_told.set(is_told.get() && there.is_ok());
            there.unwrap_or(false)
        };
        let is_taken = |wanted: &[u8]| {
            map.policy.conforms(wanted) && BackingName::parse(wanted).is_ok_and(|n| is_there(&n))
        };
        let is_right = removed.is_none_or(|name| state.remove(map, name));
        if let Some(name) = added.filter(|_| is_right) {
            state.add(map, name, is_taken);
        }
        if is_right
            && is_told.get()
            && let Ok(stat) = Stat::of(self.fd)
        {
            state.ctime = stat.ctime;
            state.settled = false;
            self.note_growth(&mut state);
            *self.state = Some(state);
        }
    }

    /// Counts siblings that came one by one, whenever they have become twice as many.
    fn note_growth(&self, state: &mut DirectoryIndex) {
        let bytes = state.siblings.as_ref().map_or(0, Siblings::footprint);
        if bytes > 2 * state.noted + EMPTY_BYTES {
            self.all.note(self.inode, bytes - state.noted);
            state.noted = bytes;
        }
    }
}

/// Reads all `entries` of the directory `fd` and assigns their visible names.
fn read(
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
    let Time { secs, nanos } = stat.ctime;
    let tick = if nanos == 0 { COARSE_TICK } else { CLOCK_TICK };
    let changed = u64::try_from(secs).map_or(SystemTime::UNIX_EPOCH, |secs| {
        SystemTime::UNIX_EPOCH + Duration::new(secs, nanos)
    });
    let settled = SystemTime::now()
        .duration_since(changed)
        .is_ok_and(|age| age > tick + read.elapsed());
    Ok(DirectoryIndex {
        index,
        siblings,
        noted: 0,
        ctime: stat.ctime,
        settled,
        read,
        took: read.elapsed(),
    })
}

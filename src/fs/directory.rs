//! The visible names of a directory, kept as long as they are known to be right.
//!
//! The index is made by one reading of the directory and dropped when the directory's ctime differs from the one that
//! reading saw. Changes through the mount are worked in instead, so that a directory of many names that do not
//! conform is not read again for each. Where a change below could hide behind one of ours, or behind the granularity
//! of the clock, the index is trusted for a second. If readings take long, it is trusted for longer.
//!
//! Where new names are compared with their siblings (`--unique`), all visible names are kept beside the index, in the
//! same way.

use std::cell::Cell;
use std::io;
use std::sync::atomic::Ordering;

use parking_lot::MutexGuard;

use super::descriptors::Descriptors;
use super::dir_index::{DirectoryIndex, read};
use super::indexed::{EMPTY_BYTES, IndexedDirectories};
use super::inode::OpenInode;
use crate::backing::{Entries, Stat};
use crate::names::{BackingName, Index, NameMap, Siblings, VisibleName};

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
    at: &'a OpenInode,
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
        at: &'a OpenInode,
        map: &'a NameMap,
        all: &'a IndexedDirectories,
        descriptors: &'a Descriptors,
    ) -> io::Result<Self> {
        let listed = at.inode.as_directory()?;
        Ok(Self {
            at,
            map,
            all,
            descriptors,
            state: listed.index.lock(),
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
        // Somebody may have given an entry the name that is decoded to this one, as undo(1) does, hidden by a change
        // of ours (law T7).
        for legacy in self.map.legacy_spellings(name) {
            if self.at.dir().exists(&legacy)? {
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

    /// Returns the visible name of a backing name that does not conform; `None` if it is gone.
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

    /// Returns the visible name of a sibling that a new name is like, other than that of `leaving`. `None` where
    /// siblings are not compared, and where `name` itself exists.
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
            if self.is_read || self.at.dir().exists(&backing)? {
                return Ok(Some(sibling));
            }
            // It has gone since the directory was read.
            *self.state = None;
        }
    }

    /// Keeps the lock across a change where siblings are compared, so that no name like the new one comes in between.
    /// Gives it up where they are not.
    pub(super) fn kept(self) -> Option<Self> {
        self.all.unique.is_some().then_some(self)
    }

    /// The index, checked or made once for each operation.
    fn index(&mut self) -> io::Result<&Index> {
        Ok(&self.state()?.index)
    }

    fn state(&mut self) -> io::Result<&mut DirectoryIndex> {
        let listed = self.at.inode.as_directory()?;
        let is_outdated = !self.is_checked && listed.is_outdated.swap(false, Ordering::AcqRel);
        let state = match self.state.take() {
            Some(state)
                if self.is_checked
                    || !is_outdated
                        && state.is_right(&Stat::of(&*self.at.fd)?, self.all.unseen) =>
            {
                state
            }
            _ => {
                let open = || Entries::open_quietly(&*self.at.fd);
                let entries = self.descriptors.enough_for(open)?;
                let read = read(&self.at.fd, entries, self.map, self.all.unique)?;
                let mut state = Box::new(read);
                self.all.readings.fetch_add(1, Ordering::Relaxed);
                state.noted = state.siblings.as_ref().map_or(0, Siblings::footprint);
                let bytes = state.index.footprint() + state.noted;
                self.all.note(&self.at.inode, bytes);
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
            && !state.is_right(&Stat::of(&*self.at.fd)?, self.all.unseen)
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
        let directory = self.at.dir();
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
            && let Ok(stat) = Stat::of(&*self.at.fd)
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
            self.all.note(&self.at.inode, bytes - state.noted);
            state.noted = bytes;
        }
    }
}

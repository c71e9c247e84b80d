//! The visible names of a directory, kept as long as they are known to be right.
//!
//! The index is made by one reading of the directory and dropped when the directory's ctime differs from the one that
//! reading saw. Changes through the mount are worked in instead, so that a directory of many names that do not
//! conform is not read again for each. Where a change below could hide behind one of ours, or behind the granularity
//! of the clock, the index is trusted for a second. If readings take long, it is trusted for longer.
//!
//! A directory that changes all the time would be read all the time, while the kernel keeps notifications of its names waiting (law
//! F5). So most names are told without the index ([`holder`](crate::names::NameMap::holder)): those that are looked up, and those
//! that are listed soon after a reading.
//!
//! Where new names are compared with their siblings (`--unique`), all visible names are kept beside the index, in the
//! same way.

use std::cell::Cell;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Instant;

use parking_lot::MutexGuard;

use super::Utf8Fs;
use super::dir_index::{DirectoryIndex, read};
use super::indexed::EMPTY_BYTES;
use super::inode::OpenInode;
use crate::backing::{Entries, Stat};
use crate::names::{BackingName, Holder, Siblings, VisibleName};

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
    fs: &'a Utf8Fs,
    state: MutexGuard<'a, Option<Box<DirectoryIndex>>>,
    /// The index is right as of this operation.
    is_checked: bool,
    /// The directory was read for this operation.
    is_read: bool,
    began: Instant,
}

impl Utf8Fs {
    /// The visible names of a directory, locked as long as the result lives: waits until nobody else has it.
    ///
    /// # Errors
    /// `ENOTDIR`.
    pub(super) fn directory<'a>(&'a self, at: &'a OpenInode) -> io::Result<Directory<'a>> {
        let state = at.inode.as_directory()?.index.lock();
        let is_late = |(since, state): (_, &DirectoryIndex)| state.read >= since;
        Ok(Directory {
            at,
            fs: self,
            is_checked: at.read_since.zip(state.as_deref()).is_some_and(is_late),
            state,
            is_read: false,
            began: Instant::now(),
        })
    }
}

impl Directory<'_> {
    /// The backing name that does not conform and is visible as `name`; and whether the directory was read for that.
    ///
    /// # Errors
    /// `EACCES` where the directory may not be read, and those of reading it.
    pub(super) fn backing(
        &mut self,
        name: &VisibleName,
    ) -> io::Result<(Option<BackingName>, bool)> {
        let state = self.state()?;
        let found = state.index.backing(name.as_bytes()).cloned();
        if found.is_some() || state.settled || self.is_read {
            return Ok((found, self.is_read));
        }
        // Somebody may have given an entry the name that is decoded to this one, as undo(1) does, hidden by a change
        // of ours (law T7).
        for legacy in self.fs.map.legacy_spellings(name) {
            if self.at.dir().exists(&legacy)? {
                *self.state = None;
                return Ok((self.state()?.index.backing(name.as_bytes()).cloned(), true));
            }
        }
        Ok((None, false))
    }

    /// The backing name that does not conform and would be escaped and cut as `name`; none where the directory may not be read.
    pub(super) fn cut_spelling(&mut self, name: &[u8]) -> io::Result<Option<BackingName>> {
        let map = &self.fs.map;
        let state = if_readable(self.state())?;
        Ok(state.and_then(|state| state.index.cut_spelling(map, name)))
    }

    /// Returns the visible name of a backing name that does not conform; `None` if it is gone.
    ///
    /// # Errors
    /// As for [`Self::backing`].
    pub(super) fn visible(&mut self, name: &BackingName) -> io::Result<Option<VisibleName>> {
        if !self.is_right()?
            && let Some(state) = &*self.state
            && state.is_young(self.began)
            && let Some(visible) = self.fs.map.visible_alone(name)
        {
            match self.fs.holder(self.at, &visible) {
                Holder::Legacy(holder) if holder == *name => return Ok(Some(visible)),
                Holder::Nobody => return Ok(None),
                Holder::Legacy(_) | Holder::Itself | Holder::Unclear => {}
            }
        }
        if let Some(visible) = self.state()?.index.visible(name) {
            return Ok(Some(visible.clone()));
        }
        if self.is_read {
            return Ok(None);
        }
        // It has come since the directory was read; once for each operation, whatever others do meanwhile.
        *self.state = None;
        Ok(self.state()?.index.visible(name).cloned())
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
        if self.fs.settings.unique.is_none() {
            return Ok(None);
        }
        loop {
            let map = &self.fs.map;
            let state = self.state()?;
            let visible = |name| {
                map.itself(name)
                    .or_else(|| state.index.visible(name).cloned())
            };
            let leaving = leaving.and_then(visible);
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

    /// Is there an index that is right as of this operation?
    fn is_right(&mut self) -> io::Result<bool> {
        let listed = self.at.inode.as_directory()?;
        let is_outdated = !self.is_checked && listed.is_outdated.swap(false, Ordering::AcqRel);
        let Some(state) = &mut *self.state else {
            return Ok(false);
        };
        self.is_checked = self.is_checked
            || !is_outdated && state.is_right(&Stat::of(&*self.at.fd)?, self.fs.settings.unseen);
        if !self.is_checked {
            state.ctime = None;
        }
        Ok(self.is_checked)
    }

    /// The index, checked or made once for each operation.
    fn state(&mut self) -> io::Result<&mut DirectoryIndex> {
        let is_right = self.is_right()?;
        let state = match self.state.take_if(|_| is_right) {
            Some(state) => state,
            None => {
                let open = || Entries::open_quietly(&*self.at.fd);
                let entries = self.fs.inodes.with_descriptors(open)?;
                let (map, unique) = (&self.fs.map, self.fs.settings.unique);
                let state = Box::new(read(&self.at.fd, entries, map, unique)?);
                let indexed = &self.fs.indexed;
                indexed.readings.fetch_add(1, Ordering::Relaxed);
                indexed.note(&self.at.inode, state.index.footprint() + state.noted);
                self.is_read = true;
                state
            }
        };
        self.is_checked = true;
        Ok(self.state.insert(state))
    }

    /// Gets ready for a change by us: an index that is not right now could not be told from one that the change outdates.
    pub(super) fn before_change(&mut self) -> io::Result<()> {
        self.is_checked = false;
        self.is_right().map(drop)
    }

    /// Works a change of ours in: the names that it took away and made. The change is made, so that nothing fails any more: the
    /// index is dropped where it cannot be told whether it is right.
    pub(super) fn changed(&mut self, removed: Option<&BackingName>, added: Option<&BackingName>) {
        let Some(mut state) = self.state.take_if(|state| state.ctime.is_some()) else {
            return;
        };
        let map = &self.fs.map;
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
            state.ctime = Some(stat.ctime);
            state.settled = false;
            // Siblings that came one by one are counted whenever they have become twice as many.
            let bytes = state.siblings.as_ref().map_or(0, Siblings::footprint);
            if bytes > 2 * state.noted + EMPTY_BYTES {
                let all = state.index.footprint() + bytes;
                self.fs.indexed.note(&self.at.inode, all);
                state.noted = bytes;
            }
            *self.state = Some(state);
        }
    }
}

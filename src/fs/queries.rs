//! Facts about inodes and names, for whoever keeps copies, and counts, for whoever looks after the mount.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::audit::Counts;
use super::inode::Inode;
use super::inodes::{By, Looked};
use super::resolve::Resolved;
use super::{FsError, Inodes, Utf8Fs};
use crate::backing::{Dir, FileHandle, Stat};
use crate::names::{BackingName, OnViolation, VisibleName};
use crate::records::{DescriptorCounts, IndexCounts, OpenCounts};

/// The events that can end the absence of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absence {
    /// Something is made which lies below by this very name.
    OfOne,
    /// Something is made through the mount by this name, which may lie below by another that is decoded to it. An
    /// existing entry that would be decoded to an absent name is listed under it, so that the name is not absent.
    OfDecoded,
    /// Also what is done to other names: it is a spelling of these, or they can be mapped to it.
    OfSpellings,
}

/// The numbers at a moment. Taken piece by piece while requests are served, so that the pieces need not fit each other.
#[derive(Debug, Clone, Copy)]
pub struct State {
    /// Inodes that were looked up and not forgotten, with the root.
    pub inodes: usize,
    /// Open files and directories.
    pub open: OpenCounts,
    /// The process's descriptors.
    pub descriptors: DescriptorCounts,
    /// Indexes of visible names.
    pub indexes: IndexCounts,
    /// Offences since the mount.
    pub offences: Counts,
}

impl Utf8Fs {
    /// Returns the numbers of now. Waits for nobody who works on a request, but for a few instructions at a time.
    pub fn state(&self) -> State {
        State {
            inodes: self.inodes.count.load(Ordering::Relaxed) + 1,
            open: OpenCounts {
                files: self.files.count(),
                directories: self.directories.count(),
            },
            descriptors: self.inodes.descriptors.counts(),
            indexes: self.indexed.counts(),
            offences: self.settings.auditor.counts(),
        }
    }

    /// Returns the table of inodes.
    pub fn inodes(&self) -> &Inodes {
        &self.inodes
    }

    /// The inode of what has a file handle, if it is known, and its attributes.
    pub fn known_by(&self, handle: &FileHandle) -> Option<(Arc<Inode>, Stat)> {
        let stat = Stat::of(self.inodes.open_handle(handle).ok()?).ok()?;
        Some((self.inodes.known(&stat)?, stat))
    }

    /// Does a file handle belong to a known directory that was moved out of the backing directory?
    pub fn was_moved_out(&self, handle: &FileHandle) -> bool {
        let known = self.known_by(handle).filter(|(_, stat)| stat.is_dir());
        let opened = known.and_then(|(inode, _)| self.open_inode(inode.number).ok());
        opened.is_some_and(|directory| {
            let confined = self.inodes.confine(&directory, Duration::ZERO);
            matches!(confined, Err(FsError::Stale))
        })
    }

    /// Looks at a name below in a directory now: its attributes, and its inode if that is known.
    pub fn look_below(&self, directory: u64, name: &[u8]) -> Option<(Stat, Option<Arc<Inode>>)> {
        let directory = self.open_inode(directory).ok()?;
        self.look_in(&directory.dir(), &BackingName::parse(name).ok()?)
    }

    /// Looks in the same way at what a visible name leads to.
    pub fn look(&self, directory: u64, name: &[u8]) -> Option<(Stat, Option<Arc<Inode>>)> {
        let directory = self.open_inode(directory).ok()?;
        let look = |found: Resolved| Ok(self.look_in(&directory.dir(), &found.backing));
        self.resolve(&directory, name, look).ok()?
    }

    /// Does a visible name lead nowhere now, or is its directory gone? No where that cannot be told.
    pub fn is_absent(&self, directory: u64, name: &[u8]) -> bool {
        match self.open_inode(directory) {
            Ok(directory) => matches!(self.existing(&directory, name), Ok(None)),
            Err(error) => error.errno() == libc::ESTALE,
        }
    }

    fn look_in(
        &self,
        dir: &Dir<&OwnedFd>,
        name: &BackingName,
    ) -> Option<(Stat, Option<Arc<Inode>>)> {
        let stat = self.look_by_name(dir, name).ok()?.stat;
        // A number may be that of an earlier file.
        let is_it = |inode: &Arc<Inode>| inode.is_born_as(&stat) || self.is_now(inode, dir, name);
        Some((stat, self.inodes.all_known(&stat).find(is_it)))
    }

    /// Is an inode what a name leads to now, whose number it has?
    pub(super) fn is_now(&self, inode: &Inode, dir: &Dir<&OwnedFd>, name: &BackingName) -> bool {
        if let Some(known) = inode.handle() {
            return FileHandle::of_child(dir, name).is_ok_and(|now| now.as_ref() == Some(known));
        }
        self.look_by_fd(dir, name).is_ok_and(|Looked { stat, by }| {
            let By::Fd(fd) = by else { return false };
            let identity = self.inodes.identity(&fd, &stat);
            identity.is_ok_and(|identity| identity == inode.identity)
        })
    }

    /// The name that a backing name is visible as; `None` if it is hidden.
    pub fn visible_name(&self, name: &[u8]) -> Option<VisibleName> {
        self.map.visible_alone(&BackingName::parse(name).ok()?)
    }

    /// The visible path of the name `name` in `directory`.
    pub(super) fn visible_path(&self, directory: &Inode, name: &[u8]) -> Vec<u8> {
        let mut path = self.inodes.path(directory);
        if path != b"/" {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        path
    }

    /// Has the visible names of a directory read anew, which others changed; does nothing for anything else.
    pub fn outdate(&self, number: u64) {
        if let Ok(inode) = self.inodes.get(number)
            && let Ok(directory) = inode.as_directory()
        {
            directory.is_outdated.store(true, Ordering::Release);
        }
    }

    /// Does a visible name conform, and is it the only spelling of whatever has it?
    pub fn has_one_spelling(&self, name: &[u8]) -> bool {
        self.map.policy.conforms(name) && self.map.is_only_spelling(name)
    }

    /// Does a visible name conform, and is it the only name that leads to whatever has it, under whatever name that lies below?
    pub fn has_one_name(&self, name: &[u8]) -> bool {
        self.has_one_spelling(name) && !self.map.may_be_mapped(name)
    }

    /// Returns the name that an entry is listed under, if `name` is another spelling of it (law N10).
    ///
    /// # Errors
    /// [`FsError::Stale`]: the directory is gone. Those of looking for the entry.
    pub fn other_listed_name(
        &self,
        directory: u64,
        name: &[u8],
    ) -> Result<Option<VisibleName>, FsError> {
        if self.has_one_spelling(name) && !self.map.may_be_escaped(name) {
            return Ok(None);
        }
        let directory = self.open_inode(directory)?;
        let found = self.existing(&directory, name)?;
        let Some(found) = found.filter(|found| found.alias) else {
            return Ok(None);
        };
        let listed = match self.map.itself(&found.backing) {
            Some(itself) => Some(itself),
            None => self.listed_as(&directory, &found.backing)?,
        };
        Ok(listed.filter(|listed| listed.as_bytes() != name))
    }

    /// Is an entry listed under the name that it was found by, until that name, its own or that of a sibling which comes below is changed
    /// (law N14)? Not where it has to give way to a sibling: what is done to that would change its name.
    pub(super) fn is_listed_name(&self, entry: &Resolved) -> bool {
        if entry.alias {
            return false;
        }
        if entry.visible.as_bytes() != entry.backing.as_bytes() {
            return self.map.visible_alone(&entry.backing).as_ref() == Some(&entry.visible);
        }
        // One that does not conform was let through, and may be shown as another.
        self.map.policy.conforms(entry.visible.as_bytes())
            || !self.map.has_spellings() && self.nobody_is_exempt()
    }

    /// Returns the events that can end the absence of an entry `name`.
    pub fn absence(&self, name: &[u8]) -> Absence {
        match self.has_one_spelling(name) {
            true if !self.map.may_be_mapped(name) => Absence::OfOne,
            true if self.is_never_made_by_others(name) => Absence::OfDecoded,
            _ => Absence::OfSpellings,
        }
    }

    /// Does nothing that is made through the mount get this name but by this name?
    fn is_never_made_by_others(&self, name: &[u8]) -> bool {
        !self.map.may_be_escaped(name)
            && self.map.on_violation == OnViolation::Reject
            && self.map.policy.form.is_none()
            && self.map.store_as.is_none()
            && self.nobody_is_exempt()
    }
}

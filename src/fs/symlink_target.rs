//! Targets of symlinks, which follow the rules of names component by component (law N13).
//!
//! Reading returns the stored target with each component as it is visible. Storing writes the asked target with each
//! component as it lies in the backing directory. So a link leads to the same file through the mount and below it. A
//! target that leads out of the mount is left alone.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;

use super::audit::Verdict;
use super::inode::{Inode, OpenInode, PLAIN_TARGET};
use super::number::ROOT;
use super::resolve::Making;
use super::walk::{Halt, SOUGHT, Walk, components, is_no_way};
use super::{Call, Caller, FsError, Utf8Fs};
use crate::backing::{Stat, file, if_there};
use crate::names::rules::{Mode, Terms};
use crate::names::{BackingName, VisibleName};
use crate::policy::{NAME_MAX, Offence};
use crate::records::{Name, OffenceRecord};

/// Longest target that symlink(2) takes and readlink(2) gives.
const LONGEST: usize = 4095;

/// With more signs than this only an enemy's names are escaped.
const MOST_SIGNS: usize = 8;

/// A component on the other side, and the entry that it names there, if there is one.
type Translated = (Vec<u8>, Option<OwnedFd>);

/// A component that does not conform and names no entry.
#[derive(Debug)]
pub(super) struct Noted {
    name: Vec<u8>,
    offence: Offence,
    verdict: Verdict,
    stored: Vec<u8>,
}

impl Utf8Fs {
    /// The target of a symlink, as it leads to the same file through the mount.
    ///
    /// # Errors
    /// It is no symlink, or the system's error. [`FsError::Stale`]: another may have its name by now, as where others replace a link to turn
    /// all who go by it to another directory.
    pub fn readlink(&self, caller: Caller, number: u64) -> Result<Vec<u8>, FsError> {
        let OpenInode { inode, fd, .. } = self.open_inode(number)?;
        self.check_names(caller, Call::Any, &inode)?;
        let target = file::readlink(&*fd)?;
        Ok(self.shown_target(&inode, &target)?.unwrap_or(target))
    }

    fn is_visible_as_itself(&self, component: &[u8]) -> bool {
        matches!(component, b"" | b"." | b"..")
            || self.map.policy.conforms(component)
            || self.names_nothing(component)
    }

    /// Is a component text that is just longer than any name? It leads nowhere, below the mount and through it, unless names
    /// are normalized and it stands for a shorter one.
    fn names_nothing(&self, component: &[u8]) -> bool {
        component.len() > NAME_MAX
            && self.map.policy.offences(component).is_empty()
            && !self.rules().normalizes()
    }

    /// The target of a symlink, if it may be shown as another. It walks nowhere.
    pub fn mapped_target(&self, inode: &Arc<Inode>, stat: &Stat) -> Option<Vec<u8>> {
        if !stat.is_symlink() || !self.map.maps() || inode.marks.has(PLAIN_TARGET) {
            return None;
        }
        // A handle is of one filesystem only.
        let is_it = |fd: &OwnedFd| {
            Stat::of(fd).is_ok_and(|opened| opened.dev == stat.dev && opened.ino == stat.ino)
        };
        // In the view a link is read with its access time left as it is, as lstat(2) leaves it.
        let target = match self.inodes.in_view(inode) {
            Ok(Some(quiet)) if is_it(&quiet) => file::readlink(quiet),
            _ => file::readlink(&*self.inodes.fd(inode).ok()?),
        };
        let target = target.ok()?;
        if components(&target).any(|name| !self.is_visible_as_itself(name)) {
            return Some(target);
        }
        // Longer names are shown as the rules have it, which may change.
        if components(&target).all(|name| name.len() <= NAME_MAX) {
            inode.marks.set(PLAIN_TARGET, true);
        }
        None
    }

    /// A stored target as it is visible; `None` if it is left alone.
    pub(super) fn shown_target(
        &self,
        link: &Arc<Inode>,
        target: &[u8],
    ) -> Result<Option<Vec<u8>>, FsError> {
        if !self.map.maps() {
            return Ok(None);
        }
        let directory = link.place().map(|place| self.inodes.get(place.parent));
        let Some(Ok(directory)) = directory else {
            return Ok(None);
        };
        let is_itself = |name: &[u8]| self.is_visible_as_itself(name);
        let shown = self.translated(&directory, target, is_itself, |walk, name| {
            self.visible_component(link, walk, name)
        });
        Ok(shown?.filter(|shown| shown.len() <= LONGEST))
    }

    fn visible_component(
        &self,
        link: &Arc<Inode>,
        walk: &Walk<'_>,
        name: &[u8],
    ) -> Result<Translated, Halt> {
        let Ok(backing) = BackingName::parse(name) else {
            return Ok((name.to_vec(), None));
        };
        // Asked for first: a directory is read again for a name that it does not list.
        let child = walk.child(&backing)?;
        let mut visible = match walk.here()?.filter(|_| child.is_some()) {
            Some(directory) => self.listed_as(&directory, &backing)?,
            None => self.dangling_component(walk, &backing)?,
        };
        let alone = self.map.visible_alone(&backing);
        // A migration replaces a link before it renames what the link leads to. Who reads the old link still gets
        // there (law T7).
        if visible != alone && self.is_removed(link) {
            visible = alone;
        }
        let visible = visible.unwrap_or_else(|| backing.as_visible());
        Ok((visible.as_bytes().to_vec(), child))
    }

    fn is_removed(&self, inode: &Arc<Inode>) -> bool {
        match self.inodes.fd(inode).and_then(|fd| Stat::of(&*fd)) {
            Ok(stat) => stat.nlink == 0,
            Err(error) => error.raw_os_error() == Some(libc::ESTALE),
        }
    }

    /// Returns how a component that names no entry is shown: as it would be visible if it existed, so that it leads
    /// to no other entry either.
    fn dangling_component(
        &self,
        walk: &Walk<'_>,
        backing: &BackingName,
    ) -> Result<Option<VisibleName>, Halt> {
        let alone = self.map.visible_alone(backing);
        let escapes =
            (1..=MOST_SIGNS).map(|signs| self.map.escape_candidate(backing.as_bytes(), signs));
        for visible in alone.iter().cloned().chain(escapes) {
            if self.existing_component(walk, visible.as_bytes())?.is_none() {
                return Ok(Some(visible));
            }
        }
        Ok(alone)
    }

    /// The target that a new link is to have below, for `target` as asked, and the offence to report once it is made.
    ///
    /// # Errors
    /// [`FsError::Refused`], and then the refusal is in the audit log; `ENAMETOOLONG` if it is too long below.
    pub(super) fn stored_target(
        &self,
        making: &Making<'_>,
        target: &[u8],
    ) -> Result<(Vec<u8>, Option<Noted>), FsError> {
        let mut noted: Option<Noted> = None;
        let terms = self.terms(making, true);
        let directory = &making.directory.inode;
        let is_itself =
            |name: &[u8]| self.is_visible_as_itself(name) && !self.map.may_be_mapped(name);
        let stored = self.translated(directory, target, is_itself, |walk, name| {
            if let Some((found, child)) = self.existing_component(walk, name)? {
                return Ok((found.as_bytes().to_vec(), Some(child)));
            }
            let (stored, what) = self.new_component(making, &terms, name);
            let is_worse = |old: &Noted, new| new == Verdict::Refused && old.verdict != new;
            if let Some((offence, verdict)) = what
                && noted.as_ref().is_none_or(|old| is_worse(old, verdict))
            {
                noted = Some(Noted {
                    name: name.to_vec(),
                    offence,
                    verdict,
                    stored: stored.clone(),
                });
            }
            Ok((stored, None))
        })?;
        let noted = noted.filter(|_| stored.is_some() && terms.mode != Mode::Off);
        if let Some(noted) = &noted
            && noted.verdict == Verdict::Refused
        {
            self.report_target(making, noted);
            return Err(terms.refusal(noted.offence));
        }
        let stored = stored.unwrap_or_else(|| target.to_vec());
        if stored.len() > LONGEST {
            return Err(Errno::NAMETOOLONG.into());
        }
        Ok((stored, noted))
    }

    /// The entry that a component names by any spelling, held.
    fn existing_component(
        &self,
        walk: &Walk<'_>,
        name: &[u8],
    ) -> Result<Option<(BackingName, OwnedFd)>, Halt> {
        let Some(directory) = walk.here()? else {
            return Ok(None);
        };
        let opened = self.resolve(&directory, name, |found| {
            let child = || directory.dir().child(&found.backing);
            let child = if_there(self.inodes.with_descriptors(child))?;
            Ok(child.map(|child| (found.backing, child)))
        });
        match opened {
            Err(error) if is_no_way(error.errno()) => Ok(None),
            opened => opened.map_err(Halt::Failed),
        }
    }

    /// Returns what a component that names no entry is stored as, as a new name would be (laws N9 and N12), and its
    /// offence.
    fn new_component(
        &self,
        making: &Making<'_>,
        terms: &Terms,
        name: &[u8],
    ) -> (Vec<u8>, Option<(Offence, Verdict)>) {
        if self.names_nothing(name) {
            return (name.to_vec(), None);
        }
        let stored = |visible| Ok(self.map.stored(&visible)?.as_bytes().to_vec());
        let asked = self.map.policy.check(name);
        let asked = asked.and_then(|()| VisibleName::parse(name));
        let offence = match asked.and_then(stored) {
            Ok(stored) => return (stored, None),
            Err(offence) => offence,
        };
        if terms.lets_through() || self.exemption(making).is_some() {
            return (name.to_vec(), Some((offence, Verdict::Reported)));
        }
        let normalized = match terms.mode {
            Mode::Normalize => self.map.normalized(name).and_then(stored),
            Mode::Enforce | Mode::Report | Mode::Off => Err(offence),
        };
        match normalized {
            Ok(stored) => (stored, Some((offence, Verdict::Normalized))),
            Err(offence) => (name.to_vec(), Some((offence, Verdict::Refused))),
        }
    }

    /// Reports the component that does not conform in the target of a link: with the path of the link, and the component as
    /// the name.
    pub(super) fn report_target(&self, making: &Making<'_>, noted: &Noted) {
        let backing = BackingName::parse(&noted.stored).ok();
        let backing = backing.filter(|_| noted.verdict != Verdict::Refused);
        let visible = backing.as_ref();
        let visible = visible.and_then(|backing| self.map.visible_alone(backing));
        let terms = self.terms(making, true);
        let what = (noted.offence, noted.verdict);
        let record = OffenceRecord {
            visible: visible.map(|name| Name::from(name.as_bytes())),
            backing: backing.map(|name| Name::from(name.as_bytes())),
            ..self.record(making, &terms, &noted.name, what)
        };
        self.audit(making, record);
    }

    /// Translates each component of a target by `translate`. `None` if the target is left alone: it needs no
    /// translation, leads out by itself, or is too long a way.
    ///
    /// Behind a link that leads out, components are names outside and stay as they are.
    fn translated(
        &self,
        directory: &Arc<Inode>,
        target: &[u8],
        is_itself: impl Fn(&[u8]) -> bool,
        mut translate: impl FnMut(&Walk<'_>, &[u8]) -> Result<Translated, Halt>,
    ) -> Result<Option<Vec<u8>>, FsError> {
        if components(target).all(&is_itself) {
            return Ok(None);
        }
        let (first, start) = if target.starts_with(b"/") {
            let Some(first) = self.inside_mount(target) else {
                return Ok(None);
            };
            (first, self.inodes.get(ROOT)?)
        } else {
            (0, Arc::clone(directory))
        };
        let mut parts: Vec<Vec<u8>> = components(target).map(<[u8]>::to_vec).collect();
        let mut ends = parts.iter();
        let last = ends.rposition(|part| part == b".." || !is_itself(part));
        let walked = last.map_or(Ok(()), |last| {
            let mut walk = Walk::from(self, start)?;
            let parts = parts.get_mut(first..=last).unwrap_or_default();
            let count = parts.len();
            for (index, part) in parts.iter_mut().enumerate() {
                let goes_on = index + 1 < count;
                if is_itself(part) {
                    match walk.step(part) {
                        Err(Halt::Out) if part == b".." => return Err(Halt::TooFar),
                        gone => gone?,
                    }
                    continue;
                }
                walk.spend(SOUGHT)?;
                let (other, child) = translate(&walk, part)?;
                *part = other;
                if goes_on {
                    walk.enter(child)?;
                }
            }
            Ok(())
        });
        match walked {
            Ok(()) | Err(Halt::Out) => Ok(Some(parts.join(&b'/'))),
            Err(Halt::TooFar) => Ok(None),
            Err(Halt::Failed(error)) => Err(error),
        }
    }
}

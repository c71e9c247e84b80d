//! The chokepoint: which backing name a visible name means in a directory. An operation takes the backing name from here, makes
//! its own system call with it and judges the error by itself.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use rustix::io::Errno;

use super::audit::{Operation, Verdict};
use super::directory::if_readable;
use super::inode::OpenInode;
use super::{Caller, FsError, Utf8Fs};
use crate::names::rules::{Rules, Terms};
use crate::names::{BackingName, Holder, Legacy, OnViolation, VisibleName};
use crate::policy::{Class, Offence, Rule};

/// A backing name that a visible name can mean.
#[derive(Debug, Clone)]
pub(super) struct Resolved {
    /// The backing name.
    pub(super) backing: BackingName,
    /// The name that the directory lists the entry under.
    pub(super) visible: VisibleName,
    /// Is the name that was asked for another spelling?
    pub(super) alias: bool,
}

/// The place where a new entry is to be made.
#[derive(Debug)]
pub(super) struct NewName {
    /// The name to make it under; that of an existing entry, if one has the visible name.
    pub(super) entry: Resolved,
    /// The offence to report when it is made.
    pub(super) offence: Option<(Offence, Verdict)>,
    /// The terms that hold for it.
    pub(super) terms: Arc<Terms>,
    /// Was there an entry?
    pub(super) is_there: bool,
}

/// An operation that may make a name.
#[derive(Debug)]
pub(super) struct Making<'a> {
    /// The operation, for the audit log.
    pub(super) operation: Operation,
    /// The caller.
    pub(super) caller: Caller,
    /// The rules for new names while it lasts.
    pub(super) rules: Arc<Rules>,
    /// The directory of the name.
    pub(super) directory: OpenInode,
    /// The name as asked.
    pub(super) name: &'a [u8],
}

/// The backing names that a visible name can mean in a directory, best first. An operation takes one after the other until it
/// finds one that is there.
///
/// The first is the name itself, where that can be an entry, and costs nothing (law N8). The others are sought only when the
/// ones before are absent.
#[derive(Debug)]
pub(super) struct Resolution<'a> {
    fs: &'a Utf8Fs,
    directory: &'a OpenInode,
    asked: VisibleName,
    /// Number of kinds of names sought so far: the name itself, those listed as it, its other meanings.
    sought: u8,
    /// Names that were found and not taken yet.
    found: VecDeque<Resolved>,
}

impl Resolution<'_> {
    /// Returns the next backing name.
    ///
    /// # Errors
    /// `ENOENT` where there are no more, and those of reading the directory.
    pub(super) fn next_name(&mut self) -> Result<Resolved, FsError> {
        loop {
            if let Some(next) = self.found.pop_front() {
                return Ok(next);
            }
            self.sought += 1;
            match self.sought {
                1 => self.found.extend(self.fs.itself(&self.asked, false)),
                2 => self.add_listed(&self.asked.clone(), false)?,
                3 => self.add_other_meanings()?,
                _ => return Err(Errno::NOENT.into()),
            }
        }
    }

    /// Runs `act` on one name after the other, until it finds an entry there. Returns that name, and what it found.
    ///
    /// # Errors
    /// Those of [`next_name`](Self::next_name) and `act`.
    pub(super) fn first<T>(
        mut self,
        act: impl Fn(&BackingName) -> Result<Option<T>, FsError>,
    ) -> Result<(Resolved, T), FsError> {
        loop {
            let found = self.next_name()?;
            if let Some(done) = act(&found.backing)? {
                return Ok((found, done));
            }
        }
    }

    /// Adds the backing name that the directory lists as `name`, where a mapping can yield `name` (law N8).
    fn add_listed(&mut self, name: &VisibleName, alias: bool) -> io::Result<()> {
        let map = &self.fs.map;
        let bytes = name.as_bytes();
        // Only the profile `posix` has visible names that do not conform: those with the marks of an escape or a cut.
        let is_marked = |offence: Offence| offence.rule == Rule::Forbidden(Class::NotPosix);
        let checked = map.policy.check(bytes);
        if !map.may_be_mapped(bytes) || !checked.err().is_none_or(is_marked) {
            return Ok(());
        }
        let looked = self.fs.mapped(self.directory, name);
        // In a directory that may not be read, what was stored by this name is reached all the same.
        let as_stored = || (map.stored(name).ok(), false);
        let (mapped, is_looked_for) = if_readable(looked)?.unwrap_or_else(as_stored);
        let may_have_come = is_looked_for || mapped.is_some();
        self.found.extend(mapped.map(|backing| Resolved {
            backing,
            visible: name.clone(),
            alias,
        }));
        // Somebody may have given the entry this very name since it was first looked for, as a migration does (law T7).
        if may_have_come {
            self.found.extend(self.fs.itself(name, alias));
        }
        Ok(())
    }

    /// Adds the entries that are listed under other names.
    fn add_other_meanings(&mut self) -> Result<(), FsError> {
        let fs = self.fs;
        let asked = self.asked.clone();
        let name = asked.as_bytes();
        let conforms = fs.map.policy.conforms(name);
        let as_made = || Resolved {
            backing: asked.as_backing(),
            visible: asked.clone(),
            alias: true,
        };
        // A name that was let through can be reached by the bytes that it was made with. Exempt bytes come before
        // what they stand for, which is made of such bytes where nobody is exempt.
        let path = || fs.visible_path(&self.directory.inode, name);
        let may_pass = || fs.rules().exempt().may_have_passed(name, path);
        let is_exempt = !conforms && (fs.settings.rules_may_change || may_pass());
        if is_exempt {
            self.found.push_back(as_made());
        }
        let normalizes = || fs.rules().normalizes();
        let spellings = (!conforms).then(|| fs.map.spellings(name, normalizes()));
        for spelling in spellings.into_iter().flatten() {
            self.found.extend(fs.itself(&spelling, true));
            self.add_listed(&spelling, true)?;
        }
        self.add_escaped(name)?;
        if !conforms && !is_exempt && fs.map.on_violation == OnViolation::Report {
            self.found.push_back(as_made());
        }
        Ok(())
    }

    /// Adds the entry that would be escaped as `name`, and is listed otherwise.
    ///
    /// A listed name so leads to its entry also when a sibling is gone and the entry has a better name. Programs that
    /// list a directory and remove one entry after the other leave none behind.
    fn add_escaped(&mut self, name: &[u8]) -> io::Result<()> {
        let map = &self.fs.map;
        let mut backing = map.escaped_spelling(name);
        if let Some(whole) = &backing
            && !self.directory.dir().exists(whole)?
        {
            backing = None;
        }
        if backing.is_none() && map.maps() && name.contains(&b'~') {
            backing = self.fs.directory(self.directory)?.cut_spelling(name)?;
        }
        if let Some(backing) = backing {
            let visible = self.fs.listed_as(self.directory, &backing)?;
            self.found.push_back(Resolved {
                visible: visible.unwrap_or_else(|| backing.as_visible()),
                backing,
                alias: true,
            });
        }
        Ok(())
    }
}

impl Utf8Fs {
    /// Says who has a visible name in a directory, as far as that is clear without its index. Filesystems may refuse to look for bytes
    /// that are no text.
    pub(super) fn holder(&self, at: &OpenInode, name: &VisibleName) -> Holder {
        let holder = self.map.holder(name, |name| at.dir().exists(name));
        holder.unwrap_or(Holder::Unclear)
    }

    /// The backing name that does not conform and is listed as `name`; and whether the directory was looked at for it, so that what was
    /// looked for before may have come since. Most names are told without the index of the directory, which others may be reading.
    ///
    /// # Errors
    /// `EACCES` where the directory may not be read, and those of reading it.
    pub(super) fn mapped(
        &self,
        at: &OpenInode,
        name: &VisibleName,
    ) -> io::Result<(Option<BackingName>, bool)> {
        match self.holder(at, name) {
            Holder::Legacy(backing) => Ok((Some(backing), true)),
            Holder::Itself | Holder::Nobody => Ok((None, true)),
            Holder::Unclear => self.directory(at)?.backing(name),
        }
    }

    /// Returns the backing names that `name` can mean in a directory.
    ///
    /// # Errors
    /// `name` is no component of a path.
    pub(super) fn resolve<'a>(
        &'a self,
        directory: &'a OpenInode,
        name: &[u8],
    ) -> Result<Resolution<'a>, FsError> {
        Ok(Resolution {
            fs: self,
            directory,
            asked: VisibleName::parse(name).map_err(FsError::no_name)?,
            sought: 0,
            found: VecDeque::new(),
        })
    }

    /// Returns the entry that `name` means: the first that is there.
    ///
    /// # Errors
    /// `ENOENT` where there is none, or the system's error.
    pub(super) fn resolve_existing(
        &self,
        directory: &OpenInode,
        name: &[u8],
    ) -> Result<Resolved, FsError> {
        let exists = |name: &BackingName| Ok(directory.dir().exists(name)?.then_some(()));
        let (found, ()) = self.resolve(directory, name)?.first(exists)?;
        Ok(found)
    }

    /// The backing name of the same bytes, where such a name is visible as itself.
    fn itself(&self, name: &VisibleName, alias: bool) -> Option<Resolved> {
        let is_visible =
            self.map.legacy == Legacy::Raw || self.map.policy.conforms(name.as_bytes());
        is_visible.then(|| Resolved {
            backing: name.as_backing(),
            visible: name.clone(),
            alias,
        })
    }

    /// Returns the name that the directory lists for a backing name that does not conform; `None` if it is hidden.
    /// Without permission to read the directory, the name that it would have without siblings.
    pub(super) fn listed_as(
        &self,
        directory: &OpenInode,
        backing: &BackingName,
    ) -> io::Result<Option<VisibleName>> {
        match self.map.legacy {
            Legacy::Raw => Ok(Some(backing.as_visible())),
            Legacy::Hide => Ok(None),
            Legacy::Decode | Legacy::Escape => {
                let listed = if_readable(self.directory(directory)?.visible(backing))?;
                Ok(listed.unwrap_or_else(|| self.map.visible_alone(backing)))
            }
        }
    }
}

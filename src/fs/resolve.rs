//! The chokepoint: which backing name a visible name means in a directory. An operation takes the backing name from here, makes
//! its own system call with it and judges the error by itself.

use std::io;
use std::sync::Arc;

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

impl Resolved {
    /// The backing name of the same bytes.
    pub(super) fn same(name: &VisibleName, alias: bool) -> Self {
        Self {
            backing: name.as_backing(),
            visible: name.clone(),
            alias,
        }
    }
}

/// The place where a new entry is to be made.
#[derive(Debug)]
pub(super) struct NewName {
    /// The name to make it under; that of an existing entry, if one has the visible name.
    pub(super) entry: Resolved,
    /// The offence to report when it is made.
    pub(super) offence: Option<(Offence, Verdict)>,
    /// A likeness to a sibling that is let through, and to be reported then.
    pub(super) clash: Option<(Offence, VisibleName)>,
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

    /// Tries the backing names that a visible name can mean in a directory, best first, until `act` finds an entry by one. Returns
    /// what `act` does; `None` where there is no such entry.
    ///
    /// The first is the name itself, where that can be an entry, and costs nothing (law N8). Then come those listed as it, and its
    /// other meanings. They are sought only when the ones before are absent.
    ///
    /// # Errors
    /// `name` is no component of a path; those of reading the directory, and of `act`.
    pub(super) fn resolve<T>(
        &self,
        directory: &OpenInode,
        name: &[u8],
        mut act: impl FnMut(Resolved) -> Result<Option<T>, FsError>,
    ) -> Result<Option<T>, FsError> {
        let asked = VisibleName::parse(name).map_err(FsError::no_name)?;
        for sought in 0..3 {
            let found = match sought {
                0 => Vec::from_iter(self.itself(&asked, false)),
                1 => self.listed(directory, &asked, false)?,
                _ => self.other_meanings(directory, &asked)?,
            };
            for name in found {
                if let Some(done) = act(name)? {
                    return Ok(Some(done));
                }
            }
        }
        Ok(None)
    }

    /// The entry that `name` means, under whatever spelling: the first that is there.
    pub(super) fn existing(
        &self,
        directory: &OpenInode,
        name: &[u8],
    ) -> Result<Option<Resolved>, FsError> {
        self.resolve(directory, name, |found| {
            Ok(directory.dir().exists(&found.backing)?.then_some(found))
        })
    }

    /// Returns the backing name that the directory lists as `name`, where a mapping can yield `name` (law N8), and where that is
    /// sought, `name` itself.
    fn listed(
        &self,
        directory: &OpenInode,
        name: &VisibleName,
        alias: bool,
    ) -> io::Result<Vec<Resolved>> {
        let bytes = name.as_bytes();
        // Only the profile `posix` has visible names that do not conform: those with the marks of an escape or a cut.
        let is_marked = |offence: Offence| offence.rule == Rule::Forbidden(Class::NotPosix);
        let checked = self.map.policy.check(bytes);
        if !self.map.may_be_mapped(bytes) || !checked.err().is_none_or(is_marked) {
            return Ok(Vec::new());
        }
        // In a directory that may not be read, what was stored by this name is reached all the same.
        let as_stored = || (self.map.stored(name).ok(), false);
        let looked = if_readable(self.mapped(directory, name))?;
        let (mapped, is_looked_for) = looked.unwrap_or_else(as_stored);
        // Somebody may have given the entry this very name since it was first looked for, as a migration does (law T7).
        let may_have_come = is_looked_for || mapped.is_some();
        let itself = may_have_come.then(|| self.itself(name, alias)).flatten();
        let mapped = mapped.map(|backing| Resolved {
            backing,
            visible: name.clone(),
            alias,
        });
        Ok(mapped.into_iter().chain(itself).collect())
    }

    /// Returns the entries that `asked` can mean and that are listed under other names.
    fn other_meanings(
        &self,
        directory: &OpenInode,
        asked: &VisibleName,
    ) -> io::Result<Vec<Resolved>> {
        let mut found = Vec::new();
        let name = asked.as_bytes();
        let conforms = self.map.policy.conforms(name);
        // A name that was let through can be reached by the bytes that it was made with. Exempt bytes come before
        // what they stand for, which is made of such bytes where nobody is exempt.
        let path = || self.visible_path(&directory.inode, name);
        let may_pass = || self.rules().exempt.may_have_passed(name, path);
        let is_exempt = !conforms && (self.settings.rules_may_change || may_pass());
        if is_exempt {
            found.push(Resolved::same(asked, true));
        }
        let spellings = (!conforms).then(|| self.map.spellings(name, self.rules().normalizes()));
        for spelling in spellings.into_iter().flatten() {
            found.extend(self.itself(&spelling, true));
            found.extend(self.listed(directory, &spelling, true)?);
        }
        found.extend(self.escaped(directory, name)?);
        if !conforms && !is_exempt && self.map.on_violation == OnViolation::Report {
            found.push(Resolved::same(asked, true));
        }
        Ok(found)
    }

    /// Returns the entry that would be escaped as `name`, and is listed otherwise.
    ///
    /// A listed name so leads to its entry also when a sibling is gone and the entry has a better name. Programs that
    /// list a directory and remove one entry after the other leave none behind.
    fn escaped(&self, directory: &OpenInode, name: &[u8]) -> io::Result<Option<Resolved>> {
        let mut backing = self.map.escaped_spelling(name);
        if let Some(whole) = &backing
            && !directory.dir().exists(whole)?
        {
            backing = None;
        }
        if backing.is_none() && self.map.maps() && name.contains(&b'~') {
            backing = self.directory(directory)?.cut_spelling(name)?;
        }
        let Some(backing) = backing else {
            return Ok(None);
        };
        let listed = self.listed_as(directory, &backing)?;
        Ok(Some(Resolved {
            visible: listed.unwrap_or_else(|| backing.as_visible()),
            backing,
            alias: true,
        }))
    }

    /// The backing name of the same bytes, where such a name is visible as itself.
    fn itself(&self, name: &VisibleName, alias: bool) -> Option<Resolved> {
        let is_visible =
            self.map.legacy == Legacy::Raw || self.map.policy.conforms(name.as_bytes());
        is_visible.then(|| Resolved::same(name, alias))
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

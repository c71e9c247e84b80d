//! The chokepoint: (directory, visible name) to (descriptor, backing name), and what is refused on the way.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::audit::{Operation, Verdict};
use super::directory::Directory;
use super::inode::Inode;
use super::report::no_name;
use super::rules::{Rules, Terms};
use super::{Caller, FsError, Utf8Fs};
use crate::backing::Dir;
use crate::names::{BackingName, Legacy, OnViolation, VisibleName};
use crate::policy::{Class, Offence, Rule};

/// An existing entry, as an operation found it.
#[derive(Debug)]
pub(super) struct Found<T> {
    /// What the operation gave.
    pub(super) value: T,
    /// The entry's backing name.
    pub(super) backing: BackingName,
    /// The name that the directory lists it under.
    pub(super) visible: VisibleName,
    /// Was it asked for by another spelling?
    pub(super) alias: bool,
}

/// Where a new entry is to be made.
#[derive(Debug)]
pub(super) struct NewName {
    /// The backing name to make it under; that of an existing entry, if one has the visible name.
    pub(super) backing: BackingName,
    /// What it will be visible as.
    pub(super) visible: VisibleName,
    /// Is it asked for by another spelling?
    pub(super) alias: bool,
    /// The offence to report when it is made.
    pub(super) offence: Option<(Offence, Verdict)>,
    /// What holds for it.
    pub(super) terms: Arc<Terms>,
    /// Was there an entry?
    pub(super) is_there: bool,
}

/// An operation that makes a name, for the audit log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Making<'a> {
    /// Which it is.
    pub(super) operation: Operation,
    /// Who asks.
    pub(super) caller: Caller,
    /// What holds for new names while it lasts.
    pub(super) rules: &'a Rules,
}

fn not_found() -> FsError {
    FsError::Io(io::Error::from_raw_os_error(libc::ENOENT))
}

/// Turns "there is none" into `None`; no name is there that is longer than names can be.
pub(super) fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if matches!(
                error.raw_os_error(),
                Some(libc::ENOENT | libc::ENAMETOOLONG)
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Runs `act` on the entry of just these bytes; `None` where there is none.
fn on_let_through<T>(
    asked: &VisibleName,
    act: &mut dyn FnMut(&BackingName) -> io::Result<T>,
) -> Result<Option<Found<T>>, FsError> {
    let backing = asked.as_backing();
    let found = if_there(act(&backing))?;
    Ok(found.map(|value| Found {
        value,
        backing,
        visible: asked.clone(),
        alias: true,
    }))
}

impl Utf8Fs {
    /// The visible names of a directory, locked as long as the result lives.
    ///
    /// # Errors
    /// `ENOTDIR`.
    pub(super) fn directory<'a>(
        &'a self,
        inode: &'a Arc<Inode>,
        fd: &'a OwnedFd,
    ) -> io::Result<Directory<'a>> {
        let descriptors = &self.inodes.descriptors;
        Directory::new(inode, fd, &self.map, &self.indexed, descriptors)
    }

    /// Runs `act` on the entry of `directory` that is visible as `name`, or that `name` is another spelling of.
    ///
    /// The exact name costs one run of `act` and nothing else; only where there is none is anything else looked for, and
    /// only for names that a mapping can yield (law N8).
    ///
    /// # Errors
    /// `ENOENT` where there is no such entry, and whatever `act` gives.
    pub(super) fn on_entry<T>(
        &self,
        inode: &Arc<Inode>,
        fd: &Arc<OwnedFd>,
        name: &[u8],
        act: &mut dyn FnMut(&BackingName) -> io::Result<T>,
    ) -> Result<Found<T>, FsError> {
        let asked = VisibleName::parse(name).map_err(no_name)?;
        if let Some(found) = self.on_listed(inode, fd, &asked, act)? {
            return Ok(found);
        }
        let conforms = self.map.policy.conforms(name);
        // What was let through can be reached by the bytes that it was made with: what is exempt before what they stand
        // for, which is made of such bytes where nobody is.
        let path = || self.visible_path(inode, name);
        let may_pass = || self.rules().exempt().may_have_passed(name, path);
        let is_exempt = !conforms && (self.rules_may_change || may_pass());
        if is_exempt && let Some(found) = on_let_through(&asked, act)? {
            return Ok(found);
        }
        let normalizes = || self.rules().normalizes();
        let spellings = (!conforms).then(|| self.map.spellings(name, normalizes()));
        for spelling in spellings.into_iter().flatten() {
            if let Some(found) = self.on_listed(inode, fd, &spelling, act)? {
                return Ok(Found {
                    alias: true,
                    ..found
                });
            }
        }
        if let Some(found) = self.on_escaped(inode, fd, name, act)? {
            return Ok(found);
        }
        if !conforms
            && !is_exempt
            && self.map.on_violation == OnViolation::Report
            && let Some(found) = on_let_through(&asked, act)?
        {
            return Ok(found);
        }
        Err(not_found())
    }

    /// Runs `act` on the entry that would be escaped as `name`, and is listed otherwise; `None` where there is none.
    ///
    /// So a name that was listed leads to its entry also when a sibling is gone and the entry has a better name: programs
    /// that list a directory and remove one entry after the other leave none behind.
    fn on_escaped<T>(
        &self,
        inode: &Arc<Inode>,
        fd: &Arc<OwnedFd>,
        name: &[u8],
        act: &mut dyn FnMut(&BackingName) -> io::Result<T>,
    ) -> Result<Option<Found<T>>, FsError> {
        if !self.map.maps() {
            return Ok(None);
        }
        let is_there = |backing: &BackingName| {
            let found = if_there(Dir::new(fd).stat_child(backing))?;
            Ok::<_, io::Error>(found.is_some())
        };
        let mut backing = self.map.escaped_spelling(name);
        if let Some(whole) = &backing
            && !is_there(whole)?
        {
            backing = None;
        }
        if backing.is_none() && name.contains(&b'~') {
            backing = self.directory(inode, fd)?.cut_spelling(name)?;
        }
        let Some(backing) = backing else {
            return Ok(None);
        };
        // What it is listed as now: the act may take it away.
        let visible = self.listed_as(inode, fd, &backing)?;
        let Some(value) = if_there(act(&backing))? else {
            return Ok(None);
        };
        Ok(Some(Found {
            value,
            visible: visible.unwrap_or_else(|| backing.as_visible()),
            backing,
            alias: true,
        }))
    }

    /// Runs `act` on the entry that is listed under just this name; `None` where there is none.
    fn on_listed<T>(
        &self,
        inode: &Arc<Inode>,
        fd: &Arc<OwnedFd>,
        name: &VisibleName,
        act: &mut dyn FnMut(&BackingName) -> io::Result<T>,
    ) -> Result<Option<Found<T>>, FsError> {
        let found = |value, backing| Found {
            value,
            backing,
            visible: name.clone(),
            alias: false,
        };
        let bytes = name.as_bytes();
        let checked = self.map.policy.check(bytes);
        let may_be_itself = checked.is_ok() || self.map.legacy == Legacy::Raw;
        let exact = name.as_backing();
        if may_be_itself && let Some(value) = if_there(act(&exact))? {
            return Ok(Some(found(value, exact)));
        }
        // Only the profile `posix` has visible names that do not conform: those with the marks of an escape or a cut.
        let is_marked = |offence: Offence| offence.rule == Rule::Forbidden(Class::NotPosix);
        if !self.map.may_be_mapped(bytes) || !checked.err().is_none_or(is_marked) {
            return Ok(None);
        }
        let mut directory = self.directory(inode, fd)?;
        let mapped = directory.backing(bytes)?;
        let is_read = directory.is_read();
        drop(directory);
        let was_mapped = mapped.is_some();
        if let Some(backing) = mapped
            && let Some(value) = if_there(act(&backing))?
        {
            return Ok(Some(found(value, backing)));
        }
        // Somebody may have given it this very name since it was first looked for, as a migration does (law T7).
        if may_be_itself
            && (was_mapped || is_read)
            && let Some(value) = if_there(act(&exact))?
        {
            return Ok(Some(found(value, exact)));
        }
        Ok(None)
    }

    /// What the directory lists a backing name that does not conform as; `None` if it is hidden.
    pub(super) fn listed_as(
        &self,
        inode: &Arc<Inode>,
        fd: &OwnedFd,
        backing: &BackingName,
    ) -> io::Result<Option<VisibleName>> {
        match self.map.legacy {
            Legacy::Raw => Ok(Some(backing.as_visible())),
            Legacy::Hide => Ok(None),
            Legacy::Decode | Legacy::Escape => self.directory(inode, fd)?.visible(backing),
        }
    }
}

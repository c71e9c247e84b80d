//! The chokepoint: (directory, visible name) to (descriptor, backing name), and what is refused on the way.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::audit::Verdict;
use super::directory::Directory;
use super::inode::Inode;
use super::report::Outcome;
use super::{Caller, FsError, Utf8Fs};
use crate::backing::Dir;
use crate::names::{BackingName, Legacy, OnViolation, VisibleName};
use crate::policy::{Class, NAME_MAX, Offence, Rule, Unit};

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
}

/// An operation that makes a name, for the audit log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Making {
    /// Its name: `create`, `mkdir`, ...
    pub(super) operation: &'static str,
    /// Who asks.
    pub(super) caller: Caller,
}

fn not_found() -> FsError {
    FsError::Io(io::Error::from_raw_os_error(libc::ENOENT))
}

/// Turns "there is none" into `None`; no name is there that is longer than names can be.
fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
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
        Directory::new(inode, fd, &self.map, &self.indexed)
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
        let asked = VisibleName::parse(name).map_err(|offence| self.refusal(offence))?;
        if let Some(found) = self.on_listed(inode, fd, &asked, act)? {
            return Ok(found);
        }
        let conforms = self.map.policy.conforms(name);
        // What was let through can be reached by the bytes that it was made with: what is exempt before what they stand
        // for, which is made of such bytes where nobody is.
        let path = || self.visible_path(inode, name);
        let is_exempt = !conforms && self.exempt.may_have_passed(name, path);
        if is_exempt && let Some(found) = on_let_through(&asked, act)? {
            return Ok(found);
        }
        let spellings = (!conforms).then(|| self.map.spellings(name));
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
        if checked.is_ok() || self.map.legacy == Legacy::Raw {
            let exact = name.as_backing();
            if let Some(value) = if_there(act(&exact))? {
                return Ok(Some(found(value, exact)));
            }
        }
        // Only the profile `posix` has visible names that do not conform: those with the marks of an escape or a cut.
        let is_marked = |offence: Offence| offence.rule == Rule::Forbidden(Class::NotPosix);
        if self.map.may_be_mapped(bytes)
            && checked.err().is_none_or(is_marked)
            && let Some(backing) = self.directory(inode, fd)?.backing(bytes)?
            && let Some(value) = if_there(act(&backing))?
        {
            return Ok(Some(found(value, backing)));
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

    /// Finds the place of a new entry named `name`: its own name, that of the entry that is visible as it already, or
    /// the name that it stands for.
    ///
    /// # Errors
    /// [`FsError::Refused`], and then the refusal is in the audit log (law N9).
    pub(super) fn place_new(
        &self,
        making: Making,
        inode: &Arc<Inode>,
        fd: &Arc<OwnedFd>,
        name: &[u8],
    ) -> Result<NewName, FsError> {
        let asked = VisibleName::parse(name).map_err(|offence| self.refusal(offence))?;
        let refuse = |offence| self.refused(making, inode, name, offence);
        let Err(offence) = self.map.policy.check(name) else {
            if self.map.may_be_escaped(name)
                && let Some(place) = self.existing_place(inode, fd, name)?
            {
                return Ok(place);
            }
            let as_it_is = asked.as_backing();
            return match self.conforming_place(inode, fd, asked, false, None)? {
                Ok(place) => Ok(place),
                Err(offence)
                    if self.map.on_violation == OnViolation::Report
                        || self.exemption(making.caller, inode, name).is_some() =>
                {
                    Ok(NewName {
                        visible: as_it_is.as_visible(),
                        backing: as_it_is,
                        alias: false,
                        offence: Some((offence, Verdict::Reported)),
                    })
                }
                Err(offence) => Err(refuse(offence)),
            };
        };
        // Another spelling of an entry that is there makes nothing new.
        if let Some(place) = self.existing_place(inode, fd, name)? {
            return Ok(place);
        }
        let on_violation = match self.exemption(making.caller, inode, name) {
            Some(_) => OnViolation::Report,
            None => self.map.on_violation,
        };
        match on_violation {
            OnViolation::Reject => Err(refuse(offence)),
            OnViolation::Normalize => {
                let normalized = self.map.normalized(name).map_err(refuse)?;
                let offence = Some((offence, Verdict::Normalized));
                let place = self.conforming_place(inode, fd, normalized, true, offence)?;
                place.map_err(refuse)
            }
            // Nothing can be made under such a name, so that there is nothing to let through: its length is why.
            OnViolation::Report if name.len() > NAME_MAX => Err(refuse(Offence {
                rule: Rule::TooLong {
                    unit: Unit::Bytes,
                    actual: name.len(),
                    limit: NAME_MAX,
                },
                offset: NAME_MAX,
                length: name.len() - NAME_MAX,
                code_point: None,
            })),
            OnViolation::Report => Ok(NewName {
                backing: asked.as_backing(),
                visible: asked,
                alias: true,
                offence: Some((offence, Verdict::Reported)),
            }),
        }
    }

    /// The refusal of a name, which is in the audit log then.
    fn refused(&self, making: Making, inode: &Inode, name: &[u8], offence: Offence) -> FsError {
        let refusal = self.refusal(offence);
        let outcome = Outcome {
            errno: Some(refusal.errno()),
            ..Outcome::of(Verdict::Refused)
        };
        self.audit(making, inode, name, offence, &outcome);
        refusal
    }

    /// What a lookup that ended with `error` says: that a name is too long, where no name can be so long that the kernel
    /// takes and none stands for a shorter one. The kernel looks names up before it makes them, and before everything
    /// else that programs do with them, which then ends with this error as it does natively.
    pub(super) fn too_long(
        &self,
        making: Making,
        inode: &Inode,
        name: &[u8],
        error: FsError,
    ) -> FsError {
        let is_cut = self.map.on_violation == OnViolation::Normalize;
        if name.len() <= NAME_MAX || is_cut || error.errno() != libc::ENOENT {
            return error;
        }
        match self.map.policy.check(name) {
            Err(offence) if matches!(offence.rule, Rule::TooLong { .. }) => {
                self.refused(making, inode, name, offence)
            }
            // What else is wrong with it is said when it is made: an absent name is just absent.
            _ => error,
        }
    }

    /// The place of an entry that is there already, under whatever spelling.
    fn existing_place(
        &self,
        inode: &Arc<Inode>,
        fd: &Arc<OwnedFd>,
        name: &[u8],
    ) -> Result<Option<NewName>, FsError> {
        let found = self.on_entry(inode, fd, name, &mut |backing| {
            Dir::new(fd).stat_child(backing)
        });
        match found {
            Ok(found) => Ok(Some(NewName {
                backing: found.backing,
                visible: found.visible,
                alias: found.alias,
                offence: None,
            })),
            Err(error) if error.errno() == libc::ENOENT => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The place of a conforming name: the legacy sibling that is visible as it (law N11), or the name itself, or what it
    /// is stored as (law N12); an offence where it cannot be stored.
    fn conforming_place(
        &self,
        inode: &Arc<Inode>,
        fd: &OwnedFd,
        visible: VisibleName,
        alias: bool,
        offence: Option<(Offence, Verdict)>,
    ) -> Result<Result<NewName, Offence>, FsError> {
        let legacy = if self.map.may_be_mapped(visible.as_bytes()) {
            self.directory(inode, fd)?.backing(visible.as_bytes())?
        } else {
            None
        };
        let is_itself = || Dir::new(fd).exists(&visible.as_backing());
        let backing = match legacy {
            Some(backing) => backing,
            None if self.map.store_as.is_some() && is_itself()? => visible.as_backing(),
            None => match self.map.stored(&visible) {
                Ok(backing) => backing,
                Err(offence) => return Ok(Err(offence)),
            },
        };
        Ok(Ok(NewName {
            backing,
            visible,
            alias,
            offence,
        }))
    }
}

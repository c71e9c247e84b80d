//! The other half of the chokepoint: where a new name goes, by the rules in force, and what is refused.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::audit::Verdict;
use super::directory::if_readable;
use super::inode::Inode;
use super::report::{Outcome, no_name};
use super::resolve::{Making, NewName, if_there};
use super::{FsError, Utf8Fs};
use crate::backing::Dir;
use crate::names::VisibleName;
use crate::names::rules::{Fate, Mode, Settled, Terms};
use crate::os::credentials;
use crate::policy::{NAME_MAX, Offence, Rule};

/// So often an entry is looked for that was there and is gone when it is looked at.
const MOST_TRIES: usize = 64;

impl Utf8Fs {
    /// Finds the place of a new entry named `name`: its own name, that of the entry that is visible as it already, or
    /// the name that it stands for.
    ///
    /// # Errors
    /// [`FsError::Refused`], and then the refusal is in the audit log (law N9).
    pub(super) fn place_new(
        &self,
        making: Making<'_>,
        inode: &Arc<Inode>,
        fd: &Arc<OwnedFd>,
        name: &[u8],
    ) -> Result<NewName, FsError> {
        let asked = VisibleName::parse(name).map_err(no_name)?;
        let whole = self.map.policy.check(name);
        let terms = self.terms(making, inode, name, whole.is_err());
        let is_exempt = || self.exemption(making, inode, name).is_some();
        let fate = terms.fate(&self.map, asked, whole, is_exempt);
        let is_plain = matches!(fate, Fate::Conforms { offence: None, .. });
        // Another spelling of an entry that is there makes nothing new.
        if (!is_plain || self.map.may_be_escaped(name))
            && let Some(place) = self.existing_place(&terms, inode, fd, name)?
        {
            return Ok(place);
        }
        let settled = match fate {
            Fate::Settled(settled) => settled,
            Fate::Conforms {
                visible,
                alias,
                offence,
            } => {
                let is_offender = offence.is_some();
                let as_it_is = visible.clone();
                match self.conforming_place(&terms, inode, fd, visible, alias, offence)? {
                    Ok(place) => return Ok(place),
                    Err(offence) => terms.unstorable(as_it_is, is_offender, offence, is_exempt),
                }
            }
        };
        match settled {
            Settled::AsAsked {
                visible,
                alias,
                offence,
            } => Ok(NewName {
                backing: visible.as_backing(),
                visible,
                alias,
                offence,
                terms,
                is_there: false,
            }),
            Settled::Refused(offence) => Err(self.refused(making, &terms, inode, name, offence)),
            Settled::TooLong => Err(FsError::Io(io::Error::from_raw_os_error(
                libc::ENAMETOOLONG,
            ))),
        }
    }

    /// Finds the place of a new entry as [`Self::place_new`] does, where there is no entry yet.
    ///
    /// An entry that is there is not made once more under the name that it was found by: others may be giving it another
    /// one, as a migration does, and then it would be there twice (law N11).
    ///
    /// # Errors
    /// `EEXIST` where there is one, and those of [`Self::place_new`].
    pub(super) fn place_absent(
        &self,
        making: Making<'_>,
        inode: &Arc<Inode>,
        fd: &Arc<OwnedFd>,
        name: &[u8],
    ) -> Result<NewName, FsError> {
        for _ in 0..MOST_TRIES {
            let place = self.place_new(making, inode, fd, name)?;
            if !place.is_there {
                return Ok(place);
            }
            if Dir::new(fd).exists(&place.backing)? {
                break;
            }
        }
        Err(FsError::Io(io::Error::from_raw_os_error(libc::EEXIST)))
    }

    /// Takes the place of an entry once more, if others gave it the conforming name `place.visible` just before something was
    /// put where it was: both would be there then, and the old one would be visible still (law N11).
    pub(super) fn overtake(
        &self,
        inode: &Arc<Inode>,
        fd: &OwnedFd,
        place: &mut NewName,
    ) -> Result<(), FsError> {
        let own = place.visible.as_backing();
        let is_stored_so = self.map.store_as.is_some() || own == place.backing;
        if is_stored_so
            || !self.map.policy.conforms(own.as_bytes())
            || !Dir::new(fd).exists(&own)?
        {
            return Ok(());
        }
        let dir = Dir::new(fd);
        // Others may have given the entry that name too.
        if if_there(dir.rename(&place.backing, &dir, &own, 0))?.is_some() {
            self.directory(inode, fd)?
                .changed(Some(&place.backing), Some(&own));
        }
        place.backing = own;
        Ok(())
    }

    /// What holds for the new name `name` in `directory`; `offends` says whether it does on the whole mount.
    pub(super) fn terms(
        &self,
        making: Making<'_>,
        directory: &Inode,
        name: &[u8],
        offends: bool,
    ) -> Arc<Terms> {
        let Making { rules, caller, .. } = making;
        let path = || self.visible_path(directory, name);
        let is_member =
            |groups: &BTreeSet<u32>| credentials::is_member(caller.pid, caller.gid, groups);
        let section = match rules.is_one_for_all(offends) {
            true => None,
            false => rules.section(caller.uid, name, path, is_member),
        };
        Arc::clone(rules.terms_of(section))
    }

    /// The refusal of a name, which is in the audit log then.
    fn refused(
        &self,
        making: Making<'_>,
        terms: &Terms,
        inode: &Inode,
        name: &[u8],
        offence: Offence,
    ) -> FsError {
        let refusal = terms.refusal(offence);
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
        making: Making<'_>,
        inode: &Inode,
        name: &[u8],
        error: FsError,
    ) -> FsError {
        if name.len() <= NAME_MAX || error.errno() != libc::ENOENT {
            return error;
        }
        let terms = self.terms(making, inode, name, true);
        match self.map.policy.check(name) {
            _ if terms.mode == Mode::Normalize => error,
            Err(offence) if matches!(offence.rule, Rule::TooLong { .. }) => match terms.mode {
                Mode::Off => FsError::Io(io::Error::from_raw_os_error(libc::ENAMETOOLONG)),
                Mode::Enforce | Mode::Normalize | Mode::Report => {
                    self.refused(making, &terms, inode, name, offence)
                }
            },
            // What else is wrong with it is said when it is made: an absent name is just absent.
            _ => error,
        }
    }

    /// The place of an entry that is there already, under whatever spelling.
    fn existing_place(
        &self,
        terms: &Arc<Terms>,
        inode: &Arc<Inode>,
        fd: &Arc<OwnedFd>,
        name: &[u8],
    ) -> Result<Option<NewName>, FsError> {
        match self.resolve_existing(inode, fd, name) {
            Ok(found) => Ok(Some(NewName {
                backing: found.backing,
                visible: found.visible,
                alias: found.alias,
                offence: None,
                terms: Arc::clone(terms),
                is_there: true,
            })),
            Err(error) if error.errno() == libc::ENOENT => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The place of a conforming name: the legacy sibling that is visible as it (law N11), or the name itself, or what it
    /// is stored as (law N12); an offence where it cannot be stored.
    fn conforming_place(
        &self,
        terms: &Arc<Terms>,
        inode: &Arc<Inode>,
        fd: &OwnedFd,
        visible: VisibleName,
        alias: bool,
        offence: Option<(Offence, Verdict)>,
    ) -> Result<Result<NewName, Offence>, FsError> {
        let legacy = if self.map.may_be_mapped(visible.as_bytes()) {
            if_readable(self.directory(inode, fd)?.backing(&visible))?.flatten()
        } else {
            None
        };
        let is_itself = || Dir::new(fd).exists(&visible.as_backing());
        let is_there = legacy.is_some();
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
            terms: Arc::clone(terms),
            is_there,
        }))
    }
}

//! The other half of the chokepoint: what a new name is stored as, by the rules in force, and which names are refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustix::io::Errno;

use super::audit::Verdict;
use super::directory::{Directory, if_readable};
use super::resolve::{Making, NewName, Resolved};
use super::{FsError, Utf8Fs};
use crate::names::rules::{Creation, Decision, Mode, Terms};
use crate::names::{BackingName, VisibleName};
use crate::os::credentials;
use crate::policy::alike::difference;
use crate::policy::{NAME_MAX, Offence, Rule};

/// Number of looks for an entry that existed and is gone when it is looked at.
const MOST_TRIES: usize = 64;

impl Utf8Fs {
    /// Finds the backing name of a new entry: its own name, that of the entry already visible as it, or the name that
    /// it stands for.
    ///
    /// # Errors
    /// [`FsError::Refused`], and then the refusal is in the audit log (law N9).
    pub(super) fn new_name(&self, making: &Making<'_>) -> Result<NewName, FsError> {
        let name = making.name;
        let asked = VisibleName::parse(name).map_err(FsError::no_name)?;
        let whole = self.map.policy.check(name);
        let terms = self.terms(making, whole.is_err());
        let is_exempt = || self.exemption(making).is_some();
        let mut decision = terms.decide(&self.map, asked, whole, is_exempt);
        let made = |entry, offence, is_there| NewName {
            entry,
            offence,
            clash: None,
            terms: Arc::clone(&terms),
            is_there,
        };
        let is_plain =
            matches!(&decision, Decision::Create(new) if new.conforms && new.offence.is_none());
        // Another spelling of an entry that is there makes nothing new.
        if (!is_plain || self.map.may_be_escaped(name))
            && let Some(entry) = self.existing(&making.directory, name)?
        {
            return Ok(made(entry, None, true));
        }
        if let Decision::Create(new) = &decision
            && new.conforms
        {
            let Creation { visible, alias, .. } = new;
            let directory = &making.directory;
            // The legacy sibling visible as it is the entry (law N11).
            let may_be_mapped = self.map.may_be_mapped(visible.as_bytes());
            let mapped = may_be_mapped.then(|| self.mapped(directory, visible));
            let mapped = if_readable(mapped.transpose())?.flatten();
            let legacy = mapped.and_then(|(legacy, _)| legacy);
            let is_there = legacy.is_some();
            let is_itself = || directory.dir().exists(&visible.as_backing());
            let backing = match legacy {
                Some(backing) => Ok(backing),
                None if self.map.store_as.is_some() && is_itself()? => Ok(visible.as_backing()),
                None => self.map.stored(visible),
            };
            match backing {
                Ok(backing) => {
                    let entry = Resolved {
                        backing,
                        visible: visible.clone(),
                        alias: *alias,
                    };
                    return Ok(made(entry, new.offence, is_there));
                }
                Err(why) => decision = terms.unstorable(new.clone(), why, is_exempt),
            }
        }
        match decision {
            Decision::Create(new) => {
                let entry = Resolved::same(&new.visible, new.alias);
                Ok(made(entry, new.offence, false))
            }
            Decision::Refuse(offence) => Err(self.refused(making, &terms, offence, None)),
            Decision::TooLong => Err(Errno::NAMETOOLONG.into()),
        }
    }

    /// Finds the backing name of a new entry as [`Self::new_name`] does, where there is no entry yet.
    ///
    /// An existing entry is not made again under the name that it was found by. Others may be giving it another one,
    /// as a migration does, and then it would exist twice (law N11).
    ///
    /// # Errors
    /// `EEXIST` where there is one, and those of [`Self::new_name`].
    pub(super) fn absent_name(&self, making: &Making<'_>) -> Result<NewName, FsError> {
        for _ in 0..MOST_TRIES {
            let new = self.new_name(making)?;
            if !new.is_there {
                return Ok(new);
            }
            if making.directory.dir().exists(&new.entry.backing)? {
                break;
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Compares the visible name of `new` with its siblings other than `leaving`, if they are to be compared. Notes a likeness that is
    /// let through.
    ///
    /// # Errors
    /// `EEXIST`, as [`FsError::Refused`], and then the refusal is in the audit log.
    pub(super) fn check_unique(
        &self,
        making: &Making<'_>,
        directory: &mut Directory<'_>,
        new: &mut NewName,
        leaving: Option<&BackingName>,
    ) -> Result<(), FsError> {
        // Not that of an entry found by another spelling, nor one that is let through and will be visible as another.
        let may_be_new = !new.entry.alias || matches!(new.offence, Some((_, Verdict::Normalized)));
        let Some(alike) = new.terms.unique.filter(|_| may_be_new) else {
            return Ok(());
        };
        let Some(sibling) = directory.like(&new.entry.visible, leaving)? else {
            return Ok(());
        };
        let (offset, length) = difference(making.name, sibling.as_bytes());
        let offence = Offence::new(Rule::NotUnique(alike), offset, length);
        if new.terms.lets_through() || self.exemption(making).is_some() {
            new.clash = Some((offence, sibling));
            return Ok(());
        }
        Err(self.refused(making, &new.terms, offence, Some(&sibling)))
    }

    /// The terms that hold for a new name; `offends` says whether it does on the whole mount.
    pub(super) fn terms(&self, making: &Making<'_>, offends: bool) -> Arc<Terms> {
        let Making { rules, caller, .. } = making;
        let path = || self.visible_path(&making.directory.inode, making.name);
        let is_member =
            |groups: &BTreeSet<u32>| credentials::is_member(caller.pid, caller.gid, groups);
        let section = match rules.is_one_for_all(offends) {
            true => None,
            false => rules.section(caller.uid, making.name, path, is_member),
        };
        Arc::clone(rules.terms_of(section))
    }

    /// Returns the error of a lookup that found nothing. It is that a name is too long, where the kernel takes
    /// no such name and it stands for no shorter one. The kernel looks names up before most operations, which then
    /// end with this error as they do natively.
    pub(super) fn absent(&self, making: &Making<'_>) -> FsError {
        let name = making.name;
        if name.len() <= NAME_MAX {
            return Errno::NOENT.into();
        }
        let terms = self.terms(making, true);
        // Other offences are reported when it is made: an absent name is just absent.
        let is_length = |offence: &Offence| matches!(offence.rule, Rule::TooLong { .. });
        let offence = self.map.policy.check(name).err().filter(is_length);
        match (offence, terms.mode) {
            (None, _) | (_, Mode::Normalize) => Errno::NOENT.into(),
            (Some(_), Mode::Off) => Errno::NAMETOOLONG.into(),
            (Some(offence), Mode::Enforce | Mode::Report) => {
                self.refused(making, &terms, offence, None)
            }
        }
    }
}

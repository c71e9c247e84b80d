//! New names that differ from a sibling in case or form alone (`--unique`), and who is exempt from all rules.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::audit::Verdict;
use super::directory::Directory;
use super::inode::Inode;
use super::report::Outcome;
use super::resolve::{Making, NewName, Resolved};
use super::{FsError, Utf8Fs};
use crate::backing::Dir;
use crate::names::rules::Exempt;
use crate::names::{BackingName, VisibleName};
use crate::policy::alike::difference;
use crate::policy::{Offence, Rule};

/// That a new name is let through that is like a sibling's, to be reported when it is made.
#[derive(Debug)]
pub(super) struct Clash {
    offence: Offence,
    sibling: VisibleName,
}

/// A directory and a name in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) inode: &'a Arc<Inode>,
    pub(super) fd: &'a Arc<OwnedFd>,
    pub(super) name: &'a [u8],
}

impl NewName {
    /// May it be a visible name that was not there before? Not that of an entry found by another spelling, nor one that
    /// is let through and will be visible as another.
    fn may_be_new(&self) -> bool {
        !self.alias || matches!(self.offence, Some((_, Verdict::Normalized)))
    }
}

impl Utf8Fs {
    /// The visible path of the name `name` in `directory`.
    pub(super) fn visible_path(&self, directory: &Inode, name: &[u8]) -> Vec<u8> {
        let mut path = self.inodes.path(directory);
        if path != b"/" {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        path
    }

    /// Why who asks may make the name `name` in `directory` whatever it offends against; `None` if they may not.
    pub(super) fn exemption(
        &self,
        making: Making<'_>,
        directory: &Inode,
        name: &[u8],
    ) -> Option<Exempt> {
        let path = || self.visible_path(directory, name);
        making.rules.exempt().of(making.caller.uid, name, path)
    }

    /// Compares the visible name of `place`, asked for as `name`, with its siblings other than `leaving`, if they are to be
    /// compared. A likeness that is let through is returned, for [`Utf8Fs::report_clash`].
    ///
    /// # Errors
    /// `EEXIST`, as [`FsError::Refused`], and then the refusal is in the audit log.
    pub(super) fn check_unique(
        &self,
        making: Making<'_>,
        directory: &mut Directory<'_>,
        inode: &Inode,
        name: &[u8],
        place: &NewName,
        leaving: Option<&BackingName>,
    ) -> Result<Option<Clash>, FsError> {
        let Some(alike) = place.terms.unique.filter(|_| place.may_be_new()) else {
            return Ok(None);
        };
        let Some(sibling) = directory.like(&place.visible, leaving)? else {
            return Ok(None);
        };
        let (offset, length) = difference(name, sibling.as_bytes());
        let offence = Offence {
            rule: Rule::NotUnique(alike),
            offset,
            length,
            code_point: None,
        };
        let is_let_through =
            place.terms.lets_through() || self.exemption(making, inode, name).is_some();
        if is_let_through {
            return Ok(Some(Clash { offence, sibling }));
        }
        let refusal = place.terms.refusal(offence);
        let outcome = Outcome {
            errno: Some(refusal.errno()),
            sibling: Some(&sibling),
            ..Outcome::of(Verdict::Refused)
        };
        self.audit(making, inode, name, offence, &outcome);
        Err(refusal)
    }

    /// Reports a likeness that was let through, once the name is made.
    pub(super) fn report_clash(
        &self,
        making: Making<'_>,
        inode: &Inode,
        name: &[u8],
        made: &NewName,
        clash: Option<&Clash>,
    ) {
        if let Some(Clash { offence, sibling }) = clash {
            let outcome = Outcome {
                visible: Some(&made.visible),
                backing: Some(&made.backing),
                sibling: Some(sibling),
                ..Outcome::of(Verdict::Reported)
            };
            self.audit(making, inode, name, *offence, &outcome);
        }
    }

    /// Renames an entry to `place`, asked for as `to`, while no other name comes into that directory.
    ///
    /// The old name is resolved before the new one's directory is locked: no two directories are locked at once.
    pub(super) fn rename_uniquely<'a>(
        &'a self,
        making: Making<'_>,
        from: At<'_>,
        to: At<'a>,
        place: &NewName,
        flags: u32,
    ) -> Result<(Resolved, Directory<'a>, Option<Clash>), FsError> {
        let old = self.resolve_existing(from.inode, from.fd, from.name)?;
        // A whiteout keeps the old name.
        let is_leaving = from.inode.number == to.inode.number && flags & libc::RENAME_WHITEOUT == 0;
        let leaving = is_leaving.then_some(&old.backing);
        let mut directory = self.directory(to.inode, to.fd)?;
        let clash = self.check_unique(making, &mut directory, to.inode, to.name, place, leaving)?;
        directory.before_change()?;
        Dir::new(from.fd).rename(&old.backing, &Dir::new(to.fd), &place.backing, flags)?;
        Ok((old, directory, clash))
    }
}

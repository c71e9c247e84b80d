//! New names that differ from a sibling in case or form alone (`--unique`).

use rustix::io::Errno;

use super::audit::Verdict;
use super::directory::Directory;
use super::inode::OpenInode;
use super::resolve::{Making, NewName, Resolved};
use super::{FsError, Utf8Fs};
use crate::names::{BackingName, VisibleName};
use crate::policy::alike::difference;
use crate::policy::{Offence, Rule};
use crate::records::{Name, OffenceRecord};

/// A new name that is let through although it is like a sibling's, to be reported when it is made.
#[derive(Debug)]
pub(super) struct Clash {
    offence: Offence,
    sibling: VisibleName,
}

impl NewName {
    /// May it be a visible name that was not there before? Not that of an entry found by another spelling, nor one that
    /// is let through and will be visible as another.
    fn may_be_new(&self) -> bool {
        !self.entry.alias || matches!(self.offence, Some((_, Verdict::Normalized)))
    }
}

impl Utf8Fs {
    /// Compares the visible name of `new` with its siblings other than `leaving`, if they are to be compared. A likeness that is let
    /// through is returned, for [`Utf8Fs::report_clash`].
    ///
    /// # Errors
    /// `EEXIST`, as [`FsError::Refused`], and then the refusal is in the audit log.
    pub(super) fn check_unique(
        &self,
        making: &Making<'_>,
        directory: &mut Directory<'_>,
        new: &NewName,
        leaving: Option<&BackingName>,
    ) -> Result<Option<Clash>, FsError> {
        let Some(alike) = new.terms.unique.filter(|_| new.may_be_new()) else {
            return Ok(None);
        };
        let Some(sibling) = directory.like(&new.entry.visible, leaving)? else {
            return Ok(None);
        };
        let (offset, length) = difference(making.name, sibling.as_bytes());
        let offence = Offence::new(Rule::NotUnique(alike), offset, length);
        if new.terms.lets_through() || self.exemption(making).is_some() {
            return Ok(Some(Clash { offence, sibling }));
        }
        Err(self.refused(making, &new.terms, offence, Some(&sibling)))
    }

    /// Reports a likeness that was let through, once the name is made.
    pub(super) fn report_clash(&self, making: &Making<'_>, made: &NewName, clash: Option<&Clash>) {
        if let Some(Clash { offence, sibling }) = clash {
            let what = (*offence, Verdict::Reported);
            let record = OffenceRecord {
                visible: Some(Name::copy(made.entry.visible.as_bytes())),
                backing: Some(Name::copy(made.entry.backing.as_bytes())),
                sibling: Some(Name::copy(sibling.as_bytes())),
                ..self.record(making, &made.terms, making.name, what)
            };
            self.audit(making, record);
        }
    }

    /// Renames the entry `old` in `from` to `new`, while no other name comes into that directory.
    ///
    /// The old name is resolved before the new one's directory is locked: no two directories are locked at once.
    pub(super) fn rename_uniquely<'a>(
        &'a self,
        making: &'a Making<'_>,
        from: &OpenInode,
        old_name: &[u8],
        new: &NewName,
        flags: u32,
    ) -> Result<(Resolved, Directory<'a>, Option<Clash>), FsError> {
        let old = self.existing(from, old_name)?.ok_or(Errno::NOENT)?;
        let to = &making.directory;
        // A whiteout keeps the old name.
        let is_leaving = from.inode.number == to.inode.number && flags & libc::RENAME_WHITEOUT == 0;
        let leaving = is_leaving.then_some(&old.backing);
        let mut directory = self.directory(to)?;
        let clash = self.check_unique(making, &mut directory, new, leaving)?;
        directory.before_change()?;
        let (dir, new) = (from.dir(), &new.entry.backing);
        let rename = || dir.rename(&old.backing, &to.dir(), new, flags);
        self.judged_as(making.caller, &[from, to], rename)?;
        Ok((old, directory, clash))
    }
}

//! New names that differ from a sibling in case or form alone (`--unique`).

use rustix::io::Errno;

use super::audit::Verdict;
use super::directory::Directory;
use super::inode::OpenInode;
use super::resolve::{Making, NewName, Resolved};
use super::{FsError, Utf8Fs};
use crate::names::BackingName;
use crate::policy::alike::difference;
use crate::policy::{Offence, Rule};

impl Utf8Fs {
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

    /// Renames the entry `old` in `from` to `new`, while no other name comes into that directory.
    ///
    /// The old name is resolved before the new one's directory is locked: no two directories are locked at once.
    pub(super) fn rename_uniquely<'a>(
        &'a self,
        making: &'a Making<'_>,
        from: &OpenInode,
        old_name: &[u8],
        new: &mut NewName,
        flags: u32,
    ) -> Result<(Resolved, Directory<'a>), FsError> {
        let old = self.existing(from, old_name)?.ok_or(Errno::NOENT)?;
        let to = &making.directory;
        // A whiteout keeps the old name.
        let is_leaving = from.inode.number == to.inode.number && flags & libc::RENAME_WHITEOUT == 0;
        let leaving = is_leaving.then_some(&old.backing);
        let mut directory = self.directory(to)?;
        self.check_unique(making, &mut directory, new, leaving)?;
        directory.before_change()?;
        let (dir, new) = (from.dir(), &new.entry.backing);
        let rename = || dir.rename(&old.backing, &to.dir(), new, flags);
        self.judged_as(making.caller, &[from, to], rename)?;
        Ok((old, directory))
    }
}

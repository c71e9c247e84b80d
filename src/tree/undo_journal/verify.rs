//! The changes of a directory, compared with what is there when they are put into a journal.

use std::os::fd::OwnedFd;

use super::chains::arrange;
use super::job_index::JobIndex;
use super::skipped::{SkipReason, Skipped};
use crate::backing::{Dir, Kind, Stat};
use crate::names::BackingName;
use crate::tree::change::{Change, Destination, InodeId, Job, Retarget, read_target};
use crate::tree::content_eq::have_same_content;

impl Job {
    /// Looks at the directory of the job and at each entry, and takes out what cannot be done, which is returned. The other changes
    /// are put in an order in which each name is free before it is taken. No link is followed on the way there, and no mount
    /// entered (law T5).
    #[must_use]
    pub fn verify(&mut self, root: &OwnedFd) -> Vec<Skipped> {
        let mut skipped = Vec::new();
        let mut skip = |change: &Change, reason: SkipReason| {
            skipped.push(Skipped {
                directory: self.directory.clone(),
                name: change.name.clone(),
                reason,
            });
        };
        let mut changes = std::mem::take(&mut self.changes);
        let opened = JobIndex::default().open(root, &self.directory, &self.inode);
        let (dir, stat) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let reason = SkipReason::of_directory(error);
                changes.iter().for_each(|change| skip(change, reason));
                return skipped;
            }
        };
        changes.retain_mut(|change| {
            if let Err(reason) = complete(&dir, stat.mnt_id, change) {
                skip(change, reason);
            }
            change.steps() > 0
        });
        // Should a name be there after all, the kernel refuses (law T2).
        let exists = |name: &BackingName| dir.exists(name).unwrap_or(false);
        let (changes, stuck) = arrange(changes, exists);
        stuck
            .iter()
            .for_each(|change| skip(change, SkipReason::Taken));
        (self.inode, self.mtime, self.changes) = (InodeId::of(&stat), stat.mtime, changes);
        skipped
    }
}

/// Completes a change with what is there, and takes out of it what cannot be done.
///
/// # Errors
/// Why something was taken out.
fn complete(dir: &Dir, mount: u64, change: &mut Change) -> Result<(), SkipReason> {
    let found = find(dir, mount, change).inspect_err(|_| {
        (change.to, change.target) = (None, None);
    })?;
    (change.id, change.kind) = (InodeId::of(&found), found.kind());
    if change.to == Some(Destination::Aside) && !found.is_file() {
        (change.to, change.target) = (None, None);
        return Err(SkipReason::Unsafe);
    }
    if let Some(same_as) = change.same_as.take()
        && !have_same_content(dir, &change.name, &same_as).unwrap_or(false)
    {
        change.to = None;
        return Err(SkipReason::Changed);
    }
    if let Some(mut target) = change.target.take() {
        if !found.is_symlink() {
            return Err(SkipReason::Changed);
        }
        if found.nlink > 1 {
            return Err(SkipReason::HardLinked);
        }
        let read = read_target(dir, &change.name)?;
        if !target.old.as_bytes().is_empty() && target.old != read {
            change.to = None;
            return Err(SkipReason::Changed);
        }
        target.old = read;
        change.target = Some(target);
    } else if found.is_symlink() && found.nlink == 1 && change.to.is_some() {
        // By its target the link is known if another migration makes it anew. Whether it leads on is verified, too.
        let read = read_target(dir, &change.name).ok();
        change.target = read.map(|target| Retarget {
            old: target.clone(),
            new: target,
        });
    }
    Ok(())
}

/// Returns the entry of a change, if it is as it was.
fn find(dir: &Dir, mount: u64, change: &Change) -> Result<Stat, SkipReason> {
    let stat = dir.stat_child(&change.name)?;
    if stat.mnt_id != mount {
        return Err(SkipReason::MountPoint);
    }
    let is_kind = change.kind == Kind::Unknown || change.kind == stat.kind();
    // A link whose target was changed and put back is another inode than the one that was planned.
    let is_put_back = |target: &Retarget| {
        stat.is_symlink() && read_target(dir, &change.name).is_ok_and(|read| read == target.old)
    };
    if is_kind && (change.id.ino == stat.ino || change.target.as_ref().is_some_and(is_put_back)) {
        Ok(stat)
    } else {
        Err(SkipReason::Changed)
    }
}

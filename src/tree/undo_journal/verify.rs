//! The changes of a directory, compared with what is there when they are put into a journal.

use std::os::fd::OwnedFd;

use super::job::Job;
use super::renamed_dirs::RenamedDirs;
use super::skipped::{SkipReason, Skipped};
use crate::backing::{Dir, Kind, Stat};
use crate::tree::change::{Change, Destination, InodeId, TreePath, read_target};

/// Looks at the directory and its entries, and returns what can be done; `None` if nothing can. What cannot is added to
/// `skipped`.
pub(in crate::tree) fn verify(
    root: &OwnedFd,
    directory: &TreePath,
    inode: u64,
    mut changes: Vec<Change>,
    skipped: &mut Vec<Skipped>,
) -> Option<Job> {
    let mut skip = |change: &Change, reason: SkipReason| {
        skipped.push(Skipped {
            directory: directory.clone(),
            name: change.name.clone(),
            reason,
        });
    };
    let id = InodeId {
        ino: inode,
        born: None,
    };
    let opened = RenamedDirs::default().open(root, directory, &id);
    let opened = opened.and_then(|dir| Stat::of(&dir).map(|stat| (dir, stat)));
    let Ok((dir, stat)) = opened else {
        changes
            .iter()
            .for_each(|change| skip(change, SkipReason::Elsewhere));
        return None;
    };
    for chain in changes.chunk_by_mut(|_, next| next.is_chained) {
        let mut is_broken = false;
        for change in &mut *chain {
            let was_to_go = change.to.is_some();
            if let Err(reason) = complete(&dir, stat.mnt_id, change) {
                skip(change, reason);
            }
            is_broken |= was_to_go && change.to.is_none();
        }
        for change in chain.iter_mut().filter(|_| is_broken) {
            if change.to.take().is_some() {
                skip(change, SkipReason::Chained);
            }
            (change.meantime, change.is_chained) = (None, false);
        }
    }
    changes.retain(|change| change.steps() > 0);
    (!changes.is_empty()).then(|| Job {
        number: 0,
        directory: directory.clone(),
        id: InodeId::of(&stat),
        mtime: stat.mtime,
        changes,
    })
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
    if let Some(mut target) = change.target.take() {
        if !found.is_symlink() {
            return Err(SkipReason::Changed);
        }
        if found.nlink > 1 {
            return Err(SkipReason::HardLinked);
        }
        let read = read_target(dir, &change.name);
        target.old = read.map_err(|error| SkipReason::of(&error))?;
        change.target = Some(target).filter(|target| target.old != target.new);
    }
    Ok(())
}

/// Returns the entry of a change, if it is as it was.
fn find(dir: &Dir, mount: u64, change: &Change) -> Result<Stat, SkipReason> {
    let stat = dir.stat_child(&change.name);
    let stat = stat.map_err(|error| SkipReason::of(&error))?;
    if stat.mnt_id != mount {
        return Err(SkipReason::MountPoint);
    }
    let is_kind = change.kind == Kind::Unknown || change.kind == stat.kind();
    if change.id.ino == stat.ino && is_kind {
        Ok(stat)
    } else {
        Err(SkipReason::Changed)
    }
}

//! The plan of a directory, compared with what is there when it is put into a journal.

use std::os::fd::OwnedFd;

use super::chains::arrange;
use super::job_index::JobIndex;
use super::skipped::{SkipReason, Skipped};
use crate::backing::{Dir, Kind};
use crate::names::BackingName;
use crate::records::PlanLine;
use crate::tree::change::{Change, Destination, EntryMatch, InodeId, Job, Retarget, read_target};
use crate::tree::content_eq::have_same_content;
use crate::tree::plan::DirectoryPlan;

impl Job {
    /// Looks at the directory of a plan and at each entry. Returns what can be done, if anything, in an order in which each name is
    /// free before it is taken; then what cannot. No link is followed on the way there, and no mount entered (law T5).
    pub fn of(root: &OwnedFd, plan: &DirectoryPlan) -> (Option<Self>, Vec<Skipped>) {
        let lines = plan.lines.iter().filter(|line| line.is_change());
        let Some(first) = lines.clone().next() else {
            return (None, Vec::new());
        };
        let directory = &first.directory;
        let id = InodeId {
            ino: first.directory_inode,
            born: None,
        };
        let mut skipped = Vec::new();
        let mut skip = |name: &BackingName, reason: SkipReason| {
            skipped.push(Skipped {
                directory: directory.clone(),
                name: name.clone(),
                reason,
            });
        };
        let (dir, stat) = match JobIndex::default().open(root, directory, &id, EntryMatch::Inode) {
            Ok(opened) => opened,
            Err(error) => {
                let reason = SkipReason::of_directory(error);
                lines.for_each(|line| skip(&line.old, reason));
                return (None, skipped);
            }
        };
        let mut changes = Vec::new();
        for line in lines {
            if let Err(reason) = verify(&dir, stat.mnt_id, line, &mut changes) {
                skip(&line.old, reason);
            }
        }
        // Should a name be there after all, the kernel refuses (law T2).
        let exists = |name: &BackingName| dir.exists(name).unwrap_or(false);
        let (changes, stuck) = arrange(changes, exists);
        for change in stuck {
            skip(&change.name, SkipReason::Taken);
        }
        let job = (!changes.is_empty()).then(|| Self {
            number: 0,
            directory: directory.clone(),
            inode: InodeId::of(&stat),
            mtime: stat.mtime,
            changes,
        });
        (job, skipped)
    }
}

/// Adds what can be done of what a line asks for.
///
/// # Errors
/// Why something cannot be done.
fn verify(
    dir: &Dir,
    mount: u64,
    line: &PlanLine,
    changes: &mut Vec<Change>,
) -> Result<(), SkipReason> {
    let name = &line.old;
    let (to, new_target) = (line.destination(), line.retarget());
    let found = dir.stat_child(name)?;
    if found.mnt_id != mount {
        return Err(SkipReason::MountPoint);
    }
    let read = || read_target(dir, name);
    // A link whose target was changed and put back is another inode than the one that was planned.
    let is_put_back = || {
        let is_link = found.is_symlink() && new_target.is_some();
        is_link && read().is_ok_and(|read| line.target.as_ref() == Some(&read))
    };
    let is_kind = line.kind == Kind::Unknown || line.kind == found.kind();
    if !is_kind || (line.inode != found.ino && !is_put_back()) {
        return Err(SkipReason::Changed);
    }
    if to == Some(Destination::Aside) && !found.is_file() {
        return Err(SkipReason::Unsafe);
    }
    // The planner compared them just now.
    let same_as = line.same_as.as_ref().filter(|_| line.number > 0);
    if same_as.is_some_and(|same_as| !have_same_content(dir, name, same_as).unwrap_or(false)) {
        return Err(SkipReason::Changed);
    }
    let (target, result) = match new_target {
        Some(_) if !found.is_symlink() => (None, Err(SkipReason::Changed)),
        Some(_) if found.nlink > 1 => (None, Err(SkipReason::HardLinked)),
        Some(new) => match read() {
            Ok(old) if line.target.as_ref().is_some_and(|target| *target != old) => {
                return Err(SkipReason::Changed);
            }
            Ok(old) => (Some((old, new.clone())), Ok(())),
            Err(error) => (None, Err(error.into())),
        },
        // By its target the link is known if another migration makes it anew. Whether it leads on is verified, too.
        None if found.is_symlink() && found.nlink == 1 => {
            let target = read().ok();
            (target.map(|target| (target.clone(), target)), Ok(()))
        }
        None => (None, Ok(())),
    };
    let change = Change {
        name: name.clone(),
        id: InodeId::of(&found),
        kind: found.kind(),
        to,
        meantime: None,
        is_chained: false,
        target: target.map(|(old, new)| Retarget { old, new }),
    };
    if change.steps() > 0 {
        changes.push(change);
    }
    result
}

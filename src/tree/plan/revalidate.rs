//! A plan that was read, compared with what lies on disk. Entries that are still as planned are changed, in an order in which
//! each name is free before it is taken. The others are reported with their lines.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;

use super::chains::arrange;
use super::content_eq::have_same_content;
use super::directory_plan::DirectoryPlan;
use crate::backing::{Dir, Entries, Kind, Stat};
use crate::names::BackingName;
use crate::records::PlanLine;
use crate::tree::change::{Change, read_target};
use crate::tree::undo_journal::SkipReason;

/// A line that is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The number of the line in the plan.
    pub line: usize,
    /// The entry's name.
    pub old: BackingName,
    /// Why.
    pub reason: SkipReason,
}

/// The lines of a directory that can be done, and those that cannot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Revalidated {
    /// The changes of those that can, in an order in which each name is free before it is taken.
    pub changes: Vec<Change>,
    /// The lines that cannot be done.
    pub refused: Vec<Refused>,
}

/// Compares the lines of a directory with what lies below `root`. No link is followed on the way there, and no mount entered
/// (law T5).
///
/// # Errors
/// The directory can't be listed, though it is the one that was planned.
pub fn revalidate(root: &OwnedFd, plan: &DirectoryPlan) -> io::Result<Revalidated> {
    let mut refused = Vec::new();
    let mut refuse = |line: &PlanLine, reason: SkipReason| {
        refused.push(Refused {
            line: line.number,
            old: line.old.clone(),
            reason,
        });
    };
    let directory = match directory(root, &plan.directory, plan.inode) {
        Ok(directory) => directory,
        Err(reason) => {
            plan.lines.iter().for_each(|line| refuse(line, reason));
            let changes = Vec::new();
            return Ok(Revalidated { changes, refused });
        }
    };
    let listed = listed(&directory)?;
    let mut wanted: Vec<(&PlanLine, Change)> = Vec::with_capacity(plan.lines.len());
    for line in &plan.lines {
        let Some(change) = Change::of(line) else {
            continue;
        };
        match as_planned(&directory, &listed, line) {
            Err(reason) => refuse(line, reason),
            Ok(()) => wanted.push((line, change)),
        }
    }
    // An entry that can't move keeps its name, which then another can't have, and so on.
    loop {
        let leaving = wanted.iter().filter(|(_, change)| change.to.is_some());
        let leaving: HashSet<BackingName> =
            leaving.map(|(_, change)| change.name.clone()).collect();
        let is_stuck = |(_, change): &mut (&PlanLine, Change)| {
            let new = change.new_name();
            new.is_some_and(|new| listed.contains_key(new) && !leaving.contains(new))
        };
        let stuck: Vec<_> = wanted.extract_if(.., is_stuck).collect();
        if stuck.is_empty() {
            break;
        }
        stuck
            .iter()
            .for_each(|(line, _)| refuse(line, SkipReason::Taken));
    }
    refused.sort_unstable_by_key(|refused| refused.line);
    let wanted = wanted.into_iter().map(|(_, change)| change).collect();
    let changes = arrange(wanted, |name| listed.contains_key(name));
    Ok(Revalidated { changes, refused })
}

/// Opens the directory to which the names lead, if it is the one of that inode number, on the mount of the root.
fn directory(root: &OwnedFd, names: &[BackingName], inode: u64) -> Result<OwnedFd, SkipReason> {
    let system = |error: io::Error| match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP) => SkipReason::Elsewhere,
        errno => SkipReason::System(errno.unwrap_or(libc::EIO)),
    };
    let top = Stat::of(root).map_err(system)?;
    let mut fd = root.try_clone().map_err(system)?;
    let mut stat = top;
    for name in names {
        // Without following links: what is none of a directory fails at the next name.
        fd = Dir::new(&fd).child(name).map_err(system)?;
        stat = Stat::of(&fd).map_err(system)?;
        if stat.mnt_id != top.mnt_id {
            return Err(SkipReason::MountPoint);
        }
        if !stat.is_dir() {
            return Err(SkipReason::Elsewhere);
        }
    }
    if stat.ino == inode {
        Ok(fd)
    } else {
        Err(SkipReason::Elsewhere)
    }
}

type Names = HashMap<BackingName, (u64, Kind)>;

fn listed(directory: &OwnedFd) -> io::Result<Names> {
    let mut names = Names::new();
    let mut entries = Entries::open(directory)?;
    while let Some(entry) = entries.next()? {
        if let Some(name) = entry.backing_name() {
            names.insert(name, (entry.ino, entry.kind));
        }
    }
    Ok(names)
}

/// Is the entry still the one that was planned?
fn as_planned(directory: &OwnedFd, listed: &Names, line: &PlanLine) -> Result<(), SkipReason> {
    let &(inode, kind) = listed.get(&line.old).ok_or(SkipReason::Gone)?;
    let is_kind = kind == line.kind || kind == Kind::Unknown || line.kind == Kind::Unknown;
    if inode != line.inode || !is_kind {
        return Err(SkipReason::Changed);
    }
    if let Some(same_as) = &line.same_as
        && !have_same_content(directory, &line.old, same_as).unwrap_or(false)
    {
        return Err(SkipReason::Changed);
    }
    if let (Some(old), Some(_)) = (&line.target, &line.new_target) {
        let target = read_target(&Dir::new(directory), &line.old);
        if target.map_err(|_gone| SkipReason::Changed)? != old.as_bytes() {
            return Err(SkipReason::Changed);
        }
    }
    Ok(())
}

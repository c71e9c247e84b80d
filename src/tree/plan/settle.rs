//! A plan that was read, compared with what lies on disk: what is still as planned is done, in an order in which each name is
//! free before it is taken; the rest is told with its line.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;

use super::order::{Wanted, chained};
use super::read::{Row, Rows};
use super::same::have_same_content;
use crate::backing::{Dir, Entries, Kind, Stat, file};
use crate::names::BackingName;
use crate::tree::journal::Why;
use crate::tree::step::{Group, TreePath};

/// A line that is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Which line of the plan.
    pub line: usize,
    /// The entry's name.
    pub old: BackingName,
    /// Why.
    pub why: Why,
}

/// What of a directory's lines can be done, and what cannot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// What can.
    pub group: Group,
    /// What cannot.
    pub refused: Vec<Refused>,
    /// How many lines leave their entries as they are, or the targets of their links.
    pub left: usize,
}

/// Compares the lines of a directory with what lies below `root`. No link is followed on the way there, and no mount entered
/// (law T5).
///
/// # Errors
/// The directory can't be listed, though it is the one that was planned.
pub fn settle(root: &OwnedFd, rows: &Rows) -> io::Result<Settled> {
    let mut settled = Settled {
        group: Group {
            directory: rows.directory.clone(),
            inode: rows.inode,
            steps: Vec::new(),
        },
        refused: Vec::new(),
        left: 0,
    };
    let refuse = |row: &Row, why: Why| Refused {
        line: row.line,
        old: row.old.clone(),
        why,
    };
    let directory = match directory(root, &rows.directory, rows.inode) {
        Ok(directory) => directory,
        Err(why) => {
            settled.refused = rows.rows.iter().map(|row| refuse(row, why)).collect();
            return Ok(settled);
        }
    };
    let listed = listed(&directory)?;
    let mut wanted: Vec<(&Row, Wanted)> = Vec::with_capacity(rows.rows.len());
    for row in &rows.rows {
        settled.left += usize::from(row.stays.is_some());
        let new = row.new.clone().filter(|new| *new != row.old);
        let new_target = row
            .new_target
            .clone()
            .filter(|new| row.target.as_ref() != Some(new));
        if new.is_none() && new_target.is_none() && row.same_as.is_none() {
            continue;
        }
        match as_planned(&directory, &listed, row) {
            Err(why) => settled.refused.push(refuse(row, why)),
            Ok(()) => wanted.push((
                row,
                Wanted {
                    old: row.old.clone(),
                    inode: row.inode,
                    kind: row.kind,
                    new,
                    new_target,
                    is_set_aside: row.same_as.is_some(),
                },
            )),
        }
    }
    // Who can't move keeps its name, which then somebody else can't have, and so on.
    loop {
        let leaving = wanted
            .iter()
            .filter(|(_, one)| one.new.is_some() || one.is_set_aside);
        let leaving: HashSet<&BackingName> = leaving.map(|(_, one)| &one.old).collect();
        let is_stuck = |one: &Wanted| {
            let new = one.new.as_ref();
            new.is_some_and(|new| listed.contains_key(new) && !leaving.contains(new))
        };
        let stuck: Vec<bool> = wanted.iter().map(|(_, one)| is_stuck(one)).collect();
        if !stuck.contains(&true) {
            break;
        }
        let mut stuck = stuck.into_iter();
        wanted.retain(|(row, _)| {
            let is_stuck = stuck.next().unwrap_or(false);
            if is_stuck {
                settled.refused.push(refuse(row, Why::Taken));
            }
            !is_stuck
        });
    }
    let wanted: Vec<Wanted> = wanted.into_iter().map(|(_, one)| one).collect();
    settled.group.steps = chained(&wanted, |name| listed.contains_key(name));
    settled.refused.sort_unstable_by_key(|refused| refused.line);
    Ok(settled)
}

/// Opens the directory to which the names lead, if it is the one of that inode number, on the mount of the root.
fn directory(root: &OwnedFd, names: &TreePath, inode: u64) -> Result<OwnedFd, Why> {
    let system = |error: io::Error| match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP) => Why::Elsewhere,
        errno => Why::System(errno.unwrap_or(libc::EIO)),
    };
    let top = Stat::of(root).map_err(system)?;
    let mut fd = root.try_clone().map_err(system)?;
    let mut stat = top;
    for name in names {
        // Without following links: what is none of a directory fails at the next name.
        fd = Dir::new(&fd).child(name).map_err(system)?;
        stat = Stat::of(&fd).map_err(system)?;
        if stat.mnt_id != top.mnt_id {
            return Err(Why::MountPoint);
        }
        if !stat.is_dir() {
            return Err(Why::Elsewhere);
        }
    }
    if stat.ino == inode {
        Ok(fd)
    } else {
        Err(Why::Elsewhere)
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
fn as_planned(directory: &OwnedFd, listed: &Names, row: &Row) -> Result<(), Why> {
    let &(inode, kind) = listed.get(&row.old).ok_or(Why::Gone)?;
    let is_kind = kind == row.kind || kind == Kind::Unknown || row.kind == Kind::Unknown;
    if inode != row.inode || !is_kind {
        return Err(Why::Changed);
    }
    if let Some(same_as) = &row.same_as
        && !have_same_content(directory, &row.old, same_as).unwrap_or(false)
    {
        return Err(Why::Changed);
    }
    if row.new_target.is_some() && row.target.is_some() {
        let link = Dir::new(directory).child(&row.old);
        let target = link
            .and_then(file::readlink)
            .map_err(|_gone| Why::Changed)?;
        if row.target.as_ref() != Some(&target) {
            return Err(Why::Changed);
        }
    }
    Ok(())
}

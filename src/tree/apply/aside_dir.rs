//! The directory, in the root of the tree, of files that are set aside.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;

use super::directory_time::{is_by_others, is_made_by, is_near, own_names, set_mtime};
use crate::backing::{Dir, Stat, Time};
use crate::names::BackingName;
use crate::tree::failpoints;
use crate::tree::undo_journal::Journal;

/// Makes the directory where it is needed, and leaves the time of the root.
pub(super) fn make(root: &OwnedFd, journal: &Journal) -> io::Result<Option<Dir>> {
    let Some(name) = name(journal) else {
        return Ok(None);
    };
    let root_dir = Dir::new(root);
    let before = Stat::of(root)?;
    let made = failpoints::change(|| root_dir.mkdir(&name, 0o700));
    match &made {
        Ok(()) => set_mtime(root, before.mtime)?,
        Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {}
        Err(_) => return made.map(|()| None),
    }
    let dir = Dir::new(root_dir.child(&name)?);
    if !Stat::of(&dir)?.is_dir() {
        return Err(io::Error::from_raw_os_error(libc::ENOTDIR));
    }
    if made.is_err() {
        settle(&dir, root, journal)?;
    }
    Ok(Some(dir))
}

/// Finds the directory. Nothing is written, so that the time of a root in which it was made right before a kill is still that of its
/// making.
pub(in crate::tree) fn find(root: &OwnedFd, journal: &Journal) -> Option<Dir> {
    let dir = Dir::new(root).child(&name(journal)?).ok()?;
    Some(Dir::new(dir))
}

/// Puts back the time of a root that a killed run last changed, when it made the directory.
pub(in crate::tree) fn settle(aside: &Dir, root: &OwnedFd, journal: &Journal) -> io::Result<()> {
    let (born, mtime) = (Stat::of(aside)?.btime, Stat::of(root)?.mtime);
    if born.is_some_and(|born| is_near(born, mtime)) && !is_root_by_others(root, mtime, journal) {
        set_mtime(root, journal.header.mtime)?;
    }
    Ok(())
}

/// May it have been somebody else who changed the root at that time?
fn is_root_by_others(root: &OwnedFd, time: Time, journal: &Journal) -> bool {
    let of_root = journal.jobs.places.iter().filter(|place| place.depth == 0);
    let own: HashSet<Vec<u8>> = of_root
        .filter_map(|place| journal.job(place).ok())
        .flat_map(|job| own_names(&job))
        .collect();
    let is_own = |name: &[u8]| own.contains(name) || is_made_by(journal, name);
    let root = root.try_clone().map(Dir::new);
    root.map_or(true, |root| is_by_others(&root, time, &is_own))
}

/// Removes the directory of a copy's original if it is empty, and leaves the time of the root.
pub(in crate::tree) fn remove_from_copy(root: &OwnedFd, journal: &Journal) -> io::Result<()> {
    let Some(name) = name(journal) else {
        return Ok(());
    };
    let before = Stat::of(root)?;
    match failpoints::change(|| Dir::new(root).rmdir(&name)) {
        Ok(()) => set_mtime(root, before.mtime),
        // It is not there, or something is in it that could not be brought back.
        Err(_) => Ok(()),
    }
}

/// Removes the directory if it is empty, and leaves the time of the root. `was_killed` says that a killed run may have removed it
/// before it could do that.
pub(in crate::tree) fn remove(
    root: &OwnedFd,
    journal: &Journal,
    was_killed: bool,
) -> io::Result<()> {
    let Some(name) = name(journal) else {
        return Ok(());
    };
    let before = Stat::of(root)?;
    if Dir::new(root).exists(&name)? {
        // What is removed tells no time: the journal's file does.
        journal.touch()?;
    }
    match failpoints::change(|| Dir::new(root).rmdir(&name)) {
        Ok(()) => set_mtime(root, before.mtime),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {
            let is_near = is_near(journal.touched()?, before.mtime);
            if was_killed && is_near && !is_root_by_others(root, before.mtime, journal) {
                set_mtime(root, journal.header.mtime)?;
            }
            Ok(())
        }
        // Something is in it that could not be brought back.
        Err(_) => Ok(()),
    }
}

/// Returns the name of the directory; `None` if the journal sets nothing aside.
fn name(journal: &Journal) -> Option<BackingName> {
    journal.jobs.has_asides.then(|| journal.aside_name())
}

//! The directory, in the root of the tree, of files that are set aside.

use std::io;
use std::os::fd::OwnedFd;

use crate::backing::{Dir, SetTime, Stat, Time, file};
use crate::names::BackingName;
use crate::tree::failpoints;
use crate::tree::undo_journal::{Journal, JournalError};

/// Times so near to each other are of one doing.
const NEAR: i128 = 5_000_000_000;

/// The directory of files that are set aside.
#[derive(Debug)]
pub(in crate::tree) struct AsideDir {
    pub(super) dir: Dir,
}

impl AsideDir {
    /// Makes it where it is needed, and leaves the time of the root.
    pub(super) fn make(root: &OwnedFd, journal: &Journal) -> Result<Option<Self>, JournalError> {
        if journal.totals.asides == 0 {
            return Ok(None);
        }
        made(root, journal)
            .map(Some)
            .map_err(JournalError::io("make a directory for what is put aside"))
    }

    /// Finds it. Nothing is written, so that the time of a root in which it was made right before a kill is still that of its making.
    pub(in crate::tree) fn find(root: &OwnedFd, journal: &Journal) -> Option<Self> {
        if journal.totals.asides == 0 {
            return None;
        }
        let dir = Dir::new(root).child(&name(journal).ok()?).ok()?;
        Some(Self { dir: Dir::new(dir) })
    }

    /// Puts back the time of the root, where that is of its making.
    pub(in crate::tree) fn settle(
        &self,
        root: &OwnedFd,
        journal: &Journal,
    ) -> Result<(), JournalError> {
        let settled = Stat::of(&self.dir).and_then(|stat| settle(root, &stat, journal));
        settled.map_err(JournalError::io("put the time of the root back"))
    }

    /// Removes it if it is empty, and leaves the time of the root. `was_killed` says that a killed run may have
    /// removed it before it could do that.
    pub(in crate::tree) fn remove(
        root: &OwnedFd,
        journal: &Journal,
        was_killed: bool,
    ) -> Result<(), JournalError> {
        if journal.totals.asides == 0 {
            return Ok(());
        }
        let io = JournalError::io("remove the directory of what was put aside");
        let before = Stat::of(root).map_err(&io)?;
        let removed =
            name(journal).and_then(|name| failpoints::change(|| Dir::new(root).rmdir(&name)));
        match removed.map_err(|error| error.raw_os_error()) {
            Ok(()) => set_mtime(root, before.mtime).map_err(io),
            Err(Some(libc::ENOENT)) if was_killed => set_mtime(root, journal.root().1).map_err(io),
            // Something is in it that could not be brought back.
            Err(_) => Ok(()),
        }
    }

    /// Returns the name that the entry of a change has there: the number of the job's frame, and that of the change in the job.
    pub(super) fn name(frame: u64, number: usize) -> Option<BackingName> {
        BackingName::parse(format!("{frame}-{number}").as_bytes()).ok()
    }
}

fn made(root: &OwnedFd, journal: &Journal) -> io::Result<AsideDir> {
    let (root_dir, name) = (Dir::new(root), name(journal)?);
    let before = Stat::of(root)?;
    match failpoints::change(|| root_dir.mkdir(&name, 0o700)) {
        Ok(()) => set_mtime(root, before.mtime)?,
        Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {
            settle(root, &root_dir.stat_child(&name)?, journal)?;
        }
        Err(error) => return Err(error),
    }
    let dir = root_dir.child(&name)?;
    if !Stat::of(&dir)?.is_dir() {
        return Err(io::Error::from_raw_os_error(libc::ENOTDIR));
    }
    Ok(AsideDir { dir: Dir::new(dir) })
}

/// Puts back the time of a root that a killed run last changed, when it made the directory.
fn settle(root: &OwnedFd, aside: &Stat, journal: &Journal) -> io::Result<()> {
    let mtime = Stat::of(root)?.mtime;
    if aside.btime.is_some_and(|born| is_near(born, mtime)) {
        set_mtime(root, journal.root().1)?;
    }
    Ok(())
}

fn set_mtime(root: &OwnedFd, mtime: Time) -> io::Result<()> {
    failpoints::change(|| file::set_times(root, SetTime::Omit, SetTime::At(mtime)))
}

fn name(journal: &Journal) -> io::Result<BackingName> {
    let name = format!(".utf8fs-aside-{}", journal.id());
    BackingName::parse(name.as_bytes()).map_err(|_none| io::Error::from_raw_os_error(libc::EINVAL))
}

/// Are two times likely of one doing?
pub(super) fn is_near(one: Time, other: Time) -> bool {
    let nanos = |time: Time| i128::from(time.secs) * 1_000_000_000 + i128::from(time.nanos);
    (nanos(one) - nanos(other)).abs() <= NEAR
}

//! The directory, in the root of the tree, of files that are set aside.

use std::io;
use std::os::fd::OwnedFd;

use crate::backing::{Dir, SetTime, Stat, Time, file};
use crate::names::BackingName;
use crate::tree::change::own_name;
use crate::tree::failpoints;
use crate::tree::undo_journal::Journal;

/// Times so near to each other are of one doing.
const NEAR: i128 = 5_000_000_000;

/// The directory of files that are set aside.
#[derive(Debug)]
pub(in crate::tree) struct AsideDir {
    pub(super) dir: Dir,
}

impl AsideDir {
    /// Makes it where it is needed, and leaves the time of the root.
    pub(super) fn make(root: &OwnedFd, journal: &Journal) -> io::Result<Option<Self>> {
        let Some(name) = name(journal) else {
            return Ok(None);
        };
        let root_dir = Dir::new(root);
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
        Ok(Some(Self { dir: Dir::new(dir) }))
    }

    /// Finds it. Nothing is written, so that the time of a root in which it was made right before a kill is still that of its making.
    pub(in crate::tree) fn find(root: &OwnedFd, journal: &Journal) -> Option<Self> {
        let dir = Dir::new(root).child(&name(journal)?).ok()?;
        Some(Self { dir: Dir::new(dir) })
    }

    /// Puts back the time of the root, where that is of its making.
    pub(in crate::tree) fn settle(&self, root: &OwnedFd, journal: &Journal) -> io::Result<()> {
        settle(root, &Stat::of(&self.dir)?, journal)
    }

    /// Removes it if it is empty, and leaves the time of the root. `was_killed` says that a killed run may have
    /// removed it before it could do that.
    pub(in crate::tree) fn remove(
        root: &OwnedFd,
        journal: &Journal,
        was_killed: bool,
    ) -> io::Result<()> {
        let Some(name) = name(journal) else {
            return Ok(());
        };
        let before = Stat::of(root)?;
        match failpoints::change(|| Dir::new(root).rmdir(&name)) {
            Ok(()) => set_mtime(root, before.mtime),
            Err(error) if was_killed && error.raw_os_error() == Some(libc::ENOENT) => {
                set_mtime(root, journal.header().mtime)
            }
            // Something is in it that could not be brought back.
            Err(_) => Ok(()),
        }
    }

    /// Returns the name that the entry of a change has there: the number of the job's frame, and that of the change in the job.
    pub(super) fn name(frame: u64, number: usize) -> BackingName {
        own_name(&format!("{frame}-{number}"))
    }
}

/// Puts back the time of a root that a killed run last changed, when it made the directory.
fn settle(root: &OwnedFd, aside: &Stat, journal: &Journal) -> io::Result<()> {
    let mtime = Stat::of(root)?.mtime;
    if aside.btime.is_some_and(|born| is_near(born, mtime)) {
        set_mtime(root, journal.header().mtime)?;
    }
    Ok(())
}

fn set_mtime(root: &OwnedFd, mtime: Time) -> io::Result<()> {
    failpoints::change(|| file::set_times(root, SetTime::Omit, SetTime::At(mtime)))
}

/// Returns the name of the directory; `None` if the journal sets nothing aside.
fn name(journal: &Journal) -> Option<BackingName> {
    let name = || own_name(&format!(".utf8fs-aside-{}", journal.header().id));
    (journal.jobs.has_asides).then(name)
}

/// Are two times likely of one doing?
pub(super) fn is_near(one: Time, other: Time) -> bool {
    let nanos = |time: Time| i128::from(time.secs) * 1_000_000_000 + i128::from(time.nanos);
    (nanos(one) - nanos(other)).abs() <= NEAR
}

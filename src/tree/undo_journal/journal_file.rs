//! A journal that is whole: its jobs, and the marks behind them.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::frames::{Frames, Seal};
use super::job_index::{JobIndex, Place};
use super::journal_builder::Draft;
use super::journal_error::{JournalError, OPENING};
use super::state::{State, Status};
use crate::backing::{LockKind, Stat, lock};
use crate::records::{Job, JournalEvent, JournalHeader, Unplanned};
use crate::tree::failpoints;

/// A journal that holds all of a migration.
#[derive(Debug)]
pub struct Journal {
    /// The path that it was opened by.
    pub path: PathBuf,
    pub(super) file: File,
    /// The identity of the journal, the tree and the options of the migration.
    pub header: JournalHeader,
    pub(crate) jobs: JobIndex,
    pub(super) tail: Mutex<Tail>,
}

/// The end of the file, which grows.
#[derive(Debug, Default)]
pub(super) struct Tail {
    pub(super) seal: Seal,
    /// Something stands behind the last whole frame.
    pub(super) is_torn: bool,
    /// The state by the events so far.
    pub(super) state: State,
}

impl Journal {
    /// Opens a journal, and checks every byte of it. It is opened for writing, too, and kept from others as long as this lives.
    ///
    /// # Errors
    /// [`JournalError::Busy`], [`JournalError::NotAJournal`], [`JournalError::Version`], [`JournalError::Broken`],
    /// [`JournalError::Io`].
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let mut options = File::options();
        options
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = options.open(path).map_err(JournalError::io(OPENING))?;
        let locked = lock::flock(&file, Some(LockKind::Write));
        if !locked.map_err(JournalError::io("lock the journal"))? {
            return Err(JournalError::Busy);
        }
        let held = file.try_clone().map_err(JournalError::io(OPENING))?;
        Self::read(path, file, &mut |_| ()).inspect_err(|_| unlock(&held))
    }

    /// Opens the journal of a guard of the tree below `root`, or starts it.
    ///
    /// # Errors
    /// As for [`Journal::open`] and [`Draft::create`]; [`JournalError::Growing`] if it is of a migration,
    /// [`JournalError::Undone`], [`JournalError::NotThisTree`].
    pub fn open_growing(
        path: &Path,
        root: &OwnedFd,
        tree: &[u8],
        options: &str,
    ) -> Result<Self, JournalError> {
        let journal = match Self::open(path) {
            Err(JournalError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                Draft::create(path, root, tree, options)?.commit(Unplanned::default())?
            }
            opened => opened?,
        };
        let stat = Stat::of(root).map_err(JournalError::io("look at the tree"))?;
        if !journal.header.inode.is(&stat) {
            return Err(JournalError::NotThisTree);
        }
        let state = journal.state();
        match state.status {
            Status::Pending if state.is_growing => Ok(journal),
            // It was being started.
            Status::Pending if journal.jobs.places.is_empty() => {
                journal.append(&[JournalEvent::Growing])?;
                Ok(journal)
            }
            Status::Pending | Status::Finished => Err(JournalError::Growing),
            Status::Undoing | Status::Undone => Err(JournalError::Undone),
        }
    }

    /// Reads a journal that may be in use, and reports its events in their order, as far as it is sound. It cannot be applied
    /// or undone.
    ///
    /// # Errors
    /// As for [`Journal::open`], but for `Busy`.
    pub fn view(
        path: &Path,
        report: &mut dyn FnMut(&JournalEvent<'_>),
    ) -> Result<Self, JournalError> {
        let mut options = File::options();
        // Nothing of a FIFO is waited for.
        options.read(true).custom_flags(libc::O_NONBLOCK);
        let opened = options.open(path).map_err(JournalError::io(OPENING))?;
        Self::read(path, opened, report)
    }

    fn read(
        path: &Path,
        file: File,
        report: &mut dyn FnMut(&JournalEvent<'_>),
    ) -> Result<Self, JournalError> {
        let mut frames = Frames::new(&file)?;
        let mut header = None;
        while let Some(event) = frames.next()? {
            report(&event);
            if let JournalEvent::Journal(first) = event {
                header = Some(first);
            }
        }
        let Some(header) = header.filter(|_| frames.tail.state.is_complete) else {
            return frames.broken("it is missing");
        };
        let Frames { jobs, tail, .. } = frames;
        Ok(Self {
            path: path.into(),
            file,
            header,
            jobs,
            tail: Mutex::new(tail),
        })
    }

    /// Returns how far the migration got.
    pub fn state(&self) -> State {
        self.tail.lock().state
    }

    /// Returns how many steps it holds.
    pub fn steps(&self) -> u64 {
        self.jobs.steps
    }

    /// Reads the job of that index, which has this place.
    pub(crate) fn job(&self, index: usize, place: &Place) -> Result<Job, JournalError> {
        let number = u64::try_from(index).unwrap_or(u64::MAX).saturating_add(1);
        let job = serde_json::from_slice(&place.read(&self.file)?);
        let job: Job = job.map_err(|_error| JournalError::Broken {
            frame: number,
            offset: place.offset,
            why: "it is not what it was",
        })?;
        Ok(Job { number, ..job })
    }

    /// Adds events, and brings them to the medium. What of them is written by a call that fails is no part of the file.
    pub(crate) fn append(&self, events: &[JournalEvent<'_>]) -> Result<(), JournalError> {
        let io = JournalError::io("write the journal");
        let mut tail = self.tail.lock();
        let (mut seal, mut frames) = (tail.seal.clone(), Vec::new());
        events
            .iter()
            .for_each(|event| seal.push(event, &mut frames));
        if tail.is_torn {
            failpoints::change(|| self.file.set_len(tail.seal.offset)).map_err(&io)?;
        }
        tail.is_torn = true;
        failpoints::change(|| self.file.write_all_at(&frames, tail.seal.offset)).map_err(&io)?;
        failpoints::change(|| self.file.sync_all()).map_err(&io)?;
        tail.is_torn = false;
        tail.seal = seal;
        events.iter().for_each(|event| tail.state.take(event));
        Ok(())
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        unlock(&self.file);
    }
}

/// Lets go of the lock of a file. Closing it would not be enough while a process that was just forked has not yet run its program.
pub(super) fn unlock(file: &File) {
    // Without locks there is none to let go of.
    drop(lock::flock(file, None));
}

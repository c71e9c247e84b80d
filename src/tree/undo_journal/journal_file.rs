//! A journal that is whole: its jobs, the marks behind them, and the state of the migration that these tell.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use strum::IntoStaticStr;

use super::frames::{Frames, Seal};
use super::job_index::{JobIndex, Place};
use super::journal_builder::Draft;
use super::journal_error::{JournalError, OPENING};
use crate::backing::file::set_times;
use crate::backing::{LockKind, SetTime, Stat, Time, lock};
use crate::records::{Job, JournalEvent, JournalHeader, Outcome, Unplanned};
use crate::tree::failpoints;

/// The progress of a migration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Status {
    /// The migration may have been begun, and is to be applied to its end, or undone.
    #[default]
    Pending,
    /// All is done, but for what was left.
    Finished,
    /// Undoing all of it was begun.
    Undoing,
    /// All is undone, but for what was left.
    Undone,
}

/// The state of a migration.
#[derive(Debug, Clone, Copy, Default)]
pub struct State {
    /// The progress.
    pub status: Status,
    /// What planning left.
    pub unplanned: Unplanned,
    /// Number of steps that were left when it was finished.
    pub left: u64,
    /// Number of jobs that are known to be done; 0 where any of them may have left a step.
    pub(crate) progress: u64,
    /// Are all jobs of the migration there?
    pub(super) is_complete: bool,
    /// May names have been changed by linking and unlinking?
    pub(crate) is_linking: bool,
    /// Is it the journal of a guard, to which jobs are added?
    pub(crate) is_growing: bool,
}

impl State {
    /// Takes in the next event.
    pub(super) fn take(&mut self, event: &JournalEvent<'_>) {
        match *event {
            JournalEvent::Journal(_) | JournalEvent::Job(_) | JournalEvent::Status { .. } => {}
            JournalEvent::Complete { unplanned, .. } => {
                (self.is_complete, self.unplanned) = (true, unplanned);
            }
            JournalEvent::Progress {
                directories,
                left: 0,
                ..
            } => self.progress = self.progress.max(directories),
            // What was left is tried and reported again.
            JournalEvent::Progress { .. } => self.progress = 0,
            JournalEvent::Finished(Outcome { left, .. }) => {
                (self.status, self.left) = (Status::Finished, left);
            }
            JournalEvent::Undoing => self.status = Status::Undoing,
            JournalEvent::Undone(_) => self.status = Status::Undone,
            JournalEvent::Linking => self.is_linking = true,
            JournalEvent::Growing => self.is_growing = true,
        }
    }
}

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

    /// Gives the file the time of now.
    pub(in crate::tree) fn touch(&self) -> io::Result<()> {
        failpoints::change(|| set_times(&self.file, SetTime::Omit, SetTime::Now))
    }

    /// Returns the time of the file.
    pub(in crate::tree) fn touched(&self) -> io::Result<Time> {
        Ok(Stat::of(&self.file)?.mtime)
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
fn unlock(file: &File) {
    // Without locks there is none to let go of.
    drop(lock::flock(file, None));
}

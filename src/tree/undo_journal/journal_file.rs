//! A journal: its jobs, the marks behind them, and the state of the migration that these tell.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::frame::FrameBatch;
use super::job_index::{JobIndex, JobPlace};
use super::journal_content::{Damage, JournalContent, JournalPart, read_header};
use super::journal_error::{JournalError, OPENING};
use super::journal_state::MigrationState;
use crate::backing::file::set_times;
use crate::backing::{LockKind, SetTime, Stat, Time, lock};
use crate::records::{Job, JournalEvent, JournalHeader, JournalOrigin};
use crate::tree::failpoints;
use crate::tree::tree_identity::identity_of;

/// A journal of a migration or of a guard.
#[derive(Debug)]
pub struct Journal {
    /// The path that it was opened by.
    pub path: PathBuf,
    pub(super) file: File,
    /// The identity of the journal, the tree and the options of the migration.
    pub header: JournalHeader,
    pub(crate) jobs: JobIndex,
    /// The damage of the file, as it was opened.
    pub damage: Option<Damage>,
    /// The offset of what was being written when the machine failed, as the file was opened. Nothing of it was done.
    pub torn_at: Option<u64>,
    pub(super) tail: Mutex<JournalTail>,
}

/// The end of the file, which grows.
#[derive(Debug, Default)]
pub(super) struct JournalTail {
    /// The size of the file, whatever is at its end.
    pub(super) size: u64,
    /// The number of the next frame.
    pub(super) next_frame: u64,
    /// An append has failed: bytes of it may stand behind that size.
    pub(super) has_failed: bool,
    /// The state by the events so far.
    pub(super) state: MigrationState,
}

impl Journal {
    /// Opens a journal. It is opened for writing, too, and kept from others as long as this lives.
    ///
    /// # Errors
    /// [`JournalError::Busy`], [`JournalError::NotAJournal`], [`JournalError::Version`], [`JournalError::Headless`],
    /// [`JournalError::Io`].
    pub fn open(path: &Path, part: JournalPart) -> Result<Self, JournalError> {
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
        Self::read(path, file, part, &mut |_| ()).inspect_err(|_| unlock(&held))
    }

    /// Reads a journal that may be in use, and reports the events that count in their order. It cannot be applied, nor undone but in
    /// a copy of its tree.
    ///
    /// # Errors
    /// As for [`Journal::open`], but for `Busy`.
    pub fn view(
        path: &Path,
        part: JournalPart,
        report: &mut dyn FnMut(&JournalEvent<'_>),
    ) -> Result<Self, JournalError> {
        Self::read(path, open_for_reading(path)?, part, report)
    }

    /// Reads the header of a journal alone.
    ///
    /// # Errors
    /// As for [`Journal::view`].
    pub fn header_of(path: &Path) -> Result<JournalHeader, JournalError> {
        read_header(&open_for_reading(path)?)
    }

    fn read(
        path: &Path,
        file: File,
        part: JournalPart,
        report: &mut dyn FnMut(&JournalEvent<'_>),
    ) -> Result<Self, JournalError> {
        let content = JournalContent::read(&file, part, report)?;
        Ok(Self {
            path: path.into(),
            file,
            header: content.header,
            jobs: content.jobs,
            damage: content.damage,
            torn_at: content.torn_at,
            tail: Mutex::new(JournalTail {
                size: content.size,
                next_frame: content.next_frame,
                has_failed: false,
                state: content.state,
            }),
        })
    }

    /// Returns how far the migration got.
    pub fn state(&self) -> MigrationState {
        self.tail.lock().state
    }

    /// Returns the number of its steps.
    pub fn steps(&self) -> u64 {
        self.jobs.steps
    }

    /// Is it a guard's, to which jobs are added?
    pub fn is_of_guard(&self) -> bool {
        self.header.origin == JournalOrigin::Guard
    }

    /// Refuses a tree that the journal was not made for.
    ///
    /// # Errors
    /// [`JournalError::NotThisTree`], [`JournalError::Io`].
    pub(crate) fn check_tree(&self, root: &OwnedFd) -> Result<(), JournalError> {
        let found = identity_of(root).map_err(JournalError::io("look at the tree"))?;
        match self.header.tree.is_same_tree(&found) {
            true => Ok(()),
            false => Err(JournalError::NotThisTree),
        }
    }

    /// Reads the job that has this place.
    pub(crate) fn job(&self, place: &JobPlace) -> Result<Job, JournalError> {
        let job = serde_json::from_slice(&place.read(&self.file)?);
        let job: Job = job.map_err(|_error| JournalError::Altered {
            frame: place.frame,
            offset: place.offset,
        })?;
        Ok(Job {
            number: place.frame,
            ..job
        })
    }

    /// Gives the file the time of now.
    pub(in crate::tree) fn touch(&self) -> io::Result<()> {
        failpoints::change(|| set_times(&self.file, SetTime::Omit, SetTime::Now))
    }

    /// Returns the time of the file.
    pub(in crate::tree) fn touched(&self) -> io::Result<Time> {
        Ok(Stat::of(&self.file)?.mtime)
    }

    /// Adds events, and brings them to the medium. Nothing that stands in the file is overwritten. What of the events is written by a
    /// call that fails is no part of the file.
    pub(crate) fn append(&self, events: &[JournalEvent<'_>]) -> Result<(), JournalError> {
        let io = JournalError::io("write the journal");
        let mut tail = self.tail.lock();
        let mut batch = FrameBatch::added_to(&self.header.id, tail.size, tail.next_frame);
        events.iter().for_each(|event| batch.push(event));
        if tail.has_failed {
            failpoints::change(|| self.file.set_len(tail.size)).map_err(&io)?;
        }
        tail.has_failed = true;
        failpoints::change(|| self.file.write_all_at(&batch.bytes, tail.size)).map_err(&io)?;
        failpoints::change(|| self.file.sync_all()).map_err(&io)?;
        tail.has_failed = false;
        tail.size = batch.end();
        tail.next_frame = batch.next;
        events.iter().for_each(|event| tail.state.take(event));
        Ok(())
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        unlock(&self.file);
    }
}

/// Opens a file that may be a journal. A FIFO is not waited for.
fn open_for_reading(path: &Path) -> Result<File, JournalError> {
    let mut options = File::options();
    options.read(true).custom_flags(libc::O_NONBLOCK);
    options.open(path).map_err(JournalError::io(OPENING))
}

/// Lets go of the lock of a file. Closing it would not be enough while a process that was just forked has not yet run its program.
fn unlock(file: &File) {
    // Without locks there is none to let go of.
    drop(lock::flock(file, None));
}

//! A journal that is whole: its jobs, and the marks behind them.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use parking_lot::Mutex;

use super::about::{About, Header};
use super::frames::{Content, Frames, Seal, VERSION};
use super::job::{Job, Totals, Unplanned};
use super::journal_builder::{Draft, too_long};
use super::journal_error::{JournalError, OPENING};
use super::mark::{Mark, State, Status};
use super::renamed_dirs::RenamedDirs;
use crate::backing::{LockKind, Stat, Time, lock};
use crate::records::{JournalEvent, JournalStep, StepAction};
use crate::tree::change::{Change, Destination, InodeId};
use crate::tree::failpoints;

/// A journal that holds all of a migration.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    about: About,
    /// The places of the jobs, the deepest directories first.
    pub(crate) jobs: Vec<Place>,
    pub(crate) totals: Totals,
    pub(crate) renamed_dirs: RenamedDirs,
    tail: Mutex<Tail>,
}

/// The place of a job in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    offset: u64,
    length: usize,
    /// The number of names that lead to its directory.
    pub(crate) depth: usize,
    /// Has it links that get other targets?
    pub(crate) has_links: bool,
}

impl Place {
    /// Returns the place of a job, which has so many bytes there.
    pub(super) fn new(job: &Job, offset: u64, length: usize) -> Self {
        Self {
            offset,
            length,
            depth: job.directory.len(),
            has_links: job.links().next().is_some(),
        }
    }

    /// Reads the bytes of the job.
    pub(super) fn read(&self, file: &File) -> Result<Vec<u8>, JournalError> {
        let mut job = vec![0; self.length];
        let read = file.read_exact_at(&mut job, self.offset);
        read.map_err(JournalError::io("read the journal"))?;
        Ok(job)
    }
}

/// The end of the file, which grows.
#[derive(Debug)]
struct Tail {
    seal: Seal,
    end: u64,
    /// Something stands behind the last whole frame.
    is_torn: bool,
    state: State,
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
            .custom_flags(libc::O_NOFOLLOW);
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
        header: &Header,
    ) -> Result<Self, JournalError> {
        let journal = match Self::open(path) {
            Err(JournalError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                Draft::create(path, root, header)?.commit(Unplanned::default())?
            }
            opened => opened?,
        };
        let stat = Stat::of(root).map_err(JournalError::io("look at the tree"))?;
        if !journal.about.root.is(&stat) {
            return Err(JournalError::NotThisTree);
        }
        let state = journal.state();
        match state.status {
            Status::Pending if state.is_growing => Ok(journal),
            // It was being started.
            Status::Pending if journal.jobs.is_empty() => {
                journal.mark(Mark::Growing)?;
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
    pub fn view(path: &Path, report: &mut dyn FnMut(JournalEvent)) -> Result<Self, JournalError> {
        let opened = File::open(path).map_err(JournalError::io(OPENING))?;
        Self::read(path, opened, report)
    }

    pub(super) fn read(
        path: &Path,
        file: File,
        report: &mut dyn FnMut(JournalEvent),
    ) -> Result<Self, JournalError> {
        let mut frames = Frames::new(&file)?;
        let mut about = None;
        let (mut jobs, mut renamed_dirs) = (Vec::new(), RenamedDirs::default());
        while let Some(frame) = frames.next()? {
            match frame.content {
                Content::Header(header) => report(header_event(about.insert(header))),
                Content::Job(job) => {
                    jobs.push(Place::new(&job, frame.start, frame.length));
                    renamed_dirs.add(&job);
                    step_events(&job, report);
                }
                Content::Mark(mark) => report(JournalEvent::Mark(mark)),
            }
        }
        let Some(about) = about.filter(|_| frames.state.is_complete) else {
            return frames.broken("it is missing");
        };
        let totals = frames.totals;
        let tail = Tail {
            seal: frames.seal,
            end: frames.offset,
            is_torn: frames.left > 0,
            state: frames.state,
        };
        Ok(Self {
            path: path.into(),
            file,
            about,
            jobs,
            totals,
            renamed_dirs,
            tail: Mutex::new(tail),
        })
    }

    /// Returns the path that it was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the tree and the options of the migration.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.about.header
    }

    /// Returns how far the migration got.
    #[must_use]
    pub fn state(&self) -> State {
        self.tail.lock().state
    }

    /// Returns how many steps it holds.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.totals.steps
    }

    /// Returns its id, which tells it from all others, in hex digits.
    #[must_use]
    pub fn id(&self) -> String {
        self.about.id_text()
    }

    /// Returns the root of the tree as it was found.
    pub(crate) fn root(&self) -> (InodeId, Time) {
        (self.about.root, self.about.mtime)
    }

    /// Reads a job.
    pub(crate) fn job(&self, index: usize) -> Result<Job, JournalError> {
        let number = u64::try_from(index).unwrap_or(u64::MAX).saturating_add(1);
        let gone = |offset| JournalError::Broken {
            frame: number,
            offset,
            why: "it is not what it was",
        };
        let place = self.jobs.get(index).ok_or_else(|| gone(0))?;
        Job::read(number, &place.read(&self.file)?).ok_or_else(|| gone(place.offset))
    }

    /// Adds a mark, and brings it to the medium.
    pub(crate) fn mark(&self, mark: Mark) -> Result<(), JournalError> {
        let mut tail = self.tail.lock();
        self.extend(&mut tail, |seal, out| seal.mark(mark, out))?;
        tail.state.take(mark);
        Ok(())
    }

    /// Adds jobs behind the others, and brings them to the medium.
    pub(crate) fn grow(&self, jobs: &[Job]) -> Result<(), JournalError> {
        if jobs.is_empty() {
            return Ok(());
        }
        self.extend(&mut self.tail.lock(), |seal, out| {
            let mut jobs = jobs.iter();
            jobs.try_for_each(|job| seal.job(&job.write()?, out))
        })
    }

    /// Adds the frames that `seal` appends, and brings them to the medium. What of them is written by one that fails is no part of
    /// the file.
    fn extend(
        &self,
        tail: &mut Tail,
        append: impl FnOnce(&mut Seal, &mut Vec<u8>) -> Option<()>,
    ) -> Result<(), JournalError> {
        let io = JournalError::io("write the journal");
        let (mut seal, mut frames) = (tail.seal.clone(), Vec::new());
        append(&mut seal, &mut frames).ok_or_else(too_long)?;
        if tail.is_torn {
            failpoints::change(|| self.file.set_len(tail.end)).map_err(&io)?;
        }
        tail.is_torn = true;
        failpoints::change(|| self.file.write_all_at(&frames, tail.end)).map_err(&io)?;
        failpoints::change(|| self.file.sync_all()).map_err(&io)?;
        tail.is_torn = false;
        tail.end += u64::try_from(frames.len()).unwrap_or(u64::MAX);
        tail.seal = seal;
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

fn header_event(about: &About) -> JournalEvent {
    let created = Timestamp::from_second(about.created);
    JournalEvent::Journal {
        version: VERSION,
        id: about.id_text(),
        created: created.map_or_else(|_far| about.created.to_string(), |time| time.to_string()),
        root: about.header.root.clone().into(),
        options: about.header.options.clone(),
    }
}

/// Reports the steps of a job in the order in which they are done: first targets, then names.
fn step_events(job: &Job, report: &mut dyn FnMut(JournalEvent)) {
    let mut step = |change: &Change, action| {
        report(JournalEvent::Step(JournalStep {
            directory: job.directory.clone(),
            name: change.name.clone(),
            inode: change.id.ino,
            kind: change.kind,
            action,
        }));
    };
    for (_, change, target) in job.links().filter(|(_, _, target)| target.is_change()) {
        let (target, new_target) = (target.old.clone().into(), target.new.clone().into());
        step(change, StepAction::Retarget { target, new_target });
    }
    for change in &job.changes {
        match change.to.clone() {
            Some(Destination::Name(new)) => step(change, StepAction::Rename { new }),
            Some(Destination::Aside) => step(change, StepAction::SetAside),
            None => {}
        }
    }
}

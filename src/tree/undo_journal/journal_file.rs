//! A journal that is whole: its jobs, and the marks behind them.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use parking_lot::Mutex;
use strum::IntoStaticStr;

use super::about::{About, Header};
use super::frames::{self, FrameKind, Frames, Seal};
use super::job::{Job, Totals, Unplanned};
use super::journal_builder::{Draft, too_long};
use super::journal_error::{JournalError, OPENING};
use super::mark::{self, Mark};
use super::renamed_dirs::RenamedDirs;
use crate::backing::{LockKind, Stat, Time, lock};
use crate::records::{JournalEvent, JournalStep, StepAction};
use crate::tree::change::{Change, Destination, InodeId};
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

/// The place of a job in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    offset: u64,
    length: u32,
    /// The number of names that lead to its directory.
    pub(crate) depth: u32,
    /// Has it links that get other targets?
    pub(crate) has_links: bool,
}

/// The end of the file, which grows.
#[derive(Debug, Default)]
struct Tail {
    seal: Seal,
    end: u64,
    /// Something stands behind the last whole frame.
    is_torn: bool,
    status: Status,
    progress: u64,
    /// Steps that were left when it was finished.
    left: u64,
    is_linking: bool,
    is_growing: bool,
}

impl Tail {
    fn take(&mut self, mark: Mark) {
        match mark {
            Mark::Progress {
                directories,
                left: 0,
                ..
            } => self.progress = self.progress.max(directories),
            // What was left is tried and reported again.
            Mark::Progress { .. } => self.progress = 0,
            Mark::Finished { left, .. } => (self.status, self.left) = (Status::Finished, left),
            Mark::Undoing => self.status = Status::Undoing,
            Mark::Undone { .. } => self.status = Status::Undone,
            Mark::Linking => self.is_linking = true,
            Mark::Growing => self.is_growing = true,
        }
    }
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
                Draft::create(path, root, header)?.commit()?
            }
            opened => opened?,
        };
        let stat = Stat::of(root).map_err(JournalError::io("look at the tree"))?;
        if !journal.about.root.is(&stat) {
            return Err(JournalError::NotThisTree);
        }
        match journal.status() {
            Status::Pending if journal.is_growing() => Ok(journal),
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
        let mut totals = Totals::default();
        let mut tail = Tail::default();
        loop {
            let (number, start) = (frames.seal.number, frames.offset);
            let Some(frame) = frames.next()? else {
                break;
            };
            let wrong = || JournalError::Broken {
                frame: number,
                offset: start,
                why: "it makes no sense",
            };
            let payload = frame.payload;
            match frame.kind {
                FrameKind::Header => {
                    let read = about.insert(About::read(payload).ok_or_else(wrong)?);
                    report(header_event(read));
                }
                FrameKind::Job => {
                    let job = Job::read(number, payload).ok_or_else(wrong)?;
                    jobs.push(Place {
                        offset: frame.start,
                        length: u32::try_from(payload.len()).map_err(|_long| wrong())?,
                        depth: u32::try_from(job.directory.len()).map_err(|_deep| wrong())?,
                        has_links: job.links().next().is_some(),
                    });
                    totals.add(&job);
                    renamed_dirs.add(&job);
                    step_events(&job, report);
                }
                FrameKind::Complete => {
                    let numbers = frames::numbers(payload);
                    numbers
                        .and_then(|numbers| totals.complete(numbers))
                        .ok_or_else(wrong)?;
                    report(JournalEvent::Complete {
                        directories: totals.jobs,
                        steps: totals.steps,
                        planning_left: totals.unplanned.left,
                        planning_unread: totals.unplanned.unread,
                    });
                }
                FrameKind::Progress
                | FrameKind::Finished
                | FrameKind::Undoing
                | FrameKind::Undone
                | FrameKind::Linking
                | FrameKind::Growing => {
                    let numbers = frames::numbers(payload);
                    let mark = numbers
                        .and_then(|numbers| mark::read(frame.kind, numbers))
                        .ok_or_else(wrong)?;
                    tail.take(mark);
                    report(JournalEvent::Mark(mark));
                }
            }
        }
        let Some(about) = about.filter(|_| frames.is_complete) else {
            return frames.broken("it is missing");
        };
        (tail.seal, tail.end) = (frames.seal.clone(), frames.offset);
        drop(frames);
        let metadata = file.metadata();
        let size = metadata
            .map_err(JournalError::io("read the journal"))?
            .len();
        tail.is_torn = size > tail.end;
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
    pub fn status(&self) -> Status {
        self.tail.lock().status
    }

    /// Returns how many steps it holds.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.totals.steps
    }

    /// Returns what planning left.
    #[must_use]
    pub fn unplanned(&self) -> Unplanned {
        self.totals.unplanned
    }

    /// Returns how many steps were left when it was finished.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.tail.lock().left
    }

    /// Returns its id, which tells it from all others, in hex digits.
    #[must_use]
    pub fn id(&self) -> String {
        hex(&self.about.id)
    }

    /// Returns the root of the tree as it was found.
    pub(crate) fn root(&self) -> (InodeId, Time) {
        (self.about.root, self.about.mtime)
    }

    /// Returns how many jobs are known to be done; 0 where any of them may have left a step.
    pub(crate) fn progress(&self) -> u64 {
        self.tail.lock().progress
    }

    /// May names have been changed by linking and unlinking?
    pub(crate) fn is_linking(&self) -> bool {
        self.tail.lock().is_linking
    }

    /// Is it the journal of a guard?
    #[must_use]
    pub fn is_growing(&self) -> bool {
        self.tail.lock().is_growing
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
        let mut payload = vec![0; usize::try_from(place.length).unwrap_or(0)];
        let read = self.file.read_exact_at(&mut payload, place.offset);
        read.map_err(JournalError::io("read the journal"))?;
        Job::read(number, &payload).ok_or_else(|| gone(place.offset))
    }

    /// Adds a mark, and brings it to the medium.
    pub(crate) fn mark(&self, mark: Mark) -> Result<(), JournalError> {
        let (kind, numbers) = mark::numbers(mark);
        let mut tail = self.tail.lock();
        self.extend(&mut tail, kind, &[frames::mark(numbers)])?;
        tail.take(mark);
        Ok(())
    }

    /// Adds jobs behind the others, and brings them to the medium.
    pub(crate) fn grow(&self, jobs: &[Job]) -> Result<(), JournalError> {
        let payloads: Option<Vec<_>> = jobs.iter().map(Job::write).collect();
        match payloads.ok_or_else(too_long)?.as_slice() {
            [] => Ok(()),
            payloads => self.extend(&mut self.tail.lock(), FrameKind::Job, payloads),
        }
    }

    /// Adds frames of a kind, and brings them to the medium. What of them is written by one that fails is no part of the file.
    fn extend(
        &self,
        tail: &mut Tail,
        kind: FrameKind,
        payloads: &[Vec<u8>],
    ) -> Result<(), JournalError> {
        let io = JournalError::io("write the journal");
        if tail.is_torn {
            failpoints::change(|| self.file.set_len(tail.end)).map_err(&io)?;
            tail.is_torn = false;
        }
        let (mut seal, mut frames) = (tail.seal.clone(), Vec::new());
        for payload in payloads {
            seal.frame(kind, payload, &mut frames)
                .ok_or_else(too_long)?;
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

fn hex(id: &[u8]) -> String {
    id.iter().map(|octet| format!("{octet:02x}")).collect()
}

fn header_event(about: &About) -> JournalEvent {
    let created = Timestamp::from_second(about.created);
    JournalEvent::Journal {
        version: frames::VERSION,
        id: hex(&about.id),
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

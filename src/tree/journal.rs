//! The journal of a migration: all that it is going to do, on the medium before the first name is changed (law T4).
//!
//! The format is described in docs/journal-format.md. A [`Draft`] gathers groups in any order, and becomes a [`Journal`] once all
//! are there; until then nothing was done to the tree, and a kill leaves nothing that counts.

mod draft;
mod error;
mod frames;
mod job;
mod left;
mod mark;
mod octets;
#[cfg(test)]
mod tests;
mod totals;
mod ways;

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::seam;
use crate::backing::{LockKind, Time, lock};
pub use draft::Draft;
pub(crate) use draft::{is_unable, why};
pub use error::JournalError;
pub(crate) use error::OPENING;
use frames::{Frames, Kind, Seal};
pub(crate) use job::{Job, Link, Move, Spot};
pub use left::{Left, Why};
pub(crate) use mark::Mark;
pub(crate) use octets::Id;
use octets::{Reader, Writer};
pub use totals::Rest;
pub(crate) use totals::Totals;
pub(crate) use ways::Ways;

/// What a journal says of a migration as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Where the root of the tree lies: an absolute path, octets.
    pub root: Vec<u8>,
    /// What was asked for, for people: such as `--from koi8-r`.
    pub options: String,
}

/// How far a migration got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It may have been begun, and is to be applied to its end, or undone.
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
    /// Where the jobs are, the deepest directories first.
    pub(crate) jobs: Vec<Place>,
    pub(crate) totals: Totals,
    pub(crate) ways: Ways,
    tail: Mutex<Tail>,
}

/// What the first frame says.
#[derive(Debug, Clone)]
struct About {
    header: Header,
    id: [u8; 16],
    created: i64,
    root: Id,
    mtime: Time,
}

/// Where in the file a job is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    offset: u64,
    length: u32,
    /// How many names lead to its directory.
    pub(crate) depth: u32,
    /// Has it links that get other targets?
    pub(crate) has_links: bool,
}

/// What stands behind the jobs, and grows.
#[derive(Debug)]
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
}

impl Tail {
    fn take(&mut self, mark: Mark) {
        match mark {
            Mark::Progress { jobs, left: 0, .. } => self.progress = self.progress.max(jobs),
            // What was left is tried and told again.
            Mark::Progress { .. } => self.progress = 0,
            Mark::Finished { left, .. } => (self.status, self.left) = (Status::Finished, left),
            Mark::Undoing => self.status = Status::Undoing,
            Mark::Undone { .. } => self.status = Status::Undone,
            Mark::Linking => self.is_linking = true,
        }
    }
}

impl Journal {
    /// Opens a journal, and checks every octet of it. It is opened for writing, too, and kept from others as long as this lives.
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

    /// Reads a journal that may be in use, and tells all that it holds, in its order, as far as it is sound. It cannot be applied or
    /// undone.
    ///
    /// # Errors
    /// As for [`Journal::open`], but for `Busy`.
    pub(crate) fn view(path: &Path, tell: &mut dyn FnMut(Told<'_>)) -> Result<Self, JournalError> {
        let opened = File::open(path).map_err(JournalError::io(OPENING))?;
        Self::read(path, opened, tell)
    }

    fn read(path: &Path, file: File, tell: &mut dyn FnMut(Told<'_>)) -> Result<Self, JournalError> {
        let mut frames = Frames::new(&file)?;
        let mut about = None;
        let (mut jobs, mut ways, mut totals) = (Vec::new(), Ways::default(), Totals::default());
        let mut tail = Tail {
            seal: Seal::new(),
            end: 0,
            is_torn: false,
            status: Status::Pending,
            progress: 0,
            left: 0,
            is_linking: false,
        };
        let mut is_complete = false;
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
                Kind::Header => {
                    let read = about.insert(About::read(payload).ok_or_else(wrong)?);
                    tell(Told::Header(&read.header, read.id, read.created));
                }
                Kind::Job => {
                    let job = Job::read(number, payload).ok_or_else(wrong)?;
                    let length = u32::try_from(payload.len()).map_err(|_long| wrong())?;
                    let depth = u32::try_from(job.directory.len()).map_err(|_deep| wrong())?;
                    jobs.push(Place {
                        offset: frame.start,
                        length,
                        depth,
                        has_links: !job.links.is_empty(),
                    });
                    totals.add(&job);
                    ways.add(&job);
                    tell(Told::Job(&job));
                }
                Kind::Complete => {
                    totals.complete(payload).ok_or_else(wrong)?;
                    is_complete = true;
                    tell(Told::Complete(&totals));
                }
                Kind::Progress | Kind::Finished | Kind::Undoing | Kind::Undone | Kind::Linking => {
                    let mark = Mark::read(frame.kind, payload).ok_or_else(wrong)?;
                    tail.take(mark);
                    tell(Told::Mark(mark));
                }
            }
        }
        let Some(about) = about.filter(|_| is_complete) else {
            return frames.broken("it is missing");
        };
        (tail.seal, tail.end) = (frames.seal.clone(), frames.offset);
        drop(frames);
        let size = file
            .metadata()
            .map_err(JournalError::io("read the journal"))?
            .len();
        tail.is_torn = size > tail.end;
        let tail = Mutex::new(tail);
        Ok(Self {
            path: path.into(),
            file,
            about,
            jobs,
            totals,
            ways,
            tail,
        })
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says of the migration as a whole.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.about.header
    }

    /// How far the migration got.
    #[must_use]
    pub fn status(&self) -> Status {
        self.tail().status
    }

    /// How many steps it holds.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.totals.steps
    }

    /// How many directories it has steps in.
    #[must_use]
    pub fn groups(&self) -> u64 {
        self.totals.jobs
    }

    /// What planning left.
    #[must_use]
    pub fn rest(&self) -> Rest {
        self.totals.rest
    }

    /// How many steps were left when it was finished.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.tail().left
    }

    /// What tells it from all others, in hex digits.
    #[must_use]
    pub fn id(&self) -> String {
        let octets = self.about.id.iter();
        octets.map(|octet| format!("{octet:02x}")).collect()
    }

    /// The root of the tree as it was found.
    pub(crate) fn root(&self) -> (Id, Time) {
        (self.about.root, self.about.mtime)
    }

    /// How many jobs are known to be done; 0 where any of them may have left a step.
    pub(crate) fn progress(&self) -> u64 {
        self.tail().progress
    }

    /// May names have been changed by linking and unlinking?
    pub(crate) fn is_linking(&self) -> bool {
        self.tail().is_linking
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
        let io = JournalError::io("write the journal");
        let mut tail = self.tail();
        if tail.is_torn {
            seam::truncate(&self.file, tail.end).map_err(&io)?;
            tail.is_torn = false;
        }
        let (kind, numbers) = mark.numbers();
        let (mut seal, mut frame) = (tail.seal.clone(), Vec::new());
        seal.frame(kind, &frames::mark(numbers), &mut frame);
        seam::write_at(&self.file, &frame, tail.end).map_err(&io)?;
        seam::sync(self.file.as_fd()).map_err(&io)?;
        tail.end += 64;
        tail.seal = seal;
        tail.take(mark);
        Ok(())
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
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

/// What a journal says, in its order.
#[derive(Debug)]
pub(crate) enum Told<'a> {
    /// What it is, its id, and when it was made, in seconds since 1970.
    Header(&'a Header, [u8; 16], i64),
    Job(&'a Job),
    Complete(&'a Totals),
    Mark(Mark),
}

impl About {
    fn write(&self) -> Option<Vec<u8>> {
        let mut out = Writer::default();
        out.0.extend(self.id);
        out.0.extend(self.created.to_le_bytes());
        out.id(&self.root);
        out.time(self.mtime);
        out.octets(&self.header.root)?;
        out.octets(self.header.options.as_bytes())?;
        Some(out.0)
    }

    fn read(octets: &[u8]) -> Option<Self> {
        let mut octets = Reader(octets);
        let (id, created) = (octets.array()?, octets.i64()?);
        let (root, mtime) = (octets.id()?, octets.time()?);
        let header = Header {
            root: octets.octets()?.to_vec(),
            options: String::from_utf8(octets.octets()?.to_vec()).ok()?,
        };
        octets.end()?;
        Some(Self {
            header,
            id,
            created,
            root,
            mtime,
        })
    }
}

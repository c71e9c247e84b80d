//! Doing what a journal says, from its start or on from where it was stopped or killed.

mod aside;
mod chain;
mod ends;
mod link;
mod site;

use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::journal::{Journal, JournalError, Left, Mark, Place, Status};
use super::seam;
use super::step::TreePath;
use crate::backing::file;
use crate::names::BackingName;
pub(super) use aside::Aside;
pub(super) use site::{Mode, Part, Site};

/// So long steps are made between two marks of progress, where a depth ends.
const BETWEEN_MARKS: Duration = Duration::from_secs(10);

/// How far it is.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Steps that are done, were done before, or were left.
    pub steps: u64,
    /// All steps.
    pub all: u64,
    /// A directory that was just finished.
    pub directory: &'a TreePath,
}

/// Where an entry goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Going<'a> {
    /// To another name in its directory.
    To(&'a BackingName),
    /// Aside, into the directory of the migration's.
    Aside,
    /// Back from there, to this name.
    Back(&'a BackingName),
    /// It stays, and its target becomes this.
    Target(&'a [u8]),
}

/// Who watches a migration. Called by several threads at a time.
pub trait Watch: Sync {
    /// A directory was finished.
    fn progress(&self, _progress: &Progress<'_>) {}

    /// A step was made, or would be where nothing is written.
    fn step(&self, _directory: &TreePath, _name: &BackingName, _going: Going<'_>) {}

    /// An entry was left as it is (law T3).
    fn left(&self, left: &Left);

    /// The time of a directory could not be put back (law T6), by this errno.
    fn time_lost(&self, _directory: &TreePath, _errno: i32) {}

    /// Is it to stop? Asked between any two renames; chains of renames that depend on each other are brought to their end.
    fn is_over(&self) -> bool {
        false
    }
}

/// How it ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Steps done now.
    pub done: u64,
    /// Steps that were found done.
    pub before: u64,
    /// Entries that were left.
    pub left: u64,
    /// It was stopped by [`Watch::is_over`], and can be gone on with.
    pub is_stopped: bool,
}

/// Does what the journal says in the tree below `root`, on so many threads, from where it was stopped or killed. What is done
/// already is found by looking. A journal that is finished already has nothing done.
///
/// The caller holds the [`TreeLock`](super::lock::TreeLock) of the tree.
///
/// # Errors
/// [`JournalError::NotThisTree`], [`JournalError::ReadOnly`], [`JournalError::Undone`]: nothing was done.
/// [`JournalError::Io`] of the journal itself, or of the directory of what is put aside: it can be gone on with.
pub fn apply(
    root: &OwnedFd,
    journal: &mut Journal,
    threads: usize,
    watch: &dyn Watch,
) -> Result<Outcome, JournalError> {
    match journal.status() {
        Status::Pending => {}
        Status::Finished => return Ok(Outcome::default()),
        Status::Undoing | Status::Undone => return Err(JournalError::Undone),
    }
    let mut site = Site::new(root, journal, watch, Mode::Forward)?;
    site.aside = Aside::make(root, journal)?;
    let done = usize::try_from(journal.progress()).unwrap_or(usize::MAX);
    // A link is never seen to lead to a name that is gone: through a mount the new names are there already.
    carry_out(&site, Part::Starts, 0, threads)?;
    carry_out(&site, Part::Links, 0, threads)?;
    carry_out(&site, Part::Moves, done, threads)?;
    carry_out(&site, Part::Ends, 0, threads)?;
    let outcome = site.outcome();
    if !outcome.is_stopped {
        sync_all(root)?;
        let Outcome {
            done, before, left, ..
        } = outcome;
        let rest = journal.rest();
        journal.mark(Mark::Finished {
            done,
            before,
            left,
            rest,
        })?;
    }
    Ok(outcome)
}

/// Does a part of all jobs, from one of them on, one depth after the other; nothing if it was stopped.
pub(super) fn carry_out(
    site: &Site<'_>,
    part: Part,
    from: usize,
    threads: usize,
) -> Result<(), JournalError> {
    let jobs = &site.journal.jobs;
    let concerns = |index: &usize| {
        part == Part::Moves
            || jobs
                .get(*index)
                .is_some_and(|place: &Place| place.has_links)
    };
    let mut order: Vec<usize> = (from..jobs.len()).filter(concerns).collect();
    if site.mode != Mode::Forward {
        order.reverse();
    }
    let depth = |index: &usize| jobs.get(*index).map_or(0, |place: &Place| place.depth);
    let mut marked = Instant::now();
    let mut done = from;
    for level in order.chunk_by(|one, other| depth(one) == depth(other)) {
        if site.outcome().is_stopped {
            break;
        }
        together(site, part, level, threads)?;
        done += level.len();
        if site.outcome().is_stopped {
            break;
        }
        let is_marked = site.mode == Mode::Forward && part == Part::Moves;
        if is_marked && marked.elapsed() > BETWEEN_MARKS && done < jobs.len() {
            sync_all(site.root)?;
            let Outcome {
                done: now,
                before,
                left,
                ..
            } = site.outcome();
            let jobs = u64::try_from(done).unwrap_or(0);
            site.journal.mark(Mark::Progress {
                jobs,
                steps: now + before,
                left,
            })?;
            marked = Instant::now();
        }
    }
    Ok(())
}

/// Does jobs of one depth, on several threads.
fn together(
    site: &Site<'_>,
    part: Part,
    jobs: &[usize],
    threads: usize,
) -> Result<(), JournalError> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    let work = || {
        while let Some(&index) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            if site.is_over() {
                return;
            }
            let job = site.journal.job(index);
            if let Err(error) = job.and_then(|job| site.carry_out(part, &job)) {
                failed
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get_or_insert(error);
                next.store(jobs.len(), Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(jobs.len()) {
            scope.spawn(work);
        }
        work();
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Brings the filesystem of the tree to the medium, so that what is marked as done is.
pub(super) fn sync_all(root: &OwnedFd) -> Result<(), JournalError> {
    let io = JournalError::io("sync the filesystem");
    let open = file::reopen(root, libc::O_RDONLY | libc::O_DIRECTORY).map_err(&io)?;
    seam::sync_filesystem(open).map_err(io)
}

#[cfg(test)]
mod tests;

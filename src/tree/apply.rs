//! Doing what a journal says, from its start or on from where it was stopped or killed.

pub(super) mod aside_dir;
mod directory_time;
mod executor;
mod links;
mod observer;
mod open_dir;
mod rename_chain;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use strum::VariantArray;

use super::change::{EntryMatch, Job};
use super::failpoints;
use super::plan::DirectoryPlan;
use super::undo_journal::{JobPlace, Journal, JournalError, Status};
use crate::backing::file;
use crate::records::JournalEvent;
pub use crate::records::Outcome;
pub(super) use executor::{Executor, Mode, Pass};
pub use observer::{Movement, Observer};

/// Time between two marks of progress, where a depth ends.
const BETWEEN_MARKS: Duration = Duration::from_secs(10);

/// Does what the journal says in the tree below `root`, on so many threads, from where it was stopped or killed. What is done
/// already is found by looking. A journal that is finished already has nothing done.
///
/// The caller holds the [`TreeLock`](super::tree_lock::TreeLock) of the tree.
///
/// # Errors
/// [`JournalError::NotThisTree`], [`JournalError::ReadOnly`], [`JournalError::Undone`], [`JournalError::OfGuard`],
/// [`JournalError::Incomplete`]:
/// nothing was done. [`JournalError::Io`] of the journal itself, or of the directory for entries set aside: the run
/// can be resumed.
pub fn apply(
    root: &OwnedFd,
    journal: &mut Journal,
    threads: usize,
    observer: &dyn Observer,
) -> Result<Outcome, JournalError> {
    let state = journal.state();
    if journal.is_of_guard() {
        return Err(JournalError::OfGuard);
    }
    if let Some(damage) = journal.damage.filter(|_| !state.is_complete) {
        return Err(JournalError::Incomplete {
            frame: damage.frame,
            offset: damage.offset,
        });
    }
    match state.status {
        Status::Pending => {}
        Status::Finished => return Ok(Outcome::default()),
        Status::Undoing | Status::Undone => return Err(JournalError::Undone),
    }
    let mut executor = Executor::new(root, journal, observer, Mode::Forward, EntryMatch::Inode)?;
    executor.aside = aside_dir::make(root, journal)
        .map_err(JournalError::io("make a directory for what is put aside"))?;
    // A link is never seen to lead to a name that is gone: through a mount the new names are there already.
    for pass in Pass::VARIANTS {
        carry_out(&executor, *pass, threads)?;
    }
    let outcome = *executor.count.lock();
    if !outcome.is_stopped {
        sync_all(root)?;
        journal.append(&[JournalEvent::Finished(outcome)])?;
    }
    Ok(outcome)
}

/// Journals plans, and does them, in a tree that others work in. Each directory is given by the names that lead to it now.
///
/// # Errors
/// [`JournalError::Io`] of the journal; [`JournalError::NotThisTree`], [`JournalError::ReadOnly`].
pub fn apply_live(
    root: &OwnedFd,
    journal: &Journal,
    plans: &[DirectoryPlan],
    observer: &dyn Observer,
) -> Result<(), JournalError> {
    let executor = Executor::new(root, journal, observer, Mode::Live, EntryMatch::Inode)?;
    let mut jobs = Vec::new();
    for plan in plans {
        let (job, skipped) = Job::of(root, plan);
        jobs.extend(job);
        skipped.iter().for_each(|skipped| observer.skipped(skipped));
    }
    if jobs.is_empty() {
        return Ok(());
    }
    let events = jobs.iter().map(|job| JournalEvent::Job(Cow::Borrowed(job)));
    journal.append(&events.collect::<Vec<_>>())?;
    for job in &jobs {
        executor.carry_out(Pass::Rename, job)?;
    }
    Ok(())
}

/// Does a part of all jobs, one depth after the other; nothing if it was stopped. Jobs whose names are known to be done are left out.
pub(super) fn carry_out(
    executor: &Executor<'_>,
    pass: Pass,
    threads: usize,
) -> Result<(), JournalError> {
    let is_marked = executor.mode == Mode::Forward && pass == Pass::Rename;
    let progress = Some(executor.journal.state().progress).filter(|_| is_marked);
    let mut done = usize::try_from(progress.unwrap_or(0)).unwrap_or(usize::MAX);
    let jobs = &executor.journal.jobs.places;
    let concerns = |(_, place): &(usize, &JobPlace)| pass == Pass::Rename || place.has_links;
    let mut order: Vec<(usize, &JobPlace)> = jobs
        .iter()
        .enumerate()
        .skip(done)
        .filter(concerns)
        .collect();
    if executor.mode != Mode::Forward {
        order.reverse();
    }
    let mut marked = Instant::now();
    for level in order.chunk_by(|(_, one), (_, other)| one.depth == other.depth) {
        together(executor, pass, level, threads)?;
        done += level.len();
        if executor.count.lock().is_stopped {
            break;
        }
        if is_marked && marked.elapsed() > BETWEEN_MARKS && done < jobs.len() {
            sync_all(executor.root)?;
            let outcome = *executor.count.lock();
            executor.journal.append(&[JournalEvent::Progress {
                directories: u64::try_from(done).unwrap_or(0),
                steps: outcome.done + outcome.before,
                left: outcome.left,
            }])?;
            marked = Instant::now();
        }
    }
    Ok(())
}

/// Does jobs of one depth, on several threads.
fn together(
    executor: &Executor<'_>,
    pass: Pass,
    jobs: &[(usize, &JobPlace)],
    threads: usize,
) -> Result<(), JournalError> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    let work = || {
        while let Some((_, place)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            if executor.is_over() {
                return;
            }
            let job = executor.journal.job(place);
            if let Err(error) = job.and_then(|job| executor.carry_out(pass, &job)) {
                failed.lock().get_or_insert(error);
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
    failed.into_inner().map_or(Ok(()), Err)
}

/// Brings the filesystem of the tree to the medium, so that what is marked as done is.
pub(super) fn sync_all(root: &OwnedFd) -> Result<(), JournalError> {
    let io = JournalError::io("sync the filesystem");
    let open = file::reopen(root, libc::O_RDONLY | libc::O_DIRECTORY).map_err(&io)?;
    failpoints::change(|| file::sync_filesystem(open)).map_err(io)
}

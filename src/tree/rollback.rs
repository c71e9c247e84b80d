//! Taking back what was done by a journal, last first.

use std::os::fd::OwnedFd;

use super::apply::{Executor, Mode, Observer, Outcome, Pass, aside_dir, carry_out, sync_all};
use super::tree_walk::threads;
use super::undo_journal::{Journal, JournalError, Status};
use crate::names::BackingName;
use crate::records::JournalEvent;

/// Takes back what was done by the journal in the tree below `root`, all of it or only an entry and what lies below it. Each
/// name of `only` may be the one of before or of after the migration. What is undone already is found by looking, so that
/// an undo that was stopped or killed is completed by another one.
///
/// Once undoing all was begun, the journal cannot be applied any more. What was undone in part of a journal that is not
/// finished is done again by going on with it.
///
/// The caller holds the [`TreeLock`](super::tree_lock::TreeLock) of the tree.
///
/// # Errors
/// As for [`apply`](super::apply::apply), but for [`JournalError::Undone`].
pub fn undo(
    root: &OwnedFd,
    journal: &mut Journal,
    only: Option<&[BackingName]>,
    observer: &dyn Observer,
) -> Result<Outcome, JournalError> {
    let mut executor = Executor::new(root, journal, observer, Mode::Back)?;
    let state = journal.state();
    // An entry may have been renamed more than once by a guard.
    let threads = match state.is_growing {
        true => 1,
        false => threads(),
    };
    let was_killed = state.status == Status::Undoing;
    if only.is_none() && !was_killed {
        journal.append(&[JournalEvent::Undoing])?;
    }
    executor.aside = aside_dir::find(root, journal);
    if let Some(aside) = &executor.aside {
        aside_dir::settle(aside, root, journal)
            .map_err(JournalError::io("put the time of the root back"))?;
    }
    executor.only = only;
    for pass in [Pass::NoteLinks, Pass::Rename, Pass::Retarget] {
        carry_out(&executor, pass, threads)?;
    }
    if executor.count.lock().left > 0 {
        carry_out(&executor, Pass::VerifyLinks, threads)?;
    }
    let outcome = *executor.count.lock();
    if outcome.is_stopped {
        return Ok(outcome);
    }
    let was_removed = was_killed && executor.aside.is_none();
    aside_dir::remove(root, journal, was_removed).map_err(JournalError::io(
        "remove the directory of what was put aside",
    ))?;
    sync_all(root)?;
    if only.is_none() {
        journal.append(&[JournalEvent::Undone(outcome)])?;
    }
    Ok(outcome)
}

/// Reports what [`undo`] would do, by [`Observer::step`], and what it would leave. Nothing is written, not to the journal either.
///
/// # Errors
/// As for [`undo`].
pub fn preview(
    root: &OwnedFd,
    journal: &Journal,
    only: Option<&[BackingName]>,
    observer: &dyn Observer,
) -> Result<Outcome, JournalError> {
    let mut executor = Executor::new(root, journal, observer, Mode::Preview)?;
    executor.aside = aside_dir::find(root, journal);
    executor.only = only;
    carry_out(&executor, Pass::Rename, 1)?;
    carry_out(&executor, Pass::Retarget, 1)?;
    Ok(executor.count.into_inner())
}

//! Taking back what was done by a journal, last first.

use std::os::fd::OwnedFd;

use super::apply::{Executor, Mode, Observer, Outcome, Pass, aside_dir, carry_out, sync_all};
use super::change::EntryMatch;
use super::tree_walk::threads;
use super::undo_journal::{Journal, JournalError, Status};
use crate::names::BackingName;
use crate::records::JournalEvent;

/// An action, in the words of an error.
const REMOVING: &str = "remove the directory of what was put aside";

/// The part of a migration that is taken back, and where.
#[derive(Debug, Clone, Copy, Default)]
pub struct UndoScope<'u> {
    /// An entry that alone is taken back with what lies below it; each name may be the one of before or of after the migration.
    /// `None` for all.
    pub only: Option<&'u [BackingName]>,
    /// By name in a copy of the tree, whose journal is not written to; else by inode.
    pub matching: EntryMatch,
}

/// Takes back what was done by the journal in the tree below `root`. What is undone already is found by looking, so that
/// an undo that was stopped or killed is completed by another one.
///
/// Once undoing all was begun, the journal cannot be applied any more. What was undone in part of a journal that is not
/// finished is done again by going on with it.
///
/// The caller holds the [`TreeLock`](super::tree_lock::TreeLock) of the tree.
///
/// # Errors
/// As for [`apply`](super::apply::apply), but for [`JournalError::Undone`] and [`JournalError::Incomplete`].
pub fn undo(
    root: &OwnedFd,
    journal: &mut Journal,
    scope: UndoScope<'_>,
    observer: &dyn Observer,
) -> Result<Outcome, JournalError> {
    match scope.matching {
        EntryMatch::Inode => undo_in_tree(root, journal, scope.only, observer),
        EntryMatch::Name => undo_in_copy(root, journal, scope.only, observer),
    }
}

fn undo_in_tree(
    root: &OwnedFd,
    journal: &Journal,
    only: Option<&[BackingName]>,
    observer: &dyn Observer,
) -> Result<Outcome, JournalError> {
    let mut executor = Executor::new(root, journal, observer, Mode::Back, EntryMatch::Inode)?;
    let was_killed = journal.state().status == Status::Undoing;
    if only.is_none() && !was_killed {
        journal.append(&[JournalEvent::Undoing])?;
    }
    executor.aside = aside_dir::find(root, journal);
    if let Some(aside) = &executor.aside {
        aside_dir::settle(aside, root, journal)
            .map_err(JournalError::io("put the time of the root back"))?;
    }
    executor.only = only;
    let outcome = take_back(&executor)?;
    if outcome.is_stopped {
        return Ok(outcome);
    }
    let was_removed = was_killed && executor.aside.is_none();
    aside_dir::remove(root, journal, was_removed).map_err(JournalError::io(REMOVING))?;
    sync_all(root)?;
    if only.is_none() {
        journal.append(&[JournalEvent::Undone(outcome)])?;
    }
    Ok(outcome)
}

fn undo_in_copy(
    root: &OwnedFd,
    journal: &Journal,
    only: Option<&[BackingName]>,
    observer: &dyn Observer,
) -> Result<Outcome, JournalError> {
    let mut executor = Executor::new(root, journal, observer, Mode::Back, EntryMatch::Name)?;
    executor.aside = aside_dir::find(root, journal);
    executor.only = only;
    let outcome = take_back(&executor)?;
    if !outcome.is_stopped {
        aside_dir::remove_from_copy(root, journal).map_err(JournalError::io(REMOVING))?;
        sync_all(root)?;
    }
    Ok(outcome)
}

/// Makes the passes of an undo, the last changes first. Returns what came of them.
fn take_back(executor: &Executor<'_>) -> Result<Outcome, JournalError> {
    // An entry may have been renamed more than once by a guard.
    let threads = match executor.journal().is_of_guard() {
        true => 1,
        false => threads(),
    };
    for pass in [Pass::NoteLinks, Pass::Rename, Pass::Retarget] {
        carry_out(executor, pass, threads)?;
    }
    if executor.count.lock().left > 0 {
        carry_out(executor, Pass::VerifyLinks, threads)?;
    }
    let outcome = *executor.count.lock();
    Ok(outcome)
}

/// Reports what [`undo`] would do, by [`Observer::step`], and what it would leave. Nothing is written, not to the journal either.
///
/// # Errors
/// As for [`undo`].
pub fn preview(
    root: &OwnedFd,
    journal: &Journal,
    scope: UndoScope<'_>,
    observer: &dyn Observer,
) -> Result<Outcome, JournalError> {
    let mut executor = Executor::new(root, journal, observer, Mode::Preview, scope.matching)?;
    executor.aside = aside_dir::find(root, journal);
    executor.only = scope.only;
    carry_out(&executor, Pass::Rename, 1)?;
    carry_out(&executor, Pass::Retarget, 1)?;
    Ok(executor.count.into_inner())
}

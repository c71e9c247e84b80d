//! Taking back what was done by a journal, last first.

use std::os::fd::OwnedFd;

use super::apply::{Aside, Mode, Outcome, Part, Site, Watch, carry_out, sync_all};
use super::journal::{Journal, JournalError, Mark, Status};
use super::step::TreePath;

/// Takes back what was done by the journal in the tree below `root`, all of it or only an entry and what lies below it. Each
/// name of `only` may be the one of before or of after the migration. What is undone already is found by looking, so that
/// an undo that was stopped or killed is completed by another one.
///
/// Once undoing all was begun, the journal cannot be applied any more. What was undone in part of a journal that is not
/// finished is done again by going on with it.
///
/// The caller holds the [`TreeLock`](super::lock::TreeLock) of the tree.
///
/// # Errors
/// As for [`apply`](super::apply::apply), but for [`JournalError::Undone`].
pub fn undo(
    root: &OwnedFd,
    journal: &mut Journal,
    only: Option<&TreePath>,
    watch: &dyn Watch,
) -> Result<Outcome, JournalError> {
    let mut site = Site::new(root, journal, watch, Mode::Back)?;
    let was_killed = journal.status() == Status::Undoing;
    if only.is_none() && !was_killed {
        journal.mark(Mark::Undoing)?;
    }
    site.aside = Aside::find(root, journal);
    if let Some(aside) = &site.aside {
        aside.settle(root, journal)?;
    }
    site.only = only.map(Vec::as_slice);
    carry_out(&site, Part::Starts, 0, threads())?;
    carry_out(&site, Part::Moves, 0, threads())?;
    carry_out(&site, Part::Links, 0, threads())?;
    if site.outcome().left > 0 {
        carry_out(&site, Part::Ends, 0, threads())?;
    }
    let outcome = site.outcome();
    if outcome.is_stopped {
        return Ok(outcome);
    }
    let was_removed = was_killed && site.aside.is_none();
    Aside::remove(root, journal, was_removed)?;
    sync_all(root)?;
    if only.is_none() {
        let Outcome {
            done, before, left, ..
        } = outcome;
        journal.mark(Mark::Undone { done, before, left })?;
    }
    Ok(outcome)
}

/// Tells what [`undo`] would do, by [`Watch::step`], and what it would leave. Nothing is written, not to the journal either.
///
/// # Errors
/// As for [`undo`].
pub fn preview(
    root: &OwnedFd,
    journal: &Journal,
    only: Option<&TreePath>,
    watch: &dyn Watch,
) -> Result<Outcome, JournalError> {
    let mut site = Site::new(root, journal, watch, Mode::Look)?;
    site.aside = Aside::find(root, journal);
    site.only = only.map(Vec::as_slice);
    carry_out(&site, Part::Moves, 0, 1)?;
    carry_out(&site, Part::Links, 0, 1)?;
    Ok(site.outcome())
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

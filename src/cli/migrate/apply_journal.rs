//! A migration that is done: into a journal first, then by it.

use std::path::PathBuf;

use super::roots::Root;
use super::work::Work;
use super::{arguments, journal_path, plan_text};
use crate::cli::CommandError;
use crate::cli::output::print_note;
use crate::names::{Quoted, ShellWord};
use crate::tree::apply::apply;
use crate::tree::tree_lock::TreeLock;
use crate::tree::undo_journal::{
    Draft, Journal, JournalError, JournalPaths, State, Status, Unplanned,
};

/// Plans each tree, and does it.
pub(super) fn run(roots: &[Root], work: &Work<'_>) -> Result<(), CommandError> {
    arguments::check_journal(work.args, roots.len())?;
    for root in roots {
        migrate(root, &arguments::typed(work.args), work, |draft| {
            work.plan(root, draft.metadata().ok().as_ref(), &|plan| {
                work.add(root, plan, Some(draft)).map(|()| true)
            })
        })?;
        if work.stop.is_asked() {
            break;
        }
    }
    Ok(())
}

/// Has `fill` put what is to be done in a tree into a journal, and does it. A migration that was stopped or killed before is
/// gone on with first.
pub(super) fn migrate(
    root: &Root,
    options: &str,
    work: &Work<'_>,
    fill: impl FnOnce(&Draft) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let fault = failure(root);
    let _lock = TreeLock::take(&root.fd).map_err(&fault)?;
    let journals = journal_path::find(root, work.args.journal.as_deref())?;
    let free = go_on(root, journals, options, work)?;
    let Some(path) = free.filter(|_| !work.stop.is_asked()) else {
        return Ok(());
    };
    let draft = Draft::create(&path, &root.fd, root.bytes(), options).map_err(&fault)?;
    let before = work.counters.lock().unplanned();
    fill(&draft)?;
    // Until it is committed nothing is done: an empty or unfinished one is dropped.
    if draft.steps() == 0 || work.stop.is_asked() {
        return Ok(());
    }
    let unplanned = work.counters.lock().unplanned();
    let journal = draft.commit(Unplanned {
        left: unplanned.left - before.left,
        unread: unplanned.unread - before.unread,
    });
    let mut journal = journal.map_err(fault)?;
    carry_out(root, &mut journal, work)
}

/// Was the plan with these options done before? If so, says it.
pub(super) fn was_done(earlier: &[PathBuf], options: &str, work: &Work<'_>) -> bool {
    let journals = earlier
        .iter()
        .rev()
        .filter(|_| arguments::is_of_a_plan(options));
    let mut journals = journals.filter_map(|path| Journal::open(path).ok());
    let done = journals.find(|journal| {
        journal.state().status == Status::Finished && journal.header.options == options
    });
    if let Some(journal) = &done {
        let State {
            unplanned, left, ..
        } = journal.state();
        plan_text::print_done_already(&journal.path, unplanned, left);
        let mut counters = work.counters.lock();
        counters.add_unplanned(unplanned);
        counters.failed += left;
    }
    done.is_some()
}

/// Goes on with what was begun. Returns the path of a new journal; `None` if there is nothing more to plan.
fn go_on(
    root: &Root,
    JournalPaths { earlier, free }: JournalPaths,
    options: &str,
    work: &Work<'_>,
) -> Result<Option<PathBuf>, CommandError> {
    let Some(last) = earlier.last() else {
        return Ok(free);
    };
    let name = Quoted::of(last);
    let fault = |error: JournalError| {
        CommandError::failure(format!("the journal {name} cannot be resumed: {error}"))
    };
    let mut journal = Journal::open(last).map_err(fault)?;
    let is_the_same = arguments::is_of_a_plan(options) && journal.header.options == options;
    let State {
        status, unplanned, ..
    } = journal.state();
    match status {
        Status::Pending => {
            print_note(&format!(
                "going on with the migration that {name} is the journal of{}",
                plan_text::left_when_planned(unplanned)
            ));
            carry_out(root, &mut journal, work)?;
            let free = free.filter(|_| !is_the_same);
            // Planned anew just so, it would be counted twice.
            if free.is_none() || journal.header.options != options {
                work.counters.lock().add_unplanned(unplanned);
            }
            Ok(free)
        }
        Status::Finished | Status::Undone => {
            drop(journal);
            if was_done(&earlier, options, work) {
                return Ok(None);
            }
            free.map(Some).ok_or_else(|| {
                CommandError::failure(format!("the journal {name} is there already"))
                    .hint("give another name: a journal is never overwritten")
            })
        }
        Status::Undoing => Err(CommandError::failure(format!(
            "undoing the migration that {name} is the journal of was begun"
        ))
        .hint(format!(
            "complete it: utf8fs undo --apply {}",
            ShellWord::of(last)
        ))),
    }
}

/// Does what a journal says, and prints how to go on or back.
fn carry_out(root: &Root, journal: &mut Journal, work: &Work<'_>) -> Result<(), CommandError> {
    {
        let mut counters = work.counters.lock();
        counters.begun += 1;
        counters.all = journal.steps();
    }
    let outcome = apply(&root.fd, journal, work.threads, work).map_err(failure(root))?;
    let done = outcome.done + outcome.before;
    work.counters.lock().done = done;
    let to_go_on = outcome
        .is_stopped
        .then_some("to go on, give the same command again");
    let path = ShellWord::of(&journal.path);
    let to_go_back = (done > 0).then(|| format!("to go back: utf8fs undo --apply {path}"));
    let ways: Vec<&str> = to_go_on.into_iter().chain(to_go_back.as_deref()).collect();
    if !ways.is_empty() {
        print_note(&ways.join("; "));
    }
    Ok(())
}

pub(super) fn failure(root: &Root) -> impl Fn(JournalError) -> CommandError {
    let path = Quoted(root.bytes());
    move |error| CommandError::failure(format!("{path} cannot be migrated: {error}"))
}

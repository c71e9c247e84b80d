//! A migration that is done: into a journal first, then by it. A plan that was written, perhaps edited, is done just so, or
//! checked.

use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::roots::{self, Root};
use super::work::Work;
use super::{arguments, earlier_rest};
use crate::cli::args::MigrateArgs;
use crate::cli::error::journal_fault;
use crate::cli::output::print_note;
use crate::cli::{CommandError, Doing, cannot_be};
use crate::names::{Quoted, ShellWord};
use crate::tree::apply::{Observer, apply};
use crate::tree::plan::plan_reader::{self, PlanError};
use crate::tree::plan::{DirectoryPlan, PlannedLinks, PlannedNames};
use crate::tree::tree_lock::TreeLock;
use crate::tree::tree_walk::threads;
use crate::tree::undo_journal::{Draft, Journal, JournalError, JournalPaths, Status, Unplanned};

/// Plans each tree, and does it.
pub(super) fn by_options(work: &Work<'_>) -> Result<(), CommandError> {
    for root in &work.roots {
        refuse_missing(root, work.args)?;
    }
    for root in work.roots.iter().take_while(|_| !work.is_over()) {
        migrate(root, work, |draft| {
            let own = draft.metadata().ok();
            work.plan(root, own.as_ref(), |plan| work.add(root, plan, Some(draft)))
        })?;
    }
    Ok(())
}

/// Refuses a tree of which an entry was given that is missing, unless a migration that was stopped or killed is gone on with: the
/// entry has its new name then.
fn refuse_missing(root: &Root, args: &MigrateArgs) -> Result<(), CommandError> {
    let Some(missing) = &root.missing else {
        return Ok(());
    };
    let last = journals(root, args)?.earlier.pop();
    let journal = last.and_then(|last| Journal::open(&last).ok());
    match journal.is_some_and(|journal| journal.state().status == Status::Pending) {
        true => Ok(()),
        false => Err(roots::fault(missing)(Errno::NOENT.into())),
    }
}

/// Has `fill` put what is to be done in a tree into a journal, and does it. A migration that was stopped or killed before is
/// gone on with first.
fn migrate(
    root: &Root,
    work: &Work<'_>,
    fill: impl FnOnce(&Draft) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let fault = failure(root);
    let _lock = TreeLock::take(&root.fd).map_err(&fault)?;
    let free = go_on(root, work)?;
    let Some(path) = free.filter(|_| !work.is_over()) else {
        return Ok(());
    };
    let directory = path.parent().filter(|_| work.args.journal.is_none());
    if let Some(directory) = directory {
        std::fs::create_dir_all(directory).map_err(|error| {
            let place = format!("{}, where journals are kept,", Quoted::of(directory));
            CommandError::failure(cannot_be("made", place, &error))
                .hint("give another place by --journal FILE")
        })?;
    }
    let draft =
        Draft::create(&path, &root.fd, root.path.as_bytes(), &work.header).map_err(&fault)?;
    let before = work.counters.lock().unplanned();
    fill(&draft)?;
    // Until it is committed nothing is done: an empty or unfinished one is dropped.
    if draft.steps() == 0 || work.is_over() {
        return Ok(());
    }
    let unplanned = work.counters.lock().unplanned();
    let journal = draft.commit(Unplanned {
        left: unplanned.left - before.left,
        unread: unplanned.unread - before.unread,
    });
    carry_out(root, &mut journal.map_err(fault)?, work)
}

/// Finds the journals of a tree.
fn journals(root: &Root, args: &MigrateArgs) -> Result<JournalPaths, CommandError> {
    let found = match &args.journal {
        Some(journal) => JournalPaths::only(journal),
        None => JournalPaths::usual(root.path.as_path()),
    };
    found.doing(&format!("find the journals of {}", root.path))
}

/// Was the plan done before? If so, says it.
fn was_done(root: &Root, work: &Work<'_>) -> Result<bool, CommandError> {
    let done = journals(root, work.args)?.finished(&work.header);
    if let Some(journal) = &done {
        let state = journal.state();
        let but = earlier_rest(", but", state.unplanned, state.left);
        let name = Quoted::of(&journal.path);
        print_note(&format!(
            "this plan has already been applied{but}; its journal is {name}"
        ));
        if !but.is_empty() {
            print_note("make a new plan for that, or undo this one: then it can be applied again");
        }
        let mut counters = work.counters.lock();
        counters.add_unplanned(state.unplanned);
        counters.failed += state.left;
    }
    Ok(done.is_some())
}

/// Goes on with what was begun. Returns the path of a new journal; `None` if there is nothing more to plan.
fn go_on(root: &Root, work: &Work<'_>) -> Result<Option<PathBuf>, CommandError> {
    let JournalPaths { earlier, free } = journals(root, work.args)?;
    let Some(last) = earlier.last() else {
        return free.map(Some).ok_or_else(|| {
            CommandError::failure("there is no place for the journal: HOME is not set")
                .hint("give one by --journal FILE")
        });
    };
    let is_by_plan = arguments::plan_to_read(work.args).is_some();
    let mut journal = Journal::open(last).map_err(|error| journal_fault(last, &error))?;
    let state = journal.state();
    match state.status {
        Status::Pending => {
            let left = earlier_rest("; when it was planned", state.unplanned, 0);
            let name = Quoted::of(last);
            print_note(&format!(
                "going on with the migration that {name} is the journal of{left}"
            ));
            carry_out(root, &mut journal, work)?;
            let is_the_same = journal.header.options == work.header;
            let is_all = work.args.journal.is_some() || is_by_plan && is_the_same;
            // Planned anew just so, it would be counted twice.
            if is_all || !is_the_same {
                work.counters.lock().add_unplanned(state.unplanned);
            }
            Ok(free.filter(|_| !is_all))
        }
        Status::Finished | Status::Undone => {
            drop(journal);
            let is_all = is_by_plan && was_done(root, work)?;
            Ok(free.filter(|_| !is_all))
        }
        Status::Undoing => Err(journal_fault(last, &JournalError::Undone)),
    }
}

/// Does what a journal says, and prints how to go on or back.
fn carry_out(root: &Root, journal: &mut Journal, work: &Work<'_>) -> Result<(), CommandError> {
    work.counters.lock().all = journal.jobs.steps;
    let outcome = apply(&root.fd, journal, threads(), work).map_err(failure(root))?;
    let done = outcome.done + outcome.before;
    work.counters.lock().done += done;
    let mut ways = Vec::new();
    if outcome.is_stopped {
        ways.push("to go on, give the same command again".to_owned());
    }
    if done > 0 {
        let path = ShellWord::of(&journal.path);
        ways.push(format!("to go back: utf8fs undo --apply {path}"));
    }
    if !ways.is_empty() {
        print_note(&ways.join("; "));
    }
    Ok(())
}

pub(super) fn failure(root: &Root) -> impl Fn(JournalError) -> CommandError {
    let path = &root.path;
    move |error| CommandError::failure(format!("{path} cannot be migrated: {error}"))
}

/// Reads a plan to its end before anything is done: one wrong line, and nothing is. Returns its trees, and what the journal says
/// of the options.
pub(super) fn trees_of_plan(
    plan: &Path,
    args: &MigrateArgs,
) -> Result<(Vec<Root>, String), CommandError> {
    let refused = refused(plan);
    let mut reader = plan_reader::open(plan).map_err(&refused)?;
    let mut roots = Vec::new();
    while let Some(header) = reader.tree().map_err(&refused)? {
        roots.push(roots::open(header.root.as_path(), args.view)?);
    }
    if roots.is_empty() {
        return Err(CommandError::usage("the plan is about no directory"));
    }
    let is_given = args.paths.is_empty() || {
        let given = roots::open_all(args)?;
        let has = |root: &Root| given.iter().any(|given| given.path == root.path);
        given.len() == roots.len() && roots.iter().all(has)
    };
    if !is_given {
        let roots = roots.iter().map(|root| root.path.to_string());
        let roots: Vec<String> = roots.collect();
        return Err(CommandError::usage(format!(
            "the plan is about {}, and not about what was given",
            roots.join(" and ")
        ))
        .hint("leave the directories out"));
    }
    Ok((roots, format!("--plan {}", reader.hash())))
}

fn refused(plan: &Path) -> impl Fn(PlanError) -> CommandError {
    let name = format!("the plan {}", Quoted::of(plan));
    move |error| match error {
        PlanError::Line { line, what } => CommandError::usage(format!(
            "{name} is refused, nothing was done: line {line}: {what}"
        )),
        PlanError::Io(error) => CommandError::usage(cannot_be("read", &name, &error))
            .hint("to write one, give --from CHARSET or --from auto as well"),
    }
}

/// Does what a plan says, or says what it would do.
pub(super) fn by_plan(plan: &Path, work: &Work<'_>) -> Result<(), CommandError> {
    let refused = refused(plan);
    let mut reader = plan_reader::open(plan).map_err(&refused)?;
    // All names of a tree are read before the first directory is done: links in any directory may lead to them.
    let mut reader_of_names = plan_reader::open(plan).map_err(&refused)?;
    for root in work.roots.iter().take_while(|_| !work.is_over()) {
        reader.tree().map_err(&refused)?;
        reader_of_names.tree().map_err(&refused)?;
        let mut links = PlannedLinks::default();
        let mut take = |plan: &DirectoryPlan, draft: Option<&Draft>| {
            work.count(plan);
            if draft.is_none() {
                links.add(plan);
            }
            work.add(root, plan, draft)
        };
        let mut fill = |draft: Option<&Draft>| {
            let mut names = PlannedNames::default();
            while let Some(plan) = reader_of_names.directory().map_err(&refused)? {
                names.add(&plan);
            }
            let following = names.links(&root.fd, work);
            let mut following = following.doing(&format!("read {}", root.path))?;
            while !work.is_over()
                && let Some(mut plan) = reader.directory().map_err(&refused)?
            {
                following.add_to(&mut plan);
                take(&plan, draft)?;
            }
            for plan in following.into_rest().take_while(|_| !work.is_over()) {
                take(&plan, draft)?;
            }
            Ok(())
        };
        if work.args.apply {
            migrate(root, work, |draft| fill(Some(draft)))?;
        } else if !was_done(root, work)? {
            JournalError::refuse_read_only(&root.fd).map_err(failure(root))?;
            fill(None)?;
            for link in links.astray(&root.fd, root.path.as_bytes()) {
                work.print_failed(&link, "would lead elsewhere or nowhere");
            }
        }
    }
    Ok(())
}

//! A migration that is done: into a journal first, then by it. A plan that was written, perhaps edited, is done just so, or
//! checked.

use std::path::PathBuf;

use rustix::io::Errno;

use super::earlier_rest;
use super::plan_file::PlanFile;
use super::roots::{self, Root};
use super::work::{MigrationRequest, Work};
use crate::backing::{if_there, reason};
use crate::cli::args::MigrateArgs;
use crate::cli::error::journal_fault;
use crate::cli::output::{print_note, print_warning};
use crate::cli::{CommandError, Doing, cannot_be};
use crate::names::{Quoted, ShellWord};
use crate::records::{JournalOrigin, Unplanned};
use crate::tree::apply::apply;
use crate::tree::plan::{DirectoryPlan, PlannedLinks, PlannedNames};
use crate::tree::tree_identity::identity_of;
use crate::tree::tree_lock::TreeLock;
use crate::tree::tree_walk::threads;
use crate::tree::undo_journal::{
    Draft, Journal, JournalError, JournalFile, JournalPart, JournalRegister, JournalRequest,
    KnownJournal, Status,
};

/// Plans each tree, and does it.
pub(super) fn by_options(work: &Work<'_>) -> Result<(), CommandError> {
    for root in &work.roots {
        refuse_missing(root, work.args)?;
    }
    for root in work.roots.iter().take_while(|_| !work.has_to_stop()) {
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
    let last = earlier_journals(root, args)?.pop();
    let journal = last.and_then(|last| Journal::open(&last, JournalPart::AllSound).ok());
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
    let Some(path) = free.filter(|_| !work.has_to_stop()) else {
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
    let after = known_journals(root)?.last().map(|last| last.header.created);
    let request = JournalRequest {
        tree: root.path.as_bytes(),
        options: &work.request.options,
        origin: work.request.origin,
        digest: work.request.digest.clone(),
        to: root.to,
        after,
    };
    let draft = Draft::create(&path, &root.fd, &request).map_err(&fault)?;
    let before = work.counters.lock().unplanned();
    fill(&draft)?;
    // Until it is committed nothing is done: an empty or unfinished one is dropped.
    if draft.steps() == 0 || work.has_to_stop() {
        return Ok(());
    }
    let unplanned = work.counters.lock().unplanned();
    let journal = draft.commit(Unplanned {
        left: unplanned.left - before.left,
        unread: unplanned.unread - before.unread,
    });
    let mut journal = journal.map_err(fault)?;
    enter(&journal);
    carry_out(root, &mut journal, work)
}

/// Enters a journal into the register. It can be used without, by its path.
fn enter(journal: &Journal) {
    if let Err(error) = JournalRegister::usual().record(journal) {
        let (name, why) = (Quoted::of(&journal.path), reason(&error));
        print_warning(&format!(
            "the journal {name} cannot be registered, and 'utf8fs undo' will not list it: {why}"
        ));
    }
}

/// Returns the journals of a tree that the register knows, the oldest first.
fn known_journals(root: &Root) -> Result<Vec<KnownJournal>, CommandError> {
    let doing = format!("find the journals of {}", root.path);
    let tree = identity_of(&root.fd).doing(&doing)?;
    JournalRegister::usual().of_tree(&tree).doing(&doing)
}

/// Returns the paths of the journals of earlier migrations of a tree, the oldest first: those that the register knows, or the one
/// that was given.
fn earlier_journals(root: &Root, args: &MigrateArgs) -> Result<Vec<PathBuf>, CommandError> {
    if let Some(journal) = &args.journal {
        let is_there = if_there(journal.symlink_metadata())
            .doing(&format!("find the journals of {}", root.path))?
            .is_some();
        return Ok(Vec::from_iter(is_there.then(|| journal.clone())));
    }
    let known = known_journals(root)?.into_iter();
    let migrations = known.filter(|known| {
        known.file != JournalFile::Missing && known.header.origin != JournalOrigin::Guard
    });
    Ok(migrations.map(|known| known.path).collect())
}

/// Opens the journal of a finished migration of a tree by the same plan, the last one first.
fn finished_journal(root: &Root, work: &Work<'_>) -> Result<Option<Journal>, CommandError> {
    let paths = earlier_journals(root, work.args)?.into_iter().rev();
    let mut journals = paths.filter_map(|path| Journal::open(&path, JournalPart::AllSound).ok());
    Ok(journals
        .find(|journal| journal.state().status == Status::Finished && is_of_request(journal, work)))
}

/// Was the journal made for the same plan or options?
fn is_of_request(journal: &Journal, work: &Work<'_>) -> bool {
    let header = &journal.header;
    (header.origin, &header.digest) == (work.request.origin, &work.request.digest)
}

/// Was the plan done before? If so, says it.
fn was_done(root: &Root, work: &Work<'_>) -> Result<bool, CommandError> {
    let done = finished_journal(root, work)?;
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
    let earlier = earlier_journals(root, work.args)?;
    let Some(last) = earlier.last() else {
        return new_path(root, work.args).map(Some);
    };
    let is_by_plan = work.plan_file.is_some();
    let opened = Journal::open(last, JournalPart::AllSound);
    let mut journal = opened.map_err(|error| journal_fault(last, &error))?;
    let state = journal.state();
    let is_all = match state.status {
        Status::Pending => {
            let left = earlier_rest("; when it was planned", state.unplanned, 0);
            let name = Quoted::of(last);
            print_note(&format!(
                "going on with the migration that {name} is the journal of{left}"
            ));
            // A killed run may not have come to it.
            enter(&journal);
            carry_out(root, &mut journal, work)?;
            let is_the_same = is_of_request(&journal, work);
            let is_all = work.args.journal.is_some() || is_by_plan && is_the_same;
            // Planned anew just so, it would be counted twice.
            if is_all || !is_the_same {
                work.counters.lock().add_unplanned(state.unplanned);
            }
            is_all
        }
        Status::Finished | Status::Undone => {
            drop(journal);
            is_by_plan && was_done(root, work)?
        }
        Status::Undoing => return Err(journal_fault(last, &JournalError::Undone)),
    };
    match is_all {
        true => Ok(None),
        false => new_path(root, work.args).map(Some),
    }
}

/// Returns the path of a new journal.
fn new_path(root: &Root, args: &MigrateArgs) -> Result<PathBuf, CommandError> {
    let usual = || JournalRegister::usual().new_path(root.path.as_path());
    let path = args.journal.clone().or_else(usual);
    path.ok_or_else(|| {
        CommandError::failure("there is no place for the journal: HOME is not set")
            .hint("give one by --journal FILE")
    })
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
    plan: &PlanFile,
    args: &MigrateArgs,
) -> Result<(Vec<Root>, MigrationRequest), CommandError> {
    let mut reader = plan.reader()?;
    let mut roots = Vec::new();
    while let Some(header) = reader.tree().map_err(|error| plan.refusal(error))? {
        let root = roots::open(header.root.as_path(), args.view)?;
        roots.push(Root {
            to: header.to,
            ..root
        });
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
    let request = MigrationRequest {
        options: "--plan FILE".to_owned(),
        origin: JournalOrigin::Plan,
        digest: reader.hash(),
    };
    Ok((roots, request))
}

/// Does what a plan says, or says what it would do.
pub(super) fn by_plan(plan: &PlanFile, work: &Work<'_>) -> Result<(), CommandError> {
    let refused = |error| plan.refusal(error);
    let mut reader = plan.reader()?;
    // All names of a tree are read before the first directory is done: links in any directory may lead to them.
    let mut reader_of_names = plan.reader()?;
    for root in work.roots.iter().take_while(|_| !work.has_to_stop()) {
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
            while !work.has_to_stop()
                && let Some(mut plan) = reader.directory().map_err(&refused)?
            {
                following.add_to(&mut plan);
                take(&plan, draft)?;
            }
            for plan in following.into_rest().take_while(|_| !work.has_to_stop()) {
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

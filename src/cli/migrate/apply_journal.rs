//! A migration that is done: into a journal first, then by it.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::journal_path::{Journals, is_there};
use super::roots::Root;
use super::work::{Work, quoted};
use super::{arguments, plan_text};
use crate::cli::CliError;
use crate::cli::args::MigrateArgs;
use crate::cli::output::print_note;
use crate::names::{Quoted, ShellWord};
use crate::tree::apply::{Observer, Progress, apply};
use crate::tree::change::join_path;
use crate::tree::plan::{DirectoryPlan, Filter, PlanOptions, PlanSink};
use crate::tree::tree_lock::TreeLock;
use crate::tree::tree_walk::Place;
use crate::tree::undo_journal::{Draft, Header, Journal, JournalError, Skipped, Status, Unplanned};

/// Plans each tree, and does it.
pub(super) fn run(
    args: &MigrateArgs,
    roots: &[Root],
    plan_options: &PlanOptions,
    filter: &Filter,
    work: &Work,
) -> Result<(), CliError> {
    if args.journal.is_some() && roots.len() > 1 {
        return Err(CliError::usage("--journal is for one directory")
            .hint("migrate them one by one, or leave it out"));
    }
    for root in roots {
        let options = arguments::typed(args);
        migrate(root, args.journal.as_deref(), options, work, |draft| {
            // It may lie in the tree.
            let mut filter = filter.clone();
            filter.own.extend(draft.file_id().ok());
            let drafting = Drafting {
                draft,
                work,
                fault: Mutex::new(None),
            };
            work.plan(root, plan_options, &filter, &drafting)?;
            let fault = drafting.fault.into_inner();
            fault
                .unwrap_or_else(PoisonError::into_inner)
                .map_or(Ok(()), Err)
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
    journal: Option<&Path>,
    options: String,
    work: &Work,
    fill: impl FnOnce(&Draft) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let fault = |error: JournalError| failure(root, &error);
    let journals = Journals::of(root, journal)?;
    let _lock = TreeLock::take(&root.fd).map_err(fault)?;
    let Some(path) = go_on(root, &journals, &options, work)? else {
        return Ok(());
    };
    if work.stop.is_asked() {
        return Ok(());
    }
    let header = Header {
        root: root.bytes().to_vec(),
        options,
    };
    let draft = Draft::create(&path, &root.fd, &header).map_err(fault)?;
    let before = work.counters.unplanned();
    fill(&draft)?;
    // Until it is committed nothing is done: an empty or unfinished one is dropped.
    if draft.steps() == 0 || work.stop.is_asked() {
        return Ok(());
    }
    let unplanned = work.counters.unplanned();
    draft.leave(Unplanned {
        left: unplanned.left - before.left,
        unread: unplanned.unread - before.unread,
    });
    let mut journal = draft.commit().map_err(fault)?;
    carry_out(root, &mut journal, work)
}

/// Goes on with what was begun. Returns the path of a new journal; `None` if there is nothing more to plan.
fn go_on(
    root: &Root,
    journals: &Journals,
    options: &str,
    work: &Work,
) -> Result<Option<PathBuf>, CliError> {
    let mut last: Option<PathBuf> = None;
    let mut free = None;
    for number in 1.. {
        match journals.get(number) {
            Some(path) if is_there(&path)? => last = Some(path),
            path => {
                free = path;
                break;
            }
        }
    }
    let Some(last) = last else {
        return Ok(free);
    };
    let octets = last.as_os_str().as_bytes();
    let name = quoted(&last);
    let fault = |error: JournalError| {
        CliError::failure(format!("the journal {name} cannot be resumed: {error}"))
    };
    let mut journal = Journal::open(&last).map_err(fault)?;
    let is_the_same = arguments::is_of_a_plan(options) && journal.header().options == options;
    match journal.status() {
        Status::Pending => {
            let unplanned = journal.unplanned();
            print_note(&format!(
                "going on with the migration that {name} is the journal of{}",
                plan_text::left_when_planned(unplanned)
            ));
            carry_out(root, &mut journal, work)?;
            let free = free.filter(|_| !is_the_same);
            // Planned anew just so, it would be counted twice.
            if free.is_none() || journal.header().options != options {
                work.counters.add_unplanned(unplanned);
            }
            Ok(free)
        }
        Status::Finished if is_the_same => {
            let mut unplanned = journal.unplanned();
            unplanned.left += journal.left();
            plan_text::print_done_already(&name, unplanned);
            work.counters.add_unplanned(unplanned);
            Ok(None)
        }
        Status::Finished | Status::Undone => match free {
            Some(free) => Ok(Some(free)),
            None => Err(
                CliError::failure(format!("the journal {name} is there already"))
                    .hint("give another name: a journal is never overwritten"),
            ),
        },
        Status::Undoing => Err(CliError::failure(format!(
            "undoing the migration that {name} is the journal of was begun"
        ))
        .hint(format!(
            "complete it: utf8fs undo --apply {}",
            ShellWord(octets)
        ))),
    }
}

/// Does what a journal says, and prints how to go on or back.
fn carry_out(root: &Root, journal: &mut Journal, work: &Work) -> Result<(), CliError> {
    work.counters.begun.add(1);
    work.counters.all.set(journal.steps());
    let outcome = apply(&root.fd, journal, work.threads, &Watcher(work));
    let outcome = outcome.map_err(|error| failure(root, &error))?;
    work.counters.done.set(outcome.done + outcome.before);
    let path = ShellWord(journal.path().as_os_str().as_bytes());
    print_note(&match outcome.is_stopped {
        true => {
            format!("to go on, give the same command again; to go back: utf8fs undo --apply {path}")
        }
        false => format!("to go back: utf8fs undo --apply {path}"),
    });
    Ok(())
}

fn failure(root: &Root, error: &JournalError) -> CliError {
    CliError::failure(format!(
        "{} cannot be migrated: {error}",
        Quoted(root.bytes())
    ))
}

/// Puts what was planned into a journal.
struct Drafting<'d> {
    draft: &'d Draft,
    work: &'d Work,
    fault: Mutex<Option<CliError>>,
}

impl Drafting<'_> {
    fn fault(&self) -> MutexGuard<'_, Option<CliError>> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PlanSink for Drafting<'_> {
    fn take(&self, plan: &DirectoryPlan) {
        if let Err(error) = self.work.add(plan, self.draft) {
            self.fault().get_or_insert(error);
        }
    }

    fn failed(&self, place: &Place, error: &io::Error) {
        self.work.unread(&place.path(), error);
    }

    fn is_over(&self) -> bool {
        self.work.stop.is_asked() || self.fault().is_some()
    }
}

struct Watcher<'w>(&'w Work);

impl Observer for Watcher<'_> {
    fn progress(&self, progress: &Progress<'_>) {
        let counters = &self.0.counters;
        let done = progress.steps.saturating_sub(counters.failed.get());
        counters.done.set(done);
        counters.all.set(progress.all);
        counters.enter(join_path(&**progress.directory));
    }

    fn skipped(&self, skipped: &Skipped) {
        self.0.skipped(skipped);
    }

    fn is_over(&self) -> bool {
        self.0.stop.is_asked()
    }
}

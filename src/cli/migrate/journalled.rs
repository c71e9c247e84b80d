//! Migrations that are done: into a journal first, then by it.

use std::fmt::Display;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::place::{Journals, is_there};
use super::{Root, Work, dry, text, wishes};
use crate::cli::CliError;
use crate::cli::args::MigrateArgs;
use crate::cli::output::{print_note, print_shared};
use crate::names::{Quoted, ShellWord};
use crate::tree::apply::{Progress, Watch, apply};
use crate::tree::journal::{Draft, Header, Journal, JournalError, Left, Rest, Status};
use crate::tree::lock::TreeLock;
use crate::tree::plan::{Filter, Planned, Taker, Wishes};
use crate::tree::step::TreePath;
use crate::tree::walk::Place;

/// Plans each tree, and does it.
pub(super) fn run(
    args: &MigrateArgs,
    roots: &[Root],
    wishes: &Wishes,
    filter: &Filter,
    work: &Work,
) -> Result<(), CliError> {
    if args.journal.is_some() && roots.len() > 1 {
        return Err(CliError::usage("--journal is for one directory")
            .hint("migrate them one by one, or leave it out"));
    }
    for root in roots {
        let options = wishes::typed(args);
        migrate(root, args.journal.as_deref(), options, work, |draft| {
            // It may lie in the tree.
            let mut filter = filter.clone();
            filter.own.extend(draft.file_id().ok());
            let drafting = Drafting {
                draft,
                work,
                fault: Mutex::new(None),
            };
            dry::plan(root, wishes, &filter, work, &drafting)?;
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
    let before = work.tally.rest();
    fill(&draft)?;
    // Until it is committed nothing is done: an empty or unfinished one is dropped.
    if draft.steps() == 0 || work.stop.is_asked() {
        return Ok(());
    }
    let rest = work.tally.rest();
    draft.leave(Rest {
        left: rest.left - before.left,
        unread: rest.unread - before.unread,
    });
    let mut journal = draft.commit().map_err(fault)?;
    carry_out(root, &mut journal, work)
}

/// Goes on with what was begun. Gives the path of a new journal; `None` if there is nothing more to plan.
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
    let name = Quoted(octets).to_string();
    let fault = |error: JournalError| {
        CliError::failure(format!(
            "the journal {name} cannot be gone on with: {error}"
        ))
    };
    let mut journal = Journal::open(&last).map_err(fault)?;
    let is_the_same = wishes::is_of_a_plan(options) && journal.header().options == options;
    match journal.status() {
        Status::Pending => {
            let rest = journal.rest();
            print_note(&format!(
                "going on with the migration that {name} is the journal of{}",
                text::left_when_planned(rest)
            ));
            carry_out(root, &mut journal, work)?;
            let free = free.filter(|_| !is_the_same);
            // Planned anew just so, it would be counted twice.
            if free.is_none() || journal.header().options != options {
                work.tally.add_rest(rest);
            }
            Ok(free)
        }
        Status::Finished if is_the_same => {
            let mut rest = journal.rest();
            rest.left += journal.left();
            text::done_already(&name, rest);
            work.tally.add_rest(rest);
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

/// Does what a journal says, and tells how to go on or back.
fn carry_out(root: &Root, journal: &mut Journal, work: &Work) -> Result<(), CliError> {
    work.tally.begun.add(1);
    work.tally.all.set(journal.steps());
    let outcome = apply(&root.fd, journal, work.threads, &Watcher(work));
    let outcome = outcome.map_err(|error| failure(root, &error))?;
    work.tally.done.set(outcome.done + outcome.before);
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

/// Tells of a step that is not done (law T3).
pub(super) fn not_done(work: &Work, directory: &TreePath, name: &[u8], why: &dyn Display) {
    work.tally.failed.add(1);
    let mut path = Vec::new();
    for name in directory {
        path = text::path(&path, name.as_bytes());
    }
    tell(&format!(
        "{} stays: {why}\n",
        Quoted(&text::path(&path, name))
    ));
}

/// One who has stopped reading misses it, and finds it in the exit status.
pub(super) fn tell(text: &str) {
    if let Err(error) = print_shared(text.as_bytes()) {
        print_note(&error.message);
    }
}

/// Puts what was planned into a journal.
struct Drafting<'d> {
    draft: &'d Draft,
    work: &'d Work,
    fault: Mutex<Option<CliError>>,
}

impl Drafting<'_> {
    fn fault(&self) -> std::sync::MutexGuard<'_, Option<CliError>> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taker for Drafting<'_> {
    fn take(&self, planned: &Planned<'_>) {
        dry::count(self.work, planned);
        if planned.lines.is_empty() {
            return;
        }
        let mut left = String::new();
        text::push_left(&mut left, planned);
        if !left.is_empty() {
            tell(&left);
        }
        let group = planned.group();
        if group.steps.is_empty() {
            return;
        }
        match self.draft.add(&group) {
            Ok(left) => {
                for Left {
                    directory,
                    name,
                    why,
                } in left
                {
                    not_done(self.work, &directory, name.as_bytes(), &why);
                }
            }
            Err(error) => {
                let error = CliError::failure(format!("{error}; nothing was changed"));
                self.fault().get_or_insert(error);
            }
        }
    }

    fn failed(&self, place: &Place, error: &io::Error) {
        dry::unread(self.work, place, error);
    }

    fn is_over(&self) -> bool {
        self.work.stop.is_asked() || self.fault().is_some()
    }
}

struct Watcher<'w>(&'w Work);

impl Watch for Watcher<'_> {
    fn progress(&self, progress: &Progress<'_>) {
        self.0
            .tally
            .done
            .set(progress.steps.saturating_sub(self.0.tally.failed.get()));
        self.0.tally.all.set(progress.all);
        let names: Vec<&[u8]> = progress
            .directory
            .iter()
            .map(|name| name.as_bytes())
            .collect();
        self.0.tally.at(names.join(&b'/'));
    }

    fn left(&self, left: &Left) {
        not_done(self.0, &left.directory, left.name.as_bytes(), &left.why);
    }

    fn is_over(&self) -> bool {
        self.0.stop.is_asked()
    }
}

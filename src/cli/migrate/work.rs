//! The state that all parts of a migration share.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;

use parking_lot::Mutex;

use super::apply::{failure, trees_of_plan};
use super::arguments;
use super::dry_run::directory_text;
use super::plan_file::PlanFile;
use super::roots::{self, Root};
use crate::cli::args::MigrateArgs;
use crate::cli::output::{Output, is_verbose, path_or_dot, print_warning, warn_of_lost_time};
use crate::cli::stop::Stop;
use crate::cli::{CommandError, Doing, cannot_be};
use crate::names::Quoted;
use crate::records::{JournalOrigin, Outcome, PlanLine, Unplanned};
use crate::tree::apply::Observer;
use crate::tree::change::{Job, TreePath, join_path};
use crate::tree::plan::planner::Planner;
use crate::tree::plan::{
    DirectoryPlan, DirectorySummary, Filter, PlanCounts, PlanObserver, PlanOptions,
};
use crate::tree::tree_walk::Place;
use crate::tree::undo_journal::{Draft, SkipReason, Skipped, sha256_of};

/// Most entries of a directory that are reported one by one, where the rest is not.
const FEW: usize = 5;

/// The state of a migration, which reports on it.
pub(super) struct Work<'w> {
    pub(super) args: &'w MigrateArgs,
    pub(super) roots: Vec<Root>,
    /// What was asked for, as plans and journals say it.
    pub(super) request: MigrationRequest,
    /// The plan that is read, if one is.
    pub(super) plan_file: Option<PlanFile>,
    pub(super) options: PlanOptions,
    pub(super) stop: Stop,
    pub(super) counters: Mutex<Counters>,
    /// The first error of acting on the plan, which ends planning.
    failure: Mutex<Option<CommandError>>,
    /// The plan that is written, or standard output.
    pub(super) out: Output,
}

/// What was asked for.
pub(super) struct MigrationRequest {
    /// The options, for people.
    pub(super) options: String,
    pub(super) origin: JournalOrigin,
    /// The SHA-256 of the plan, or of the options.
    pub(super) digest: String,
}

impl MigrationRequest {
    fn of_options(options: String) -> Self {
        Self {
            digest: sha256_of(options.as_bytes()),
            options,
            origin: JournalOrigin::Options,
        }
    }
}

/// The numbers of a migration.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) plan: PlanCounts,
    /// Steps that were done, and that failed.
    pub(super) done: u64,
    pub(super) failed: u64,
    /// Steps of the last journal that are over, of so many; none if no journal was begun.
    pub(super) passed: u64,
    pub(super) all: u64,
    /// The directory that was worked on last.
    pub(super) directory: Vec<u8>,
}

impl Counters {
    /// Returns how much was left and not read so far, before a journal is whole.
    pub(super) fn unplanned(&self) -> Unplanned {
        Unplanned {
            left: self.plan.rest.left + self.failed,
            ..self.plan.rest
        }
    }

    /// Counts what an earlier run left and did not read.
    pub(super) fn add_unplanned(&mut self, unplanned: Unplanned) {
        self.plan.rest.left += unplanned.left;
        self.plan.rest.unread += unplanned.unread;
    }
}

impl<'w> Work<'w> {
    pub(super) fn start(args: &'w MigrateArgs) -> Result<Self, CommandError> {
        let stop = Stop::watch()?;
        let plan_file = arguments::plan_to_read(args).map(PlanFile::open);
        let plan_file = plan_file.transpose()?;
        let (roots, request) = match &plan_file {
            Some(plan) => trees_of_plan(plan, args)?,
            None => {
                let typed = arguments::typed(args);
                (roots::open_all(args)?, MigrationRequest::of_options(typed))
            }
        };
        if args.journal.is_some() && roots.len() > 1 {
            return Err(CommandError::usage("--journal is for one directory")
                .hint("migrate them one by one, or leave it out"));
        }
        let options = arguments::plan_options(args)?;
        let out = match arguments::plan_to_write(args) {
            Some(path) => {
                let created = File::create_new(path).map_err(|error| {
                    let plan = format!("the plan {}", Quoted::of(path));
                    CommandError::usage(cannot_be("written", plan, &error)).hint(
                        "give a name that is not there yet; to do what a plan says, give --apply",
                    )
                });
                Output::to("the plan", Ok(created?.into()))
            }
            None => Output::stdout(),
        };
        Ok(Self {
            args,
            roots,
            request,
            plan_file,
            options,
            stop,
            counters: Mutex::default(),
            failure: Mutex::default(),
            out,
        })
    }

    /// Plans a tree, and has `take` act on each directory in which something changes or is amiss, until that fails. `own` is our
    /// file, which may lie in the tree.
    pub(super) fn plan(
        &self,
        root: &Root,
        own: Option<&Metadata>,
        take: impl Fn(&DirectoryPlan) -> Result<(), CommandError> + Sync,
    ) -> Result<(), CommandError> {
        let filter = Filter {
            own: own.map(|own| (own.dev(), own.ino())),
            ..root.filter.clone()
        };
        let planner = Planner {
            root: &root.fd,
            options: &self.options,
            filter: &filter,
        };
        let planned = planner.plan(self, &|plan| {
            self.count(plan);
            if !plan.lines.is_empty()
                && let Err(error) = take(plan)
            {
                self.failure.lock().get_or_insert(error);
            }
        });
        planned.doing(&format!("read {}", root.path))?;
        self.failure.lock().take().map_or(Ok(()), Err)
    }

    /// Counts what was planned.
    pub(super) fn count(&self, plan: &DirectoryPlan) {
        let mut counters = self.counters.lock();
        counters.plan.add(plan);
        if !plan.lines.is_empty() {
            counters.directory = plan.path();
        }
    }

    /// Puts into a journal what can still be done of a plan, or only checks it without one. Reports the entries that the plan leaves,
    /// a few by name, many by reason (a check with --verbose reports all), and what cannot be done.
    pub(super) fn add(
        &self,
        root: &Root,
        plan: &DirectoryPlan,
        draft: Option<&Draft>,
    ) -> Result<(), CommandError> {
        let mut left = plan.lines.iter().filter(|line| line.is_left());
        let text = if left.nth(FEW).is_some() && !is_verbose() {
            let path = plan.path();
            let name = Quoted(path_or_dot(&path)).to_string();
            directory_text(&DirectorySummary::of(plan, PlanLine::is_left), &name)
        } else {
            let is_all = draft.is_none() && is_verbose();
            plan.text(|line| is_all || line.is_left())
        };
        self.print(&text);
        let skipped = match draft {
            Some(draft) => draft.add(plan).map_err(failure(root))?,
            None => Job::of(&root.fd, plan).1,
        };
        let lines = plan.lines.iter().take_while(|_| !skipped.is_empty());
        let numbers: HashMap<_, _> = lines.map(|line| (&line.old, line.number)).collect();
        for skipped in &skipped {
            let line = numbers.get(&skipped.name).filter(|line| **line > 0);
            let at = line.map(|line| format!(" (line {line} of the plan)"));
            let why = format!("stays: {}{}", skipped.reason, at.unwrap_or_default());
            self.print_failed(&skipped.path(), &why);
        }
        Ok(())
    }

    /// Reports a step that failed, or would fail, and why (law T3).
    pub(super) fn print_failed(&self, path: &[u8], why: &str) {
        self.counters.lock().failed += 1;
        self.print(&format!("{} {why}\n", Quoted(path)));
    }

    /// Returns true if it is to stop: by a signal, since nobody reads what it prints, or since acting on the plan has failed.
    pub(super) fn has_to_stop(&self) -> bool {
        let is_printed_in_vain = !self.args.apply && self.out.is_over();
        self.stop.signal().is_some() || is_printed_in_vain || self.failure.lock().is_some()
    }

    /// Prints lines to standard output. A reader who is gone misses them, and finds it in the exit status.
    fn print(&self, text: &str) {
        if self.args.json {
            text.lines().for_each(print_warning);
        } else {
            self.out.bytes(text.as_bytes());
            self.out.flush();
        }
    }
}

impl PlanObserver for Work<'_> {
    fn unread(&self, place: &Place, error: &io::Error) {
        self.counters.lock().plan.rest.unread += 1;
        let path = place.path();
        let path = Quoted(path_or_dot(&path));
        print_warning(&cannot_be("read", path, error));
    }

    fn left_out(&self, place: &Place) {
        let path = place.path();
        let path = Quoted(path_or_dot(&path));
        print_warning(&format!("{path} is left out: it is on another mount"));
    }

    fn is_over(&self) -> bool {
        self.has_to_stop()
    }
}

impl Observer for Work<'_> {
    fn progress(&self, outcome: Outcome, directory: &TreePath) {
        let mut counters = self.counters.lock();
        counters.passed = outcome.done + outcome.before + outcome.left;
        counters.directory = join_path(&**directory);
    }

    fn skipped(&self, skipped: &Skipped) {
        let what = if skipped.reason == SkipReason::Astray {
            "leads elsewhere or nowhere now"
        } else {
            "stays"
        };
        self.print_failed(&skipped.path(), &format!("{what}: {}", skipped.reason));
    }

    fn time_lost(&self, directory: &TreePath, errno: i32) {
        warn_of_lost_time(directory, errno);
    }

    fn is_over(&self) -> bool {
        self.has_to_stop()
    }
}

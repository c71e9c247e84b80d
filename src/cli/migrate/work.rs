//! The state that all parts of a migration share.

use std::collections::HashMap;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;

use parking_lot::Mutex;

use super::counters::Counters;
use super::plan_summary::DirectorySummary;
use super::roots::Root;
use super::{arguments, plan_text};
use crate::cli::args::MigrateArgs;
use crate::cli::output::{Output, is_verbose, path_or_dot, print_warning, warn_of_lost_time};
use crate::cli::stop::Stop;
use crate::cli::{CommandError, Doing, ExitCode, cannot_be};
use crate::names::Quoted;
use crate::records::{Outcome, PlanLine};
use crate::tree::apply::Observer;
use crate::tree::change::{Job, TreePath, join_path};
use crate::tree::plan::planner::Planner;
use crate::tree::plan::{DirectoryPlan, Filter, PlanOptions, PlanSink};
use crate::tree::tree_walk::Place;
use crate::tree::undo_journal::{Draft, SkipReason, Skipped};

/// Most entries of a directory that are reported one by one, where the rest is not.
const FEW: usize = 5;

/// The state of a migration.
pub(super) struct Work<'w> {
    pub(super) args: &'w MigrateArgs,
    pub(super) options: PlanOptions,
    filter: Filter,
    pub(super) stop: Stop,
    pub(super) counters: Mutex<Counters>,
    pub(super) threads: usize,
    /// Standard output, where it is not for the plan.
    out: Output,
}

impl<'w> Work<'w> {
    pub(super) fn start(args: &'w MigrateArgs) -> Result<Self, CommandError> {
        /// Most threads: beyond that the filesystem sets the speed.
        const MOST: usize = 8;
        let processors = std::thread::available_parallelism();
        Ok(Self {
            args,
            options: arguments::plan_options(args)?,
            filter: arguments::filter(args)?,
            stop: Stop::watch()?,
            counters: Mutex::default(),
            threads: processors.map_or(1, |count| count.get().min(MOST)),
            out: Output::stdout(),
        })
    }

    pub(super) fn exit(self) -> ExitCode {
        if let Err(error) = self.out.finish() {
            print_warning(&error.message);
        }
        let unplanned = self.counters.lock().unplanned();
        match self.stop.signal() {
            Some(signal) => ExitCode::Stopped(signal),
            None if unplanned.unread > 0 => ExitCode::Incomplete,
            None if unplanned.left > 0 => ExitCode::NotConforming,
            None => ExitCode::Ok,
        }
    }

    /// Plans a tree, and has `take` act on each directory in which something changes or is amiss, until that fails or returns
    /// false. `own` is our file, which may lie in the tree.
    pub(super) fn plan(
        &self,
        root: &Root,
        own: Option<&Metadata>,
        take: &(dyn Fn(&DirectoryPlan) -> Result<bool, CommandError> + Sync),
    ) -> Result<(), CommandError> {
        let filter = Filter {
            entries: root.entries.clone(),
            own: own.map(|own| (own.dev(), own.ino())),
            ..self.filter.clone()
        };
        let planner = Planner {
            root: &root.fd,
            options: &self.options,
            filter: &filter,
            threads: self.threads,
        };
        let sink = Sink {
            work: self,
            take,
            end: Mutex::default(),
        };
        let what = format!("read {}", Quoted(root.bytes()));
        planner.plan(&sink).doing(&what)?;
        sink.end.into_inner().unwrap_or(Ok(()))
    }

    /// Puts into a journal what can still be done of a plan, or only checks it without one. Reports what is left.
    pub(super) fn add(
        &self,
        root: &Root,
        plan: &DirectoryPlan,
        draft: Option<&Draft>,
    ) -> Result<(), CommandError> {
        self.print_plan(plan, draft.is_none());
        let skipped = match draft {
            Some(draft) => draft.add(plan),
            None => Ok(Job::of(&root.fd, plan).1),
        };
        let skipped = skipped
            .map_err(|error| CommandError::failure(format!("{error}; nothing was changed")))?;
        let lines = plan.lines.iter().filter(|line| line.number > 0);
        let numbers: HashMap<_, _> = lines
            .take_while(|_| !skipped.is_empty())
            .map(|line| (&line.old, line.number))
            .collect();
        for skipped in &skipped {
            let number = numbers.get(&skipped.name);
            let at = number.map(|number| format!(" (line {number} of the plan)"));
            self.print_skipped(skipped, &at.unwrap_or_default());
        }
        Ok(())
    }

    /// Reports an entry that was skipped (law T3), and where it stands.
    fn print_skipped(&self, skipped: &Skipped, at: &str) {
        self.counters.lock().failed += 1;
        let path = skipped.path();
        let (path, why) = (Quoted(&path), skipped.reason);
        let what = if why == SkipReason::Astray {
            "leads elsewhere or nowhere now"
        } else {
            "stays"
        };
        self.print(&format!("{path} {what}: {why}{at}\n"));
    }

    /// Reports links that a plan would lead elsewhere or nowhere.
    pub(super) fn print_astray(&self, links: &[Vec<u8>]) {
        for link in links {
            self.counters.lock().failed += 1;
            self.print(&format!(
                "{} would lead elsewhere or nowhere\n",
                Quoted(link)
            ));
        }
    }

    /// Reports the entries that a plan leaves: a few by name, many by reason. With --verbose a check reports all.
    fn print_plan(&self, plan: &DirectoryPlan, is_check: bool) {
        let mut text = String::new();
        let mut left = plan.lines.iter().filter(|line| line.is_left());
        if left.nth(FEW).is_some() && !is_verbose() {
            let path = plan.path();
            let name = Quoted(path_or_dot(&path)).to_string();
            DirectorySummary::of(plan, PlanLine::is_left).push(&mut text, &name);
        } else {
            let is_all = is_check && is_verbose();
            text = plan_text::lines(plan, |line| is_all || line.is_left());
        }
        if !text.is_empty() {
            self.print(&text);
        }
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

impl Observer for Work<'_> {
    fn progress(&self, outcome: Outcome, directory: &TreePath) {
        let mut counters = self.counters.lock();
        counters.done = outcome.done + outcome.before;
        counters.directory = join_path(&**directory);
    }

    fn skipped(&self, skipped: &Skipped) {
        self.print_skipped(skipped, "");
    }

    fn time_lost(&self, directory: &TreePath, errno: i32) {
        warn_of_lost_time(directory, errno);
    }

    fn is_over(&self) -> bool {
        self.stop.is_asked()
    }
}

/// The sink of a plan.
struct Sink<'s> {
    work: &'s Work<'s>,
    take: &'s (dyn Fn(&DirectoryPlan) -> Result<bool, CommandError> + Sync),
    /// The result, if it ended before its end.
    end: Mutex<Option<Result<(), CommandError>>>,
}

impl PlanSink for Sink<'_> {
    fn take(&self, plan: &DirectoryPlan) {
        self.work.counters.lock().add_planned(plan);
        if plan.lines.is_empty() {
            return;
        }
        let end = match (self.take)(plan) {
            Ok(true) => return,
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        self.end.lock().get_or_insert(end);
    }

    /// Reports a directory that could not be read.
    fn failed(&self, place: &Place, error: &io::Error) {
        self.work.counters.lock().rest.unread += 1;
        print_warning(&cannot_be(
            "read",
            Quoted(path_or_dot(&place.path())),
            error,
        ));
    }

    fn left_out(&self, place: &Place) {
        let path = place.path();
        let path = Quoted(path_or_dot(&path));
        print_warning(&format!("{path} is left out: it is on another mount"));
    }

    fn is_over(&self) -> bool {
        self.work.stop.is_asked() || self.end.lock().is_some()
    }
}

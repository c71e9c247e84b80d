//! The state that all parts of a migration share.

use std::fmt::Display;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::counters::Counters;
use super::plan_summary::DirectorySummary;
use super::plan_text;
use super::roots::Root;
use crate::cli::args::MigrateArgs;
use crate::cli::error::reason;
use crate::cli::output::{is_verbose, print_shared, print_warning};
use crate::cli::stop::Stop;
use crate::cli::{CliError, ExitCode};
use crate::names::Quoted;
use crate::records::{PlanLine, Reason};
use crate::tree::change::{Change, join_path};
use crate::tree::plan::planner::Planner;
use crate::tree::plan::{DirectoryPlan, Filter, PlanOptions, PlanSink};
use crate::tree::undo_journal::{Draft, Skipped};

/// Most entries of a directory that are reported one by one, where the rest is not.
const FEW: usize = 5;

/// The state of a migration.
pub(super) struct Work {
    pub(super) stop: Stop,
    pub(super) counters: Counters,
    pub(super) threads: usize,
    /// Is standard output for JSON alone?
    is_json: bool,
}

impl Work {
    pub(super) fn start(args: &MigrateArgs) -> Result<Self, CliError> {
        /// Most threads: beyond that the filesystem sets the speed.
        const MOST: usize = 8;
        let processors = std::thread::available_parallelism();
        Ok(Self {
            stop: Stop::watch()?,
            counters: Counters::default(),
            is_json: args.json,
            threads: processors.map_or(1, |count| count.get().min(MOST)),
        })
    }

    pub(super) fn exit(&self) -> ExitCode {
        let counters = &self.counters;
        match self.stop.signal() {
            Some(signal) => ExitCode::Stopped(signal),
            None if counters.unread.get() > 0 => ExitCode::Incomplete,
            None if counters.left.get() + counters.failed.get() > 0 => ExitCode::NotConforming,
            None => ExitCode::Ok,
        }
    }

    /// Plans a tree, and has the sink take it.
    pub(super) fn plan(
        &self,
        root: &Root,
        options: &PlanOptions,
        filter: &Filter,
        sink: &dyn PlanSink,
    ) -> Result<(), CliError> {
        let fault = |error: io::Error| {
            let path = Quoted(root.bytes());
            CliError::failure(format!("{path} cannot be read: {}", reason(&error)))
        };
        let filter = Filter {
            entries: root.entries.clone(),
            ..filter.clone()
        };
        let planner = Planner {
            roots: std::slice::from_ref(&root.fd),
            options,
            filter: &filter,
            threads: self.threads,
        };
        let guess = planner.guess(&|| self.stop.is_asked()).map_err(fault)?;
        planner.plan(&guess, sink).map_err(fault)
    }

    /// Counts what was planned.
    pub(super) fn count(&self, plan: &DirectoryPlan) {
        let counters = &self.counters;
        counters.directories.add(1);
        counters.entries.add_len(plan.entries);
        if plan.lines.is_empty() {
            return;
        }
        counters.enter(plan.path());
        for line in &plan.lines {
            let is_left = line.is_left();
            for (is_so, counter) in [
                (line.new.is_some(), &counters.renamed),
                (line.new_target.is_some(), &counters.retargeted),
                (line.same_as.is_some(), &counters.set_aside),
                (is_left, &counters.left),
                (is_left && line.reason == Reason::Control, &counters.control),
                (
                    is_left && line.reason == Reason::NoSpelling,
                    &counters.unspelled,
                ),
            ] {
                counter.add(is_so.into());
            }
        }
    }

    /// Counts what was planned, and puts into a journal what can still be done of it. Reports what is left.
    pub(super) fn add(&self, plan: &DirectoryPlan, draft: &Draft) -> Result<(), CliError> {
        self.count(plan);
        self.print_left(plan);
        let changes: Vec<Change> = plan.lines.iter().filter_map(Change::of).collect();
        if changes.is_empty() {
            return Ok(());
        }
        let skipped = draft.add(&plan.directory, plan.inode, changes);
        let skipped =
            skipped.map_err(|error| CliError::failure(format!("{error}; nothing was changed")))?;
        for skipped in &skipped {
            let path = join_path(skipped.directory.iter().chain([&skipped.name]));
            let line = plan.lines.iter().find(|line| line.old == skipped.name);
            match line.map_or(0, |line| line.number) {
                0 => self.not_done(&path, &skipped.reason),
                line => {
                    let why = format!("{} (line {line} of the plan)", skipped.reason);
                    self.not_done(&path, &why);
                }
            }
        }
        Ok(())
    }

    /// Reports a directory that could not be read.
    pub(super) fn unread(&self, path: &[u8], error: &io::Error) {
        self.counters.unread.add(1);
        let path = Quoted(if path.is_empty() { b"." } else { path });
        print_warning(&format!("{path} cannot be read: {}", reason(error)));
    }

    /// Reports an entry that was skipped (law T3).
    pub(super) fn skipped(&self, skipped: &Skipped) {
        let path = join_path(skipped.directory.iter().chain([&skipped.name]));
        self.not_done(&path, &skipped.reason);
    }

    /// Reports a step that is not done (law T3).
    pub(super) fn not_done(&self, path: &[u8], why: &dyn Display) {
        self.counters.failed.add(1);
        self.print(&format!("{} stays: {why}\n", Quoted(path)));
    }

    /// Reports the entries that a plan leaves: a few by name, many by reason.
    pub(super) fn print_left(&self, plan: &DirectoryPlan) {
        let mut left = String::new();
        let mut lines = plan.lines.iter().filter(|line| line.is_left());
        if lines.nth(FEW).is_some() && !is_verbose() {
            let path = plan.path();
            let name = Quoted(if path.is_empty() { b"." } else { &path });
            DirectorySummary::of(plan, PlanLine::is_left).push(&mut left, &name.to_string());
        } else {
            plan_text::push_left(&mut left, plan);
        }
        if !left.is_empty() {
            self.print(&left);
        }
    }

    /// Prints lines to standard output. A reader who is gone misses them, and finds it in the exit status.
    fn print(&self, text: &str) {
        if self.is_json {
            text.lines().for_each(print_warning);
        } else if let Err(error) = print_shared(text.as_bytes()) {
            print_warning(&error.message);
        }
    }
}

/// A path of the system, quoted.
pub(super) fn quoted(path: &Path) -> String {
    Quoted(path.as_os_str().as_bytes()).to_string()
}

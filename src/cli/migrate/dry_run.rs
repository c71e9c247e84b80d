//! A plan that is printed or written, and not done.

use std::fs::File;
use std::io::{self, IsTerminal, Write, stdout};
use std::mem;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::plan_summary::{DirectorySummary, PlanSummary};
use super::roots::Root;
use super::work::{Work, quoted};
use super::{arguments, plan_text};
use crate::cli::CliError;
use crate::cli::args::{MigrateArgs, PlanFormat};
use crate::cli::error::reason;
use crate::cli::output::{is_verbose, print_shared};
use crate::records::{PLAN_VERSION, PlanEnd, PlanHeader, PlanLine, json_line, push_json};
use crate::tree::plan::{DirectoryPlan, Filter, PlanOptions, PlanSink};
use crate::tree::tree_walk::Place;

/// Bytes that are gathered before they are written.
const GATHERED: usize = 256 * 1024;

/// Is the terminal in use for the plan itself?
pub(super) fn prints_to_a_terminal(args: &MigrateArgs) -> bool {
    let is_printed = !args.apply
        && args
            .plan
            .as_ref()
            .is_none_or(|plan| plan.as_os_str() == "-");
    is_printed && stdout().is_terminal()
}

/// Plans, and changes nothing (law T1).
pub(super) fn run(
    args: &MigrateArgs,
    roots: &[Root],
    options: &PlanOptions,
    filter: &Filter,
    work: &Work,
) -> Result<(), CliError> {
    let to = match &args.plan {
        None => To::Output,
        Some(plan) if plan.as_os_str() == "-" => To::Output,
        Some(plan) => {
            let name = quoted(plan);
            let file = File::create_new(plan).map_err(|error| {
                let fault = CliError::usage(format!(
                    "the plan {name} cannot be written: {}",
                    reason(&error)
                ));
                if error.kind() == io::ErrorKind::AlreadyExists {
                    fault.hint("remove it, or give another name; --apply does what it says")
                } else {
                    fault
                }
            })?;
            To::File(file)
        }
    };
    let format = match args.plan_format {
        None if args.plan.is_none() && !args.json && is_verbose() => Format::Names,
        None if args.plan.is_none() && !args.json => Format::Summary,
        format => Format::Plan(format.unwrap_or(PlanFormat::Json)),
    };
    let sink = Sink {
        to: Mutex::new((to, Vec::new())),
        format,
        summary: Mutex::default(),
        is_gone: AtomicBool::new(false),
        fault: Mutex::new(None),
        work,
    };
    let filter = &sink.but_for_itself(filter);
    let mut hides_names = false;
    for root in roots {
        if let Format::Plan(format) = format {
            let header = PlanHeader {
                version: PLAN_VERSION,
                root: root.bytes().to_vec().into(),
                options: arguments::typed(args),
            };
            sink.put_line(match format {
                PlanFormat::Json => json_line(&header),
                PlanFormat::Readable => header.readable(),
            });
        }
        work.plan(root, options, filter, &sink)?;
        hides_names |= sink.put_summary(root);
        if sink.is_over() {
            break;
        }
    }
    if hides_names {
        sink.put(b"--verbose lists all names\n");
    }
    if let Format::Plan(format) = format
        && !work.stop.is_asked()
    {
        let end = PlanEnd {
            version: PLAN_VERSION,
        };
        sink.put_line(match format {
            PlanFormat::Json => json_line(&end),
            PlanFormat::Readable => end.readable(),
        });
    }
    sink.finish(args.plan.as_deref().filter(|_| work.stop.is_asked()))
}

enum To {
    Output,
    File(File),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// The largest directories.
    Summary,
    /// A line for each entry, for people.
    Names,
    Plan(PlanFormat),
}

/// The sink of a plan that is printed or written.
struct Sink<'s> {
    /// And what is gathered for it.
    to: Mutex<(To, Vec<u8>)>,
    format: Format,
    /// The summary of the tree that is planned.
    summary: Mutex<PlanSummary>,
    /// Does nobody read any more?
    is_gone: AtomicBool,
    fault: Mutex<Option<CliError>>,
    work: &'s Work,
}

impl Sink<'_> {
    fn gathered(&self) -> MutexGuard<'_, (To, Vec<u8>)> {
        self.to.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn summary(&self) -> MutexGuard<'_, PlanSummary> {
        self.summary.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the summary of a tree, and starts that of the next one. Returns whether there are names that it does not show.
    fn put_summary(&self, root: &Root) -> bool {
        let summary = mem::take(&mut *self.summary());
        self.put(summary.text(root.bytes()).as_bytes());
        summary.hides_names()
    }

    fn put_line(&self, line: String) {
        self.put((line + "\n").as_bytes());
    }

    fn put(&self, text: &[u8]) {
        let mut gathered = self.gathered();
        gathered.1.extend_from_slice(text);
        if gathered.1.len() >= GATHERED {
            self.write(&mut gathered);
        }
    }

    fn write(&self, gathered: &mut (To, Vec<u8>)) {
        let (to, text) = gathered;
        let written = match to {
            To::Output => print_shared(text),
            To::File(file) => file.write_all(text).map(|()| true).map_err(|error| {
                CliError::failure(format!("the plan cannot be written: {}", reason(&error)))
            }),
        };
        text.clear();
        match written {
            Ok(true) => {}
            Ok(false) => self.is_gone.store(true, Ordering::Relaxed),
            Err(error) => {
                self.is_gone.store(true, Ordering::Relaxed);
                let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
                fault.get_or_insert(error);
            }
        }
    }

    /// The plan may lie in the tree.
    fn but_for_itself(&self, filter: &Filter) -> Filter {
        let mut filter = filter.clone();
        if let To::File(file) = &self.gathered().0 {
            let is = file.metadata().ok();
            filter.own.extend(is.map(|is| (is.dev(), is.ino())));
        }
        filter
    }

    /// `stopped` is a plan that has no end, which would be in the way of the next one.
    fn finish(self, stopped: Option<&Path>) -> Result<(), CliError> {
        self.write(&mut self.gathered());
        if let (Some(path), To::File(_)) = (stopped, &self.gathered().0) {
            // Should it stay, the next run says so.
            drop(std::fs::remove_file(path));
        }
        let fault = self
            .fault
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        fault.map_or(Ok(()), Err)
    }
}

impl PlanSink for Sink<'_> {
    fn take(&self, plan: &DirectoryPlan) {
        self.work.count(plan);
        if plan.lines.is_empty() {
            return;
        }
        match self.format {
            Format::Summary => {
                let directory = DirectorySummary::of(plan, |_| true);
                self.summary().add(plan.path(), directory);
            }
            Format::Names => {
                let mut text = String::with_capacity(plan.lines.len() * 160);
                plan_text::push_lines(&mut text, plan);
                self.put(text.as_bytes());
            }
            Format::Plan(PlanFormat::Readable) => {
                let head = plan.lines.iter().take(1).map(PlanLine::readable_directory);
                let text = head.chain(plan.lines.iter().map(PlanLine::readable));
                self.put(text.collect::<String>().as_bytes());
            }
            Format::Plan(PlanFormat::Json) => {
                let mut json = Vec::with_capacity(plan.lines.len() * 320);
                for line in &plan.lines {
                    push_json(&mut json, line);
                    json.push(b'\n');
                }
                self.put(&json);
            }
        }
    }

    fn failed(&self, place: &Place, error: &io::Error) {
        self.work.unread(&place.path(), error);
    }

    fn is_over(&self) -> bool {
        self.work.stop.is_asked() || self.is_gone.load(Ordering::Relaxed)
    }
}

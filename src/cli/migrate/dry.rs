//! Plans that are printed or written, and not done.

use std::fs::File;
use std::io::{self, IsTerminal, Write, stdout};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Root, Work, text, wishes};
use crate::cli::CliError;
use crate::cli::args::MigrateArgs;
use crate::cli::error::reason;
use crate::cli::output::{print_note, print_shared};
use crate::names::Quoted;
use crate::tree::plan::survey::Survey;
use crate::tree::plan::{Filter, Header, Line, Planned, Reason, Taker, Wishes, write};
use crate::tree::walk::Place;

/// So much is gathered before it is written.
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
    wishes: &Wishes,
    filter: &Filter,
    work: &Work,
) -> Result<(), CliError> {
    let (to, format) = match &args.plan {
        None => (To::Output, Format::Text),
        Some(plan) if plan.as_os_str() == "-" => (To::Output, Format::Plan),
        Some(plan) => {
            let name = Quoted(plan.as_os_str().as_bytes());
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
            (To::File(file), Format::Plan)
        }
    };
    let sink = Sink {
        to: Mutex::new((to, String::new())),
        format,
        is_gone: AtomicBool::new(false),
        fault: Mutex::new(None),
        work,
    };
    let filter = &sink.but_for_itself(filter);
    for root in roots {
        if sink.format == Format::Plan {
            let header = Header {
                root: root.bytes().to_vec(),
                options: wishes::typed(args),
            };
            sink.put(&format!("{}\n", header.line()));
        }
        plan(root, wishes, filter, work, &sink)?;
        if sink.is_over() {
            break;
        }
    }
    if sink.format == Format::Plan && !work.stop.is_asked() {
        let mut end = String::new();
        write::push_end(&mut end);
        sink.put(&end);
    }
    sink.finish(args.plan.as_deref().filter(|_| work.stop.is_asked()))
}

/// Plans a tree, and has it taken.
pub(super) fn plan(
    root: &Root,
    wishes: &Wishes,
    filter: &Filter,
    work: &Work,
    taker: &dyn Taker,
) -> Result<(), CliError> {
    let fault = |error: io::Error| {
        let path = Quoted(root.bytes());
        CliError::failure(format!("{path} cannot be read: {}", reason(&error)))
    };
    let survey = Survey {
        roots: std::slice::from_ref(&root.fd),
        wishes,
        filter,
        threads: work.threads,
    };
    let guess = survey.guess(&|| work.stop.is_asked()).map_err(fault)?;
    survey.plan(&guess, taker).map_err(fault)
}

/// Counts what was planned.
pub(super) fn count(work: &Work, planned: &Planned<'_>) {
    let tally = &work.tally;
    tally.directories.add(1);
    tally.entries.add_len(planned.entries);
    let count = |which: fn(&&Line) -> bool| planned.lines.iter().filter(which).count();
    if planned.lines.is_empty() {
        return;
    }
    tally.at(planned.place.path());
    tally.renamed.add_len(count(|line| line.new.is_some()));
    tally
        .retargeted
        .add_len(count(|line| line.new_target.is_some()));
    tally
        .set_aside
        .add_len(count(|line| line.same_as.is_some()));
    tally.left.add_len(count(|line| line.is_left()));
    tally
        .control
        .add_len(count(|line| line.reason == Reason::Control));
    tally
        .unspelled
        .add_len(count(|line| line.reason == Reason::NoSpelling));
}

/// Tells of a directory that could not be read.
pub(super) fn unread(work: &Work, place: &Place, error: &io::Error) {
    work.tally.unread.add(1);
    let path = place.path();
    let path = if path.is_empty() { b".".to_vec() } else { path };
    print_note(&format!(
        "{} cannot be read: {}",
        Quoted(&path),
        reason(error)
    ));
}

enum To {
    Output,
    File(File),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Text,
    Plan,
}

/// Where plans go.
struct Sink<'s> {
    /// And what is gathered for it.
    to: Mutex<(To, String)>,
    format: Format,
    /// Does nobody read any more?
    is_gone: AtomicBool,
    fault: Mutex<Option<CliError>>,
    work: &'s Work,
}

impl Sink<'_> {
    fn gathered(&self) -> MutexGuard<'_, (To, String)> {
        self.to.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, text: &str) {
        let mut gathered = self.gathered();
        gathered.1.push_str(text);
        if gathered.1.len() >= GATHERED {
            self.write(&mut gathered);
        }
    }

    fn write(&self, gathered: &mut (To, String)) {
        let (to, text) = gathered;
        let written = match to {
            To::Output => print_shared(text.as_bytes()),
            To::File(file) => file
                .write_all(text.as_bytes())
                .map(|()| true)
                .map_err(|error| {
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

impl Taker for Sink<'_> {
    fn take(&self, planned: &Planned<'_>) {
        count(self.work, planned);
        if planned.lines.is_empty() {
            return;
        }
        let mut text = String::with_capacity(planned.lines.len() * 160);
        match self.format {
            Format::Text => text::push_lines(&mut text, planned),
            Format::Plan => write::push_lines(&mut text, planned),
        }
        self.put(&text);
    }

    fn failed(&self, place: &Place, error: &io::Error) {
        unread(self.work, place, error);
    }

    fn is_over(&self) -> bool {
        self.work.stop.is_asked() || self.is_gone.load(Ordering::Relaxed)
    }
}

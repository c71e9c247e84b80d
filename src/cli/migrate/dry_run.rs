//! A plan that is printed or written, and not done.

use std::fs::File;
use std::io::{self, IsTerminal, stdout};
use std::path::Path;

use parking_lot::Mutex;

use super::plan_summary::{DirectorySummary, PlanSummary};
use super::roots::Root;
use super::work::Work;
use super::{arguments, plan_text};
use crate::cli::args::{MigrateArgs, PlanFormat};
use crate::cli::output::{Output, is_verbose};
use crate::cli::{CommandError, cannot_be};
use crate::names::Quoted;
use crate::records::{PLAN_VERSION, PlanEnd, PlanHeader, PlanLine, json_line};
use crate::tree::plan::DirectoryPlan;

/// Returns the file that the plan is written to; `None` for standard output.
fn file(args: &MigrateArgs) -> Option<&Path> {
    args.plan.as_deref().filter(|plan| plan.as_os_str() != "-")
}

/// Is the terminal in use for the plan itself?
pub(super) fn prints_to_a_terminal(args: &MigrateArgs) -> bool {
    !args.apply && file(args).is_none() && stdout().is_terminal()
}

/// Plans, and changes nothing (law T1).
pub(super) fn run(roots: &[Root], work: &Work<'_>) -> Result<(), CommandError> {
    let args = work.args;
    let path = file(args);
    let file = path.map(create).transpose()?;
    let own = file.as_ref().and_then(|file| file.metadata().ok());
    let format = match args.plan_format {
        None if args.plan.is_some() || args.json => Some(PlanFormat::Json),
        format => format,
    };
    let record = |json: String, readable: String| match format {
        None => String::new(),
        Some(PlanFormat::Json) => json + "\n",
        Some(PlanFormat::Readable) => readable + "\n",
    };
    let output = match file {
        Some(file) => Output::to("the plan", Ok(file.into())),
        None => Output::stdout(),
    };
    let mut hides_names = false;
    for root in roots {
        let header = PlanHeader {
            version: PLAN_VERSION,
            root: root.bytes().to_vec().into(),
            options: arguments::typed(args),
        };
        let header = record(json_line(&header), header.readable());
        output.bytes(header.as_bytes());
        let summary = Mutex::new(PlanSummary::default());
        work.plan(root, own.as_ref(), &|plan| {
            if format.is_none() && !is_verbose() {
                let directory = DirectorySummary::of(plan, |_| true);
                summary.lock().add(plan.path(), directory);
                return Ok(true);
            }
            output.bytes(text(plan, format).as_bytes());
            Ok(!output.is_over())
        })?;
        let summary = summary.into_inner();
        hides_names |= summary.hides_names();
        output.bytes(summary.text(root.bytes()).as_bytes());
        if output.is_over() || work.stop.is_asked() {
            break;
        }
    }
    if hides_names {
        output.line("--verbose lists all names");
    }
    if work.stop.is_asked() {
        // It has no end, and would be in the way of the next one. Should it stay, the next run says so.
        drop(path.map(std::fs::remove_file));
    } else {
        let end = PlanEnd {
            version: PLAN_VERSION,
        };
        output.bytes(record(json_line(&end), end.readable()).as_bytes());
    }
    output.finish()
}

fn create(path: &Path) -> Result<File, CommandError> {
    File::create_new(path).map_err(|error| {
        let plan = format!("the plan {}", Quoted::of(path));
        let fault = CommandError::usage(cannot_be("written", plan, &error));
        if error.kind() == io::ErrorKind::AlreadyExists {
            fault.hint("remove it, or give another name; --apply does what it says")
        } else {
            fault
        }
    })
}

/// Returns the lines of a directory: those of a plan, or for people.
fn text(plan: &DirectoryPlan, format: Option<PlanFormat>) -> String {
    let lines = plan.lines.iter();
    match format {
        None => plan_text::lines(plan, |_| true),
        Some(PlanFormat::Readable) => {
            let head = plan.lines.iter().take(1).map(PlanLine::readable_directory);
            head.chain(lines.map(PlanLine::readable)).collect()
        }
        Some(PlanFormat::Json) => lines.map(|line| json_line(line) + "\n").collect(),
    }
}

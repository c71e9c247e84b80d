//! A plan that is printed or written, and not done.

use parking_lot::Mutex;

use super::arguments;
use super::plan_summary::summary_text;
use super::work::Work;
use crate::cli::CommandError;
use crate::cli::output::is_verbose;
use crate::tree::apply::Observer;
use crate::tree::plan::{DirectorySummary, PlanFormat, PlanSummary};

/// Plans, and changes nothing (law T1).
pub(super) fn run(work: &Work<'_>) -> Result<(), CommandError> {
    let (args, out) = (work.args, &work.out);
    let is_json = args.plan.is_some() || args.json;
    let format = args.plan_format.or(is_json.then_some(PlanFormat::Json));
    let file = arguments::plan_to_write(args);
    let own = file.and_then(|file| file.metadata().ok());
    let mut hides_names = false;
    for root in work.roots.iter().take_while(|_| !work.is_over()) {
        let header = format.map(|format| format.header(root.bytes(), &work.header));
        out.bytes(header.unwrap_or_default().as_bytes());
        let summary = Mutex::new(PlanSummary::default());
        work.plan(root, own.as_ref(), |plan| {
            match format {
                Some(format) => out.bytes(format.directory(plan).as_bytes()),
                None if is_verbose() => out.bytes(plan.text(|_| true).as_bytes()),
                None => {
                    let directory = DirectorySummary::of(plan, |_| true);
                    summary.lock().add(plan.path(), directory);
                }
            }
            Ok(())
        })?;
        let summary = summary.into_inner();
        hides_names |= summary.hides_names();
        out.bytes(summary_text(&summary, root.bytes()).as_bytes());
    }
    if hides_names {
        out.line("--verbose lists all names");
    }
    if work.stop.signal().is_some() {
        // It has no end, and would be in the way of the next one. Should it stay, the next run says so.
        drop(file.map(std::fs::remove_file));
    } else if let Some(format) = format {
        out.bytes(format.end().as_bytes());
    }
    Ok(())
}

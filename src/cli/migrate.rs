//! `utf8fs migrate`: old names made UTF-8, for good.

mod apply_journal;
mod apply_plan;
mod arguments;
pub(super) mod convmv;
mod counters;
mod dry_run;
mod edit_plan;
mod journal_path;
mod plan_summary;
mod plan_text;
mod roots;
mod work;

use std::time::Duration;

use super::args::MigrateArgs;
use super::output::counted;
use super::progress::{inside, per_second, steps, with_progress};
use super::{CommandError, ExitCode, charset_map};
use counters::Counters;
use work::Work;

/// Plans, and does it if asked to.
///
/// # Errors
/// Wrong arguments, a plan that is refused, a tree or journal that cannot be worked on.
pub(super) fn run(args: &MigrateArgs) -> Result<ExitCode, CommandError> {
    arguments::check(args)?;
    if args.edit {
        return edit_plan::run(args);
    }
    let work = Work::start(args)?;
    let is_quiet = dry_run::prints_to_a_terminal(args);
    let line = |elapsed| progress_line(&work.counters.lock(), elapsed);
    if arguments::is_by_plan(args) {
        with_progress(args.progress, is_quiet, line, || apply_plan::run(&work))?;
    } else {
        let roots = roots::open_all(args)?;
        with_progress(args.progress, is_quiet, line, || match args.apply {
            true => apply_journal::run(&roots, &work),
            false => dry_run::run(&roots, &work),
        })?;
        let is_partial = args.only.is_some() || args.exclude.is_some();
        let is_whole = !is_partial && roots.iter().all(|root| root.entries.is_empty());
        // One that only went on with an earlier migration planned nothing.
        if is_whole && !work.stop.is_asked() && work.counters.lock().entries > 0 {
            charset_map::warn_of_unmatched(&work.options.charset_map);
        }
    }
    plan_text::print_summary(args, &work.counters.lock(), work.stop.is_asked())?;
    Ok(work.exit())
}

/// Returns how far it is, how fast, how much longer, and where.
fn progress_line(counters: &Counters, elapsed: Duration) -> String {
    let directory = &counters.directory;
    if counters.all > 0 {
        let done = counters.done + counters.failed;
        return steps(done, counters.all, elapsed, directory);
    }
    let rate = per_second(counters.entries, elapsed);
    let entries = counted(counters.entries, "entry");
    format!("planning: {entries}, {rate} a second{}", inside(directory))
}

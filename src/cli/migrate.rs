//! `utf8fs migrate`: old names made UTF-8, for good.

mod apply;
mod arguments;
pub(super) mod convmv;
mod dry_run;
mod edit_plan;
mod plan_text;
mod roots;
mod work;

use std::io::{IsTerminal, stdout};
use std::time::Duration;

use super::args::MigrateArgs;
use super::output::counted;
use super::progress::{inside, per_second, steps, with_progress};
use super::{CommandError, ExitCode, charset_map};
use work::{Counters, Work};

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
    let is_to_file = arguments::plan_to_write(args).is_some();
    let is_busy = !args.apply && !is_to_file && stdout().is_terminal();
    let line = |elapsed| progress_line(&work.counters.lock(), elapsed);
    with_progress(
        args.progress,
        is_busy,
        line,
        || match arguments::plan_to_read(args) {
            Some(plan) => apply::by_plan(plan, &work),
            None if args.apply => apply::by_options(&work),
            None => dry_run::run(&work),
        },
    )?;
    let signal = work.stop.signal();
    let counters = work.counters.into_inner();
    let is_whole = work.roots.iter().all(|root| root.filter.takes_all());
    // One that only went on with an earlier migration planned nothing.
    if is_whole && signal.is_none() && counters.plan.entries > 0 {
        charset_map::warn_of_unmatched(&work.options.charset_map);
    }
    let printed = work.out.finish();
    plan_text::print_summary(args, &counters, signal.is_some())?;
    printed?;
    let unplanned = counters.unplanned();
    Ok(match signal {
        Some(signal) => ExitCode::Stopped(signal),
        None if unplanned.unread > 0 => ExitCode::Incomplete,
        None if unplanned.left > 0 => ExitCode::NotConforming,
        None => ExitCode::Ok,
    })
}

/// Returns how far it is, how fast, how much longer, and where.
fn progress_line(counters: &Counters, elapsed: Duration) -> String {
    let directory = &counters.directory;
    if counters.all > 0 {
        return steps(counters.passed, counters.all, elapsed, directory);
    }
    let rate = per_second(counters.plan.entries, elapsed);
    let entries = counted(counters.plan.entries, "entry");
    format!("planning: {entries}, {rate} a second{}", inside(directory))
}

//! `utf8fs migrate`: old names made UTF-8, for good.

mod by_plan;
mod directories;
mod dry;
mod journalled;
mod place;
mod progress;
mod tally;
mod text;
mod wishes;

use super::args::MigrateArgs;
use super::progress::Progress;
use super::stop::Stop;
use super::{CliError, ExitCode};
use directories::Root;
use tally::Tally;

/// Plans, and does it if asked to.
///
/// # Errors
/// Wrong arguments, a plan that is refused, a tree or journal that cannot be worked on.
pub(super) fn run(args: &MigrateArgs) -> Result<ExitCode, CliError> {
    let is_by_plan = args.apply && args.plan.is_some();
    wishes::check(args, is_by_plan)?;
    let work = Work {
        stop: Stop::watch()?,
        tally: Tally::default(),
        threads: threads(),
    };
    let is_quiet = dry::prints_to_a_terminal(args);
    let progress = Progress::start(args.progress, is_quiet);
    let line = |elapsed| progress::line(&work.tally, elapsed);
    if is_by_plan {
        progress.during(line, || by_plan::run(args, &work))?;
    } else {
        let wishes = wishes::wishes(args)?;
        let filter = wishes::filter(args)?;
        let roots = directories::roots(&args.dirs, args.view)?;
        progress.during(line, || match args.apply {
            true => journalled::run(args, &roots, &wishes, &filter, &work),
            false => dry::run(args, &roots, &wishes, &filter, &work),
        })?;
    }
    text::summary(args, &work);
    Ok(work.exit())
}

/// What all parts of a migration share.
struct Work {
    stop: Stop,
    tally: Tally,
    threads: usize,
}

impl Work {
    fn exit(&self) -> ExitCode {
        match self.stop.signal() {
            Some(signal) => ExitCode::Stopped(signal),
            None if self.tally.unread.get() > 0 => ExitCode::Incomplete,
            None if self.tally.left.get() + self.tally.failed.get() > 0 => ExitCode::NotConforming,
            None => ExitCode::Ok,
        }
    }
}

/// As many threads as the machine has processors, up to a few: the rest is the filesystem's.
fn threads() -> usize {
    const MOST: usize = 8;
    std::thread::available_parallelism().map_or(1, |count| count.get().min(MOST))
}

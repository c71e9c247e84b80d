//! `utf8fs migrate`: old names made UTF-8, for good.

mod apply;
mod arguments;
pub(super) mod convmv;
mod dry_run;
mod edit_plan;
mod plan_file;
mod roots;
mod work;

use std::io::{IsTerminal, stdout};
use std::time::Duration;

use serde_json::json;

use super::args::MigrateArgs;
use super::output::{counted, left_as_is, print_lines, print_note};
use super::progress::{inside, per_second, steps, with_progress};
use super::{CommandError, ExitCode, charset_map};
use crate::policy::Profile;
use crate::records::{Unplanned, json_line};
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
    let task = || match &work.plan_file {
        Some(plan) => apply::by_plan(plan, &work),
        None if args.apply => apply::by_options(&work),
        None => dry_run::run(&work),
    };
    with_progress(args.progress, is_busy, line, task)?;
    let signal = work.stop.signal();
    let counters = work.counters.into_inner();
    let is_whole = work.roots.iter().all(|root| root.filter.takes_all());
    // One that only went on with an earlier migration planned nothing.
    if is_whole && signal.is_none() && counters.plan.entries > 0 {
        charset_map::warn_of_unmatched(&work.options.charset_map);
    }
    let printed = work.out.finish();
    print_summary(args, &counters, signal.is_some())?;
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

/// Returns the verb of a number of things to which something was done, or would be.
fn be(count: u64, is_done: bool) -> &'static str {
    match count {
        _ if !is_done => "would be",
        1 => "was",
        _ => "were",
    }
}

/// Returns what an earlier run left, and how many of its steps failed, after these words; nothing if there is none.
fn earlier_rest(words: &str, unplanned: Unplanned, failed: u64) -> String {
    let failed = (failed > 0).then(|| counted(failed, "step") + " failed");
    let mut parts = rest(unplanned, true);
    parts.extend(failed);
    match parts.as_slice() {
        [] => String::new(),
        parts => format!("{words} {}", parts.join(", and ")),
    }
}

/// Returns a part of a sentence for the entries, and one for the directories, for which there is no step.
fn rest(unplanned: Unplanned, is_done: bool) -> Vec<String> {
    let Unplanned { left, unread } = unplanned;
    let entries = (left > 0).then(|| {
        let (entries, be) = (counted(left, "entry"), be(left, is_done));
        format!("{entries} {be} {}", left_as_is(left))
    });
    let directories = counted(unread, "directory");
    let directories = (unread > 0).then(|| format!("{directories} could not be read"));
    entries.into_iter().chain(directories).collect()
}

/// Returns what was done to a number of things, or `would` be, for each number but 0.
fn numbers(rows: &[(u64, &str, &str)], would: &str) -> Vec<String> {
    let rows = rows.iter().filter(|(count, ..)| *count > 0);
    let words = rows.map(|(count, noun, done)| format!("{} {would}{done}", counted(*count, noun)));
    words.collect()
}

/// Prints the summary, on standard error; in JSON on standard output too.
fn print_summary(
    args: &MigrateArgs,
    counters: &Counters,
    is_stopped: bool,
) -> Result<(), CommandError> {
    let plan = counters.plan;
    if args.json {
        print_lines([json_line(&json!({
            "event": "total", "applied": args.apply, "stopped": is_stopped,
            "directories": plan.directories, "entries": plan.entries,
            "renamed": plan.renamed, "retargeted": plan.retargeted,
            "set_aside": plan.set_aside, "left": plan.rest.left, "unread": plan.rest.unread,
            "done": counters.done, "failed": counters.failed,
        }))])?;
    }
    let is_whole = !is_stopped && counters.failed == 0;
    let would = match (args.apply, is_whole) {
        (true, true) => "",
        (true, false) => "to be ",
        (false, _) => "would be ",
    };
    let planned = [
        (plan.renamed, "name", "changed"),
        (plan.retargeted, "link", "led to new names"),
        (plan.set_aside, "file", "set aside"),
    ];
    let mut parts = numbers(&planned, would);
    // Steps say more than names only if some are missing, or if nothing was planned anew.
    let in_steps = !args.apply || !is_whole || parts.is_empty();
    parts.extend(rest(plan.rest, args.apply));
    let of = match plan.entries {
        0 => String::new(),
        entries if arguments::plan_to_read(args).is_some() => {
            format!(", of {} of the plan", counted(entries, "line"))
        }
        entries => format!(", of {}", counted(entries, "entry")),
    };
    let failed = if args.apply { "failed" } else { "would fail" };
    let steps = [
        (counters.done, "step", "done"),
        (counters.failed, "step", failed),
    ];
    let mut steps = numbers(&steps, "");
    steps.retain(|_| in_steps);
    let what = match (parts.is_empty(), steps.is_empty()) {
        (true, true) => format!("nothing to do{of}"),
        (true, false) => String::new(),
        (false, _) => parts.join(", ") + &of,
    };
    let end = match (is_stopped, counters.all > 0) {
        (true, true) => "it was stopped",
        (true, false) => {
            "it was stopped while planning: nothing was changed, and the same command starts over"
        }
        (false, _) if args.apply => "",
        (false, _) => "nothing was changed",
    };
    let mut clauses = vec![what, steps.join(", "), end.to_owned()];
    clauses.retain(|clause| !clause.is_empty());
    print_note(&clauses.join("; "));
    if plan.control > 0 {
        let names = counted(plan.control, "name");
        let be = be(plan.control, args.apply);
        print_note(&format!(
            "{names} would get control characters and {be} left: another charset is likely right; --allow-control insists"
        ));
    }
    if args.profile == Some(Profile::Posix) && plan.unspelled > 0 {
        print_note(
            "--profile posix allows no % to spell with what it forbids: give such entries their names in a plan (--plan FILE)",
        );
    }
    Ok(())
}

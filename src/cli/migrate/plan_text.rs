//! The outcome of a migration, for people.

use serde_json::json;

use super::arguments;
use super::work::Counters;
use crate::cli::CommandError;
use crate::cli::args::MigrateArgs;
use crate::cli::output::{counted, left_as_is, print_lines, print_note};
use crate::policy::Profile;
use crate::records::json_line;
use crate::tree::undo_journal::Unplanned;

/// Returns the verb of a number of things to which something was done, or would be.
fn be(count: u64, is_done: bool) -> &'static str {
    match count {
        _ if !is_done => "would be",
        1 => "was",
        _ => "were",
    }
}

/// Returns what an earlier run left, and how many of its steps failed, after these words; nothing if there is none.
pub(super) fn earlier_rest(words: &str, unplanned: Unplanned, failed: u64) -> String {
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
pub(super) fn print_summary(
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

//! A plan and its outcome, for people.

use std::path::Path;

use serde_json::json;

use super::arguments;
use super::counters::Counters;
use crate::cli::CommandError;
use crate::cli::args::MigrateArgs;
use crate::cli::output::{counted, left_as_is, print_lines, print_note, quoted};
use crate::codec::Charset;
use crate::names::Quoted;
use crate::policy::Profile;
use crate::records::{PlanLine, Reason, describe, json_line, percent};
use crate::tree::change::join_path;
use crate::tree::plan::DirectoryPlan;
use crate::tree::undo_journal::Unplanned;

/// Most readings that are shown of a name that is left.
const SHOWN: usize = 2;

/// Returns a line for each entry of a directory that `has` takes.
pub(super) fn lines(plan: &DirectoryPlan, has: impl Fn(&PlanLine) -> bool) -> String {
    let mut text = String::with_capacity(plan.lines.len() * 160);
    for line in plan.lines.iter().filter(|line| has(line)) {
        let path = join_path(line.directory.iter().chain([&line.old]));
        let outcome = line.outcome();
        let between = match (line.is_left(), outcome.is_empty()) {
            (true, false) => "; ",
            (true, true) => " ",
            (false, _) => "  ",
        };
        text += &format!("{}{outcome}", Quoted(&path));
        if line.is_left() || line.reason != Reason::Target {
            text += between;
            text += &cause(line, line.confidence);
        }
        text += &candidates(line);
        text.push('\n');
    }
    text
}

/// Returns an entry and what becomes of it, without the cause.
pub(super) fn change(line: &PlanLine) -> String {
    let old = quoted(line.old.as_bytes());
    format!("{old}{}{}", line.outcome(), candidates(line))
}

/// Returns why an entry changes or stays, without its name.
pub(super) fn cause(line: &PlanLine, confidence: Option<f64>) -> String {
    // A person decided to leave the name, and is not warned.
    let is_by_person = line.is_left() && !line.reason.is_of_what_stays();
    let stays = line.what_stays();
    let mut text = stays.map_or_else(String::new, |stays| format!("{stays}: "));
    text += match is_by_person {
        true => "the plan leaves it",
        false => describe(line.reason),
    };
    if !line.is_left() && line.new.is_some() {
        text += &guess(line.charset, confidence);
    }
    if let Some(warning) = line.warning.filter(|_| !is_by_person) {
        text += &format!("; beware: {}", describe(warning));
    }
    text
}

fn candidates(line: &PlanLine) -> String {
    let candidates = line.candidates.iter().take(SHOWN);
    let candidates = candidates.filter(|_| line.is_left()).map(|candidate| {
        let name = Quoted(candidate.name.as_bytes());
        let guess = guess(candidate.charset, candidate.confidence);
        format!("; {name}?{guess}")
    });
    candidates.collect()
}

fn guess(charset: Option<Charset>, confidence: Option<f64>) -> String {
    let charset = charset.map(|charset| format!(" from {}", charset.label()));
    let confidence = confidence.map(|confidence| format!(" ({})", percent(confidence)));
    charset.into_iter().chain(confidence).collect()
}

/// Returns the verb of a number of things to which something was done, or would be.
fn be(count: u64, is_done: bool) -> &'static str {
    match count {
        _ if !is_done => "would be",
        1 => "was",
        _ => "were",
    }
}

/// Returns what planning left, as the end of a sentence; nothing if it left nothing.
pub(super) fn left_when_planned(unplanned: Unplanned) -> String {
    match rest(unplanned, true).join(", and ").as_str() {
        "" => String::new(),
        words => format!("; when it was planned {words}"),
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

/// Prints that a plan was done before, what of it was left, and how many steps failed.
pub(super) fn print_done_already(journal: &Path, unplanned: Unplanned, failed: u64) {
    let mut words = rest(unplanned, true);
    words.extend((failed > 0).then(|| counted(failed, "step") + " failed"));
    let but = match words.join(", and ").as_str() {
        "" => String::new(),
        words => format!(", but {words}"),
    };
    print_note(&format!(
        "this plan has already been applied{but}; its journal is {}",
        Quoted::of(journal)
    ));
    if !but.is_empty() {
        print_note("make a new plan for that, or undo this one: then it can be applied again");
    }
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
    if args.json {
        print_lines([json_line(&json!({
            "event": "total", "applied": args.apply, "stopped": is_stopped,
            "directories": counters.directories, "entries": counters.entries,
            "renamed": counters.renamed, "retargeted": counters.retargeted,
            "set_aside": counters.set_aside, "left": counters.rest.left, "unread": counters.rest.unread,
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
        (counters.renamed, "name", "changed"),
        (counters.retargeted, "link", "led to new names"),
        (counters.set_aside, "file", "set aside"),
    ];
    let mut parts = numbers(&planned, would);
    // Steps say more than names only if some are missing, or if nothing was planned anew.
    let in_steps = !args.apply || !is_whole || parts.is_empty();
    parts.extend(rest(counters.rest, args.apply));
    let of = match counters.entries {
        0 => String::new(),
        entries if arguments::is_by_plan(args) => {
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
    let end = match (is_stopped, args.apply && counters.begun > 0) {
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
    if counters.control > 0 {
        let names = counted(counters.control, "name");
        let be = be(counters.control, args.apply);
        print_note(&format!(
            "{names} would get control characters and {be} left: another charset is likely right; --allow-control insists"
        ));
    }
    if args.profile == Some(Profile::Posix) && counters.unspelled > 0 {
        print_note(
            "--profile posix allows no % to spell with what it forbids: give such entries their names in a plan (--plan FILE)",
        );
    }
    Ok(())
}

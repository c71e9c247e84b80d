//! A plan and its outcome, for people.

use std::fmt::Write;

use super::counters::Counters;
use serde_json::json;

use crate::cli::CliError;
use crate::cli::args::MigrateArgs;
use crate::cli::output::{counted, print_note, print_shared};
use crate::codec::Charset;
use crate::names::Quoted;
use crate::policy::Profile;
use crate::records::{PlanLine, Reason, json_line};
use crate::tree::change::join_path;
use crate::tree::plan::DirectoryPlan;
use crate::tree::undo_journal::Unplanned;

/// Most readings that are shown of a name that is left.
const SHOWN: usize = 2;

/// Appends a line for each entry.
pub(super) fn push_lines(text: &mut String, plan: &DirectoryPlan) {
    push_which(text, plan, |_| true);
}

/// Appends a line for each entry that is left.
pub(super) fn push_left(text: &mut String, plan: &DirectoryPlan) {
    push_which(text, plan, |line| line.is_left());
}

fn push_which(text: &mut String, plan: &DirectoryPlan, which: impl Fn(&&PlanLine) -> bool) {
    for line in plan.lines.iter().filter(which) {
        let path = join_path(plan.directory.iter().chain([&line.old]));
        push(text, format_args!("{}", Quoted(&path)));
        push_line(text, line);
        text.push('\n');
    }
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments)
        .expect("invariant: writing to a String never fails");
}

fn push_line(text: &mut String, line: &PlanLine) {
    push_new_name(text, line);
    if line.is_left() {
        let what = match &line.new {
            Some(_) => "; its target stays",
            None => " stays",
        };
        push(text, format_args!("{what}: {}", why(line)));
    } else {
        if line.reason != Reason::Target {
            push(text, format_args!("  {}", line.reason.describe()));
        }
        push_guess(text, line.charset, line.confidence);
    }
    push_warning(text, line);
    push_candidates(text, line);
}

/// Was it a person who decided to leave the name?
fn is_by_person(line: &PlanLine) -> bool {
    line.is_left() && !line.reason.is_of_what_stays()
}

fn why(line: &PlanLine) -> &'static str {
    match is_by_person(line) {
        true => "the plan leaves it",
        false => line.reason.describe(),
    }
}

fn push_warning(text: &mut String, line: &PlanLine) {
    // Of a name that a person decided to leave there is nothing to warn.
    if let Some(warning) = line.warning.filter(|_| !is_by_person(line)) {
        push(text, format_args!("; beware: {}", warning.describe()));
    }
}

/// Appends what becomes of an entry, without the cause.
pub(super) fn push_change(text: &mut String, line: &PlanLine) {
    push_new_name(text, line);
    push_candidates(text, line);
}

/// Returns why an entry changes or stays, without its name.
pub(super) fn cause(line: &PlanLine) -> String {
    let what = match (line.is_left(), &line.new) {
        (true, None) => "stays: ",
        (true, Some(_)) => "its target stays: ",
        (false, _) => "",
    };
    let mut text = format!("{what}{}", why(line));
    if !line.is_left() {
        push_guess(&mut text, line.charset, None);
    }
    push_warning(&mut text, line);
    text
}

fn push_new_name(text: &mut String, line: &PlanLine) {
    if let Some(new) = &line.new {
        push(text, format_args!(" -> {}", Quoted(new.as_bytes())));
    }
    if let Some(same_as) = &line.same_as {
        let same_as = Quoted(same_as.as_bytes());
        push(text, format_args!(" is set aside for {same_as}"));
    }
    if let (Some(target), Some(new)) = (&line.target, &line.new_target) {
        push(text, format_args!(" leads to {target} -> {new}"));
    }
}

fn push_candidates(text: &mut String, line: &PlanLine) {
    for candidate in line
        .candidates
        .iter()
        .take(SHOWN)
        .filter(|_| line.is_left())
    {
        let name = Quoted(candidate.name.as_bytes());
        push(text, format_args!("; {name}?"));
        push_guess(text, candidate.charset, candidate.confidence);
    }
}

fn push_guess(text: &mut String, charset: Option<Charset>, confidence: Option<f64>) {
    if let Some(charset) = charset {
        push(text, format_args!(" from {}", charset.label()));
    }
    if let Some(confidence) = confidence {
        push(text, format_args!(" ({})", percent(confidence)));
    }
}

/// Nothing is certain.
pub(super) fn percent(confidence: f64) -> String {
    format!("{:.0} %", (confidence * 100.0).clamp(0.0, 99.0))
}

/// Returns that entries stay, after their number.
fn left(count: u64, be: (&str, &str)) -> String {
    let as_is = match count {
        1 => "left as it is",
        _ => "left as they are",
    };
    let be = if count == 1 { be.0 } else { be.1 };
    format!("{} {be} {as_is}", counted(count, "entry", "entries"))
}

fn unread(count: u64) -> String {
    let directories = counted(count, "directory", "directories");
    format!("{directories} could not be read")
}

/// Returns what planning left, as the end of a sentence; nothing if it left nothing.
pub(super) fn left_when_planned(unplanned: Unplanned) -> String {
    let words = in_words(unplanned);
    match words.as_str() {
        "" => String::new(),
        words => format!("; when it was planned {words}"),
    }
}

fn in_words(unplanned: Unplanned) -> String {
    let left = (unplanned.left > 0).then(|| left(unplanned.left, ("was", "were")));
    let unread = (unplanned.unread > 0).then(|| unread(unplanned.unread));
    let words: Vec<String> = left.into_iter().chain(unread).collect();
    words.join(", and ")
}

/// Prints that a plan was done before, and what of it was left.
pub(super) fn print_done_already(journal: &str, unplanned: Unplanned) {
    let words = in_words(unplanned);
    if words.is_empty() {
        print_note(&format!(
            "this plan has already been applied; its journal is {journal}"
        ));
        return;
    }
    print_note(&format!(
        "this plan has already been applied, but {words}; its journal is {journal}"
    ));
    print_note("make a new plan for that, or take the journal away to have this one done again");
}

/// Prints the summary, on standard error; in JSON on standard output too.
pub(super) fn print_summary(
    args: &MigrateArgs,
    counters: &Counters,
    is_stopped: bool,
) -> Result<(), CliError> {
    if args.json {
        let line = json_line(&json!({
            "event": "total", "applied": args.apply, "stopped": is_stopped,
            "directories": counters.directories.get(), "entries": counters.entries.get(),
            "renamed": counters.renamed.get(), "retargeted": counters.retargeted.get(),
            "set_aside": counters.set_aside.get(), "left": counters.left.get(), "unread": counters.unread.get(),
            "done": counters.done.get(), "failed": counters.failed.get(),
        }));
        print_shared(format!("{line}\n").as_bytes())?;
    }
    let mut parts = Vec::new();
    let is_whole = !is_stopped && counters.failed.get() == 0;
    let (would, be) = match (args.apply, is_whole) {
        (true, true) => ("", ("was", "were")),
        (true, false) => ("to be ", ("was", "were")),
        (false, _) => ("would be ", ("would be", "would be")),
    };
    let mut part = |count: u64, one: &str, many: &str, what: String| {
        if count > 0 {
            parts.push(format!("{} {what}", counted(count, one, many)));
        }
    };
    part(
        counters.renamed.get(),
        "name",
        "names",
        format!("{would}changed"),
    );
    part(
        counters.retargeted.get(),
        "link",
        "links",
        format!("{would}led to new names"),
    );
    part(
        counters.set_aside.get(),
        "file",
        "files",
        format!("{would}set aside"),
    );
    // Steps say more than names only if some are missing, or if nothing was planned anew.
    let in_steps = args.apply && (!is_whole || parts.is_empty());
    let (stays, unreadable) = (counters.left.get(), counters.unread.get());
    if stays > 0 {
        parts.push(left(stays, be));
    }
    if unreadable > 0 {
        parts.push(unread(unreadable));
    }
    if in_steps {
        let mut steps = |count: u64, what: &str| {
            if count > 0 {
                parts.push(format!("{} {what}", counted(count, "step", "steps")));
            }
        };
        steps(counters.done.get(), "done");
        steps(counters.failed.get(), "not done");
    }
    if parts.is_empty() {
        parts.push("nothing to do".to_owned());
    }
    let entries = counted(counters.entries.get(), "entry", "entries");
    let of = match counters.entries.get() {
        0 => String::new(),
        _ => format!(", of {entries}"),
    };
    let rest = match (is_stopped, args.apply && counters.begun.get() > 0) {
        (true, true) => "; it was stopped",
        (true, false) => {
            "; it was stopped while planning: nothing was changed, and the same command starts over"
        }
        (false, _) if args.apply => "",
        (false, _) => "; nothing was changed",
    };
    print_note(&format!("{}{of}{rest}", parts.join(", ")));
    let control = counters.control.get();
    if control > 0 {
        let names = counted(control, "name", "names");
        let left = match (args.apply, control) {
            (false, _) => "would be left",
            (true, 1) => "was left",
            (true, _) => "were left",
        };
        print_note(&format!(
            "{names} would get control characters and {left}: another charset is likely right; --allow-control insists"
        ));
    }
    let is_posix = args.profile == Some(Profile::Posix);
    if is_posix && counters.unspelled.get() > 0 {
        print_note(
            "--profile posix allows no % to spell with what it forbids: give such entries their names in a plan (--plan FILE)",
        );
    }
    Ok(())
}

//! A plan and its outcome, for people.

use std::fmt::Write;

use super::Work;
use crate::cli::args::MigrateArgs;
use crate::cli::output::{counted, print_note};
use crate::names::{BackingName, Quoted};
use crate::policy::Profile;
use crate::tree::journal::Rest;
use crate::tree::plan::read::Rows;
use crate::tree::plan::{Candidate, Line, Planned, Reason, Warning};

/// How many readings are shown of a name that is left.
const SHOWN: usize = 2;

/// Appends a line for each entry.
pub(super) fn push_lines(text: &mut String, planned: &Planned<'_>) {
    push_which(text, planned, |_| true);
}

/// Appends a line for each entry that is left.
pub(super) fn push_left(text: &mut String, planned: &Planned<'_>) {
    push_which(text, planned, |line| line.is_left());
}

fn push_which(text: &mut String, planned: &Planned<'_>, which: impl Fn(&&Line) -> bool) {
    let directory = planned.place.path();
    for line in planned.lines.iter().filter(which) {
        let path = path(&directory, line.old.as_bytes());
        push(text, format_args!("{}", Quoted(&path)));
        push_line(text, line);
        text.push('\n');
    }
}

/// A path below the root of a tree.
pub(super) fn path(directory: &[u8], name: &[u8]) -> Vec<u8> {
    match directory {
        [] => name.to_vec(),
        directory => [directory, b"/", name].concat(),
    }
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments)
        .expect("invariant: writing to a String never fails");
}

fn push_line(text: &mut String, line: &Line) {
    if let Some(new) = &line.new {
        push(text, format_args!(" -> {}", Quoted(new.as_bytes())));
    }
    if let Some(same_as) = &line.same_as {
        push(
            text,
            format_args!(" is set aside for {}", Quoted(same_as.as_bytes())),
        );
    }
    if let (Some(target), Some(new)) = (&line.target, &line.new_target) {
        push(
            text,
            format_args!(" leads to {} -> {}", Quoted(target), Quoted(new)),
        );
    }
    if line.is_left() {
        let why = line.reason.describe();
        push_stays(
            text,
            line.new.is_some(),
            why,
            line.warning,
            &line.candidates,
        );
        return;
    }
    push_change(text, line);
    if let Some(warning) = line.warning {
        push(text, format_args!("; beware: {}", warning.describe()));
    }
}

/// Why it stays; if it gets a name all the same, why its target does.
fn push_stays(
    text: &mut String,
    has_name: bool,
    why: &str,
    warning: Option<Warning>,
    candidates: &[Candidate],
) {
    let what = if has_name {
        "; its target stays"
    } else {
        " stays"
    };
    push(text, format_args!("{what}: {why}"));
    if let Some(warning) = warning {
        push(text, format_args!("; beware: {}", warning.describe()));
    }
    for candidate in candidates.iter().take(SHOWN) {
        push_candidate(text, candidate);
    }
}

/// Appends a line for each entry that a plan leaves, with the words that it was planned with.
pub(super) fn push_left_by_plan(text: &mut String, rows: &Rows) {
    let names: Vec<&[u8]> = rows.directory.iter().map(BackingName::as_bytes).collect();
    let directory = names.join(&b'/');
    for row in &rows.rows {
        let Some(stays) = &row.stays else { continue };
        let path = path(&directory, row.old.as_bytes());
        push(text, format_args!("{}", Quoted(&path)));
        if let Some(new) = &row.new {
            push(text, format_args!(" -> {}", Quoted(new.as_bytes())));
        }
        let why = stays.reason.map_or("the plan leaves it", Reason::describe);
        push_stays(
            text,
            row.new.is_some(),
            why,
            stays.warning,
            &stays.candidates,
        );
        text.push('\n');
    }
}

/// Why it changes, and by which reading.
fn push_change(text: &mut String, line: &Line) {
    if line.reason != Reason::Target {
        push(text, format_args!("  {}", line.reason.describe()));
    }
    if let Some(charset) = line.charset {
        push(text, format_args!(" from {}", charset.label()));
    }
    if let Some(confidence) = line.confidence {
        push(text, format_args!(" ({})", percent(confidence)));
    }
}

fn push_candidate(text: &mut String, candidate: &Candidate) {
    push(
        text,
        format_args!("; {}?", Quoted(candidate.name.as_bytes())),
    );
    if let Some(charset) = candidate.charset {
        push(text, format_args!(" from {}", charset.label()));
    }
    if let Some(confidence) = candidate.confidence {
        push(text, format_args!(" ({})", percent(confidence)));
    }
}

/// Nothing is certain.
fn percent(confidence: f64) -> String {
    format!("{:.0} %", (confidence * 100.0).clamp(0.0, 99.0))
}

/// That entries stay, after their number.
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

/// What planning left, behind what is told of its migration; nothing if it left nothing.
pub(super) fn left_when_planned(rest: Rest) -> String {
    let told = rest_told(rest);
    match told.as_str() {
        "" => String::new(),
        told => format!("; when it was planned {told}"),
    }
}

fn rest_told(rest: Rest) -> String {
    let left = (rest.left > 0).then(|| left(rest.left, ("was", "were")));
    let unread = (rest.unread > 0).then(|| unread(rest.unread));
    let told: Vec<String> = left.into_iter().chain(unread).collect();
    told.join(", and ")
}

/// Tells that a plan was done before, and what of it was left.
pub(super) fn done_already(journal: &str, rest: Rest) {
    let told = rest_told(rest);
    if told.is_empty() {
        print_note(&format!(
            "this plan was done already; its journal is {journal}"
        ));
        return;
    }
    print_note(&format!(
        "this plan was done already, but {told}; its journal is {journal}"
    ));
    print_note("make a new plan for that, or take the journal away to have this one done again");
}

/// Tells what came of it, on standard error.
pub(super) fn summary(args: &MigrateArgs, work: &Work) {
    let tally = &work.tally;
    let mut parts = Vec::new();
    let (would, be) = match args.apply {
        true => ("to be", ("was", "were")),
        false => ("would be", ("would be", "would be")),
    };
    let mut part = |count: u64, one: &str, many: &str, what: String| {
        if count > 0 {
            parts.push(format!("{} {what}", counted(count, one, many)));
        }
    };
    part(
        tally.renamed.get(),
        "name",
        "names",
        format!("{would} changed"),
    );
    part(
        tally.retargeted.get(),
        "link",
        "links",
        format!("{would} led to new names"),
    );
    part(
        tally.set_aside.get(),
        "file",
        "files",
        format!("{would} set aside"),
    );
    let (stays, unreadable) = (tally.left.get(), tally.unread.get());
    if stays > 0 {
        parts.push(left(stays, be));
    }
    if unreadable > 0 {
        parts.push(unread(unreadable));
    }
    if args.apply {
        let mut steps = |count: u64, what: &str| {
            if count > 0 {
                parts.push(format!("{} {what}", counted(count, "step", "steps")));
            }
        };
        steps(tally.done.get(), "done");
        steps(tally.failed.get(), "not done");
    }
    if parts.is_empty() {
        parts.push("nothing to do".to_owned());
    }
    let entries = counted(tally.entries.get(), "entry", "entries");
    let of = match tally.entries.get() {
        0 => String::new(),
        _ => format!(", of {entries}"),
    };
    let rest = match (work.stop.is_asked(), args.apply && tally.begun.get() > 0) {
        (true, true) => "; it was stopped",
        (true, false) => {
            "; it was stopped while planning: nothing was changed, and the same command begins anew"
        }
        (false, _) if args.apply => "",
        (false, _) => "; nothing was changed",
    };
    print_note(&format!("{}{of}{rest}", parts.join(", ")));
    let control = tally.control.get();
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
    let is_posix = args
        .profile
        .is_some_and(|profile| profile.0 == Profile::Posix);
    if is_posix && tally.unspelled.get() > 0 {
        print_note(
            "--profile posix allows no % to spell with what it forbids: give such entries their names in a plan (--plan FILE)",
        );
    }
}

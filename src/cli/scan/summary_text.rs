//! The summary of a scan, for people.

use crate::cli::guess_report::{doubled_line, guess_lines};
use crate::cli::output::{counted, grouped, is_verbose, number_row, path_or_dot, quoted};
use crate::codec::guess::likely;
use crate::codec::{Charset, Malformed};
use crate::records::{Finding, KindLabel, Name, ScanEntry};
use crate::tree::scan::ScanDone;

/// Directories that are printed.
const WORST: usize = 10;

/// Names that are shown of each kind of finding.
const SAMPLES: usize = 3;

/// Left-out directories that are shown.
const LEFT_OUT: usize = 5;

/// Returns a kind of a finding, in words.
pub(super) fn described(finding: Finding, kind: KindLabel) -> String {
    match (finding, kind.0) {
        (Finding::IllFormed, kind) => {
            let what = kind.parse().map_or(kind, Malformed::describe);
            format!("ill-formed UTF-8: {what}")
        }
        (Finding::TooLong, "bytes") => "too long, in bytes".to_owned(),
        (Finding::TooLong, "chars") => "too long, in characters".to_owned(),
        (Finding::TooLong, kind) => format!("too long, in {kind} units"),
        (Finding::Forbidden, kind) => format!("forbidden: {kind}"),
        (Finding::NotNormalized, kind) => format!("not in {}", kind.to_ascii_uppercase()),
        (Finding::DoublyEncoded, kind) => {
            format!("likely UTF-8 taken for {kind} and encoded again")
        }
        (Finding::CollidesInCase, _) => "differs from a sibling in case alone".to_owned(),
        (Finding::CollidesInForm, _) => {
            "differs from a sibling in normalization form alone".to_owned()
        }
    }
}

/// Returns the summary, without the end of its last line.
pub(super) fn text(done: &ScanDone) -> String {
    let paragraphs = [
        head(done),
        findings(done, true),
        findings(done, false),
        guesses(done),
        worst(done),
        left_out(done),
        next(done),
    ];
    let paragraphs = paragraphs.into_iter().filter(|lines| !lines.is_empty());
    let paragraphs: Vec<String> = paragraphs.map(|lines| lines.join("\n")).collect();
    paragraphs.join("\n\n")
}

fn head(done: &ScanDone) -> Vec<String> {
    let tally = &done.scan.tally;
    let counts = &tally.counts;
    let roots = done.scan.roots.iter().map(|root| match root.as_bytes() {
        b"" => "the list".to_owned(),
        root => quoted(root),
    });
    let roots: Vec<String> = roots.collect();
    let mut lines = vec![format!(
        "{}: {} in {}",
        roots.join(", "),
        counted(counts.entries, "name"),
        counted(tally.directories, "directory"),
    )];
    let parts = [
        (counts.ascii, "ASCII"),
        (counts.beyond_ascii, "UTF-8 beyond ASCII"),
        (counts.ill_formed, "ill-formed UTF-8"),
    ];
    for (count, what) in parts {
        let share = match (count, counts.entries) {
            (0, _) | (_, 0) => String::new(),
            (count, all) if count == all => "100 %".to_owned(),
            (count, all) => {
                let tenths = u128::from(count) * 1000 / u128::from(all);
                format!("{}.{} %", tenths / 10, tenths % 10)
            }
        };
        lines.push(number_row(count, &format!("{share:>6}  {what}")));
    }
    if counts.offending == 0 {
        lines.push(String::new());
        lines.push("no name offends".to_owned());
    }
    lines
}

/// Returns the findings that are offences, or those that are none.
fn findings(done: &ScanDone, is_offence: bool) -> Vec<String> {
    let tally = &done.scan.tally;
    let mut kinds: Vec<_> = tally.kinds.iter().collect();
    kinds.retain(|((finding, _), _)| done.is_offence(*finding) == is_offence);
    if kinds.is_empty() {
        return Vec::new();
    }
    kinds.sort_by_key(|((finding, kind), count)| (*finding, std::cmp::Reverse(**count), *kind));
    let mut lines = vec![match (is_offence, tally.counts.offending) {
        (false, _) => "remarks: allowed by the options given".to_owned(),
        (true, 1) => "1 name offends".to_owned(),
        (true, count) => {
            let names = counted(count, "name");
            format!("{names} offend, some perhaps in several ways")
        }
    }];
    for (kind, count) in kinds {
        lines.push(number_row(*count, &described(kind.0, kind.1)));
        let most = if is_verbose() { usize::MAX } else { SAMPLES };
        let samples = tally.samples.get(kind).into_iter().flatten().take(most);
        lines.extend(samples.map(|sample| format!("                   {}", shown(&sample.entry))));
    }
    lines
}

fn shown(sample: &ScanEntry) -> String {
    let path = quoted(sample.path.as_bytes());
    match &sample.like {
        Some(like) => format!("{path}, like {}", quoted(like.as_bytes())),
        None => path,
    }
}

fn guesses(done: &ScanDone) -> Vec<String> {
    let charsets = &done.charsets;
    let mut lines = Vec::new();
    if !charsets.totals.is_empty() {
        lines = totals(done);
    } else if done.scan.tally.counts.ill_formed > 0 {
        lines.push(match likely(&charsets.guesses).next() {
            Some(_) => "the ill-formed names together are likely written in".to_owned(),
            None => "no charset on offer reads the ill-formed names".to_owned(),
        });
        lines.extend(likely(&charsets.guesses).flat_map(guess_lines));
    }
    if done.scan.tally.counts.found.doubly_encoded > 0
        && let Some(doubled) = done.scan.tally.guesser.doubled()
    {
        lines.push("names that are likely encoded twice would be".to_owned());
        lines.extend(doubled.examples.iter().take(SAMPLES).map(doubled_line));
    }
    lines
}

/// Returns the numbers of names and directories by charset.
fn totals(done: &ScanDone) -> Vec<String> {
    let totals = &done.charsets.totals;
    let mut lines = vec!["the ill-formed names mix charsets".to_owned()];
    for total in totals {
        let places = counted(total.directories, "directory");
        let label = match &total.charsets[..] {
            [] => "uncertain".to_owned(),
            [charset] => charset.label().to_owned(),
            charsets => format!("mixed: {}", labels(charsets)),
        };
        lines.push(number_row(total.names, &format!("{label} in {places}")));
        lines.extend(total.examples.iter().map(|example| {
            let text = example.text.as_ref().map_or(&b""[..], Name::as_bytes);
            let name = quoted(example.name.as_bytes());
            format!("                   {name}  {}", quoted(text))
        }));
    }
    let read: u64 = totals.iter().map(|total| total.names).sum();
    let rest = done.scan.tally.counts.ill_formed.saturating_sub(read);
    if rest > 0 {
        lines.push(number_row(rest, "in directories with fewer offences"));
    }
    lines
}

/// Returns the labels of some charsets.
pub(super) fn labels(charsets: &[Charset]) -> String {
    let labels: Vec<&str> = charsets.iter().map(|charset| charset.label()).collect();
    labels.join(", ")
}

/// Returns the commands to run next.
fn next(done: &ScanDone) -> Vec<String> {
    let head = (!done.next.is_empty()).then(|| "next".to_owned());
    let commands = done.next.iter().map(|command| format!("  {command}"));
    head.into_iter().chain(commands).collect()
}

fn worst(done: &ScanDone) -> Vec<String> {
    let mut offending: Vec<_> = done.scan.tally.worst.iter().collect();
    offending.retain(|directory| directory.counts.offending > 0);
    if offending.len() < 2 {
        return Vec::new();
    }
    let mut lines = vec!["directories with the most offences (own entries only)".to_owned()];
    for directory in offending.into_iter().take(WORST) {
        let path = quoted(path_or_dot(directory.path.as_bytes()));
        let charsets = match done.charsets.of_directory(directory) {
            [] => String::new(),
            [charset] => format!(", {}", charset.label()),
            charsets => format!(", mixes {}", labels(charsets)),
        };
        let of = grouped(directory.counts.entries);
        let what = format!("of {of}{charsets}  {path}");
        lines.push(number_row(directory.counts.offending, &what));
    }
    lines
}

fn left_out(done: &ScanDone) -> Vec<String> {
    let tally = &done.scan.tally;
    let mut lines = Vec::new();
    if tally.left_out.count > 0 {
        let directories = counted(tally.left_out.count, "directory");
        lines.push(format!(
            "{directories} on other mounts left out; --cross-mounts enters them"
        ));
        let shown = tally.left_out.first.iter().take(LEFT_OUT);
        lines.extend(shown.map(|failure| format!("  {}", quoted(failure.path.as_bytes()))));
    }
    let unread = tally.all_unread().count;
    if unread > 0 {
        let directories = counted(unread, "directory");
        lines.push(format!(
            "{directories} could not be read: the numbers are without"
        ));
    }
    lines
}

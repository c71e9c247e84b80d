//! The reports of all parts of a scan, made one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::scanner::Sink;
use crate::backing::reason;
use crate::names::Quoted;
use crate::records::{ScanLine, ScanPart};

/// Longest line that is read; that of a part is some ten megabytes at most.
const LONGEST: u64 = 1 << 28;

/// Makes one report of those of all parts. `sink` gets the lines of names, and of directories that could not be read; one that
/// several parts could not read comes once.
///
/// # Errors
/// What is wrong: a file cannot be read, or is no such report; the parts are not of one scan, or not all of them.
///
/// # Panics
/// There is no report at all.
pub fn merge(reports: &[PathBuf], sink: Option<Sink<'_>>) -> Result<ScanPart, String> {
    let mut known: BTreeMap<u64, &PathBuf> = BTreeMap::new();
    let mut whole: Option<ScanPart> = None;
    for report in reports {
        let mut part = read_part(report)?;
        let name = Quoted::of(report);
        if let Some(what) = whole.as_ref().and_then(|whole| difference(&part, whole)) {
            return Err(format!(
                "{name}: {what} is another than in the part before it"
            ));
        }
        let (number, of) = (part.shard, part.of);
        if let Some(other) = known.insert(number, report).filter(|_| of > 1) {
            let other = Quoted::of(other);
            return Err(format!(
                "{name}: part {number} of {of} is there twice, also in {other}"
            ));
        }
        match &mut whole {
            None => whole = Some(part),
            Some(whole) => {
                whole.tally.merge(part.tally);
                if of == 1 {
                    // All lists together are one root without a name.
                    part.roots
                        .retain(|root| !root.as_bytes().is_empty() || !whole.roots.contains(root));
                    whole.roots.extend(part.roots);
                }
            }
        }
    }
    let whole = whole.expect("invariant: there is one report or more");
    let missing = (1..=whole.of).filter(|number| !known.contains_key(number));
    let missing: Vec<String> = missing.take(20).map(|number| number.to_string()).collect();
    if !missing.is_empty() {
        let (of, missing) = (whole.of, missing.join(", "));
        return Err(format!(
            "not all of {of} parts are there: {missing} missing"
        ));
    }
    if let Some(sink) = sink {
        let mut unread = BTreeSet::new();
        for report in reports {
            for line in lines(report)? {
                let (_, line) = line?;
                let is_new =
                    matches!(&line, ScanLine::Unread { path, .. } if unread.insert(path.clone()));
                if is_new || matches!(line, ScanLine::Entry(_)) {
                    sink(&line);
                }
            }
        }
    }
    Ok(whole)
}

/// Returns what is another than in the first part of a scan; `None` if both are of one. Parts that are a whole each may be of any
/// trees.
fn difference(part: &ScanPart, first: &ScanPart) -> Option<&'static str> {
    let is_alone = part.of == 1;
    let same = [
        (first.of == part.of, "how many parts there are"),
        (is_alone || first.depth == part.depth, "--shard-depth"),
        (first.policy == part.policy, "by what names conform"),
        (is_alone || first.roots == part.roots, "the directories"),
    ];
    let other = same.iter().find(|(is_same, _)| !is_same);
    other.map(|(_, what)| *what)
}

fn unfit(report: &Path, line: u64, what: &str) -> String {
    format!("{}: line {line} {what}", Quoted::of(report))
}

/// Returns each line of a report, with its number.
fn lines(report: &Path) -> Result<impl Iterator<Item = Result<(u64, ScanLine), String>>, String> {
    let unread = move |error: io::Error| {
        format!("{} cannot be read: {}", Quoted::of(report), reason(&error))
    };
    let mut file = BufReader::with_capacity(1 << 18, File::open(report).map_err(unread)?);
    Ok((1..).map_while(move |number| {
        let mut line = Vec::new();
        let read = file.by_ref().take(LONGEST).read_until(b'\n', &mut line);
        Some(match read {
            Ok(0) => return None,
            Ok(_) if line.pop() != Some(b'\n') => Err(unfit(report, number, "is cut off")),
            Ok(_) => match serde_json::from_slice(&line) {
                Ok(line) => Ok((number, line)),
                Err(error) => {
                    let fault = format!("is none of a report of scan --json: {error}");
                    Err(unfit(report, number, &fault))
                }
            },
            Err(error) => Err(unread(error)),
        })
    }))
}

/// Reads the report of a part.
fn read_part(report: &Path) -> Result<ScanPart, String> {
    let (mut found, mut has_end) = (None, false);
    let (mut names, mut unread) = (0, 0);
    for line in lines(report)? {
        let (number, line) = line?;
        let refused = |what: &str| Err(unfit(report, number, what));
        match line {
            _ if has_end => {
                return refused("comes after the end of the report: a file is of one part");
            }
            ScanLine::Entry(_) => names += 1,
            ScanLine::Unread { .. } => unread += 1,
            ScanLine::Part(_) if found.is_some() => {
                return refused("is of a second part: a file is of one part");
            }
            ScanLine::Part(part) if part.version != env!("CARGO_PKG_VERSION") => {
                let (version, own) = (part.version, env!("CARGO_PKG_VERSION"));
                return refused(&format!(
                    "is of utf8fs {version:?}, and this is {own:?}: all parts have to be of one version"
                ));
            }
            ScanLine::Part(part) if !(1..=part.of).contains(&part.shard) => {
                return refused("is of a part that there is not");
            }
            ScanLine::Part(part) => found = Some((number, part)),
            ScanLine::Total(_) => has_end = true,
            ScanLine::LeftOut { .. } | ScanLine::Directory(_) | ScanLine::Guess(_) => {}
        }
    }
    let name = Quoted::of(report);
    let (number, part) = found.ok_or_else(|| format!("{name} is not the report of a part"))?;
    if !has_end {
        return Err(format!("{name} is cut off: its last line is missing"));
    }
    let (troubled, all_unread) = (part.tally.counts.troubled(), part.tally.all_unread());
    for (what, is, was) in [
        ("names", names, troubled),
        ("what could not be read", unread, all_unread.count),
    ] {
        if is != was {
            let how = if is < was { "lost" } else { "doubled or added" };
            let fault = format!(
                "says that there are {was} lines of {what}, and there are {is}: some were {how}"
            );
            return Err(unfit(report, number, &fault));
        }
    }
    Ok(*part)
}

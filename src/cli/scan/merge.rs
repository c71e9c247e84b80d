//! The reports of all parts of a tree, made one.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::mem;
use std::path::{Path, PathBuf};

use super::json_lines::Lines;
use crate::cli::CommandError;
use crate::cli::error::cannot_be;
use crate::names::Quoted;
use crate::records::{FormatHead, Kept, ScanLine, ScanPart, Tally};
use crate::tree::scan::Sink;

/// Longest line that is read; that of a part is some ten megabytes at most.
const LONGEST: u64 = 1 << 28;

const HOW: &str = "utf8fs scan --shard I/N --json DIR >FILE makes a report of a part";

/// Makes one report of those of all parts. The lines of names are printed if `lines` are wanted.
///
/// # Errors
/// A file cannot be read, or is no such report; the parts are not of one scan, or not all of them.
pub(super) fn merged(
    reports: &[PathBuf],
    kept: Kept,
    lines: Option<&Lines>,
) -> Result<ScanPart, CommandError> {
    let mut tally = Tally::new(kept);
    let mut parts: Vec<ScanPart> = Vec::new();
    for report in reports {
        let mut part = read_part(report)?;
        tally.merge(mem::take(&mut part.tally));
        let name = Quoted::of(report);
        if let Some(what) = parts.first().and_then(|first| part.difference(first)) {
            let message = format!("{name}: {what} is another than in the part before it");
            return Err(CommandError::usage(message)
                .hint("parts are of one scan if all was typed alike but the I of I/N"));
        }
        let mut others = parts.iter().zip(reports).filter(|_| part.of > 1);
        if let Some((_, other)) = others.find(|(other, _)| other.shard == part.shard) {
            let (number, of, other) = (part.shard, part.of, Quoted::of(other));
            let message = format!("{name}: part {number} of {of} is there twice, also in {other}");
            return Err(CommandError::usage(message).hint("name each part once"));
        }
        parts.push(part);
    }
    let missing = ScanPart::missing(&parts).take(20);
    let missing: Vec<String> = missing.map(|number| number.to_string()).collect();
    if let Some(first) = parts.first().filter(|_| !missing.is_empty()) {
        let (of, missing) = (first.of, missing.join(", "));
        let message = format!("not all of {of} parts are there: {missing} missing");
        return Err(CommandError::usage(message).hint("scan what is missing, and name all reports"));
    }
    if let Some(lines) = lines {
        pass_on(reports, lines)?;
    }
    let mut parts = parts.into_iter();
    let whole = parts.next();
    let mut whole = whole.expect("invariant: --merge takes one report or more");
    whole.tally = tally;
    if whole.of == 1 && !whole.is_list() {
        whole.roots.extend(parts.flat_map(|part| part.roots));
    }
    Ok(whole)
}

fn unfit(report: &Path, line: u64, what: &str) -> CommandError {
    CommandError::usage(format!("{}: line {line} {what}", Quoted::of(report))).hint(HOW)
}

/// Calls `take` with the number and the text of each line, and what it says.
fn each_line(
    report: &Path,
    mut take: impl FnMut(u64, &[u8], ScanLine) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let unread = |error: std::io::Error| {
        CommandError::usage(cannot_be("read", Quoted::of(report), &error))
            .hint("--merge takes the files that scan --shard I/N --json wrote")
    };
    let mut file = BufReader::with_capacity(1 << 18, File::open(report).map_err(unread)?);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut rest = file.by_ref().take(LONGEST);
        if rest.read_until(b'\n', &mut line).map_err(unread)? == 0 {
            break;
        }
        if line.pop() != Some(b'\n') {
            return Err(unfit(report, number, "is cut off"));
        }
        let parsed = serde_json::from_slice(&line).map_err(|error| {
            // The line of a part of another version may have other fields.
            let head = serde_json::from_slice::<FormatHead>(&line).ok();
            let fault =
                head.and_then(|head| ScanPart::check_origin(head.format, &head.version?).err());
            let fault =
                fault.unwrap_or_else(|| format!("is none of a report of scan --json: {error}"));
            unfit(report, number, &fault)
        })?;
        take(number, &line, parsed)?;
    }
    Ok(())
}

/// Reads the report of a part.
fn read_part(report: &Path) -> Result<ScanPart, CommandError> {
    let (mut found, mut has_end) = (None, false);
    let (mut names, mut unread) = (0, 0);
    each_line(report, |number, _, line| {
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
            ScanLine::Part(part) => {
                ScanPart::check_origin(part.format, &part.version)
                    .map_err(|what| unfit(report, number, &what))?;
                if !(1..=part.of).contains(&part.shard) {
                    return refused("is of a part that there is not");
                }
                found = Some((number, part));
            }
            ScanLine::Total(_) => has_end = true,
            ScanLine::LeftOut { .. } | ScanLine::Directory(_) | ScanLine::Guess(_) => {}
        }
        Ok(())
    })?;
    let name = Quoted::of(report);
    let Some((number, part)) = found else {
        let message = format!("{name} is not the report of a part");
        return Err(CommandError::usage(message).hint(HOW));
    };
    if !has_end {
        let message = format!("{name} is cut off: its last line is missing");
        return Err(CommandError::usage(message).hint("scan that part again"));
    }
    part.check_lines(names, unread)
        .map_err(|what| unfit(report, number, &what).hint("scan that part again"))?;
    Ok(*part)
}

/// Prints the lines of names of all reports. A directory that several parts could not read comes once.
fn pass_on(reports: &[PathBuf], lines: &Lines) -> Result<(), CommandError> {
    let mut known = HashSet::new();
    for report in reports {
        each_line(report, |_, text, line| {
            let is_unread = matches!(line, ScanLine::Unread { .. });
            let is_new = is_unread && known.insert(text.to_vec());
            if is_new || matches!(line, ScanLine::Entry(_)) {
                lines.take(&line);
            }
            Ok(())
        })?;
    }
    Ok(())
}

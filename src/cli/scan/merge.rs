//! The reports of all parts of a tree, made one.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::json_lines::{LineCounts, Lines};
use super::scan_done::ScanDone;
use super::shard_report::{check_lines, check_origin, rules_of};
use crate::cli::CliError;
use crate::cli::error::cannot_be;
use crate::names::Quoted;
use crate::records::{FormatHead, Kept, Name, ScanLine, ScanPart, ScanSource, Tally};
use crate::tree::scan::Sink;

/// Longest line that is read; that of a part is some ten megabytes at most.
const LONGEST: u64 = 1 << 28;

/// Length of lines that are handed to the sink.
const HANDED_OVER: usize = 64 * 1024;

const HOW: &str = "utf8fs scan --shard I/N --json DIR >FILE makes a report of a part";

/// Makes one report of those of all parts. The lines of names go to the sink.
///
/// # Errors
/// A file cannot be read, or is no such report; the parts are not of one scan, or not all of them.
pub(super) fn merged(reports: &[PathBuf], kept: Kept, sink: &Lines) -> Result<ScanDone, CliError> {
    let mut parts = Parts {
        first: None,
        files: BTreeMap::new(),
        roots: Vec::new(),
        tally: Tally::new(kept),
    };
    for report in reports {
        parts.add(read_part(report)?, report)?;
    }
    let done = parts.merged()?;
    if sink.reports() {
        pass_on(reports, sink)?;
    }
    Ok(done)
}

fn unfit(report: &Path, line: u64, what: &str) -> CliError {
    CliError::usage(format!("{}: line {line} {what}", Quoted::of(report))).hint(HOW)
}

/// Calls `take` with the number and the text of each line, and what it says.
fn each_line(
    report: &Path,
    mut take: impl FnMut(u64, &[u8], ScanLine<'_>) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let unread = |error: std::io::Error| {
        CliError::usage(cannot_be("read", Quoted::of(report), &error))
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
            let fault = head.and_then(|head| check_origin(head.format, &head.version?).err());
            let fault =
                fault.unwrap_or_else(|| format!("is none of a report of scan --json: {error}"));
            unfit(report, number, &fault)
        })?;
        take(number, &line, parsed)?;
    }
    Ok(())
}

/// Reads the report of a part.
fn read_part(report: &Path) -> Result<ScanPart, CliError> {
    let (mut found, mut has_end) = (None, false);
    let mut lines = LineCounts::default();
    each_line(report, |number, _, line| {
        let refused = |what: &str| Err(unfit(report, number, what));
        match line {
            _ if has_end => {
                return refused("comes after the end of the report: a file is of one part");
            }
            ScanLine::Entry(_) => lines.entries += 1,
            ScanLine::Unread { .. } => lines.unread += 1,
            ScanLine::Part(_) if found.is_some() => {
                return refused("is of a second part: a file is of one part");
            }
            ScanLine::Part(part) => {
                check_origin(part.format, &part.version)
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
        return Err(CliError::usage(message).hint(HOW));
    };
    if !has_end {
        let message = format!("{name} is cut off: its last line is missing");
        return Err(CliError::usage(message).hint("scan that part again"));
    }
    check_lines(&part, lines)
        .map_err(|what| unfit(report, number, &what).hint("scan that part again"))?;
    Ok(*part)
}

/// All parts that were read.
struct Parts {
    /// The first one, with which the others have to agree; without its tally.
    first: Option<ScanPart>,
    /// The files of the parts, by their numbers.
    files: BTreeMap<u64, String>,
    roots: Vec<Vec<u8>>,
    tally: Tally,
}

impl Parts {
    fn add(&mut self, mut part: ScanPart, report: &Path) -> Result<(), CliError> {
        let name = Quoted::of(report);
        let tally = std::mem::take(&mut part.tally);
        let first = self.first.get_or_insert_with(|| part.clone());
        let is_alone = part.of == 1;
        let same = [
            (first.of == part.of, "how many parts there are"),
            (is_alone || first.depth == part.depth, "--shard-depth"),
            (
                first.source == part.source,
                "whether it is of trees or of a list",
            ),
            (first.policy == part.policy, "by what names conform"),
            (is_alone || first.roots == part.roots, "the directories"),
        ];
        if let Some((_, what)) = same.iter().find(|(is_same, _)| !is_same) {
            let message = format!("{name}: {what} is another than in the part before it");
            return Err(CliError::usage(message)
                .hint("parts are of one scan if all was typed alike but the I of I/N"));
        }
        let number = if is_alone {
            u64::try_from(self.files.len()).unwrap_or(u64::MAX) + 1
        } else {
            part.shard
        };
        if let Some(other) = self.files.insert(number, name.to_string()) {
            let of = part.of;
            let message = format!("{name}: part {number} of {of} is there twice, also in {other}");
            return Err(CliError::usage(message).hint("name each part once"));
        }
        // Those of several trees come one after the other; a list has none.
        let first_root = match (is_alone, part.source) {
            (true, ScanSource::Walk) => self.roots.len(),
            _ => 0,
        };
        if self.roots.is_empty() || first_root > 0 {
            let roots = part.roots.into_iter();
            self.roots.extend(roots.map(Name::into_bytes));
        }
        self.tally.merge(tally.behind(first_root));
        Ok(())
    }

    /// Returns the whole, if it is one.
    fn merged(self) -> Result<ScanDone, CliError> {
        let Some(first) = self.first else {
            return Err(CliError::usage("there is no report").hint(HOW));
        };
        let missing: Vec<String> = (1..=first.of)
            .filter(|number| !self.files.contains_key(number))
            .map(|number| number.to_string())
            .take(20)
            .collect();
        if !missing.is_empty() {
            let (of, missing) = (first.of, missing.join(", "));
            let message = format!("not all of {of} parts are there: {missing} missing");
            return Err(CliError::usage(message).hint("scan what is missing, and name all reports"));
        }
        Ok(ScanDone {
            rules: rules_of(&first.policy),
            roots: self.roots,
            tally: self.tally,
            part: None,
            has_map: false,
            charsets: OnceCell::new(),
        })
    }
}

/// Prints the lines of names of all reports. A directory that several parts could not read comes once.
fn pass_on(reports: &[PathBuf], sink: &Lines) -> Result<(), CliError> {
    let (mut out, mut known) = (Vec::new(), HashSet::new());
    for report in reports {
        let mut is_over = false;
        each_line(report, |_, text, line| {
            match line {
                _ if is_over => {}
                ScanLine::Entry(entry) => sink.entry(&mut out, entry),
                ScanLine::Unread { path, reason } if known.insert(text.to_vec()) => {
                    sink.unread_line(&mut out, path, reason);
                }
                ScanLine::Unread { .. }
                | ScanLine::LeftOut { .. }
                | ScanLine::Directory(_)
                | ScanLine::Guess(_)
                | ScanLine::Part(_)
                | ScanLine::Total(_) => {}
            }
            if out.len() >= HANDED_OVER {
                is_over = !sink.take(&out);
                out.clear();
            }
            Ok(())
        })?;
    }
    sink.take(&out);
    Ok(())
}

//! The reports of all parts of a tree, made one.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::lines::{Lines, Told};
use super::part::{Part, Source, rules_of};
use super::seal::Sealed;
use super::{Done, kept, tell, told};
use crate::cli::args::ScanArgs;
use crate::cli::error::reason;
use crate::cli::page::Page;
use crate::cli::{CliError, ExitCode};
use crate::names::{Quoted, json_line, name_of_json};
use crate::tree::scan::{Kept, Rules, Sink, Tally};

/// No line is longer; that of a part is some ten megabytes at most.
const LONGEST: u64 = 1 << 28;

/// What is to be told is handed over when it is as long as this.
const HANDED_OVER: usize = 64 * 1024;

const HOW: &str = "utf8fs scan --shard I/N --json DIR >FILE makes a report of a part";

/// Makes one report of many.
///
/// # Errors
/// A file cannot be read, or is no such report; the parts are not of one scan, or not all of them. Nothing is told then.
pub(super) fn run(args: &ScanArgs, reports: &[PathBuf]) -> Result<ExitCode, CliError> {
    // Each is the name of a file, - too.
    let inputs: Vec<PathBuf> = reports
        .iter()
        .map(|report| Path::new(".").join(report))
        .collect();
    let page = args.html.as_deref();
    let page = page.map(|page| Page::create(page, &inputs)).transpose()?;
    let sink = Lines::new(told(args));
    let mut whole = Whole::new(kept(args));
    for report in reports {
        whole.read(report)?;
    }
    let (rules, roots, mut tally) = whole.whole()?;
    if sink.is_told() {
        pass_on(reports, told(args), &sink)?;
        sink.result()?;
    }
    tally.settle();
    let done = Done {
        roots: &roots,
        rules: &rules,
        tally,
        part: None,
    };
    tell(args, page, &sink, &done)
}

fn quoted(path: &Path) -> String {
    Quoted(path.as_os_str().as_bytes()).to_string()
}

/// Calls `take` with the number, the kind and the text of each line.
fn each_line(
    report: &Path,
    mut take: impl FnMut(u64, &str, &[u8]) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let unread = |error: std::io::Error| {
        CliError::usage(format!(
            "{} cannot be read: {}",
            quoted(report),
            reason(&error)
        ))
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
        take(number, kind_of(&line), &line)?;
    }
    Ok(())
}

/// The kind of a line; empty where it is none of a report.
pub(super) fn kind_of(line: &[u8]) -> &str {
    let kind = line
        .strip_prefix(br#"{"scan":""#)
        .and_then(|rest| rest.split(|byte| *byte == b'"').next())
        .and_then(|kind| std::str::from_utf8(kind).ok());
    kind.unwrap_or_default()
}

fn unfit(report: &Path, line: u64, what: &str) -> CliError {
    CliError::usage(format!("{}: line {line} {what}", quoted(report))).hint(HOW)
}

/// What all parts have in common.
struct Common {
    of: u64,
    depth: u64,
    source: Source,
    roots: Vec<Vec<u8>>,
    policy: Value,
}

/// All parts that were read.
struct Whole {
    kept: Kept,
    common: Option<Common>,
    /// By their numbers: where they were.
    parts: BTreeMap<u64, String>,
    roots: Vec<Vec<u8>>,
    tally: Tally,
}

impl Whole {
    fn new(kept: Kept) -> Self {
        Self {
            kept,
            common: None,
            parts: BTreeMap::new(),
            roots: Vec::new(),
            tally: Tally::new(kept),
        }
    }

    /// Takes the parts of a report in.
    fn read(&mut self, report: &Path) -> Result<(), CliError> {
        let (mut found, mut has_end) = (None, false);
        let mut told = Sealed::default();
        each_line(report, |number, kind, line| {
            if has_end {
                let what = "comes after the end of the report: a file is of one part";
                return Err(unfit(report, number, what));
            }
            has_end = kind == "total";
            told.add(kind, line);
            match kind {
                "part" if found.is_some() => {
                    let what = "is of a second part: a file is of one part";
                    Err(unfit(report, number, what))
                }
                "part" => {
                    let part = Part::read(line).map_err(|what| unfit(report, number, &what))?;
                    found = Some((number, part));
                    Ok(())
                }
                "entry" | "unread" | "left-out" | "directory" | "guess" | "total" => Ok(()),
                _ => Err(unfit(report, number, "is none of a report of scan --json")),
            }
        })?;
        let Some((number, part)) = found else {
            let message = format!("{} is no report of a part", quoted(report));
            return Err(CliError::usage(message).hint(HOW));
        };
        if !has_end {
            let message = format!("{} is cut off: its last line is missing", quoted(report));
            return Err(CliError::usage(message).hint("scan that part again"));
        }
        if let Some(what) = part.altered(&told) {
            return Err(unfit(report, number, &what).hint("scan that part again"));
        }
        self.add(part, report)
    }

    fn add(&mut self, part: Part, report: &Path) -> Result<(), CliError> {
        let refuse = |what: &str| CliError::usage(format!("{}: {what}", quoted(report)));
        let common = self.common.get_or_insert_with(|| Common {
            of: part.of,
            depth: part.depth,
            source: part.source,
            roots: part.roots.clone(),
            policy: part.policy.clone(),
        });
        let is_alone = part.of == 1;
        let same = [
            (common.of == part.of, "how many parts there are"),
            (is_alone || common.depth == part.depth, "--shard-depth"),
            (
                common.source == part.source,
                "whether it is of trees or of a list",
            ),
            (common.policy == part.policy, "by what names conform"),
            (is_alone || common.roots == part.roots, "the directories"),
        ];
        if let Some((_, what)) = same.iter().find(|(is_same, _)| !is_same) {
            return Err(
                refuse(&format!("{what} is another than in the part before it"))
                    .hint("parts are of one scan if all was typed alike but the I of I/N"),
            );
        }
        let number = if is_alone {
            u64::try_from(self.parts.len()).unwrap_or(u64::MAX) + 1
        } else {
            part.number
        };
        if let Some(other) = self.parts.insert(number, quoted(report)) {
            return Err(refuse(&format!(
                "part {number} of {} is there twice, also in {other}",
                part.of
            ))
            .hint("name each part once"));
        }
        // Those of several trees come one after the other; a list has none.
        let first_root = match (is_alone, part.source) {
            (true, Source::Walk) => self.roots.len(),
            _ => 0,
        };
        if self.roots.is_empty() || first_root > 0 {
            self.roots.extend(part.roots.iter().cloned());
        }
        let tally = part.tally(self.kept, first_root);
        let tally = tally.map_err(|error| refuse(&error.to_string()).hint(HOW))?;
        self.tally.merge_part(tally);
        Ok(())
    }

    /// The whole, if it is one.
    fn whole(self) -> Result<(Rules, Vec<Vec<u8>>, Tally), CliError> {
        let Some(common) = &self.common else {
            return Err(CliError::usage("there is no report").hint(HOW));
        };
        let missing: Vec<String> = (1..=common.of)
            .filter(|number| !self.parts.contains_key(number))
            .map(|number| number.to_string())
            .take(20)
            .collect();
        if !missing.is_empty() {
            return Err(CliError::usage(format!(
                "not all of {} parts are there: {} missing",
                common.of,
                missing.join(", ")
            ))
            .hint("scan what is missing, and name all reports"));
        }
        let rules = rules_of(&common.policy);
        let rules = rules
            .ok_or_else(|| CliError::usage("the policy of the parts makes no sense").hint(HOW))?;
        Ok((rules, self.roots, self.tally))
    }
}

/// Tells what the reports tell of each name. What all parts could not read comes once.
fn pass_on(reports: &[PathBuf], told: Told, sink: &Lines) -> Result<(), CliError> {
    let (mut out, mut known) = (Vec::new(), HashSet::new());
    for report in reports {
        let mut is_over = false;
        each_line(report, |number, kind, line| {
            let is_wanted = match kind {
                "entry" => true,
                "unread" => told == Told::Json && known.insert(line.to_vec()),
                _ => false,
            };
            if is_over || !is_wanted {
                return Ok(());
            }
            let value: Value = serde_json::from_slice(line)
                .map_err(|error| unfit(report, number, &format!("is no JSON: {error}")))?;
            if told == Told::Json {
                out.extend(json_line(&value).bytes());
                out.push(b'\n');
            } else if value.get("offends") == Some(&Value::Bool(true)) {
                let path = value.get("path").and_then(name_of_json);
                out.extend(path.ok_or_else(|| unfit(report, number, "has no path"))?);
                out.push(0);
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

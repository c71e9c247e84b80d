//! A plan, read back from its file, where somebody may have edited it.
//!
//! A line is refused if it leads out of the tree, overwrites something or makes a name that is none (laws T2, C5).

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead};

use sha2::{Digest, Sha256};
use thiserror::Error;

use super::directory_plan::DirectoryPlan;
use super::readable_plan::ReadablePlan;
use crate::backing::Kind;
use crate::names::BackingName;
use crate::names::quoted::harmless;
use crate::policy::NAME_MAX;
use crate::records::{Name, PLAN_VERSION, PlanHeader, PlanLine, PlanRecord, TreePath};
use crate::tree::change::LONGEST_TARGET;

/// Longest line that is read.
const LONGEST: usize = 1 << 20;

/// A plan that is refused.
#[derive(Debug, Error)]
pub enum PlanError {
    /// A line is not as it has to be.
    #[error("line {line}: {what}")]
    Line {
        /// The number of the line, counted from 1.
        line: usize,
        /// The fault.
        what: String,
    },
    /// The file can't be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A plan that is being read, tree by tree and directory by directory.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    line: usize,
    hash: Sha256,
    /// A record that was read too far.
    next: Option<PlanRecord>,
    /// The reader of lines that are not JSON.
    readable: ReadablePlan,
    /// The directories of this tree whose lines came to an end.
    ended: HashSet<TreePath>,
    /// Need new names of this tree not be UTF-8? `None` before the first tree.
    is_to_charset: Option<bool>,
    has_ended: bool,
}

impl<R: BufRead> Reader<R> {
    /// Reads from there.
    pub fn new(input: R) -> Self {
        Self {
            input,
            line: 0,
            hash: Sha256::new(),
            next: None,
            readable: ReadablePlan::default(),
            ended: HashSet::new(),
            is_to_charset: None,
            has_ended: false,
        }
    }

    /// Returns the header of the next tree, and passes over what was not read of this one; `None` at the end.
    ///
    /// # Errors
    /// [`PlanError`]; nothing more is to be read then.
    pub fn tree(&mut self) -> Result<Option<PlanHeader>, PlanError> {
        while self.directory()?.is_some() {}
        self.ended.clear();
        match self.record()? {
            Some(PlanRecord::Header(header)) => Ok(Some(header)),
            _ => Ok(None),
        }
    }

    /// Returns all lines about entries of the next directory of this tree; `None` at its end. No two have one old name, and no two
    /// one new name.
    ///
    /// # Errors
    /// As for [`Reader::tree`].
    pub fn directory(&mut self) -> Result<Option<DirectoryPlan>, PlanError> {
        let mut lines: Vec<PlanLine> = Vec::new();
        loop {
            let first = lines.first();
            match self.record()? {
                Some(PlanRecord::Line(line))
                    if first.is_none_or(|first| first.directory == line.directory) =>
                {
                    if first.is_some_and(|first| first.directory_inode != line.directory_inode) {
                        let what = "\"directory_inode\" differs from that of the line before";
                        return Err(wrong(self.line, what));
                    }
                    lines.push(*line);
                }
                other => {
                    self.next = other;
                    break;
                }
            }
        }
        check(&lines)?;
        let Some(first) = lines.first() else {
            return Ok(None);
        };
        if !self.ended.insert(first.directory.clone()) {
            let what = "lines of this directory stand further above; all of one directory have to stand together";
            return Err(wrong(first.number, what));
        }
        Ok(Some(DirectoryPlan {
            entries: lines.len(),
            lines,
        }))
    }

    /// Returns the SHA-256 of what was read so far, in hex digits.
    pub fn hash(&self) -> String {
        let octets = self.hash.clone().finalize();
        octets.iter().map(|octet| format!("{octet:02x}")).collect()
    }

    /// Returns the next header or line; `None` behind the last.
    fn record(&mut self) -> Result<Option<PlanRecord>, PlanError> {
        if self.next.is_some() {
            return Ok(self.next.take());
        }
        loop {
            let mut line = Vec::new();
            let limit = u64::try_from(LONGEST).unwrap_or(u64::MAX);
            io::Read::take(&mut self.input, limit).read_until(b'\n', &mut line)?;
            self.line += 1;
            self.hash.update(&line);
            let record = self.parse(&line);
            let record = record.map_err(|what| wrong(self.line, harmless(&what)))?;
            if record.is_some() || line.is_empty() {
                return Ok(record);
            }
        }
    }

    /// Reads a line of either format, and checks it by itself; `None` for one that is neither a header nor about an entry.
    fn parse(&mut self, line: &[u8]) -> Result<Option<PlanRecord>, String> {
        let is_whole = line.ends_with(b"\n");
        let text = line.trim_ascii();
        if line.is_empty() && !self.has_ended {
            return Err("the plan was cut off: the line that ends it is missing".into());
        }
        if line.len() == LONGEST && !is_whole {
            return Err("the line is too long".into());
        }
        if text.is_empty() {
            return Ok(None);
        }
        if self.has_ended {
            return Err("it stands behind the end of the plan".into());
        }
        let record = match str::from_utf8(text) {
            Ok(text) if !text.starts_with(['{', '[']) => self.readable.parse(text),
            _ => PlanRecord::parse(text)
                .map(Some)
                .map_err(|error| in_words(&error)),
        };
        if !is_whole && !matches!(record, Ok(Some(PlanRecord::End(_)))) {
            return Err("the line was cut off".into());
        }
        let known = |version| match version {
            PLAN_VERSION => Ok(()),
            _ => Err(format!(
                "the plan is of version {version}, which this program does not know"
            )),
        };
        let mut record = record?;
        match &mut record {
            Some(PlanRecord::Header(header)) => {
                known(header.version)?;
                // Nothing that comes before it goes with it.
                self.is_to_charset = Some(header.to.is_some());
                let root = header.root.as_bytes();
                if !root.starts_with(b"/") || root.contains(&0) {
                    return Err("\"root\" is not an absolute path".into());
                }
            }
            Some(PlanRecord::Line(line)) => {
                line.number = self.line;
                let is_to_charset = self.is_to_charset;
                let is_to_charset = is_to_charset.ok_or("no header of a plan stands before it")?;
                check_line(line, is_to_charset)?;
            }
            Some(PlanRecord::End(end)) => {
                known(end.version)?;
                self.has_ended = true;
                record = None;
            }
            None => {}
        }
        Ok(record)
    }
}

fn wrong(line: usize, what: impl Into<String>) -> PlanError {
    let what = what.into();
    PlanError::Line { line, what }
}

/// Returns the fault of a line's JSON.
fn in_words(error: &serde_json::Error) -> String {
    let what = error.to_string();
    let what = what.split(" at line ").next().unwrap_or_default();
    let column = error.column();
    format!("not a line of a plan: {what}, at byte {column}")
}

/// Do the fields of a line go together?
fn check_line(line: &PlanLine, is_to_charset: bool) -> Result<(), String> {
    if let Some(new) = &line.new {
        if !is_to_charset && std::str::from_utf8(new.as_bytes()).is_err() {
            return Err("the new name is not well-formed UTF-8".into());
        }
        let length = new.as_bytes().len();
        if length > NAME_MAX {
            return Err(format!(
                "the new name is too long: {length} bytes, the limit is {NAME_MAX}"
            ));
        }
    }
    if line.same_as.is_some() && (line.new.is_some() || line.kind != Kind::File) {
        return Err("\"same_as\" is for files, and has to come with \"new\":null".into());
    }
    if line.same_as.as_ref() == Some(&line.old) {
        return Err("\"same_as\" is the entry itself".into());
    }
    if line.new_target.is_some() && line.kind != Kind::Symlink {
        return Err("\"new_target\" is for symlinks".into());
    }
    for (key, target) in [("target", &line.target), ("new_target", &line.new_target)] {
        let target = target.as_ref().map_or(b"-".as_slice(), Name::as_bytes);
        if target.is_empty() || target.contains(&0) || target.len() > LONGEST_TARGET {
            return Err(format!("\"{key}\" is empty, too long, or has a NUL in it"));
        }
    }
    Ok(())
}

/// Law T2: no two entries get one name, and none is spoken of twice.
fn check(lines: &[PlanLine]) -> Result<(), PlanError> {
    let mut old: HashMap<&BackingName, usize> = HashMap::with_capacity(lines.len());
    let mut new: HashMap<&BackingName, usize> = HashMap::with_capacity(lines.len());
    for line in lines {
        let again = |what, first| wrong(line.number, format!("{what} as in line {first}"));
        if let Some(first) = old.insert(&line.old, line.number) {
            return Err(again("the same \"directory\" and \"old\"", first));
        }
        if let Some(name) = &line.new
            && let Some(first) = new.insert(name, line.number)
        {
            return Err(again("the same new name", first));
        }
    }
    Ok(())
}

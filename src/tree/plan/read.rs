//! A plan, read back from its file, where somebody may have edited it. Nothing of it is believed that could lead out of the
//! tree, overwrite something or make a name that is none (laws T2, C5); what is wrong is told with its line.

mod row;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::{self, BufRead};
use std::os::unix::ffi::OsStrExt;

use serde_json::Value;

use super::header::{END, Header, is_end};
use crate::names::BackingName;
use crate::tree::step::TreePath;
use row::row;
pub use row::{Row, Rows, Stays};

/// Longest line that is read.
const LONGEST: usize = 1 << 20;

/// A plan that is refused.
#[derive(Debug)]
pub enum PlanError {
    /// A line is not as it has to be.
    Line {
        /// Which, counted from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// The file can't be read.
    Io(io::Error),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { line, what } => write!(f, "line {line}: {what}"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PlanError {}

/// What a plan is made of.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// What follows is about this tree.
    Tree(Header),
    /// What becomes of entries of one directory of it.
    Directory(Rows),
}

/// A plan that is being read, part by part.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    line: usize,
    /// A row that was read too far, with its directory.
    next: Option<(TreePath, u64, Row)>,
    /// A header that was read too far.
    header: Option<Header>,
    /// The directories of this tree, by their hashes, and those of them whose lines came to an end.
    ended: HashSet<TreePath>,
    has_header: bool,
    has_ended: bool,
}

impl<R: BufRead> Reader<R> {
    /// Reads from there.
    pub fn new(input: R) -> Self {
        Self {
            input,
            line: 0,
            next: None,
            header: None,
            ended: HashSet::new(),
            has_header: false,
            has_ended: false,
        }
    }

    /// The next part; `None` at the end.
    ///
    /// # Errors
    /// [`PlanError`]; nothing more is to be read then.
    pub fn part(&mut self) -> Result<Option<Part>, PlanError> {
        if let Some(header) = self.header.take() {
            self.ended.clear();
            return Ok(Some(Part::Tree(header)));
        }
        let mut rows: Option<Rows> = None;
        if let Some((directory, inode, row)) = self.next.take() {
            rows = Some(Rows {
                directory,
                inode,
                rows: vec![row],
            });
        }
        while let Some(value) = self.value()? {
            if let Some(header) = Header::read(&value) {
                let header = header.map_err(|what| self.wrong(what))?;
                self.has_header = true;
                let Some(rows) = rows else {
                    self.ended.clear();
                    return Ok(Some(Part::Tree(header)));
                };
                self.header = Some(header);
                return self.finished(rows).map(Some);
            }
            if !self.has_header {
                return Err(self.wrong("no header of a plan stands before it"));
            }
            let (directory, inode, row) =
                row(&value, self.line).map_err(|what| self.wrong(what))?;
            match &mut rows {
                None => {
                    rows = Some(Rows {
                        directory,
                        inode,
                        rows: vec![row],
                    });
                }
                Some(rows) if rows.directory == directory => {
                    if rows.inode != inode {
                        return Err(
                            self.wrong("\"directory_inode\" differs from that of the line before")
                        );
                    }
                    rows.rows.push(row);
                }
                Some(_) => {
                    self.next = Some((directory, inode, row));
                    break;
                }
            }
        }
        rows.map(|rows| self.finished(rows)).transpose()
    }

    /// All lines of a directory.
    fn finished(&mut self, rows: Rows) -> Result<Part, PlanError> {
        check(&rows)?;
        if !self.ended.insert(rows.directory.clone()) {
            let line = rows.rows.first().map_or(self.line, |row| row.line);
            return Err(PlanError::Line {
                line,
                what: "lines of this directory stand further above; all of one directory have to stand together".into(),
            });
        }
        Ok(Part::Directory(rows))
    }

    fn wrong(&self, what: impl Into<String>) -> PlanError {
        PlanError::Line {
            line: self.line,
            what: what.into(),
        }
    }

    /// The next line that is not empty; `None` behind the last.
    fn value(&mut self) -> Result<Option<Value>, PlanError> {
        loop {
            let mut line = Vec::new();
            let limit = u64::try_from(LONGEST).unwrap_or(u64::MAX);
            io::Read::take(&mut self.input, limit)
                .read_until(b'\n', &mut line)
                .map_err(PlanError::Io)?;
            if line.is_empty() {
                if self.has_ended {
                    return Ok(None);
                }
                self.line += 1;
                return Err(self.wrong(format!(
                    "the plan was cut off: its last line has to be {END}"
                )));
            }
            self.line += 1;
            if line.len() == LONGEST && line.last() != Some(&b'\n') {
                return Err(self.wrong("the line is too long"));
            }
            let text = line.trim_ascii();
            if text.is_empty() {
                continue;
            }
            if self.has_ended {
                return Err(self.wrong("it stands behind the end of the plan"));
            }
            let value = serde_json::from_slice(text);
            if line.last() != Some(&b'\n') && !value.as_ref().is_ok_and(is_end) {
                return Err(self.wrong("the line was cut off"));
            }
            let value: Value = value.map_err(|error| {
                let what = error.to_string();
                let what = what.split(" at line ").next().unwrap_or_default();
                self.wrong(format!("no JSON, at its octet {}: {what}", error.column()))
            })?;
            // Of two the first would be lost.
            if keys(&value) != keys_in_text(text) {
                return Err(self.wrong("a key stands in it twice"));
            }
            if value.get("utf8fs_plan_end").is_some() {
                if !is_end(&value) {
                    return Err(self.wrong(format!("the last line has to be {END}")));
                }
                self.has_ended = true;
                continue;
            }
            return Ok(Some(value));
        }
    }
}

/// How many keys a value has, with all in it.
fn keys(value: &Value) -> usize {
    match value {
        Value::Object(object) => object.len() + object.values().map(keys).sum::<usize>(),
        Value::Array(values) => values.iter().map(keys).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// How many keys stand in the text of a value: as many as colons that are in no string.
fn keys_in_text(json: &[u8]) -> usize {
    let (mut keys, mut is_string, mut is_escaped) = (0, false, false);
    for octet in json {
        match octet {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_string = !is_string,
            b':' if !is_string => keys += 1,
            _ => {}
        }
    }
    keys
}

/// Law T2: no two entries get one name, and none is spoken of twice.
fn check(rows: &Rows) -> Result<(), PlanError> {
    let mut old: HashMap<&BackingName, usize> = HashMap::with_capacity(rows.rows.len());
    let mut new: HashMap<&BackingName, usize> = HashMap::with_capacity(rows.rows.len());
    for row in &rows.rows {
        let again = |what: &str, first: usize| PlanError::Line {
            line: row.line,
            what: format!("{what} as in line {first}"),
        };
        if let Some(first) = old.insert(&row.old, row.line) {
            return Err(again("the same \"directory\" and \"old\"", first));
        }
        if let Some(name) = &row.new
            && let Some(first) = new.insert(name, row.line)
        {
            return Err(again("the same new name", first));
        }
    }
    Ok(())
}

/// Opens a plan.
///
/// # Errors
/// Those of open(2).
pub fn open(path: &std::path::Path) -> io::Result<Reader<io::BufReader<std::fs::File>>> {
    // A name that is none, for the system's own error.
    debug_assert!(
        !path.as_os_str().as_bytes().contains(&0),
        "invariant: an argument has no NUL"
    );
    Ok(Reader::new(io::BufReader::new(std::fs::File::open(path)?)))
}

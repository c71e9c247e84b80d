//! A line about an entry, read: nothing of it is believed that could lead out of the tree.

use serde_json::{Map, Value};

use super::super::header::{kind_of_label, unknown};
use super::super::line::{Candidate, Reason, Warning};
use crate::backing::Kind;
use crate::codec::Charset;
use crate::names::{BackingName, Quoted, name_of_json};
use crate::policy::NAME_MAX;
use crate::tree::step::TreePath;

/// Longest target of a link.
const LONGEST_TARGET: usize = 4095;

/// A line about an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Which line it is, counted from 1.
    pub line: usize,
    /// The entry's name.
    pub old: BackingName,
    /// Its inode number as it was found.
    pub inode: u64,
    /// What it is.
    pub kind: Kind,
    /// Its new name, if it gets one.
    pub new: Option<BackingName>,
    /// A file of the same content, if this one is set aside for it.
    pub same_as: Option<BackingName>,
    /// What a link led to when it was planned, where that was looked at.
    pub target: Option<Vec<u8>>,
    /// What it is to lead to, if that changes.
    pub new_target: Option<Vec<u8>>,
    /// What is told of it if it stays as it is, or its target does, although something is amiss. Decides nothing.
    pub stays: Option<Box<Stays>>,
}

/// Why an entry stays, as it was planned.
#[derive(Debug, Clone, PartialEq)]
pub struct Stays {
    /// Why; `None` where a person has decided so.
    pub reason: Option<Reason>,
    /// What somebody should look at.
    pub warning: Option<Warning>,
    /// Names that it could get; the likeliest first.
    pub candidates: Vec<Candidate>,
}

/// All lines about entries of one directory.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// The directory.
    pub directory: TreePath,
    /// Its inode number as it was found.
    pub inode: u64,
    /// Never empty; no two have one old name, and no two one new name.
    pub rows: Vec<Row>,
}

/// What a row says; else what is wrong with it.
pub(super) fn row(value: &Value, line: usize) -> Result<(TreePath, u64, Row), String> {
    const KEYS: [&str; 14] = [
        "directory",
        "directory_inode",
        "old",
        "new",
        "kind",
        "inode",
        "reason",
        "charset",
        "confidence",
        "candidates",
        "warning",
        "same_as",
        "target",
        "new_target",
    ];
    let object = value.as_object().ok_or("it is no object")?;
    if let Some(key) = object.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(unknown(key));
    }
    let number = |key: &str| {
        let number = object.get(key).and_then(Value::as_u64);
        number.ok_or_else(|| format!("\"{key}\" is no number"))
    };
    let kind = object.get("kind").and_then(Value::as_str);
    let row = Row {
        line,
        old: name(object, "old")?.ok_or("\"old\" is missing")?,
        inode: number("inode")?,
        kind: kind.and_then(kind_of_label).ok_or("\"kind\" is none")?,
        new: name(object, "new")?,
        same_as: name(object, "same_as")?,
        target: bytes(object, "target")?,
        new_target: bytes(object, "new_target")?,
        stays: None,
    };
    let stays = stays(&row, object);
    let row = Row { stays, ..row };
    if !object.contains_key("new") {
        return Err("\"new\" is missing; null leaves the name as it is".into());
    }
    fits(&row)?;
    let directory = bytes(object, "directory")?.ok_or("\"directory\" is missing")?;
    Ok((path(&directory)?, number("directory_inode")?, row))
}

/// Why a row leaves its entry as it is, or the target of its link; `None` if it does not.
fn stays(row: &Row, object: &Map<String, Value>) -> Option<Box<Stays>> {
    let label = object.get("reason").and_then(Value::as_str);
    let reason = Reason::ALL
        .into_iter()
        .find(|reason| Some(reason.label()) == label);
    let is_without_change = row.new.is_none() && row.new_target.is_none() && row.same_as.is_none();
    let is_of_target = reason.is_some_and(Reason::is_of_target) && row.new_target.is_none();
    if !is_without_change && !is_of_target {
        return None;
    }
    let label = object.get("warning").and_then(Value::as_str);
    let candidates = object.get("candidates").and_then(Value::as_array);
    let reason = reason.filter(|reason| reason.is_of_what_stays());
    Some(Box::new(Stays {
        reason,
        // Of a name that a person decided to leave there is nothing to warn.
        warning: Warning::ALL
            .into_iter()
            .find(|warning| reason.is_some() && Some(warning.label()) == label),
        candidates: candidates
            .into_iter()
            .flatten()
            .filter_map(candidate)
            .collect(),
    }))
}

fn candidate(value: &Value) -> Option<Candidate> {
    let name = BackingName::parse(&name_of_json(value.get("name")?)?).ok()?;
    let charset = value.get("charset").and_then(Value::as_str);
    Some(Candidate {
        name,
        charset: charset.and_then(|label| Charset::from_label(label).ok()),
        confidence: value.get("confidence").and_then(Value::as_f64),
    })
}

/// Do the parts of a row go together?
fn fits(row: &Row) -> Result<(), String> {
    if let Some(new) = &row.new {
        if std::str::from_utf8(new.as_bytes()).is_err() {
            return Err("\"new\" is not well-formed UTF-8".into());
        }
        if new.as_bytes().len() > NAME_MAX {
            let length = new.as_bytes().len();
            return Err(format!(
                "\"new\" is too long: {length} bytes, the limit is {NAME_MAX}"
            ));
        }
    }
    if row.same_as.is_some() && (row.new.is_some() || row.kind != Kind::File) {
        return Err("\"same_as\" is for files, and has to come with \"new\":null".into());
    }
    if row.same_as.as_ref() == Some(&row.old) {
        return Err("\"same_as\" is the entry itself".into());
    }
    if let Some(target) = &row.new_target {
        if row.kind != Kind::Symlink {
            return Err("\"new_target\" is for symlinks".into());
        }
        if target.is_empty() || target.contains(&0) || target.len() > LONGEST_TARGET {
            return Err("\"new_target\" is empty, too long, or has a NUL in it".into());
        }
    }
    Ok(())
}

fn bytes(object: &Map<String, Value>, key: &str) -> Result<Option<Vec<u8>>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let form = "{\"text\": \"...\"} or {\"bytes\": \"<base64>\"}";
            let bytes = name_of_json(value);
            bytes
                .map(Some)
                .ok_or_else(|| format!("\"{key}\" is not {form}"))
        }
    }
}

fn name(object: &Map<String, Value>, key: &str) -> Result<Option<BackingName>, String> {
    let Some(bytes) = bytes(object, key)? else {
        return Ok(None);
    };
    let name = BackingName::parse(&bytes);
    let name = name.map_err(|_broken| {
        format!(
            "\"{key}\" is no name: {} is empty, . or .., or has a / or NUL in it",
            Quoted(&bytes)
        )
    });
    name.map(Some)
}

/// The names of a path from the root of a tree. Nothing of it can lead out.
fn path(directory: &[u8]) -> Result<TreePath, String> {
    if directory.is_empty() {
        return Ok(TreePath::new());
    }
    let names = directory
        .split(|&byte| byte == b'/')
        .map(BackingName::parse);
    names.collect::<Result<TreePath, _>>().map_err(|_broken| {
        let path = Quoted(directory);
        format!("\"directory\" is no path from the root of the tree: {path} is absolute, or has an empty name, . or .. in it")
    })
}

//! What a plan says of a tree as a whole, and how its file is cut into lines.
//!
//! A plan is lines of JSON. A header starts what is planned in a tree, and may come again for another tree; then each line is
//! about one entry, all of one directory together; the last line says that nothing is missing.

use serde_json::{Value, json};

use crate::backing::Kind;
use crate::names::{name_of_json, push_json_name};

/// The version of the format.
pub const VERSION: u64 = 1;

/// The last line.
pub(super) const END: &str = r#"{"utf8fs_plan_end":1}"#;

/// Is this the last line, whatever its spacing?
pub(super) fn is_end(value: &Value) -> bool {
    *value == json!({ "utf8fs_plan_end": VERSION })
}

/// What a plan says of a tree as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Where its root lies: an absolute path, octets.
    pub root: Vec<u8>,
    /// What was asked for, for people.
    pub options: String,
}

impl Header {
    /// The line, without its end.
    #[must_use]
    pub fn line(&self) -> String {
        let mut line = format!(r#"{{"utf8fs_plan":{VERSION},"root":"#);
        push_json_name(&mut line, &self.root);
        line.push_str(r#","options":"#);
        line.push_str(&crate::names::json_line(&Value::from(
            self.options.as_str(),
        )));
        line.push('}');
        line
    }

    /// Reads a header; `None` if the line is none.
    ///
    /// # Errors
    /// It is one, but not as it has to be: what is wrong.
    pub(super) fn read(value: &Value) -> Option<Result<Self, String>> {
        let object = value.as_object()?;
        let version = object.get("utf8fs_plan")?;
        let header = || {
            if version.as_u64() != Some(VERSION) {
                return Err(format!(
                    "the plan is of version {version}, which this program does not know"
                ));
            }
            let known = ["utf8fs_plan", "root", "options"];
            if let Some(key) = object.keys().find(|key| !known.contains(&key.as_str())) {
                return Err(unknown(key));
            }
            let root = object.get("root").and_then(name_of_json);
            let root = root.filter(|root| root.starts_with(b"/") && !root.contains(&0));
            let options = object.get("options").and_then(Value::as_str);
            Ok(Self {
                root: root.ok_or("\"root\" is no absolute path")?,
                options: options.ok_or("\"options\" is no text")?.to_owned(),
            })
        };
        Some(header())
    }
}

/// That a key is not known.
pub(super) fn unknown(key: &str) -> String {
    format!("unknown key {}", crate::names::Quoted(key.as_bytes()))
}

/// The kind of an entry, as in a plan and in 'utf8fs journal --json'.
#[must_use]
pub fn kind_label(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Dir => "directory",
        Kind::Symlink => "symlink",
        Kind::Fifo => "fifo",
        Kind::Socket => "socket",
        Kind::CharDevice => "character-device",
        Kind::BlockDevice => "block-device",
        Kind::Unknown => "unknown",
    }
}

pub(super) fn kind_of_label(label: &str) -> Option<Kind> {
    let kinds = [
        Kind::File,
        Kind::Dir,
        Kind::Symlink,
        Kind::Fifo,
        Kind::Socket,
        Kind::CharDevice,
        Kind::BlockDevice,
        Kind::Unknown,
    ];
    kinds.into_iter().find(|kind| kind_label(*kind) == label)
}

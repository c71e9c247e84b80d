//! The plan of a migration: lines of JSON in a file that people read and edit (docs/migrating.md).
//!
//! A header starts each tree. Then each line is about one entry, all lines of one directory together. The last line says
//! that nothing is missing.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize, Serializer};
use strum::EnumMessage;

use super::backing_name::{TreePath, tree_path};
use super::{Kind, Name};
use crate::codec::Charset;
use crate::names::BackingName;

/// The version of the format.
pub const PLAN_VERSION: u64 = 1;

/// Any line of a plan.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanRecord {
    /// The start of a tree.
    Header(PlanHeader),
    /// An entry of a directory.
    Line(Box<PlanLine>),
    /// The end of the plan.
    End(PlanEnd),
}

impl PlanRecord {
    /// Returns the record that is a line's JSON.
    ///
    /// # Errors
    /// It is no JSON, or no record.
    pub fn parse(json: &[u8]) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Marks {
            utf8fs_plan: Option<IgnoredAny>,
            utf8fs_plan_end: Option<IgnoredAny>,
        }
        let marks: Marks = serde_json::from_slice(json)?;
        if marks.utf8fs_plan.is_some() {
            serde_json::from_slice(json).map(Self::Header)
        } else if marks.utf8fs_plan_end.is_some() {
            serde_json::from_slice(json).map(Self::End)
        } else {
            serde_json::from_slice(json).map(Self::Line)
        }
    }
}

/// The first line about a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanHeader {
    /// The version of the format.
    #[serde(rename = "utf8fs_plan")]
    pub version: u64,
    /// The absolute path of the root of the tree.
    pub root: Name,
    /// The options that the tree was planned with, for people.
    pub options: String,
    /// The charset that names are encoded in: then a new name need not be UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Charset>,
}

/// The last line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanEnd {
    /// The version of the format.
    #[serde(rename = "utf8fs_plan_end")]
    pub version: u64,
}

/// A line about one entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanLine {
    /// The number of the line in the file that it was read from, counted from 1; 0 where it was not read.
    #[serde(skip)]
    pub number: usize,
    /// The directory.
    #[serde(with = "tree_path")]
    pub directory: TreePath,
    /// The inode number of the directory.
    pub directory_inode: u64,
    /// The entry's name.
    pub old: BackingName,
    /// Its new name; `None`: it keeps its own. Must be there, as `null` if nothing else.
    #[serde(deserialize_with = "Option::deserialize")]
    pub new: Option<BackingName>,
    /// The kind of the entry, as the directory tells it.
    pub kind: Kind,
    /// Its inode number, as the directory tells it.
    pub inode: u64,
    /// Why it changes, or stays.
    #[serde(default)]
    pub reason: Reason,
    /// The charset whose text the new name is.
    pub charset: Option<Charset>,
    /// The likelihood of that, 0.0..=1.0; `None` where nothing was guessed.
    #[serde(serialize_with = "four_digits")]
    pub confidence: Option<f64>,
    /// Other names for it, the likeliest first.
    #[serde(default)]
    pub candidates: Vec<Candidate>,
    /// Something that a person should look at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<Warning>,
    /// A file of the same directory, by its name before the migration, that has the same content: this one is set aside
    /// for it. Then `new` is `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_as: Option<BackingName>,
    /// The target of a symbolic link; only where it was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Name>,
    /// The new target; `None`: it keeps its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_target: Option<Name>,
}

/// A name that an entry could get as well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// The name.
    pub name: BackingName,
    /// The charset whose text it is.
    pub charset: Option<Charset>,
    /// The likelihood of that, 0.0..=1.0; `None` where nothing was guessed.
    #[serde(serialize_with = "four_digits")]
    pub confidence: Option<f64>,
}

/// Why an entry gets another name, or stands in the plan without one. The documentation of each is its text for people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(EnumMessage)]
pub enum Reason {
    /// decoded
    #[default]
    Decoded,
    /// was encoded twice
    #[serde(rename = "doubly-encoded")]
    Doubled,
    /// was escaped
    Escaped,
    /// had private-use characters for others
    Mapped,
    /// encoded in the charset of --to
    Encoded,
    /// normalized
    #[serde(rename = "normalized")]
    Form,
    /// had what the profile forbids
    Forbidden,
    /// cut to length
    TooLong,
    /// its target changes
    Target,
    /// what it leads to was renamed before
    Mended,
    /// its bytes are written as % and hex digits
    BytesEscaped,
    /// none of the charsets tried reads it
    Unreadable,
    /// its charset is uncertain
    Unsure,
    /// its text would have control characters; is the charset right?
    Control,
    /// its new name would be too long
    WouldBeTooLong,
    /// no conforming name stands for it
    NoSpelling,
    /// the charset of --to cannot have it
    Unmappable,
    /// another entry has its new name, see --on-collision
    Taken,
    /// something is mounted on it
    MountPoint,
    /// it is a symbolic link with several names
    HardLinked,
    /// its new target would be too long
    TargetTooLong,
    /// it leads to a file that is set aside
    TargetSetAside,
    /// another file has its new name and the same content
    Same,
}

/// Something that a person should look at before it is done. The documentation of each is its text for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(EnumMessage)]
pub enum Warning {
    /// its bytes may be an overlong sequence of UTF-8, made to deceive
    Overlong,
    /// its text has control characters; is the charset right?
    Control,
    /// another entry has the name without this number
    Numbered,
}

/// Returns a reason or a warning in words.
pub fn describe(of: impl EnumMessage) -> &'static str {
    of.get_documentation().unwrap_or_default()
}

/// A probability, rounded to four digits.
#[expect(clippy::ref_option, reason = "the derive passes the field so")]
fn four_digits<S: Serializer>(confidence: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    let rounded = confidence.map(|confidence| (confidence * 1e4).round() / 1e4);
    rounded.serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::PlanRecord;
    use crate::records::json_line;

    /// Law L4: what is written, byte for byte, and read back.
    #[test]
    fn l4_lines_are_written_as_they_were_read() {
        let lines = [
            r#"{"utf8fs_plan":1,"root":{"text":"/srv/old"},"options":"--from koi8-r"}"#,
            r#"{"utf8fs_plan":1,"root":{"text":"/srv/old"},"options":"--to koi8-r","to":"koi8-r"}"#,
            r#"{"directory":{"text":"a/b"},"directory_inode":1,"old":{"bytes":"6Q=="},"new":{"text":"é"},"kind":"file","inode":2,"reason":"decoded","charset":"iso-8859-1","confidence":0.9375,"candidates":[{"name":{"text":"щ"},"charset":"koi8-r","confidence":null}],"warning":"overlong"}"#,
            r#"{"directory":{"text":""},"directory_inode":1,"old":{"text":"l"},"new":null,"kind":"symlink","inode":2,"reason":"target","charset":null,"confidence":null,"candidates":[],"target":{"bytes":"6Q=="},"new_target":{"text":"é"}}"#,
            r#"{"directory":{"text":""},"directory_inode":1,"old":{"text":"c"},"new":null,"kind":"character-device","inode":2,"reason":"would-be-too-long","charset":null,"confidence":null,"candidates":[],"same_as":{"text":"d"}}"#,
            r#"{"utf8fs_plan_end":1}"#,
        ];
        for line in lines {
            let written = match PlanRecord::parse(line.as_bytes()).unwrap() {
                PlanRecord::Header(header) => json_line(&header),
                PlanRecord::Line(line) => json_line(&*line),
                PlanRecord::End(end) => json_line(&end),
            };
            assert_eq!(written, line);
        }
    }

    #[test]
    fn fields_that_decide_nothing_may_be_missing_and_confidence_is_rounded() {
        let short = r#"{"directory":{"text":""},"directory_inode":1,"old":{"text":"a"},"new":null,"kind":"file","inode":2,"confidence":0.123456}"#;
        let Ok(PlanRecord::Line(line)) = PlanRecord::parse(short.as_bytes()) else {
            panic!("{short}");
        };
        assert!(
            json_line(&*line).contains(r#""reason":"decoded","charset":null,"confidence":0.1235,"#)
        );
    }
}

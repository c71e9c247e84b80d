//! One line of a log, read strictly: it is a record, or it is said why not.
//!
//! Here is the short way, which almost every line takes: each field of an event, of its type. What is wrong with a line that does
//! not come through is looked for in [`why`](super::why).

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::why::{EVENTS, why};
use super::words::{Exempt, Offended, Verdict, Word, Worded, is_code_point, is_errno, time};
use crate::fs::audit::Operation;

/// A text.
#[derive(Debug, Deserialize)]
pub(super) struct Text<'l>(#[serde(borrow)] pub(super) Cow<'l, str>);

impl<'de, T: Worded> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Text::deserialize(from)?;
        Word::of(&text.0).ok_or_else(|| D::Error::custom("another word"))
    }
}

/// No count is larger: a century of a hundred million a minute is less, and whatever reads JSON takes such a number for what it is.
pub(super) const MOST: u64 = 1 << 53;

/// How many.
#[derive(Debug)]
struct Count(u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match u64::deserialize(from)? {
            count if count <= MOST => Ok(Self(count)),
            _ => Err(D::Error::custom("too many")),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ToldName<'l> {
    Text(#[serde(borrow)] Cow<'l, str>),
    Bytes(#[serde(borrow)] Cow<'l, str>),
}

/// A name that is text or bytes.
#[derive(Debug)]
pub(super) struct Name<'l>(Cow<'l, [u8]>);

impl<'de: 'l, 'l> Deserialize<'de> for Name<'l> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self(match ToldName::deserialize(from)? {
            ToldName::Text(Cow::Borrowed(text)) => Cow::Borrowed(text.as_bytes()),
            ToldName::Text(Cow::Owned(text)) => Cow::Owned(text.into_bytes()),
            ToldName::Bytes(base64) => {
                let octets = STANDARD.decode(base64.as_bytes());
                Cow::Owned(octets.map_err(|_no_base64| D::Error::custom("no base64"))?)
            }
        }))
    }
}

/// A name that starts with `/`.
#[derive(Debug)]
pub(super) struct Absolute<'l>(Cow<'l, [u8]>);

impl<'de: 'l, 'l> Deserialize<'de> for Absolute<'l> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = Name::deserialize(from)?.0;
        match name.starts_with(b"/") {
            true => Ok(Self(name)),
            false => Err(D::Error::custom("not absolute")),
        }
    }
}

/// A time, just as a record has it.
#[derive(Debug)]
struct Time(Timestamp);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Text::deserialize(from)?;
        let time = time(&text.0).ok_or_else(|| D::Error::custom("no time"))?;
        Ok(Self(time))
    }
}

/// What has to be there, and may be null.
fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    Option::deserialize(from)
}

/// What need not be there, and is not null.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// A text like this that may be null, of which no more is wanted.
fn of_shape<'de, D: Deserializer<'de>>(from: D, is_such: fn(&str) -> bool) -> Result<(), D::Error> {
    match Option::<Text<'_>>::deserialize(from)? {
        Some(text) if !is_such(&text.0) => Err(D::Error::custom("another text")),
        Some(_) | None => Ok(()),
    }
}

fn code_point<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    of_shape(from, is_code_point)
}

fn errno<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    of_shape(from, is_errno)
}

/// Each field of an offence. What a later version adds is let pass.
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "fields of which only the type matters")]
struct Offence<'l> {
    time: Time,
    #[serde(borrow)]
    event: Text<'l>,
    #[serde(borrow)]
    mount: Absolute<'l>,
    operation: Word<Operation>,
    #[serde(borrow)]
    path: Absolute<'l>,
    #[serde(borrow)]
    name: Name<'l>,
    rule: Word<Offended>,
    #[serde(borrow)]
    kind: Text<'l>,
    offset: Count,
    length: Count,
    #[serde(deserialize_with = "code_point")]
    code_point: (),
    verdict: Word<Verdict>,
    #[serde(deserialize_with = "nullable")]
    exempt: Option<Word<Exempt>>,
    #[serde(deserialize_with = "errno")]
    errno: (),
    #[serde(borrow, deserialize_with = "nullable")]
    visible: Option<Name<'l>>,
    #[serde(borrow, deserialize_with = "nullable")]
    backing: Option<Name<'l>>,
    #[serde(borrow, deserialize_with = "nullable")]
    accepted: Option<Name<'l>>,
    #[serde(borrow, deserialize_with = "nullable")]
    sibling: Option<Name<'l>>,
    uid: u32,
    gid: u32,
    pid: u32,
    #[serde(borrow)]
    command: Name<'l>,
    left_out: Count,
    #[serde(borrow, default, deserialize_with = "present")]
    section: Option<Name<'l>>,
}

#[derive(Debug, Deserialize)]
struct LeftOut<'l> {
    time: Time,
    #[serde(borrow)]
    event: Text<'l>,
    #[serde(borrow)]
    mount: Absolute<'l>,
    #[serde(borrow)]
    directory: Absolute<'l>,
    uid: u32,
    left_out: Count,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "fields of which only the type matters")]
struct Summary<'l> {
    time: Time,
    #[serde(borrow)]
    event: Text<'l>,
    #[serde(borrow)]
    mount: Absolute<'l>,
    operations: Count,
    #[serde(borrow)]
    offences: std::collections::BTreeMap<Cow<'l, str>, Count>,
    refused: Count,
    normalized: Count,
    reported: Count,
    written: Count,
    left_out: Count,
    dropped: Count,
}

/// An event that this program does not know. Of its fields no more is known than that.
#[derive(Debug, Deserialize)]
struct Other<'l> {
    time: Time,
    #[serde(borrow)]
    event: Text<'l>,
}

/// A record.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) time: Timestamp,
    /// Mount point and path of it: of the name, of the directory, or of the mount itself.
    pub(super) path: Vec<u8>,
    pub(super) what: What,
}

/// What is recorded.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum What {
    /// An offence, and how many were left out before it.
    Offence(Box<Asked>),
    /// Offences of a user that were left out.
    LeftOut { uid: u32, left_out: u64 },
    /// A mount ended, whose log lost so many records.
    Summary { dropped: u64 },
    /// An event that this program does not know.
    Other,
}

/// An offence: what was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) rule: Offended,
    pub(super) kind: String,
    pub(super) operation: Operation,
    pub(super) verdict: Verdict,
    pub(super) uid: u32,
    pub(super) command: Vec<u8>,
    /// The section of the policy that decided, if one did.
    pub(super) section: Option<Vec<u8>>,
    pub(super) left_out: u64,
}

/// Reads a line, without space around it.
///
/// # Errors
/// Why it is no record.
pub(super) fn read(line: &[u8]) -> Result<Record, String> {
    // An array of just the right values would do for the fields of an object.
    let is_object = line.starts_with(b"{");
    let record = is_object.then(|| offence(line).or_else(|| rarer(line)));
    record.flatten().ok_or_else(|| why(line))
}

fn offence(line: &[u8]) -> Option<Record> {
    let read: Offence<'_> = serde_json::from_slice(line).ok()?;
    (read.event.0 == "offence").then(|| Record {
        time: read.time.0,
        path: joined(&read.mount, &read.path),
        what: What::Offence(Box::new(Asked {
            rule: read.rule.0,
            kind: read.kind.0.into_owned(),
            operation: read.operation.0,
            verdict: read.verdict.0,
            uid: read.uid,
            command: read.command.0.into_owned(),
            section: read.section.map(|section| section.0.into_owned()),
            left_out: read.left_out.0,
        })),
    })
}

#[cold]
fn rarer(line: &[u8]) -> Option<Record> {
    if let Ok(read) = serde_json::from_slice::<LeftOut<'_>>(line)
        && read.event.0 == "left-out"
    {
        let (uid, left_out) = (read.uid, read.left_out.0);
        return Some(Record {
            time: read.time.0,
            path: joined(&read.mount, &read.directory),
            what: What::LeftOut { uid, left_out },
        });
    }
    if let Ok(read) = serde_json::from_slice::<Summary<'_>>(line)
        && read.event.0 == "summary"
    {
        let dropped = read.dropped.0;
        return Some(Record {
            time: read.time.0,
            path: read.mount.0.into_owned(),
            what: What::Summary { dropped },
        });
    }
    let read: Other<'_> = serde_json::from_slice(line).ok()?;
    let is_known = EVENTS.iter().any(|(event, _)| *event == read.event.0);
    (!is_known).then(|| Record {
        time: read.time.0,
        path: mount_of_other(line),
        what: What::Other,
    })
}

/// The mount that an unknown event is of; `/` where it is of none.
fn mount_of_other(line: &[u8]) -> Vec<u8> {
    #[derive(Deserialize)]
    struct Mount<'l> {
        #[serde(borrow)]
        mount: Absolute<'l>,
    }
    let read = serde_json::from_slice::<Mount<'_>>(line);
    read.map_or_else(|_none| b"/".to_vec(), |read| read.mount.0.into_owned())
}

/// The path `below` of a mount.
fn joined(mount: &Absolute<'_>, below: &Absolute<'_>) -> Vec<u8> {
    let above = mount.0.strip_suffix(b"/").unwrap_or(&mount.0);
    [above, &below.0].concat()
}

#[cfg(test)]
mod tests {
    use super::{Asked, Offended, Operation, Record, Verdict, What, read};
    use crate::cli::audit::why::samples;

    #[test]
    fn a_record_is_read() {
        let line = samples::OFFENCE;
        let asked = |section: Option<&[u8]>| Record {
            time: "2026-11-21T11:49:58.965881Z".parse().unwrap(),
            path: b"/mnt/caf\xE9".to_vec(),
            what: What::Offence(Box::new(Asked {
                rule: Offended::IllFormed,
                kind: "truncated".to_owned(),
                operation: Operation::Create,
                verdict: Verdict::Refused,
                uid: 7,
                command: b"tou\"ch".to_vec(),
                section: section.map(<[u8]>::to_vec),
                left_out: 2,
            })),
        };
        assert_eq!(read(line.as_bytes()), Ok(asked(None)));
        let body = line.strip_suffix('}').unwrap();
        let line = format!(r#"{body},"section":{{"text":"s"}},"later":[{{}}]}}"#);
        assert_eq!(read(line.as_bytes()), Ok(asked(Some(b"s"))));
    }

    #[test]
    fn an_event_of_a_later_version_is_one_whatever_else_it_has() {
        let line = r#"{"time":"2026-11-21T11:49:58.965881Z","event":"policy","mount":{"text":"/m"},"uid":"x"}"#;
        let read_as = |line: &str| read(line.as_bytes()).map(|record| (record.path, record.what));
        assert_eq!(read_as(line), Ok((b"/m".to_vec(), What::Other)));
        let other = line.replace("{\"text\":\"/m\"}", "7");
        assert_eq!(read_as(&other), Ok((b"/".to_vec(), What::Other)));
    }
}

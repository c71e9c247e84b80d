//! Reading a policy file and those that it includes, with the numbers of the users and groups that they name.
//!
//! Where there is a helper process, that process does this, outside of the daemon's root. The daemon can name it no file: it reads
//! what the administrator's file includes, and hands the text over.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::document::{Mentions, mentions};
use super::fault::Mark;
use super::grounds::{Grounds, Lost};
use crate::cli::error::reason;
use crate::names::Quoted;

/// Most files of a policy.
const MOST_FILES: usize = 64;

/// Most octets of all of them.
const MOST_OCTETS: u64 = 1 << 20;

/// Where users and groups have their numbers. Not by NSS, which would load code and ask the network.
const PASSWD: &str = "/etc/passwd";
const GROUP: &str = "/etc/group";

/// A file of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// Its text, or why there is none.
    pub(super) text: Result<String, String>,
    /// Line and column where it stops being text, if that is why there is none.
    pub(super) ill_formed_at: Option<(usize, usize)>,
    /// Which of the files it includes, in the order in which it names them; `None` for one too many.
    pub(super) includes: Vec<Option<usize>>,
    /// Where lines and columns are counted from, once that was asked for.
    pub(super) marks: OnceLock<Vec<Mark>>,
}

/// All files of a policy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Gathered {
    /// The first is the one that includes the others.
    pub(super) files: Vec<Source>,
    /// The users that are named, with their numbers.
    pub(super) users: BTreeMap<String, Option<u32>>,
    /// The groups.
    pub(super) groups: BTreeMap<String, Option<u32>>,
}

/// What identifies a file, by whatever name: its device and inode.
type Identity = (u64, u64);

/// Reads the policy file at `path`, which is absolute, and all that it includes. Never waits for the writer of a FIFO. What is wrong
/// is in what is returned, such as that one of them lies in `grounds`.
pub(super) fn gather(path: &Path, grounds: &Grounds) -> Gathered {
    let mut gathering = Gathering {
        grounds,
        all: Gathered::default(),
        known: Vec::new(),
        octets: 0,
    };
    gathering.add(path);
    let mut all = gathering.all;
    for (names, file) in [(&mut all.users, PASSWD), (&mut all.groups, GROUP)] {
        if !names.is_empty() {
            number(names, &std::fs::read(file).unwrap_or_default());
        }
    }
    all
}

struct Gathering<'a> {
    grounds: &'a Grounds,
    all: Gathered,
    /// What the files are, where they could be opened.
    known: Vec<Option<Identity>>,
    octets: u64,
}

impl Gathering<'_> {
    /// Adds a file and what it includes, unless it is there already; gives its place.
    fn add(&mut self, path: &Path) -> Option<usize> {
        let opened = open(path, self.grounds);
        let identity = opened.as_ref().ok().map(|(_, identity)| *identity);
        if identity.is_some()
            && let Some(index) = self.known.iter().position(|known| *known == identity)
        {
            return Some(index);
        }
        let index = self.all.files.len();
        if index >= MOST_FILES {
            return None;
        }
        let mut ill_formed_at = None;
        let octets = opened.and_then(|(file, _)| self.read(file));
        let text = octets.and_then(|octets| {
            String::from_utf8(octets).map_err(|error| {
                let at = error.utf8_error().valid_up_to();
                ill_formed_at = Some(line_and_column(error.as_bytes(), at));
                format!("is not well-formed UTF-8, from byte {at} on")
            })
        });
        let Mentions {
            includes,
            users,
            groups,
        } = text.as_deref().map(mentions).unwrap_or_default();
        self.all.files.push(Source {
            path: path.to_owned(),
            text,
            ill_formed_at,
            includes: Vec::new(),
            marks: OnceLock::new(),
        });
        self.known.push(identity);
        self.all.users.extend(users.into_iter().map(|n| (n, None)));
        self.all
            .groups
            .extend(groups.into_iter().map(|n| (n, None)));
        let directory = path.parent().unwrap_or(Path::new("/"));
        let includes: Vec<Option<usize>> = includes
            .iter()
            .map(|include| self.add(&directory.join(include)))
            .collect();
        if let Some(source) = self.all.files.get_mut(index) {
            source.includes = includes;
        }
        Some(index)
    }

    fn read(&mut self, file: File) -> Result<Vec<u8>, String> {
        let left = MOST_OCTETS.saturating_sub(self.octets);
        let mut octets = Vec::new();
        let read = file.take(left.saturating_add(1)).read_to_end(&mut octets);
        read.map_err(|error| format!("cannot be read: {}", reason(&error)))?;
        let length = u64::try_from(octets.len()).unwrap_or(u64::MAX);
        if length > left {
            return Err(too_large());
        }
        self.octets += length;
        Ok(octets)
    }
}

/// Line and column, each from 1, the column in characters, behind the first `before` octets, which are UTF-8.
fn line_and_column(octets: &[u8], before: usize) -> (usize, usize) {
    let before = octets.get(..before).unwrap_or_default();
    let mut lines = before.split(|&octet| octet == b'\n');
    let last = lines.next_back().unwrap_or_default();
    // Each character has one octet that continues none.
    let column = last.iter().filter(|&octet| octet & 0xC0 != 0x80).count() + 1;
    (lines.count() + 1, column)
}

fn too_large() -> String {
    format!(
        "is too large: a policy has at most {} KiB, with all that it includes",
        MOST_OCTETS >> 10
    )
}

fn open(path: &Path, grounds: &Grounds) -> Result<(File, Identity), String> {
    let cannot = |error: io::Error| format!("cannot be read: {}", reason(&error));
    let lost = |lost: Lost| match lost {
        Lost::Io(error) if error.kind() == io::ErrorKind::IsADirectory => {
            "is a directory".to_owned()
        }
        other @ (Lost::Io(_) | Lost::Inside(..)) => other.to_string(),
    };
    let found = grounds.find(path).map_err(lost)?;
    // To open a device can be an act.
    check(
        &found
            .looked_at()
            .and_then(|file| file.metadata())
            .map_err(cannot)?,
    )?;
    let file = found.open().map_err(lost)?;
    let metadata = file.metadata().map_err(cannot)?;
    check(&metadata)?;
    Ok((file, (metadata.dev(), metadata.ino())))
}

fn check(metadata: &Metadata) -> Result<(), String> {
    let kind = metadata.file_type();
    if kind.is_dir() {
        return Err("is a directory".to_owned());
    }
    if !kind.is_file() {
        let what = if kind.is_fifo() { "a FIFO" } else { "no file" };
        return Err(format!("is {what}"));
    }
    if metadata.mode() & 0o002 != 0 {
        return Err("can be written by everybody".to_owned());
    }
    match metadata.len() {
        length if length > MOST_OCTETS => Err(too_large()),
        _ => Ok(()),
    }
}

/// Gives `names` the numbers that they have in `table`, which is as passwd(5) and group(5) have it.
fn number(names: &mut BTreeMap<String, Option<u32>>, table: &[u8]) {
    for line in table.split(|&octet| octet == b'\n') {
        let mut fields = line.split(|&octet| octet == b':');
        let name = fields
            .next()
            .and_then(|name| std::str::from_utf8(name).ok());
        let number = fields.nth(1).and_then(|id| std::str::from_utf8(id).ok());
        if let Some(slot) = name.and_then(|name| names.get_mut(name))
            && slot.is_none()
        {
            *slot = number.and_then(|number| number.parse().ok());
        }
    }
}

/// The number of a user or group (`user`, `group`) by its name in the system's own tables.
pub(super) fn number_of(what: &str, name: &str) -> Option<u32> {
    let table = if what == "user" { PASSWD } else { GROUP };
    let mut names = BTreeMap::from([(name.to_owned(), None)]);
    number(&mut names, &std::fs::read(table).ok()?);
    names.into_values().next().flatten()
}

impl Gathered {
    /// For the way from the helper process to the daemon.
    pub(super) fn to_json(&self) -> Vec<u8> {
        let numbers = |names: &BTreeMap<String, Option<u32>>| -> Value {
            let pairs = names.iter().map(|(name, id)| (name.clone(), json!(id)));
            Map::from_iter(pairs).into()
        };
        let files: Vec<Value> = self
            .files
            .iter()
            .map(|source| {
                json!({
                    "path": STANDARD.encode(source.path.as_os_str().as_bytes()),
                    "text": source.text.as_ref().ok(),
                    "fault": source.text.as_ref().err(),
                    "ill_formed_at": source.ill_formed_at,
                    "includes": source.includes,
                })
            })
            .collect();
        let all = json!({
            "files": files,
            "users": numbers(&self.users),
            "groups": numbers(&self.groups),
        });
        all.to_string().into_bytes()
    }

    /// Takes it back; `None` if it is nothing of the sort.
    pub(super) fn from_json(octets: &[u8]) -> Option<Self> {
        let all: Value = serde_json::from_slice(octets).ok()?;
        let numbers = |key: &str| {
            let pairs = all.get(key)?.as_object()?.iter();
            let number = |id: &Value| id.as_u64().and_then(|id| u32::try_from(id).ok());
            Some(pairs.map(|(name, id)| (name.clone(), number(id))).collect())
        };
        let source = |file: &Value| {
            let path = STANDARD.decode(file.get("path")?.as_str()?).ok()?;
            let text = |key: &str| Some(file.get(key)?.as_str()?.to_owned());
            let includes = file.get("includes")?.as_array()?.iter();
            let number = |key: &str| usize::try_from(file.pointer(key)?.as_u64()?).ok();
            Some(Source {
                path: std::ffi::OsString::from_vec(path).into(),
                text: text("text").ok_or_else(|| text("fault").unwrap_or_default()),
                ill_formed_at: number("/ill_formed_at/0").zip(number("/ill_formed_at/1")),
                includes: includes
                    .map(|index| index.as_u64().and_then(|index| usize::try_from(index).ok()))
                    .collect(),
                marks: OnceLock::new(),
            })
        };
        let files = all.get("files")?.as_array()?.iter();
        Some(Self {
            files: files.map(source).collect::<Option<_>>()?,
            users: numbers("users")?,
            groups: numbers("groups")?,
        })
    }

    /// A file's path, for people.
    pub(super) fn shown(&self, file: usize) -> String {
        let path = self.files.get(file).map(|source| source.path.as_os_str());
        let path = path.unwrap_or_default().as_bytes();
        // As editors take it, where nothing in it is harmful.
        match std::str::from_utf8(path) {
            Ok(text) if Quoted(path).to_string() == format!("\"{text}\"") => text.to_owned(),
            _ => Quoted(path).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_the_numbers_of_the_table() {
        let names = ["root", "b", "none", "bad"];
        let mut names: BTreeMap<String, Option<u32>> = names
            .iter()
            .map(|name| ((*name).to_owned(), None))
            .collect();
        let table = b"root:x:0:0:r:/root:/bin/sh\n\xFF:x:4\nb:x:17\nb:x:18:1\nbad:x:many:1\n";
        number(&mut names, table);
        let found: Vec<Option<u32>> = names.into_values().collect();
        assert_eq!(found, [Some(17), None, None, Some(0)]);
    }

    #[test]
    fn what_was_gathered_comes_back_from_json() {
        let gathered = Gathered {
            files: vec![
                Source {
                    path: std::ffi::OsString::from_vec(b"/p\xFF\n".to_vec()).into(),
                    text: Ok("include = [\"x\"]\n".to_owned()),
                    ill_formed_at: None,
                    includes: vec![Some(1), None],
                    marks: OnceLock::new(),
                },
                Source {
                    path: "/x".into(),
                    text: Err("is not text".to_owned()),
                    ill_formed_at: Some((3, 17)),
                    includes: Vec::new(),
                    marks: OnceLock::new(),
                },
            ],
            users: [("u".to_owned(), Some(7)), ("v".to_owned(), None)].into(),
            groups: BTreeMap::new(),
        };
        assert_eq!(
            Gathered::from_json(&gathered.to_json()),
            Some(gathered.clone())
        );
        assert_eq!(Gathered::from_json(b"[]"), None);
        assert_eq!(gathered.shown(0), r#""/p\xFF\n""#);
        assert_eq!(gathered.shown(1), "/x");
    }
}

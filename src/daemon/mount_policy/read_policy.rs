//! Reading a policy file and those that it includes, with the numbers of the users and groups that they name.
//!
//! Where there is a helper process, that process does this, outside of the daemon's root. The daemon can name it no file: it reads
//! what the administrator's file includes, and hands the text over.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::policy_directory::PolicyDirectory;
use crate::daemon::start_error::reason;
use crate::records::{Id, List, Name, PolicyFile, PolicyText, TextFile};

/// Most files of a policy.
const MOST_FILES: usize = 64;

/// Most bytes of all of them.
const MOST_BYTES: u64 = 1 << 20;

/// Where users and groups have their numbers. Not by NSS, which would load code and ask the network.
const PASSWD: &str = "/etc/passwd";
const GROUP: &str = "/etc/group";

/// What identifies a file, by whatever name: its device and inode.
type Identity = (u64, u64);

/// Reads the file that is `name` within `directory`, and all that it includes. What is wrong is in what is returned.
pub(super) fn read_policy(directory: &PolicyDirectory, name: &Path) -> PolicyText {
    let mut reading = Reading {
        directory,
        text: PolicyText::default(),
        known: Vec::new(),
        bytes: 0,
    };
    reading.add(name);
    let mut text = reading.text;
    for (names, file) in [(&mut text.users, PASSWD), (&mut text.groups, GROUP)] {
        if !names.is_empty() {
            number(names, &std::fs::read(file).unwrap_or_default());
        }
    }
    text
}

/// Returns the text of a policy that cannot be read, for `why`.
pub(super) fn unreadable(path: &Path, why: String) -> PolicyText {
    PolicyText {
        files: vec![TextFile {
            path: Name::of_path(path).into_owned(),
            text: Err(why),
            ill_formed_at: None,
            includes: Vec::new(),
        }],
        ..PolicyText::default()
    }
}

struct Reading<'a> {
    directory: &'a PolicyDirectory,
    text: PolicyText,
    /// The identities of the files that could be opened.
    known: Vec<Option<Identity>>,
    bytes: u64,
}

impl Reading<'_> {
    /// Adds a file and what it includes, unless it is there already; returns its index.
    fn add(&mut self, name: &Path) -> Option<usize> {
        let opened = open(self.directory, name);
        let path = self.directory.path_of(name);
        let identity = opened.as_ref().ok().map(|(_, identity)| *identity);
        if identity.is_some()
            && let Some(index) = self.known.iter().position(|known| *known == identity)
        {
            return Some(index);
        }
        let octets = opened.and_then(|(file, _)| self.read(file));
        let index = self.push(&path, octets, identity)?;
        let policy = self
            .text
            .files
            .get(index)
            .and_then(|file| file.text.as_ref().ok());
        let policy = policy.and_then(|text| PolicyFile::parse(text).ok());
        let policy = policy.unwrap_or_default();
        let ids = |list: &Option<List<Id>>| list.clone().unwrap_or_default().0;
        let mut users = ids(&policy.exempt_uid);
        let mut groups = Vec::new();
        for section in &policy.section {
            users.extend(ids(&section.users));
            groups.extend(ids(&section.groups));
        }
        add_names(&mut self.text.users, users);
        add_names(&mut self.text.groups, groups);
        let includes = policy.include.0.iter();
        let includes = includes
            .map(|include| match self.directory.resolve(name, include) {
                Ok(include) => self.add(&include),
                Err(why) => self.push(&PathBuf::from(include), Err(why), None),
            })
            .collect();
        if let Some(file) = self.text.files.get_mut(index) {
            file.includes = includes;
        }
        Some(index)
    }

    /// Adds a file; `None` where there are too many.
    fn push(
        &mut self,
        path: &Path,
        octets: Result<Vec<u8>, String>,
        identity: Option<Identity>,
    ) -> Option<usize> {
        let index = self.text.files.len();
        if index >= MOST_FILES {
            return None;
        }
        let mut ill_formed_at = None;
        let text = octets.and_then(|octets| {
            String::from_utf8(octets).map_err(|error| {
                let at = error.utf8_error().valid_up_to();
                ill_formed_at = Some(line_and_column(error.as_bytes(), at));
                format!("is not well-formed UTF-8, from byte {at} on")
            })
        });
        self.text.files.push(TextFile {
            path: Name::of_path(path).into_owned(),
            text,
            ill_formed_at,
            includes: Vec::new(),
        });
        self.known.push(identity);
        Some(index)
    }

    fn read(&mut self, file: File) -> Result<Vec<u8>, String> {
        let left = MOST_BYTES.saturating_sub(self.bytes);
        let mut octets = Vec::new();
        let read = file.take(left.saturating_add(1)).read_to_end(&mut octets);
        read.map_err(|error| format!("cannot be read: {}", reason(&error)))?;
        let length = u64::try_from(octets.len()).unwrap_or(u64::MAX);
        if length > left {
            return Err(too_large());
        }
        self.bytes += length;
        Ok(octets)
    }
}

fn add_names(names: &mut BTreeMap<String, Option<u32>>, ids: Vec<Id>) {
    let ids = ids.into_iter().filter_map(|id| match id {
        Id::Name(name) => Some((name, None)),
        Id::Number(_) => None,
    });
    names.extend(ids);
}

/// Returns line and column, each from 1, the column in characters, behind the first `before` octets, which are UTF-8.
pub(super) fn line_and_column(octets: &[u8], before: usize) -> (usize, usize) {
    let before = octets.get(..before).unwrap_or(octets);
    let mut lines = before.split(|&octet| octet == b'\n');
    let last = lines.next_back().unwrap_or_default();
    // Each character has one octet that continues none.
    let column = last.iter().filter(|&octet| octet & 0xC0 != 0x80).count() + 1;
    (lines.count() + 1, column)
}

fn too_large() -> String {
    format!(
        "is too large: a policy has at most {} KiB, with all that it includes",
        MOST_BYTES >> 10
    )
}

fn open(directory: &PolicyDirectory, name: &Path) -> Result<(File, Identity), String> {
    let file = directory.read(name)?;
    let metadata = file.metadata();
    let metadata = metadata.map_err(|error| format!("cannot be read: {}", reason(&error)))?;
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
        length if length > MOST_BYTES => Err(too_large()),
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

/// Returns the number of a `user` or `group` by its name in the system's own tables.
#[must_use]
pub fn number_of(what: &str, name: &str) -> Option<u32> {
    let table = if what == "user" { PASSWD } else { GROUP };
    let mut names = BTreeMap::from([(name.to_owned(), None)]);
    number(&mut names, &std::fs::read(table).ok()?);
    names.into_values().next().flatten()
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
}

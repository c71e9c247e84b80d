//! Reading a policy file and those that it includes, and the tables of users and groups.
//!
//! Where there is a helper process, that process does this, outside of the daemon's root. The daemon can name it no file: it reads
//! what the administrator's file includes, and hands the text over.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::policy_directory::PolicyDirectory;
use crate::daemon::start_error::reason;
use crate::records::{Name, PolicyFile, PolicyText, TextFile};

/// Most bytes of all files.
const MOST_BYTES: u64 = 1 << 20;

/// The file with the ids of users and groups. Not NSS, which would load code and ask the network.
const PASSWD: &str = "/etc/passwd";
const GROUP: &str = "/etc/group";

/// Reads the file that is `name` within `directory`, and all that it includes, each once. What is wrong is in what is returned.
pub(super) fn read_policy(directory: &PolicyDirectory, name: &Path) -> PolicyText {
    let mut text = PolicyText {
        files: Vec::new(),
        passwd: table(PASSWD).into(),
        group: table(GROUP).into(),
    };
    // Device and inode of each file that was read.
    let mut known = HashSet::new();
    let mut left = MOST_BYTES;
    let mut waiting = vec![(name.to_owned(), None)];
    while let Some((name, included_by)) = waiting.pop() {
        let content = match open(directory, &name) {
            Ok((_, identity)) if !known.insert(identity) => continue,
            opened => opened.and_then(|(file, _)| read(file, &mut left)),
        };
        let keys = content.as_ref().ok();
        let keys = keys.and_then(|text| PolicyFile::parse(text).ok());
        let index = text.files.len();
        let beside = name.parent().unwrap_or(Path::new(""));
        let includes = keys.and_then(|keys| keys.include);
        let includes = includes.into_iter().flat_map(|list| list.0).rev();
        waiting.extend(includes.map(|include| (beside.join(include), Some(index))));
        text.files.push(TextFile {
            path: Name::of_path(&directory.path_of(&name)).into_owned(),
            text: content,
            included_by,
        });
    }
    text
}

fn table(path: &str) -> Vec<u8> {
    std::fs::read(path).unwrap_or_default()
}

/// Returns the text of a policy that cannot be read, for `why`.
pub(super) fn unreadable(path: &Path, why: String) -> PolicyText {
    PolicyText {
        files: vec![TextFile {
            path: Name::of_path(path).into_owned(),
            text: Err(why),
            included_by: None,
        }],
        ..PolicyText::default()
    }
}

/// Reads a file, of which `left` bytes may be read.
fn read(file: File, left: &mut u64) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = file.take(left.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| format!("cannot be read: {}", reason(&error)))?;
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    *left = left.checked_sub(length).ok_or_else(|| {
        format!(
            "is too large: a policy has at most {} KiB, with all that it includes",
            MOST_BYTES >> 10
        )
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let (line, column) = line_and_column(error.as_bytes(), at);
        format!("is not well-formed UTF-8 from line {line}, column {column} on (byte {at})")
    })
}

/// Returns line and column, each from 1, the column in characters, behind the first `before` bytes, which are UTF-8.
#[must_use]
pub fn line_and_column(octets: &[u8], before: usize) -> (usize, usize) {
    let before = octets.get(..before).unwrap_or(octets);
    let mut lines = before.split(|&octet| octet == b'\n');
    let last = lines.next_back().unwrap_or_default();
    // Each character has one byte that continues none.
    let column = last.iter().filter(|&octet| octet & 0xC0 != 0x80).count() + 1;
    (lines.count() + 1, column)
}

/// Opens a file that may be one of a policy; returns its device and inode as well.
fn open(directory: &PolicyDirectory, name: &Path) -> Result<(File, (u64, u64)), String> {
    let file = directory.read(name)?;
    let metadata = file.metadata();
    let metadata = metadata.map_err(|error| format!("cannot be read: {}", reason(&error)))?;
    let kind = metadata.file_type();
    let what = if kind.is_dir() {
        "is a directory"
    } else if kind.is_fifo() {
        "is a FIFO"
    } else if !kind.is_file() {
        "is not a file"
    } else if metadata.mode() & 0o002 != 0 {
        "can be written by everybody"
    } else {
        return Ok((file, (metadata.dev(), metadata.ino())));
    };
    Err(what.to_owned())
}

/// Returns the number of a user or group by its name in a table as of passwd(5) or group(5).
pub(super) fn number_in(table: &[u8], name: &str) -> Option<u32> {
    ids_of(name, 0, 2, table).next()
}

/// Returns the number of a `user` or `group` by its name in the system's own tables.
#[must_use]
pub fn number_of(what: &str, name: &str) -> Option<u32> {
    number_in(&table(if what == "user" { PASSWD } else { GROUP }), name)
}

/// Returns the names of the users in the system's own table by their numbers; of two for one number the first.
#[must_use]
pub fn user_names() -> HashMap<u32, String> {
    let table = std::fs::read(PASSWD).unwrap_or_default();
    let lines = lines_of(&table).filter_map(|fields| {
        let name = std::str::from_utf8(fields.first()?).ok()?;
        Some((id_in(&fields, 2)?, name.to_owned()))
    });
    let mut lines: Vec<(u32, String)> = lines.collect();
    lines.reverse();
    lines.into_iter().collect()
}

/// Returns the groups of a user by the system's own tables: the first one, and those that list the user as a member.
#[must_use]
pub fn groups_of(user: &str) -> BTreeSet<u32> {
    let [passwd, group] = [PASSWD, GROUP].map(table);
    let first = ids_of(user, 0, 3, &passwd);
    first.chain(ids_of(user, 3, 2, &group)).collect()
}

/// Returns by the number of a user which of `groups` the user is in.
pub(super) fn members_of(
    groups: &BTreeSet<u32>,
    passwd: &[u8],
    group: &[u8],
) -> BTreeMap<u32, BTreeSet<u32>> {
    let users = || {
        lines_of(passwd)
            .filter_map(|fields| Some((*fields.first()?, id_in(&fields, 2)?, id_in(&fields, 3)?)))
    };
    let numbers: HashMap<&[u8], u32> = users().map(|(name, uid, _)| (name, uid)).collect();
    let listed = lines_of(group).filter_map(|fields| Some((id_in(&fields, 2)?, *fields.get(3)?)));
    let listed = listed.flat_map(|(gid, names)| {
        let names = names.split(|&octet| octet == b',');
        names.map(move |name| (gid, name))
    });
    let listed = listed.filter_map(|(gid, name)| Some((*numbers.get(name)?, gid)));
    let mut members = BTreeMap::<u32, BTreeSet<u32>>::new();
    for (uid, gid) in users().map(|(_, uid, gid)| (uid, gid)).chain(listed) {
        if groups.contains(&gid) {
            members.entry(uid).or_default().insert(gid);
        }
    }
    members
}

/// Returns the field `id` of each line of `table` whose field `names` has `name` among its names. Other fields may be in any charset.
fn ids_of(name: &str, names: usize, id: usize, table: &[u8]) -> impl Iterator<Item = u32> {
    lines_of(table).filter_map(move |fields| {
        let mut names = fields.get(names)?.split(|&octet| octet == b',');
        names.find(|one| *one == name.as_bytes())?;
        id_in(&fields, id)
    })
}

/// Returns the fields of each line of a table.
fn lines_of(table: &[u8]) -> impl Iterator<Item = Vec<&[u8]>> {
    let lines = table.split(|&octet| octet == b'\n');
    lines.map(|line| line.split(|&octet| octet == b':').collect())
}

fn id_in(fields: &[&[u8]], index: usize) -> Option<u32> {
    std::str::from_utf8(fields.get(index)?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_a_user_are_the_first_and_those_with_the_user_as_a_member() {
        let ids = |names, id, table: &[u8]| ids_of("ana", names, id, table).collect::<Vec<u32>>();
        let passwd = b"ana:x:7:70:Ana P\xE9rez:/:/bin/sh\nanna:x:8:80::/:\n\xFF\nbad\n";
        assert_eq!(ids(0, 3, passwd), [70]);
        let group = b"none:x:1:\na:x:2:ana\nb:x:3:anna,ana\nana:x:4:anna\nc:x:many:ana\n";
        assert_eq!(ids(3, 2, group), [2, 3]);
        let members = members_of(&[2, 3, 80].into(), passwd, group);
        assert_eq!(members, [(7, [2, 3].into()), (8, [3, 80].into())].into());
    }

    #[test]
    fn users_have_the_numbers_of_the_table() {
        let table = b"root:x:0:0:r:/root:/bin/sh\n\xFF:x:4\nb:x:17\nb:x:18:1\nbad:x:many:1\n";
        let found = ["b", "bad", "none", "root"].map(|name| number_in(table, name));
        assert_eq!(found, [Some(17), None, None, Some(0)]);
    }
}

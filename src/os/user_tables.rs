//! The system's own tables of users and groups. Not NSS, which would load code and ask the network.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The table of users (passwd(5)).
pub const PASSWD: &str = "/etc/passwd";
/// The table of groups (group(5)).
pub const GROUP: &str = "/etc/group";

/// Reads a table; one that cannot be read is empty.
pub fn table(path: &str) -> Vec<u8> {
    std::fs::read(path).unwrap_or_default()
}

/// Returns the number of the user or group `name` in a table.
pub fn number_in(table: &[u8], name: &str) -> Option<u32> {
    let mut named = lines_of(table).filter(|fields| fields.first() == Some(&name.as_bytes()));
    named.find_map(|fields| id_in(&fields, 2))
}

/// Returns the names of the users in the system's own table by their numbers; of two for one number the first.
pub fn user_names() -> HashMap<u32, String> {
    let table = table(PASSWD);
    let lines = lines_of(&table).filter_map(|fields| {
        let name = std::str::from_utf8(fields.first()?).ok()?;
        Some((id_in(&fields, 2)?, name.to_owned()))
    });
    // What comes last in a map stays.
    lines.rev().collect()
}

/// Returns the groups of a user by the system's own tables: the first one, and those that list the user as a member.
pub fn groups_of(user: &str) -> BTreeSet<u32> {
    let [passwd, group] = [PASSWD, GROUP].map(table);
    let groups = memberships(&passwd, &group).filter(|(name, _)| *name == user.as_bytes());
    groups.map(|(_, gid)| gid).collect()
}

/// Returns by the number of a user which of `groups` the user is in.
pub fn members_of(
    groups: &BTreeSet<u32>,
    passwd: &[u8],
    group: &[u8],
) -> BTreeMap<u32, BTreeSet<u32>> {
    let users = lines_of(passwd).filter_map(|fields| Some((*fields.first()?, id_in(&fields, 2)?)));
    let numbers: HashMap<&[u8], u32> = users.collect();
    let mut members = BTreeMap::<u32, BTreeSet<u32>>::new();
    for (name, gid) in memberships(passwd, group).filter(|(_, gid)| groups.contains(gid)) {
        if let Some(uid) = numbers.get(name) {
            members.entry(*uid).or_default().insert(gid);
        }
    }
    members
}

/// Returns the name of each user with each of the user's groups: the first one, and those that list the user as a member. Other fields
/// may be in any charset.
fn memberships<'a>(passwd: &'a [u8], group: &'a [u8]) -> impl Iterator<Item = (&'a [u8], u32)> {
    let first = lines_of(passwd).filter_map(|fields| Some((*fields.first()?, id_in(&fields, 3)?)));
    let listed = lines_of(group).filter_map(|fields| Some((*fields.get(3)?, id_in(&fields, 2)?)));
    first.chain(listed.flat_map(|(names, gid)| {
        let names = names.split(|&octet| octet == b',');
        names.map(move |name| (name, gid))
    }))
}

/// Returns the fields of each line of a table.
fn lines_of(table: &[u8]) -> impl DoubleEndedIterator<Item = Vec<&[u8]>> {
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
        let passwd = b"ana:x:7:70:Ana P\xE9rez:/:/bin/sh\nanna:x:8:80::/:\n\xFF\nbad\n";
        let group = b"none:x:1:\na:x:2:ana\nb:x:3:anna,ana\nana:x:4:anna\nc:x:many:ana\n";
        let ana = memberships(passwd, group).filter(|(name, _)| *name == b"ana");
        assert!(ana.map(|(_, gid)| gid).eq([70, 2, 3]));
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

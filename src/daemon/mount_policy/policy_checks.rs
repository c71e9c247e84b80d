//! Checks of the values of a policy, those of the whole mount and of its sections alike.

use std::collections::BTreeSet;

use super::policy_faults::{Faults, Table};
use super::read_policy::number_in;
use crate::names::{Patterns, Quoted};
use crate::policy::{NAME_MAX, SMALLEST_LIMIT};
use crate::records::{Comparison, Id, List, PolicySection, PolicyText};

/// Checks the limits of names.
pub(super) fn check_limits(
    faults: &mut Faults,
    table: &Table,
    max_bytes: Option<usize>,
    max_chars: Option<usize>,
) {
    if max_bytes.is_some_and(|limit| !(SMALLEST_LIMIT..=NAME_MAX).contains(&limit)) {
        let message = format!("max_bytes must be {SMALLEST_LIMIT} to {NAME_MAX}");
        faults.error(table.at("max_bytes"), message);
    }
    if max_chars.is_some_and(|limit| limit < SMALLEST_LIMIT) {
        let message = format!("max_chars must be {SMALLEST_LIMIT} or more");
        faults.error(table.at("max_chars"), message);
    }
}

/// Checks patterns.
pub(super) fn check_patterns(
    faults: &mut Faults,
    table: &Table,
    key: &str,
    list: &Option<List<String>>,
) {
    for pattern in list.iter().flat_map(|list| &list.0) {
        if let Err(error) = Patterns::new(std::slice::from_ref(pattern)) {
            let pattern = Quoted(pattern.as_bytes());
            let message = format!("{key}: {pattern} is not a pattern: {}", error.reason);
            faults.error(table.at(key), message);
        }
    }
}

/// Checks users or groups. A name that the system does not know matches nobody.
pub(super) fn check_ids(
    faults: &mut Faults,
    text: &PolicyText,
    table: &Table,
    key: &str,
    list: &Option<List<Id>>,
) {
    let (what, file, known) = match key {
        "groups" => ("group", "group", text.group.as_bytes()),
        _ => ("user", "passwd", text.passwd.as_bytes()),
    };
    for id in list.iter().flat_map(|list| &list.0) {
        match id {
            // The last one is that of nobody at all: chown(2).
            Id::Number(u32::MAX) => faults.error(table.at(key), format!("{key} is out of range")),
            Id::Name(name) if number_in(known, name).is_none() => {
                let remedy = match name.parse::<u32>() {
                    Ok(number) => format!("write {number} without quotes"),
                    Err(_) => format!("names are those of /etc/{file}, others go by number"),
                };
                let name = Quoted(name.as_bytes());
                let message = format!("{key}: unknown {what} {name} matches nobody; {remedy}");
                faults.warning(table.at(key), message);
            }
            Id::Number(_) | Id::Name(_) => {}
        }
    }
}

/// Refuses an empty list.
pub(super) fn check_not_empty<T>(
    faults: &mut Faults,
    table: &Table,
    key: &str,
    list: &Option<List<T>>,
) {
    if list.as_ref().is_some_and(|list| list.0.is_empty()) {
        let message = format!("{key} is empty: leave it out if the section is for all");
        faults.error(table.at(key), message);
    }
}

pub(super) fn compares(unique: Option<Comparison>) -> Option<Comparison> {
    unique.filter(|how| *how != Comparison::None)
}

/// Does `earlier` hold wherever `later` does, as far as their words tell?
pub(super) fn covers(earlier: &PolicySection, later: &PolicySection) -> bool {
    fn within<T: Ord>(few: Option<&List<T>>, many: Option<&List<T>>) -> bool {
        let many: BTreeSet<&T> = many.iter().flat_map(|many| &many.0).collect();
        few.iter()
            .flat_map(|few| &few.0)
            .all(|item| many.contains(item))
    }
    let is_for_all = |section: &PolicySection| section.users.is_none() && section.groups.is_none();
    let everywhere = ["*", "/**"];
    let is_everywhere = match &earlier.path {
        None => true,
        Some(paths) => paths
            .0
            .iter()
            .any(|path| everywhere.contains(&path.as_str())),
    };
    // `/a/**` holds for all patterns that begin with `/a/`, if it is no pattern itself before that.
    let holds_below = |path: &String| {
        let earlier = earlier.path.iter().flat_map(|paths| &paths.0);
        let mut tops = earlier.filter_map(|path| path.strip_suffix("**"));
        tops.any(|top| !top.contains(['*', '?', '[', '{', '\\']) && path.starts_with(top))
    };
    let are_below = |later: &List<String>| later.0.iter().all(holds_below);
    let holds_there = is_everywhere
        || later.path.is_some() && within(later.path.as_ref(), earlier.path.as_ref())
        || later.path.as_ref().is_some_and(are_below);
    let holds_for_those = is_for_all(earlier)
        || !is_for_all(later)
            && within(later.users.as_ref(), earlier.users.as_ref())
            && within(later.groups.as_ref(), earlier.groups.as_ref());
    holds_there && holds_for_those
}

#[cfg(test)]
mod tests {
    use super::covers;
    use crate::records::PolicyFile;

    #[test]
    fn a_section_covers_another_as_the_rows_say() {
        let rows = [
            ("", "", true),
            ("", "path = '/a'\nusers = 1", true),
            ("path = '/a'", "", false),
            ("path = ['/a', '/b']", "path = '/b'", true),
            ("path = '/a'", "path = ['/a', '/b']", false),
            ("path = ['/a', '*']", "path = '/b'", true),
            ("path = '/**'", "", true),
            ("path = '/a/**'", "path = ['/a/b', '/a/c/*.tmp']", true),
            ("path = '/a/**'", "path = '/a'", false),
            ("path = '/a/**'", "path = '/ab/**'", false),
            ("path = ['/a/**', '/b/**']", "path = ['/a/x', '/b/x']", true),
            ("path = '/[ab]/**'", "path = '/a/b'", false),
            ("path = '*/**'", "path = 'a'", false),
            ("users = [1, 2]", "users = 2", true),
            ("users = [1, 2]", "groups = 2", false),
            ("users = 1", "", false),
            ("users = 1\ngroups = 1", "groups = 1", true),
        ];
        let section = |text: &str| {
            let policy = PolicyFile::parse(&format!("[[section]]\n{text}")).unwrap();
            policy.section.into_iter().next().unwrap()
        };
        for (earlier, later, expected) in rows {
            let covers = covers(&section(earlier), &section(later));
            assert_eq!(covers, expected, "{earlier} and {later}");
        }
    }
}

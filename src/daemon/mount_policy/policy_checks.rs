//! Checks of the values of a policy, those of the whole mount and of its sections alike.

use std::collections::{BTreeMap, BTreeSet};

use super::policy_faults::{Faults, Place};
use crate::codec::Charset;
use crate::names::{Patterns, Quoted};
use crate::policy::{NAME_MAX, SMALLEST_LIMIT};
use crate::records::{Comparison, Id, List, PolicySection};

pub(super) fn compares(unique: Option<Comparison>) -> Option<Comparison> {
    unique.filter(|how| *how != Comparison::None)
}

pub(super) fn check_charset(faults: &mut Faults, place: Place, key: &str, label: &str) {
    let Err(unknown) = Charset::from_label(label) else {
        return;
    };
    let label = Quoted(label.as_bytes());
    let message = match (unknown.reason, unknown.near.first()) {
        (Some(reason), _) => format!("{key}: charset {label} is not on offer: {reason}"),
        (None, Some(near)) => format!("{key}: unknown charset {label}; did you mean {near}?"),
        (None, None) => format!("{key}: unknown charset {label}"),
    };
    faults.error(place, message);
}

pub(super) fn check_limits(
    faults: &mut Faults,
    at: impl Fn(&str) -> Place,
    max_bytes: Option<usize>,
    max_chars: Option<usize>,
) {
    if max_bytes.is_some_and(|limit| !(SMALLEST_LIMIT..=NAME_MAX).contains(&limit)) {
        let message = format!("max_bytes must be {SMALLEST_LIMIT} to {NAME_MAX}");
        faults.error(at("max_bytes"), message);
    }
    if max_chars.is_some_and(|limit| limit < SMALLEST_LIMIT) {
        let message = format!("max_chars must be {SMALLEST_LIMIT} or more");
        faults.error(at("max_chars"), message);
    }
}

pub(super) fn check_patterns(
    faults: &mut Faults,
    place: Place,
    key: &str,
    list: Option<&List<String>>,
) {
    for pattern in list.iter().flat_map(|list| &list.0) {
        if let Err(error) = Patterns::new(std::slice::from_ref(pattern)) {
            let pattern = Quoted(pattern.as_bytes());
            let message = format!("{key}: {pattern} is no pattern: {}", error.reason);
            faults.error(place, message);
        }
    }
}

/// Checks users or groups. A name that the system does not know matches nobody.
pub(super) fn check_ids(
    faults: &mut Faults,
    place: Place,
    key: &str,
    known: &BTreeMap<String, Option<u32>>,
    list: Option<&List<Id>>,
) {
    let (what, table) = match key {
        "groups" => ("group", "group"),
        _ => ("user", "passwd"),
    };
    for id in list.iter().flat_map(|list| &list.0) {
        match id {
            // The last one is that of nobody at all: chown(2).
            Id::Number(u32::MAX) => faults.error(place, format!("{key} is out of range")),
            Id::Name(name) if known.get(name).copied().flatten().is_none() => {
                let name = Quoted(name.as_bytes());
                let message = format!(
                    "{key}: unknown {what} {name} matches nobody; names are those of /etc/{table}, others go by number"
                );
                faults.warning(place, message);
            }
            Id::Number(_) | Id::Name(_) => {}
        }
    }
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
    let holds_there =
        is_everywhere || later.path.is_some() && within(later.path.as_ref(), earlier.path.as_ref());
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

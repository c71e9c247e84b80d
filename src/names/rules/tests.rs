//! The rules as functions of names, users and paths.

use super::*;
use crate::names::map::tests::map;
use crate::policy::{Class, Policy};

fn section(paths: &[&str], users: &[u32], groups: &[u32], mode: Mode) -> Section {
    let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
    let people = People {
        users: users.iter().copied().collect(),
        groups: groups.iter().copied().collect(),
    };
    Section {
        paths: Patterns::new(&paths).unwrap(),
        people: Some(people).filter(|_| !users.is_empty() || !groups.is_empty()),
        terms: Arc::new(terms(mode)),
    }
}

fn terms(mode: Mode) -> Terms {
    Terms {
        mode,
        map: map(Policy::default(), &[]),
        unique: None,
        section: None,
    }
}

/// The first section that holds decides; all of its conditions have to hold, and users and groups are one.
#[test]
fn the_first_section_that_holds_decides() {
    let rules = Rules::new(
        terms(Mode::Enforce),
        vec![
            section(&["/a/**"], &[7], &[9], Mode::Off),
            section(&["/a/**", "*.tmp"], &[], &[], Mode::Report),
            section(&[], &[7], &[], Mode::Normalize),
        ],
        Exemptions::default(),
    );
    // uid, gid, path, expected
    let rows = [
        (7, 0, "/a/x", Mode::Off),
        (1, 9, "/a/x", Mode::Off),
        (1, 1, "/a/x", Mode::Report),
        (1, 9, "/b/x", Mode::Enforce),
        (7, 9, "/b/x.tmp", Mode::Report),
        (7, 0, "/b/x", Mode::Normalize),
    ];
    for (uid, gid, path, expected) in rows {
        let name = path.rsplit('/').next().unwrap().as_bytes();
        let path = || path.as_bytes().to_vec();
        let is_member = |groups: &BTreeSet<u32>| groups.contains(&gid);
        let found = rules.terms_of(rules.section(uid, name, path, is_member));
        assert_eq!(
            found.mode,
            expected,
            "{uid} {gid} {}",
            path().escape_ascii()
        );
    }
}

/// Where no section is stricter, a conforming name is judged by what holds for all.
#[test]
fn conforming_names_are_judged_alike_unless_a_section_is_stricter() {
    let with = |section| Rules::new(terms(Mode::Enforce), vec![section], Exemptions::default());
    let rules = with(section(&["/a/**"], &[], &[], Mode::Report));
    assert!(rules.is_one_for_all(false) && !rules.is_one_for_all(true));
    let mut stricter = terms(Mode::Report);
    stricter.map.policy.forbid(&[Class::NonAscii]);
    let rules = with(Section {
        terms: Arc::new(stricter),
        ..section(&["/a/**"], &[], &[], Mode::Report)
    });
    assert!(!rules.is_one_for_all(false));
}

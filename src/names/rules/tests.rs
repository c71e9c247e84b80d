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

fn exempt(pattern: &str, path: &[u8]) -> bool {
    let exemptions = Exemptions::new([], &[pattern.to_owned()]).unwrap();
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap();
    let exempt = exemptions.of(0, name, || path.to_vec());
    assert_ne!(exempt, Some(Exempt::Uid));
    exempt.is_some()
}

#[test]
fn patterns_match_visible_paths_as_the_rows_say() {
    let rows: [(&str, &[u8], bool); 25] = [
        // without a slash: names, wherever
        ("*.tmp", b"/caf\xE9.tmp", true),
        ("*.tmp", b"/a/b/\xFF.tmp", true),
        ("*.tmp", b"/x.tmp/caf\xE9", false),
        ("?", b"/\xE9", true),
        // one byte, not one character
        ("?", "/é".as_bytes(), false),
        ("é*", "/é\n".as_bytes(), true),
        ("{a,é}*", "/é\n".as_bytes(), true),
        ("[ab]\n", b"/b\n", true),
        ("*", b"/a/b/\n", true),
        // with one: paths, from the root
        ("/backups/**", b"/backups/\xE9", true),
        ("/backups/**", b"/backups/a/b\n/\xE9", true),
        ("/backups/**", b"/backups", false),
        ("/backups/**", b"/x/backups/\xE9", false),
        ("/backups/**", b"/backups2/\xE9", false),
        ("backups/**", b"/backups/\xE9", true),
        ("/backups/*", b"/backups/\xE9", true),
        ("/backups/*", b"/backups/a/\xE9", false),
        ("**/test/*", b"/a/b/test/\xE9", true),
        ("**/test/*", b"/test/\xE9", true),
        ("/a/**/z*", b"/a/z\xE9", true),
        ("/a/**/z*", b"/a/b/c/z\xE9", true),
        ("/*", b"/\xE9", true),
        ("/*", b"/a/\xE9", false),
        ("/**", b"/a/\xE9", true),
        ("/a\\*", b"/a\xE9", false),
    ];
    for (pattern, path, expected) in rows {
        let what = path.escape_ascii();
        assert_eq!(exempt(pattern, path), expected, "{pattern} and {what}");
    }
}

#[test]
fn users_are_exempt_by_number() {
    let exemptions = Exemptions::new([0, 1000], &[]).unwrap();
    let path = || -> Vec<u8> { panic!("no path is needed") };
    assert_eq!(exemptions.of(1000, b"\xE9", path), Some(Exempt::Uid));
    assert_eq!(exemptions.of(1001, b"\xE9", path), None);
    assert!(exemptions.may_have_passed(b"\xE9", path));
    assert!(!Exemptions::default().may_have_passed(b"\xE9", path));
}

#[test]
fn what_is_no_pattern_is_refused_with_the_reason() {
    let rows = [
        ("", "it is empty"),
        (
            "/a/",
            "names do not end in /; /a/** is what lies in a directory",
        ),
        ("[a", "unclosed character class; missing ']'"),
        (
            "x[é]",
            "brackets take ASCII characters only; {ä,ö} takes any",
        ),
    ];
    for (pattern, reason) in rows {
        let error = Exemptions::new([], &[pattern.to_owned()]).unwrap_err();
        assert_eq!(
            (error.pattern.as_str(), error.reason.as_str()),
            (pattern, reason)
        );
    }
}

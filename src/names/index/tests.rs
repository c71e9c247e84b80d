//! Laws N1 to N4 and N6 in one directory.

use std::collections::HashSet;
use std::time::Instant;

use super::super::map::tests::map;
use super::super::{BackingName, NameMap};
use super::Index;
use crate::codec::Form;
use crate::policy::{Policy, Profile};

fn backing(name: &[u8]) -> BackingName {
    BackingName::parse(name).unwrap()
}

fn latin1() -> NameMap {
    map(Policy::default(), &["iso-8859-1"])
}

fn escaping() -> NameMap {
    map(Policy::default(), &[])
}

fn nfc() -> NameMap {
    map(
        Policy {
            form: Some(Form::Nfc),
            ..Policy::default()
        },
        &["iso-8859-1"],
    )
}

/// The index of a directory with these names; those that conform are the siblings.
fn index(map: &NameMap, names: &[&[u8]]) -> Index {
    let (conforming, legacy): (Vec<&[u8]>, Vec<&[u8]>) =
        names.iter().partition(|name| map.policy.conforms(name));
    let conforming: HashSet<&[u8]> = conforming.into_iter().collect();
    let legacy = legacy.into_iter().map(backing).collect();
    Index::build(map, legacy, |name| conforming.contains(name))
}

fn visible(index: &Index, name: &[u8]) -> String {
    let visible = index.visible(&backing(name)).unwrap();
    String::from_utf8(visible.as_bytes().to_vec()).unwrap()
}

#[test]
fn a_name_that_is_taken_goes_on_to_the_next_way() {
    type Row<'a> = (NameMap, &'a [&'a [u8]], &'a [&'a str]);
    let rows: [Row<'_>; 10] = [
        // (map, names, what those that do not conform are visible as)
        (escaping(), &[b"caf\xE9"], &["caf%E9"]),
        // A conforming sibling has its own name, law N1.
        (escaping(), &[b"caf\xE9", b"caf%E9"], &["caf%%E9"]),
        (
            escaping(),
            &[b"caf\xE9", b"caf%E9", b"caf%%E9"],
            &["caf%%%E9"],
        ),
        (latin1(), &[b"caf\xE9"], &["café"]),
        (latin1(), &[b"caf\xE9", "café".as_bytes()], &["caf%E9"]),
        (
            latin1(),
            &[b"caf\xE9", "café".as_bytes(), b"caf%E9"],
            &["caf%%E9"],
        ),
        // Two that do not conform want the same: the first in the order of bytes has it.
        (nfc(), &[b"caf\xE9", b"cafe\xCC\x81"], &["caf%E9", "café"]),
        (
            nfc(),
            &[b"e\xCC\x81", b"\xC3\xA9", b"\xE9"],
            &["e%CC%81", "%E9"],
        ),
        // `%` in a name that does not conform cannot pass for an escape.
        (escaping(), &[b"\xE9", b"%E9\xE9"], &["%E9", "%25E9%E9"]),
        // A conforming sibling stands where the form would bring this one: U+212A is `K`.
        (nfc(), &["\u{212A}".as_bytes(), b"K"], &["%E2%84%AA"]),
    ];
    for (map, names, expected) in rows {
        let index = index(&map, names);
        let legacy = names.iter().filter(|name| !map.policy.conforms(name));
        let found: Vec<String> = legacy.map(|name| visible(&index, name)).collect();
        assert_eq!(found, expected, "{names:02X?}");
        for (name, expected) in names
            .iter()
            .filter(|name| !map.policy.conforms(name))
            .zip(expected)
        {
            assert_eq!(index.backing(expected.as_bytes()), Some(&backing(name)));
        }
    }
}

#[test]
fn four_hundred_bytes_of_text_are_cut_and_told_apart() {
    let names: Vec<Vec<u8>> = (0..10)
        .map(|last| [[0xE9; 199].as_slice(), &[0xE0 + last], b".txt"].concat())
        .collect();
    let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    let index = index(&latin1(), &names);
    let shown: HashSet<String> = names.iter().map(|name| visible(&index, name)).collect();
    assert_eq!(shown.len(), 10);
    assert!(
        shown
            .iter()
            .all(|name| name.starts_with(&"é".repeat(117)) && name.ends_with(".txt"))
    );
}

#[test]
fn the_order_of_names_and_a_name_listed_twice_do_not_matter() {
    let names: [&[u8]; 4] = [b"e\xCC\x81", b"\xE9", b"e\xCC\x81", b"\xE9"];
    let mut backwards = names;
    backwards.reverse();
    let (one, other) = (index(&nfc(), &names), index(&nfc(), &backwards));
    assert_eq!((one.visible.len(), other.visible.len()), (2, 2));
    for (name, expected) in [(names[0], "é"), (names[1], "%E9")] {
        assert_eq!(visible(&one, name), expected);
        assert_eq!(visible(&other, name), expected);
    }
    assert_eq!(one.backing(b"%E9"), Some(&backing(b"\xE9")));
    assert_eq!(one.backing("%%E9".as_bytes()), None);
}

#[test]
fn a_name_that_goes_leaves_its_visible_name_to_who_wanted_it_first() {
    let map = nfc();
    let names: [&[u8]; 4] = [b"\xE9", b"e\xCC\x81", b"\xFC", b"caf%FC"];
    let mut index = index(&map, &names);
    assert!(!index.visible.is_empty());
    // Nobody else wanted `ü`.
    let moves = index.remove(&map, &backing(b"\xFC")).unwrap();
    assert_eq!((moves.left.len(), moves.taken.len()), (1, 0));
    assert_eq!(index.backing("ü".as_bytes()), None);
    assert_eq!(visible(&index, b"\xE9"), "%E9");
    // `é` had been wanted.
    let moves = index.remove(&map, &backing(b"e\xCC\x81")).unwrap();
    assert_eq!((moves.left.len(), moves.taken.len()), (2, 1));
    assert_eq!(visible(&index, b"\xE9"), "é");
    assert_eq!(index.backing(b"%E9"), None);
    // It was never there.
    assert!(index.remove(&map, &backing(b"\xFF")).is_none());
}

#[test]
fn conforming_siblings_take_names_away_and_leave_them() {
    let map = latin1();
    let mut index = index(&map, &[b"\xE9", "ü".as_bytes(), b"\xFC"]);
    let is_ue = |name: &[u8]| name == "ü".as_bytes();
    let shown = |index: &Index| [visible(index, b"\xE9"), visible(index, b"\xFC")];
    assert_eq!(shown(&index), ["é", "%FC"]);
    // A name that nobody has or wants.
    index.add_sibling(&map, b"%E9", is_ue);
    assert_eq!(shown(&index), ["é", "%FC"]);
    // It has been given to one that does not conform, whose next choice is taken too.
    let is_taken = |name: &[u8]| is_ue(name) || name == b"%E9";
    index.add_sibling(&map, "é".as_bytes(), is_taken);
    assert_eq!(shown(&index), ["%%E9", "%FC"]);
    index.remove_sibling(&map, b"%E9").unwrap();
    index.remove_sibling(&map, "ü".as_bytes()).unwrap();
    assert_eq!(shown(&index), ["%E9", "ü"]);
    // It can't have been there.
    assert!(index.remove_sibling(&map, b"%E9").is_none());
}

/// A directory made to be assigned anew with each name that goes: siblings stand in the first 5,000 ways of one name, and
/// 20,000 names have one text. Each step moves one name.
#[test]
fn crowds_and_blockers_go_one_by_one_in_time() {
    let map = nfc();
    let name = backing(b"\xE9");
    let mut taken: HashSet<Vec<u8>> = (0..5000)
        .filter_map(|way| super::candidate(&map, &name, way))
        .map(|way| way.as_bytes().to_vec())
        .collect();
    assert_eq!(taken.len(), 5000);
    let start = Instant::now();
    let mut index = Index::build(&map, vec![name.clone()], |name| taken.contains(name));
    for way in (0..5000).rev() {
        let wanted = super::candidate(&map, &name, way).unwrap();
        taken.remove(wanted.as_bytes());
        let moves = index.remove_sibling(&map, wanted.as_bytes()).unwrap();
        assert_eq!((moves.left.len(), moves.taken.len()), (1, 1));
        assert_eq!(index.visible(&name), Some(&wanted));
    }
    let mut crowd: Vec<BackingName> = (0..20_000)
        .map(|choice: usize| {
            let spelling = |place: usize| ["é", "e\u{301}"][(choice >> place) & 1];
            let name: String = (0..15_usize).map(spelling).collect();
            backing(name.as_bytes())
        })
        .filter(|name| !map.policy.conforms(name.as_bytes()))
        .collect();
    crowd.sort_unstable();
    let text = "é".repeat(15);
    let mut index = Index::build(&map, crowd.clone(), |_| false);
    for name in &crowd {
        assert_eq!(index.backing(text.as_bytes()), Some(name));
        index.remove(&map, name).unwrap();
    }
    assert!(index.visible.is_empty() && index.footprint() == 0);
    assert!(start.elapsed().as_secs() < 60);
}

/// A sibling for each of the first 1,000 ways: each costs the same, however many signs it has, and the end is reached.
#[test]
fn a_directory_made_to_block_every_way_is_indexed_in_time() {
    let map = escaping();
    let name = [0xE9; 255];
    let taken: HashSet<Vec<u8>> = (1..=1000)
        .map(|percents| map.escape_candidate(&name, percents).as_bytes().to_vec())
        .collect();
    assert_eq!(taken.len(), 1000, "each way yields another name");
    let start = Instant::now();
    let index = Index::build(&map, vec![backing(&name)], |name| taken.contains(name));
    assert_eq!(
        index.visible(&backing(&name)),
        Some(&map.escape_candidate(&name, 1001))
    );
    assert!(start.elapsed().as_secs() < 60);
}

/// Law N2 where a thousand names have one text: 2^10 spellings of ten letters.
#[test]
fn names_that_all_want_the_same_are_told_apart() {
    let names: Vec<Vec<u8>> = (0..1024)
        .map(|choice: u32| {
            let letter = |place: u32| {
                if (choice >> place) & 1 == 0 {
                    "é"
                } else {
                    "e\u{301}"
                }
            };
            (0..10).map(letter).collect::<String>().into_bytes()
        })
        .collect();
    let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    let index = index(&nfc(), &names);
    assert_eq!(index.visible.len(), 1023);
    for name in &names {
        if let Some(visible) = index.visible(&backing(name)) {
            assert_eq!(index.backing(visible.as_bytes()), Some(&backing(name)));
            assert_ne!(visible.as_bytes(), "é".repeat(10).as_bytes());
        }
    }
}

#[test]
fn posix_names_do_not_meet_siblings_that_look_escaped() {
    // `a%20b` does not conform to posix itself, so that its sign is escaped.
    let index = index(
        &map(Profile::Posix.policy(), &[]),
        &[b"a b", b"a%20b", b"a~b"],
    );
    let rows: [(&[u8], &str); 3] = [(b"a b", "a%20b"), (b"a%20b", "a%2520b"), (b"a~b", "a%7Eb")];
    for (name, expected) in rows {
        assert_eq!(visible(&index, name), expected);
    }
}

#[test]
fn a_name_that_comes_is_taken_in_as_if_all_were_assigned_anew() {
    let map = latin1();
    let conforming: &[&[u8]] = &["è".as_bytes()];
    let is_taken = |name: &[u8]| conforming.contains(&name);
    let names: [&[u8]; 6] = [
        b"\xE9",
        b"\xE8",
        b"a\xFF",
        b"\xC3\xA9\xFF",
        b"%\xE9",
        b"z\xE9",
    ];
    for last in names {
        let rest = names.iter().filter(|&&name| name != last);
        let mut index = Index::build(&map, rest.map(|name| backing(name)).collect(), is_taken);
        let all = names.iter().map(|name| backing(name)).collect();
        let anew = Index::build(&map, all, is_taken);
        for again in [false, true] {
            let moves = index.add(&map, &backing(last), is_taken);
            assert_eq!(moves.taken.is_empty(), again, "it comes once");
            for name in names {
                assert_eq!(visible(&index, name), visible(&anew, name));
            }
        }
    }
}

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
    assert_eq!((one.len(), other.len()), (2, 2));
    for (name, expected) in [(names[0], "é"), (names[1], "%E9")] {
        assert_eq!(visible(&one, name), expected);
        assert_eq!(visible(&other, name), expected);
    }
    assert_eq!(one.backing(b"%E9"), Some(&backing(b"\xE9")));
    assert_eq!(one.backing("%%E9".as_bytes()), None);
}

#[test]
fn a_name_that_goes_leaves_the_index_right_unless_another_wanted_its_visible_name() {
    let mut index = index(&nfc(), &[b"\xE9", b"e\xCC\x81", b"\xFC", b"caf%FC"]);
    assert!(!index.is_empty());
    // Nobody else wanted `ü`.
    assert!(index.remove(&backing(b"\xFC")));
    assert_eq!(index.backing("ü".as_bytes()), None);
    // It had only its second choice, which nobody else wanted.
    assert!(index.remove(&backing(b"\xE9")));
    // `é` had been wanted.
    assert!(!index.remove(&backing(b"e\xCC\x81")));
    // It was never there.
    assert!(!index.remove(&backing(b"\xFF")));
}

#[test]
fn conforming_siblings_matter_where_somebody_wants_their_name() {
    let index = index(&latin1(), &[b"\xE9", "ü".as_bytes(), b"\xFC"]);
    let rows = [
        ("a", true),
        ("%E9", true),
        // It has been given to one that does not conform, and would have to be given back.
        ("é", false),
        // It is taken by the sibling, and would be free if that went.
        ("ü", false),
        ("%FC", false),
        ("%%FC", true),
    ];
    for (name, expected) in rows {
        assert_eq!(index.is_indifferent_to(name.as_bytes()), expected, "{name}");
    }
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
    assert_eq!(index.len(), 1023);
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
    for last in 0..names.len() {
        let rest = names.iter().enumerate().filter(|&(place, _)| place != last);
        let rest: Vec<BackingName> = rest
            .map(|(_, name)| BackingName::parse(name).unwrap())
            .collect();
        let last = BackingName::parse(names[last]).unwrap();
        let mut index = Index::build(&map, rest.clone(), is_taken);
        let all = rest.iter().chain([&last]).cloned().collect();
        let anew = Index::build(&map, all, is_taken);
        if index.add(&map, &last, is_taken) {
            assert_eq!(index.visible(&last), anew.visible(&last));
            assert!(
                rest.iter()
                    .all(|name| index.visible(name) == anew.visible(name))
            );
        } else {
            assert_eq!(
                last.as_bytes(),
                b"\xE8",
                "only what a sibling has is left to do anew"
            );
        }
        assert!(!Index::build(&map, vec![last.clone()], is_taken).add(&map, &last, is_taken));
    }
}

//! Laws N5, N6, N7, N9 and C5 for one name at a time.

use super::super::escape::tests::unescape;
use super::super::{BackingName, VisibleName};
use super::{Legacy, NameMap, OnViolation};
use crate::codec::{Charset, Form};
use crate::policy::{Class, ErrnoChoice, Policy, Profile, Rule};

pub(in crate::names) fn map(policy: Policy, from: &[&str]) -> NameMap {
    NameMap {
        policy,
        legacy: if from.is_empty() {
            Legacy::Escape
        } else {
            Legacy::Decode
        },
        from: from
            .iter()
            .map(|label| Charset::from_label(label).unwrap())
            .collect(),
        store_as: None,
        on_violation: OnViolation::Normalize,
        errno: ErrnoChoice::default(),
    }
}

fn wanting(form: Form) -> Policy {
    Policy {
        form: Some(form),
        ..Policy::default()
    }
}

fn forbidding(class: Class) -> Policy {
    Policy {
        forbid: vec![class],
        ..Policy::default()
    }
}

/// What a name that does not conform is visible as where it has no sibling.
fn visible(map: &NameMap, name: &[u8]) -> String {
    assert!(!map.policy.conforms(name), "{name:02X?}");
    let visible = map
        .visible_alone(&BackingName::parse(name).unwrap())
        .unwrap();
    String::from_utf8(visible.as_bytes().to_vec()).unwrap()
}

#[test]
fn ill_formed_names_are_escaped() {
    let map = map(Policy::default(), &[]);
    let rows: [(&[u8], &str); 8] = [
        (b"caf\xE9", "caf%E9"),
        (b"caf\xE9.txt", "caf%E9.txt"),
        // What is well-formed stays; a percent sign does not.
        (b"\xC3\xA9\xE9", "é%E9"),
        (b"100%\xE9", "100%25%E9"),
        (b"%E9\xE9", "%25E9%E9"),
        // Each byte of the sequence
        (b"\xC0\xAF", "%C0%AF"),
        (b"a\xED\xA0\x80b", "a%ED%A0%80b"),
        (b"\xE2\x82(", "%E2%82("),
    ];
    for (name, expected) in rows {
        assert_eq!(visible(&map, name), expected, "{name:02X?}");
    }
}

#[test]
fn ill_formed_names_are_decoded_by_the_first_charset_that_takes_them() {
    let latin1 = map(Policy::default(), &["iso-8859-1"]);
    let japanese = map(Policy::default(), &["shift_jis", "iso-8859-1"]);
    let portable = map(Profile::Portable.policy(), &["shift_jis"]);
    let ascii_only = map(forbidding(Class::NonAscii), &["iso-8859-1"]);
    let safe = map(Profile::Safe.policy(), &["iso-8859-1"]);
    let rows: [(&NameMap, &[u8], &str); 9] = [
        (&latin1, b"caf\xE9", "café"),
        // Decoding leaves a percent sign as it is: this is text, not an escape.
        (&latin1, b"100%\xE9", "100%é"),
        // The bytes as a whole are in one charset, also the two that would be well-formed.
        (&latin1, b"\xC3\xA9\xE9", "Ã©é"),
        (&japanese, b"\x95\x5C.txt", "表.txt"),
        (&japanese, b"\xFC\xFC\xFD", "üüý"),
        // What decoding leaves forbidden is escaped, as bytes of UTF-8.
        (&portable, b"\x95\x5C?.txt", "表%3F.txt"),
        (&ascii_only, b"caf\xE9", "caf%C3%A9"),
        (&safe, b"caf\xE9\x85", "café%C2%85"),
        // No charset takes it.
        (&portable, b"\xFD\xFD", "%FD%FD"),
    ];
    for (map, name, expected) in rows {
        assert_eq!(visible(map, name), expected, "{name:02X?}");
    }
}

#[test]
fn legacy_spellings_are_those_that_are_decoded_to_the_name() {
    let latin1 = map(Policy::default(), &["iso-8859-1"]);
    let japanese = map(Policy::default(), &["shift_jis", "iso-8859-1"]);
    let rows: [(&NameMap, &str, &[&[u8]]); 5] = [
        (&latin1, "café", &[b"caf\xE9"]),
        (&japanese, "表", &[b"\x95\x5C"]),
        (&japanese, "é", &[b"\xE9"]),
        // Its byte is U+FF7A in the charset that is tried first.
        (&japanese, "º", &[]),
        // No charset takes it.
        (&latin1, "表", &[]),
    ];
    for (map, name, expected) in rows {
        let name = VisibleName::parse(name.as_bytes()).unwrap();
        let spellings = map.legacy_spellings(&name);
        let spellings: Vec<Vec<u8>> = spellings.map(|name| name.as_bytes().to_vec()).collect();
        assert_eq!(spellings, expected, "{name:?}");
    }
}

#[test]
fn names_that_offend_by_their_form_alone_are_shown_in_the_wanted_form() {
    let rows: [(&NameMap, &str, &str); 6] = [
        (&map(wanting(Form::Nfc), &[]), "cafe\u{301}", "caf\u{E9}"),
        (&map(wanting(Form::Nfd), &[]), "caf\u{E9}", "cafe\u{301}"),
        (
            &map(wanting(Form::Nfc), &[]),
            "50% cafe\u{301}",
            "50% caf\u{E9}",
        ),
        (&map(wanting(Form::Nfc), &[]), "\u{212A}", "K"),
        // What the form brings in is looked at like the rest: this is a less-than sign in form D.
        (
            &map(
                Policy {
                    form: Some(Form::Nfd),
                    ..Profile::Portable.policy()
                },
                &[],
            ),
            "\u{226E}",
            "%3C\u{338}",
        ),
        (
            &map(
                Policy {
                    form: Some(Form::Nfc),
                    ..Profile::Safe.policy()
                },
                &[],
            ),
            "-cafe\u{301}",
            "%2Dcaf\u{E9}",
        ),
    ];
    for (map, name, expected) in rows {
        assert_eq!(visible(map, name.as_bytes()), expected, "{name:?}");
    }
}

#[test]
fn a_decoded_name_is_brought_to_the_wanted_form() {
    assert_eq!(
        visible(&map(wanting(Form::Nfd), &["iso-8859-1"]), b"caf\xE9"),
        "cafe\u{301}"
    );
    // windows-1258 writes Vietnamese with combining marks.
    assert_eq!(
        visible(&map(wanting(Form::Nfc), &["windows-1258"]), b"e\xCC\xE2"),
        "\u{E8}\u{E2}"
    );
}

#[test]
fn an_escape_does_not_compose_with_a_mark_behind_it() {
    // `C` of `%CC` and a cedilla would be one letter in form C, so that the cedilla is escaped too.
    let map = map(wanting(Form::Nfc), &[]);
    assert_eq!(visible(&map, b"\xCC\xCC\xA7"), "%CC%CC%A7");
    // A mark that composes with no digit stays.
    assert_eq!(visible(&map, b"\xCC\xD7\x91"), "%CC\u{5D1}");
    assert_eq!(visible(&map, b"\xC0\xCC\xB8"), "%C0\u{338}");
}

#[test]
fn posix_names_show_the_marks_and_nothing_else_that_is_not_posix() {
    let map = map(Profile::Posix.policy(), &["iso-8859-1"]);
    let rows: [(&[u8], &str); 6] = [
        (b"a b", "a%20b"),
        (b"caf\xE9", "caf%C3%A9"),
        (b"a~b", "a%7Eb"),
        (b"a%b", "a%25b"),
        (b"-a", "%2Da"),
        (b"\xE2\x82\xAC", "%E2%82%AC"),
    ];
    for (name, expected) in rows {
        assert_eq!(visible(&map, name), expected, "{name:02X?}");
    }
    let long = visible(&map, &[b' '; 200]);
    let (stem, hash) = long.split_once('~').unwrap();
    assert_eq!((stem, hash.len()), ("%20".repeat(79).as_str(), 16));
}

/// Law N7.
#[test]
fn a_decoded_name_that_grew_too_long_is_cut_and_keeps_its_extension() {
    let map = map(Policy::default(), &["iso-8859-1"]);
    let name = [[0xE9; 200].as_slice(), b".txt"].concat();
    let shown = visible(&map, &name);
    let (stem, rest) = shown.split_once('~').unwrap();
    assert_eq!(stem, "é".repeat(117));
    assert_eq!((rest.len(), rest.ends_with(".txt")), (20, true));
    // The hash is that of the whole backing name: one that differs in what was cut away has another.
    let mut other = name.clone();
    other[199] = 0xE8;
    assert_ne!(visible(&map, &other), shown);
    assert!(visible(&map, &other).starts_with(stem));
}

#[test]
fn raw_names_are_shown_as_they_are_and_hidden_ones_not_at_all() {
    let name = BackingName::parse(b"caf\xE9").unwrap();
    let with = |legacy| NameMap {
        legacy,
        ..map(Policy::default(), &["iso-8859-1"])
    };
    assert_eq!(
        with(Legacy::Raw).visible_alone(&name),
        Some(name.as_visible())
    );
    assert_eq!(with(Legacy::Hide).visible_alone(&name), None);
    assert!(!with(Legacy::Raw).maps() && !with(Legacy::Hide).may_be_mapped(b"%"));
}

/// Law N6.
#[test]
fn escaping_is_undone_where_nothing_was_cut() {
    let policies = [
        Policy::default(),
        wanting(Form::Nfc),
        wanting(Form::Nfd),
        Profile::Portable.policy(),
        Policy {
            form: Some(Form::Nfc),
            ..Profile::Posix.policy()
        },
    ];
    let names: [&[u8]; 8] = [
        b"caf\xE9",
        b"%\xE9%25",
        b"\xCC\xCC\xA7",
        b"e\xCC\x81\xFF",
        b"-con .\xFF.",
        b"NUL.\xFF",
        b" \x01\xF0\x9F\x98",
        b"\xE1\x84\x80\xE1\x85\xA1\xFF",
    ];
    for policy in policies {
        let map = map(policy, &[]);
        for name in names {
            for percents in 1..=9 {
                let escaped = map.escape_candidate(name, percents);
                assert_eq!(unescape(escaped.as_bytes(), percents), name);
            }
        }
    }
}

/// The bound on the signs written must not be seen.
#[test]
fn escapes_longer_than_any_name_cost_no_more_than_they_show() {
    let map = map(Policy::default(), &[]);
    let name = [b"ab\xE9\xE9".as_slice(), &[0xFF; 250]].concat();
    let hash = |percents| map.escape_candidate(&name, percents).as_bytes()[2..].to_vec();
    for percents in [254, 255, 256, 257, usize::MAX] {
        assert_eq!(
            map.escape_candidate(&name, percents).as_bytes()[..10],
            *b"ab~~~~~~~~"
        );
        assert_ne!(hash(percents), hash(percents - 1));
    }
}

/// Law C5, and that no entry is ever lost: limits that leave no room for the mark are none that can be set.
#[test]
fn every_name_has_a_visible_one_even_under_limits_that_leave_no_room() {
    for max_bytes in [0, 1, 16] {
        let map = map(
            Policy {
                max_bytes,
                ..Policy::default()
            },
            &["iso-8859-1"],
        );
        for name in [b"plain".as_slice(), b"x\xE9", &[0xFF; 255], &[b'%'; 255]] {
            let name = BackingName::parse(name).unwrap();
            if !map.policy.conforms(name.as_bytes()) {
                assert!(map.visible_alone(&name).is_some());
            }
        }
    }
}

/// Law N8, and what keeps law N3 under it.
#[test]
fn only_names_that_a_mapping_can_yield_are_sought() {
    let rows: [(&str, bool, bool); 9] = [
        // (name, without a wanted form, with one)
        ("Makefile-1.2", false, false),
        ("a b", false, false),
        ("50%", true, true),
        ("a~", true, true),
        ("é", true, true),
        // U+212A, U+037E and U+1FEF are these in either form.
        ("K", false, true),
        ("a;b", false, true),
        ("`", false, true),
        ("k,'", false, false),
    ];
    for (name, without, with) in rows {
        let sought = |map: &NameMap| map.may_be_mapped(name.as_bytes());
        assert_eq!(sought(&map(Policy::default(), &[])), without, "{name}");
        assert_eq!(sought(&map(wanting(Form::Nfc), &[])), with, "{name}");
        assert_eq!(
            sought(&map(wanting(Form::Nfd), &["gb18030"])),
            with,
            "{name}"
        );
    }
}

/// Law N9.
#[test]
fn a_new_name_is_normalized_to_the_conforming_one_that_it_stands_for() {
    let rows: [(NameMap, &[u8], Option<&str>); 12] = [
        (
            map(Policy::default(), &["iso-8859-1"]),
            b"caf\xE9",
            Some("café"),
        ),
        (map(Policy::default(), &[]), b"caf\xE9", None),
        (map(Policy::default(), &["shift_jis"]), b"\xFD", None),
        (map(Policy::default(), &[]), b"50%", Some("50%")),
        (map(wanting(Form::Nfc), &[]), b"e\xCC\x81", Some("é")),
        (
            map(Profile::Portable.policy(), &[]),
            b"a:b%.",
            Some("a%3Ab%25%2E"),
        ),
        (
            map(Profile::Portable.policy(), &[]),
            b"con",
            Some("%63%6F%6E"),
        ),
        // The marks of an escape do not conform to posix, so that nothing does.
        (map(Profile::Posix.policy(), &[]), b"a b", None),
        // These are no names, and none is made of them.
        (map(Profile::Portable.policy(), &[]), b"..", None),
        (map(Profile::Portable.policy(), &[]), b"a/b", None),
        (map(Profile::Safe.policy(), &[]), b"a\0", None),
        (map(Policy::default(), &[]), b"", None),
    ];
    for (map, name, expected) in rows {
        let normalized = map.normalized(name);
        match expected {
            Some(expected) => {
                let expected = VisibleName::parse(expected.as_bytes());
                assert_eq!(normalized, expected, "{name:02X?}");
                assert_eq!(map.normalized(expected.unwrap().as_bytes()), normalized);
            }
            None => assert_eq!(
                normalized,
                Err(map.policy.check(name).unwrap_err()),
                "{name:02X?}"
            ),
        }
    }
}

/// Law N10.
#[test]
fn another_spelling_is_looked_up_in_the_wanted_form_and_normalized() {
    let reject = |policy| NameMap {
        on_violation: OnViolation::Reject,
        ..map(policy, &["iso-8859-1"])
    };
    let rows: [(NameMap, &[u8], Option<&str>); 6] = [
        (reject(wanting(Form::Nfc)), b"e\xCC\x81", Some("é")),
        // Bytes of a legacy charset are a spelling only where new names are normalized.
        (reject(wanting(Form::Nfc)), b"\xE9", None),
        (map(Policy::default(), &["iso-8859-1"]), b"\xE9", Some("é")),
        (reject(Policy::default()), b"\xE9", None),
        // What is shown raw may be listed in the wanted form and offend by something else.
        (
            reject(Policy {
                form: Some(Form::Nfc),
                ..Profile::Safe.policy()
            }),
            b"-e\xCC\x81",
            Some("-é"),
        ),
        (map(Profile::Safe.policy(), &[]), b"-e", Some("%2De")),
    ];
    for (map, name, expected) in rows {
        let expected = expected.map(|name| VisibleName::parse(name.as_bytes()).unwrap());
        let normalizes = map.on_violation == OnViolation::Normalize;
        assert_eq!(
            map.spellings(name, normalizes).last(),
            expected,
            "{name:02X?}"
        );
    }
    let refused = reject(Policy::default()).normalized(b"..").unwrap_err();
    assert_eq!(refused.rule, Rule::NotAComponent);
}

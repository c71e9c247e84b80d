//! The rules, their order, and what each says of the offending bytes.

use super::{Class, ErrnoChoice, NAME_MAX, Policy, Profile, Rule, Unit, errno};
use crate::codec::{Encoding, Form, Malformed};

use Rule::{Forbidden, IllFormed, NotAComponent, NotNormalized};

fn forbidding(classes: &[Class]) -> Policy {
    Policy {
        forbid: classes.to_vec(),
        ..Policy::default()
    }
}

fn wanting(form: Form) -> Policy {
    Policy {
        form: Some(form),
        ..Policy::default()
    }
}

/// The rule, offset, length and code point of the first offence.
fn offence(policy: &Policy, name: &[u8]) -> Option<(Rule, usize, usize, Option<u32>)> {
    let offence = policy.check(name).err()?;
    Some((
        offence.rule,
        offence.offset,
        offence.length,
        offence.code_point,
    ))
}

#[test]
fn the_default_policy_asks_for_well_formed_utf8_of_legal_length_only() {
    let policy = Policy::default();
    let conforming: [&[u8]; 8] = [
        b"a",
        "café".as_bytes(),
        "cafe\u{301}".as_bytes(),
        b"...",
        b" -\n\x7F",
        "\u{202E}\u{FFFF}\u{E000}".as_bytes(),
        b"CON",
        &[b'x'; NAME_MAX],
    ];
    for name in conforming {
        assert_eq!(offence(&policy, name), None, "{name:02X?}");
    }
    let rows: [(&[u8], _); 4] = [
        (
            b"caf\xE9.txt",
            (IllFormed(Encoding::Utf8, Malformed::Truncated), 3, 1, None),
        ),
        (
            b"a\xC0\xAF",
            (
                IllFormed(Encoding::Utf8, Malformed::Overlong(0x2F)),
                1,
                2,
                Some(0x2F),
            ),
        ),
        (
            b"\xED\xA0\x80",
            (
                IllFormed(Encoding::Utf8, Malformed::Surrogate(0xD800)),
                0,
                3,
                Some(0xD800),
            ),
        ),
        (
            b"a\xF4\x90\x80\x80",
            (
                IllFormed(Encoding::Utf8, Malformed::OutOfRange(0x11_0000)),
                1,
                4,
                Some(0x11_0000),
            ),
        ),
    ];
    for (name, expected) in rows {
        assert_eq!(offence(&policy, name), Some(expected), "{name:02X?}");
    }
}

/// Law C5.
#[test]
fn what_is_not_one_component_offends_as_a_whole_and_first_of_all() {
    let names: [&[u8]; 8] = [b"", b".", b"..", b"/", b"a/b", b"a\0", b"\xFF/", b"\0\n"];
    for name in names {
        for policy in [Policy::default(), Profile::Posix.policy()] {
            let expected = (NotAComponent, 0, name.len(), None);
            assert_eq!(offence(&policy, name), Some(expected), "{name:02X?}");
        }
    }
}

#[test]
fn limits_hold_to_the_unit() {
    let policy = |max_bytes, max_chars, max_utf16| Policy {
        max_bytes,
        max_chars,
        max_utf16,
        ..Policy::default()
    };
    let too_long = |unit, actual, limit| Rule::TooLong {
        unit,
        actual,
        limit,
    };
    // (policy, name, (rule, offset, length) of the offence)
    let rows = [
        (policy(255, None, None), "x".repeat(255), None),
        (
            policy(255, None, None),
            "x".repeat(256),
            Some((too_long(Unit::Bytes, 256, 255), 255, 1)),
        ),
        (policy(255, None, None), "é".repeat(127) + "x", None),
        // The character that goes over the limit offends whole.
        (
            policy(255, None, None),
            "é".repeat(128),
            Some((too_long(Unit::Bytes, 256, 255), 254, 2)),
        ),
        (
            policy(255, None, None),
            "😀".repeat(64),
            Some((too_long(Unit::Bytes, 256, 255), 252, 4)),
        ),
        (policy(255, Some(24), None), "é".repeat(24), None),
        (
            policy(255, Some(24), None),
            "é".repeat(25),
            Some((too_long(Unit::Chars, 25, 24), 48, 2)),
        ),
        (policy(255, Some(24), None), "😀".repeat(24), None),
        // Characters outside the BMP are two UTF-16 units.
        (policy(255, None, Some(24)), "é".repeat(24), None),
        (policy(255, None, Some(24)), "😀".repeat(12), None),
        (
            policy(255, None, Some(24)),
            "😀".repeat(13),
            Some((too_long(Unit::Utf16, 26, 24), 48, 4)),
        ),
        (
            policy(255, None, Some(24)),
            "x".repeat(23) + "😀b",
            Some((too_long(Unit::Utf16, 26, 24), 23, 5)),
        ),
        // Bytes are looked at first, then characters.
        (
            policy(24, Some(24), Some(24)),
            "x".repeat(25),
            Some((too_long(Unit::Bytes, 25, 24), 24, 1)),
        ),
        (
            policy(255, Some(24), Some(24)),
            "x".repeat(25),
            Some((too_long(Unit::Chars, 25, 24), 24, 1)),
        ),
    ];
    for (policy, name, expected) in rows {
        let found = offence(&policy, name.as_bytes())
            .map(|(rule, offset, length, _)| (rule, offset, length));
        assert_eq!(found, expected, "{name} under {policy:?}");
    }
}

#[test]
fn a_name_out_of_form_offends_where_it_is_out_of_form() {
    type Row = (&'static str, Form, Option<(usize, usize)>);
    let rows: [Row; 9] = [
        ("caf\u{E9}", Form::Nfc, None),
        // From the ASCII character before, which a mark could belong to
        ("caf\u{E9}", Form::Nfd, Some((2, 3))),
        // The letter and its mark
        ("cafe\u{301}s", Form::Nfc, Some((3, 3))),
        ("cafe\u{301}", Form::Nfd, None),
        ("\u{212B}", Form::Nfc, Some((0, 3))),
        ("a\u{212A}b", Form::Nfc, Some((0, 4))),
        // The first of two
        ("a\u{301}ba\u{301}", Form::Nfc, Some((0, 3))),
        // Two marks in the wrong order
        ("xe\u{301}\u{323}", Form::Nfd, Some((1, 5))),
        ("\u{344}", Form::Nfc, Some((0, 2))),
    ];
    for (name, form, expected) in rows {
        let policy = wanting(form);
        let expected = expected.map(|(offset, length)| (NotNormalized(form), offset, length, None));
        assert_eq!(offence(&policy, name.as_bytes()), expected, "{name:?}");
    }
}

#[test]
fn rules_are_looked_at_in_order_and_the_first_offence_is_reported() {
    let all = Policy {
        max_bytes: 24,
        form: Some(Form::Nfc),
        ..forbidding(&[Class::Control, Class::EdgeSpace, Class::Windows])
    };
    let rows: [(&[u8], Rule, usize, Option<u32>); 6] = [
        // Ill-formed, though also too long, forbidden and out of form
        (
            b" e\xCC\x81 and so on and so on \xFF",
            IllFormed(Encoding::Utf8, Malformed::InvalidByte),
            25,
            None,
        ),
        // Too long, though also forbidden
        (
            b" e\xCC\x81 and so on and so on *",
            Rule::TooLong {
                unit: Unit::Bytes,
                actual: 26,
                limit: 24,
            },
            24,
            None,
        ),
        // Forbidden, though also out of form
        (b"e\xCC\x81*", Forbidden(Class::Windows), 3, Some(0x2A)),
        // The first byte that offends, be it a character or the shape of the name
        (b" a*", Forbidden(Class::EdgeSpace), 0, Some(0x20)),
        (b"NUL\x01", Forbidden(Class::Control), 3, Some(1)),
        // Out of form only
        (b"e\xCC\x81", NotNormalized(Form::Nfc), 0, None),
    ];
    for (name, rule, offset, code_point) in rows {
        let found =
            offence(&all, name).map(|(rule, offset, _, code_point)| (rule, offset, code_point));
        assert_eq!(found, Some((rule, offset, code_point)), "{name:02X?}");
    }
}

#[test]
fn all_offences_of_a_name_are_listed_by_their_bytes() {
    let policy = forbidding(&[
        Class::Control,
        Class::EdgeSpace,
        Class::LeadingDash,
        Class::Windows,
    ]);
    type Row = (&'static [u8], &'static [(usize, usize)]);
    let rows: [Row; 8] = [
        (b"plain", &[]),
        (b"a\xFFb\x01\xE2\x82*", &[(1, 1), (3, 1), (4, 2), (6, 1)]),
        // Edges of the name, not of its well-formed pieces
        (b" a \xFF b ", &[(0, 1), (3, 1), (6, 1), (6, 1)]),
        (b"-\xFF-", &[(0, 1), (1, 1)]),
        (b"\xFF-", &[(0, 1)]),
        (b"a.\xFF", &[(2, 1)]),
        // A device name with an ill-formed extension is one; one that goes on ill-formed is not.
        (b"CON.\xFF", &[(0, 3), (4, 1)]),
        (b"CON\xFF", &[(3, 1)]),
    ];
    for (name, expected) in rows {
        let found: Vec<_> = policy
            .offences(name)
            .iter()
            .map(|offence| (offence.offset, offence.length))
            .collect();
        assert_eq!(found, expected, "{name:02X?}");
    }
}

#[test]
fn profiles_hold_what_they_say() {
    use Profile::{Portable, Posix, Safe, Utf8};
    // (name, the profiles that it conforms to)
    let rows: [(&str, &[Profile]); 12] = [
        ("Makefile-1.2_x", &[Utf8, Safe, Portable, Posix]),
        ("café", &[Utf8, Safe, Portable]),
        ("a b", &[Utf8, Safe, Portable]),
        ("a:b", &[Utf8, Safe]),
        ("con.txt", &[Utf8, Safe, Posix]),
        ("a.", &[Utf8, Safe, Posix]),
        ("-a", &[Utf8]),
        ("a ", &[Utf8]),
        ("a\nb", &[Utf8]),
        ("a\u{202E}b", &[Utf8]),
        ("a\u{200B}b", &[Utf8, Safe, Portable]),
        ("%41~", &[Utf8, Safe, Portable]),
    ];
    for (name, expected) in rows {
        let found: Vec<_> = [Utf8, Safe, Portable, Posix]
            .into_iter()
            .filter(|profile| profile.policy().conforms(name.as_bytes()))
            .collect();
        assert_eq!(found, expected, "{name:?}");
    }
    assert_eq!(Profile::default(), Utf8);
    assert_eq!(Utf8.policy(), Policy::default());
    assert_eq!(Portable.policy().max_utf16, Some(255));
}

/// Law N9.
#[test]
fn every_rule_has_its_errno() {
    let too_long = Rule::TooLong {
        unit: Unit::Bytes,
        actual: 256,
        limit: 255,
    };
    let chosen = [
        IllFormed(Encoding::Utf8, Malformed::Truncated),
        Forbidden(Class::Bidi),
        NotNormalized(Form::Nfc),
    ];
    for (choice, expected, symbol) in [
        (ErrnoChoice::Eilseq, libc::EILSEQ, "EILSEQ"),
        (ErrnoChoice::Einval, libc::EINVAL, "EINVAL"),
        (ErrnoChoice::Eperm, libc::EPERM, "EPERM"),
    ] {
        for rule in chosen {
            assert_eq!(choice.errno(rule), expected);
        }
        // These are not a matter of choice.
        assert_eq!(choice.errno(too_long), libc::ENAMETOOLONG);
        assert_eq!(choice.errno(NotAComponent), libc::EINVAL);
        assert_eq!(errno::symbol(expected), symbol);
    }
    assert_eq!(ErrnoChoice::default(), ErrnoChoice::Eilseq);
    assert_eq!(errno::symbol(libc::ENAMETOOLONG), "ENAMETOOLONG");
}

#[test]
fn rules_are_told_to_people_and_to_programs() {
    let too_long = |unit| Rule::TooLong {
        unit,
        actual: 300,
        limit: 255,
    };
    let rows = [
        (
            IllFormed(Encoding::Utf8, Malformed::Overlong(0x2F)),
            "ill-formed",
            Some("overlong"),
            "ill-formed UTF-8: overlong sequence for U+002F",
        ),
        (
            IllFormed(Encoding::Utf8, Malformed::OutOfRange(0x11_0000)),
            "ill-formed",
            Some("out-of-range"),
            "ill-formed UTF-8: U+110000 is beyond U+10FFFF",
        ),
        (
            too_long(Unit::Bytes),
            "too-long",
            Some("bytes"),
            "too long: 300 bytes, the limit is 255",
        ),
        (
            too_long(Unit::Chars),
            "too-long",
            Some("chars"),
            "too long: 300 characters, the limit is 255",
        ),
        (
            too_long(Unit::Utf16),
            "too-long",
            Some("utf16"),
            "too long: 300 UTF-16 units, the limit is 255",
        ),
        (
            Forbidden(Class::Bidi),
            "forbidden",
            Some("bidi"),
            "forbidden: bidirectional control",
        ),
        (
            NotNormalized(Form::Nfd),
            "not-normalized",
            Some("nfd"),
            "not in normalization form D",
        ),
        (
            NotAComponent,
            "not-a-component",
            None,
            "not a file name: empty, \".\", \"..\", or with \"/\" or NUL in it",
        ),
    ];
    for (rule, label, kind, text) in rows {
        assert_eq!(
            (rule.label(), rule.kind(), rule.to_string().as_str()),
            (label, kind, text)
        );
    }
}

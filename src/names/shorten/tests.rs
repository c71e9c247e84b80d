//! Law N7.

use std::collections::HashSet;

use super::super::escape::{Pieces, escape};
use super::{mark, shorten};
use crate::codec::Encoding;
use crate::policy::{Class, Policy, SMALLEST_LIMIT};

fn limited(max_bytes: usize) -> Policy {
    Policy {
        max_bytes,
        ..Policy::default()
    }
}

fn shortened(text: &str, policy: &Policy) -> String {
    String::from_utf8(shorten(
        Pieces::of(text.as_bytes(), Encoding::Utf8),
        policy,
        1,
        text.as_bytes(),
    ))
    .unwrap()
}

/// `visible` with `#` for the 16 characters after the last `~`.
fn without_hash(visible: &str) -> String {
    let (stem, rest) = visible.rsplit_once('~').unwrap();
    let (hash, extension) = rest.split_at(16);
    assert!(
        hash.bytes()
            .all(|octet| matches!(octet, b'a'..=b'z' | b'2'..=b'7')),
        "{visible}"
    );
    format!("{stem}~#{extension}")
}

#[test]
fn the_hash_is_80_bits_of_sha_256_in_base_32() {
    // printf x | sha256sum -> 2d711642b726b04401627ca9..., in base32 by Python's base64.b32encode
    let rows: [(&[u8], &[u8]); 2] = [(b"x", b"~fvyrmqvxe2yeialc"), (b"abc", b"~xj4bnp4pahh6uqkb")];
    for (name, expected) in rows {
        assert_eq!(mark(name, 1), expected);
    }
}

#[test]
fn names_are_cut_at_a_character_and_keep_their_extension() {
    // (bytes allowed, text, what is left with # for the hash, of 16 bytes)
    let rows = [
        (24, "x".repeat(24), None),
        (24, "x".repeat(25), Some("xxxxxxx~#".to_owned())),
        (24, "é".repeat(13), Some("ééé~#".to_owned())),
        (24, "😀".repeat(7), Some("😀~#".to_owned())),
        (255, "é".repeat(200), Some("é".repeat(119) + "~#")),
        (
            255,
            "é".repeat(200) + ".txt",
            Some("é".repeat(117) + "~#.txt"),
        ),
        // An extension is 1 to 12 characters after the last dot,
        (
            255,
            "x".repeat(300) + ".tar.gz",
            Some("x".repeat(235) + "~#.gz"),
        ),
        (
            255,
            "x".repeat(300) + ".abcdefghijkl",
            Some("x".repeat(225) + "~#.abcdefghijkl"),
        ),
        (
            255,
            "x".repeat(300) + ".abcdefghijklm",
            Some("x".repeat(238) + "~#"),
        ),
        (255, "x".repeat(300) + ".", Some("x".repeat(238) + "~#")),
        // and it is none where all the name is one.
        (
            24,
            ".".to_owned() + &"x".repeat(24),
            Some(".xxxxxx~#".to_owned()),
        ),
        (24, ".éééééééééééé".to_owned(), Some(".ééé~#".to_owned())),
        // It goes where the limit has no room for it; what is cut into the stem is not cut into the extension.
        (
            24,
            "x".repeat(20) + ".abcdefghijkl",
            Some("xxxxxxx~#".to_owned()),
        ),
        (24, "x".repeat(20) + ".abcdef", Some("~#.abcdef".to_owned())),
        (
            24,
            "x.".to_owned() + &"é".repeat(12),
            Some("x.éé~#".to_owned()),
        ),
    ];
    for (max_bytes, text, expected) in rows {
        let visible = shortened(&text, &limited(max_bytes));
        assert!(visible.len() <= max_bytes);
        match expected {
            Some(expected) => assert_eq!(without_hash(&visible), expected, "{text}"),
            None => assert_eq!(visible, text),
        }
    }
}

#[test]
fn characters_and_utf16_units_are_limits_too() {
    let chars = Policy {
        max_chars: Some(30),
        ..Policy::default()
    };
    let units = Policy {
        max_utf16: Some(30),
        ..Policy::default()
    };
    assert_eq!(
        without_hash(&shortened(&"é".repeat(31), &chars)),
        "é".repeat(13) + "~#"
    );
    assert_eq!(
        without_hash(&shortened(&"😀".repeat(31), &chars)),
        "😀".repeat(13) + "~#"
    );
    // 13 units are left, and the last cannot be half a character.
    assert_eq!(
        without_hash(&shortened(&"😀".repeat(31), &units)),
        "😀".repeat(6) + "~#"
    );
}

#[test]
fn a_cut_divides_no_escape() {
    for percents in 1..=8 {
        for before in 0..12 {
            let name = [b"x".repeat(before).as_slice(), &[0xE9; 30]].concat();
            let pieces = escape(&name, percents, |_, octet| !octet.is_ascii());
            let visible = shorten(pieces, &limited(40), percents, &name);
            let cut = visible.len() - 16 - percents;
            assert_eq!(visible[cut..], mark(&name, percents));
            let escapes = &visible[before.min(cut)..cut];
            assert_eq!(escapes.len() % (percents + 2), 0, "{visible:02X?}");
        }
    }
}

#[test]
fn a_mark_fits_the_smallest_limit_and_is_another_for_each_number_of_tildes() {
    let marks: HashSet<Vec<u8>> = (1..=1000).map(|tildes| mark(b"x", tildes)).collect();
    assert_eq!(marks.len(), 1000);
    assert!(marks.iter().all(|mark| mark.len() <= SMALLEST_LIMIT));
}

/// Law N5: what a joiner or a selector joins may be cut away from it, at any length.
#[test]
fn a_cut_leaves_no_joiner_without_what_it_joins() {
    let mut policy = Policy::default();
    policy.forbid(&[Class::Invisible]);
    for unit in [
        "\u{645}\u{6CC}\u{200C}\u{62E}",
        "\u{62E}\u{64E}\u{200C}\u{64E}\u{64F}\u{62E}",
        "\u{D28}\u{D4D}\u{200D}",
        "\u{9B0}\u{200D}\u{9CD}\u{9AF}",
        "\u{1F468}\u{1F3FD}\u{200D}\u{2764}\u{FE0F}\u{200D}\u{1F468}",
        "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
        "1\u{FE0F}\u{20E3}",
        "\u{845B}\u{E0100}",
        "\u{1828}\u{1820}\u{180E}\u{1820}",
    ] {
        let text = format!("{}.{}", unit.repeat(40), "\u{645}\u{6CC}\u{200C}\u{62E}");
        assert!(policy.offences(text.as_bytes()).is_empty(), "{unit:?}");
        for max_bytes in SMALLEST_LIMIT..100 {
            policy.max_bytes = max_bytes;
            let visible = shortened(&text, &policy);
            assert!(policy.conforms(visible.as_bytes()), "{visible:?}");
            // No more is cut than belongs together.
            assert!(visible.len() + unit.len() + 3 > max_bytes, "{visible:?}");
        }
    }
}

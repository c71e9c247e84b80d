//! Laws C1 (RFC 3629), C2 and C3.

use super::validate;
use crate::codec::{DecodeError, Encoding, Malformed};

use Malformed::{InvalidByte, OutOfRange, Overlong, Surrogate, Truncated, UnexpectedContinuation};

type Row = (&'static [u8], usize, usize, Malformed);

/// Ill-formed bytes, and the offset, length and kind of their first ill-formed sequence.
const ROWS: &[Row] = &[
    // Overlong: NUL and `/` in two, three and four bytes, and the last of each length that is too short for it.
    (b"\xC0\x80", 0, 2, Overlong(0)),
    (b"\xC0\xAF", 0, 2, Overlong(0x2F)),
    (b"\xC1\xBF", 0, 2, Overlong(0x7F)),
    (b"\xE0\x80\x80", 0, 3, Overlong(0)),
    (b"\xE0\x80\xAF", 0, 3, Overlong(0x2F)),
    (b"\xE0\x9F\xBF", 0, 3, Overlong(0x7FF)),
    (b"\xF0\x80\x80\x80", 0, 4, Overlong(0)),
    (b"\xF0\x80\x80\xAF", 0, 4, Overlong(0x2F)),
    (b"\xF0\x8F\xBF\xBF", 0, 4, Overlong(0xFFFF)),
    // `..` and `.` in disguise
    (b"\xC0\xAE\xC0\xAE", 0, 2, Overlong(0x2E)),
    // An overlong surrogate is overlong first.
    (b"\xF0\x8D\xA0\x80", 0, 4, Overlong(0xD800)),
    // C0 and C1 spell nothing without a continuation byte; with one too many they claim only the first.
    (b"\xC0", 0, 1, InvalidByte),
    (b"\xC1", 0, 1, InvalidByte),
    (b"\xC0A", 0, 1, InvalidByte),
    (b"\xC0\xC0\xAF", 0, 1, InvalidByte),
    (b"\xC0\x80\x80", 0, 2, Overlong(0)),
    // Surrogates: the first and last of the high and of the low ones; a pair (CESU-8) is two sequences.
    (b"\xED\xA0\x80", 0, 3, Surrogate(0xD800)),
    (b"\xED\xAF\xBF", 0, 3, Surrogate(0xDBFF)),
    (b"\xED\xB0\x80", 0, 3, Surrogate(0xDC00)),
    (b"\xED\xBF\xBF", 0, 3, Surrogate(0xDFFF)),
    (b"\xED\xA0\xBD\xED\xB8\x80", 0, 3, Surrogate(0xD83D)),
    // Beyond U+10FFFF
    (b"\xF4\x90\x80\x80", 0, 4, OutOfRange(0x11_0000)),
    (b"\xF4\xBF\xBF\xBF", 0, 4, OutOfRange(0x13_FFFF)),
    // Bytes that never occur claim nothing, though RFC 2279 gave F5..FD a meaning.
    (b"\xF5\x80\x80\x80", 0, 1, InvalidByte),
    (b"\xF7\xBF\xBF\xBF", 0, 1, InvalidByte),
    (b"\xF8\x88\x80\x80\x80", 0, 1, InvalidByte),
    (b"\xFB\xBF\xBF\xBF\xBF", 0, 1, InvalidByte),
    (b"\xFC\x84\x80\x80\x80\x80", 0, 1, InvalidByte),
    (b"\xFD\xBF\xBF\xBF\xBF\xBF", 0, 1, InvalidByte),
    (b"\xFE", 0, 1, InvalidByte),
    (b"\xFF", 0, 1, InvalidByte),
    // Continuation bytes with nothing to continue; each by itself
    (b"\x80", 0, 1, UnexpectedContinuation),
    (b"\xBF", 0, 1, UnexpectedContinuation),
    (b"\x80\xBF", 0, 1, UnexpectedContinuation),
    (b"\xC3\xA9\xA9", 2, 1, UnexpectedContinuation),
    (b"\xE2\x82\xAC\x80", 3, 1, UnexpectedContinuation),
    (b"\xF0\x9F\x98\x80\x80", 4, 1, UnexpectedContinuation),
    // Cut short by the end: every prefix of a sequence of each length, also of those that could not end well
    (b"\xC2", 0, 1, Truncated),
    (b"\xDF", 0, 1, Truncated),
    (b"\xE0", 0, 1, Truncated),
    (b"\xE0\x80", 0, 2, Truncated),
    (b"\xE2\x82", 0, 2, Truncated),
    (b"\xED\xA0", 0, 2, Truncated),
    (b"\xF0", 0, 1, Truncated),
    (b"\xF0\x9F", 0, 2, Truncated),
    (b"\xF0\x9F\x98", 0, 3, Truncated),
    (b"\xF0\x80\x80", 0, 3, Truncated),
    (b"\xF4\x90", 0, 2, Truncated),
    // Cut short by a character, and by another lead byte
    (b"\xE9t\xE9", 0, 1, Truncated),
    (b"\xC3(", 0, 1, Truncated),
    (b"\xE2\x82(", 0, 2, Truncated),
    (b"\xF0\x9F\x98(", 0, 3, Truncated),
    (b"\xE2\xE2\x82\xAC", 0, 1, Truncated),
    (b"\xF0\x9F\xFF", 0, 2, Truncated),
    (b"\xE0\x80\xC3\xA9", 0, 2, Truncated),
    // Latin-1 as it is met: a lead byte of three before ASCII, at the end, and two that make one of two and a rest
    (b"caf\xE9", 3, 1, Truncated),
    (b"caf\xE9.txt", 3, 1, Truncated),
    (b"na\xEFve", 2, 1, Truncated),
    (b"\xDCber", 0, 1, Truncated),
    (b"100 \xA5", 4, 1, UnexpectedContinuation),
    // Shift_JIS and KOI8-R as they are met
    (b"\x95\x5C.txt", 0, 1, UnexpectedContinuation),
    (b"\xF0\xF2\xE9\xF7\xE5\xF4", 0, 1, Truncated),
];

#[test]
fn the_first_ill_formed_sequence_is_found_with_its_length_and_kind() {
    for &(bytes, offset, length, kind) in ROWS {
        let expected = DecodeError {
            offset,
            length,
            kind,
        };
        assert_eq!(validate(bytes), Err(expected), "{bytes:02X?}");
    }
}

#[test]
fn a_diagnosis_does_not_depend_on_where_the_sequence_stands() {
    for &(bytes, offset, length, kind) in ROWS {
        for before in 1..=32 {
            let shifted = [b"a".repeat(before).as_slice(), bytes].concat();
            let expected = DecodeError {
                offset: before + offset,
                length,
                kind,
            };
            assert_eq!(validate(&shifted), Err(expected), "{shifted:02X?}");
        }
    }
}

#[test]
fn what_looks_odd_but_is_well_formed_is_accepted() {
    let rows: [(&[u8], &str); 12] = [
        (b"", "empty"),
        (b"\x00", "NUL is a character like others here"),
        (b"\x7F", "the last of one byte"),
        (b"\xC2\x80", "the first of two bytes"),
        (b"\xDF\xBF", "the last of two bytes"),
        (b"\xE0\xA0\x80", "the first of three bytes"),
        (b"\xED\x9F\xBF", "the last before the surrogates"),
        (b"\xEE\x80\x80", "the first after the surrogates"),
        (b"\xEF\xBF\xBE", "U+FFFE is a noncharacter, yet well-formed"),
        (b"\xF0\x90\x80\x80", "the first of four bytes"),
        (b"\xF4\x8F\xBF\xBF", "the last of all, a noncharacter"),
        (
            b"\xEF\xBB\xBFa",
            "a byte-order mark is a character like others",
        ),
    ];
    for (bytes, reason) in rows {
        assert!(validate(bytes).is_ok(), "{bytes:02X?}: {reason}");
    }
}

/// The sequences of bytes that all offend, and their length and kind. What stands between them is well-formed.
#[test]
fn every_ill_formed_sequence_is_found() {
    type Found = &'static [(usize, usize, Malformed)];
    let rows: [(&[u8], Found); 9] = [
        // The Unicode Standard, tables 3-8 to 3-11 (also utf8tests 14.4.0 to 14.5.1)
        (
            b"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82A",
            &[
                (0, 2, Overlong(0x2F)),
                (2, 3, Overlong(0x3F)),
                (5, 3, Truncated),
            ],
        ),
        (
            b"\xED\xA0\x80\xED\xBF\xBF\xED\xAFA",
            &[
                (0, 3, Surrogate(0xD800)),
                (3, 3, Surrogate(0xDFFF)),
                (6, 2, Truncated),
            ],
        ),
        (
            b"\xF4\x91\x92\x93\xFFA\x80\xBFB",
            &[
                (0, 4, OutOfRange(0x11_1493)),
                (4, 1, InvalidByte),
                (6, 1, UnexpectedContinuation),
                (7, 1, UnexpectedContinuation),
            ],
        ),
        (
            b"\xE1\x80\xE2\xF0\x91\x92\xF1\xBFA",
            &[
                (0, 2, Truncated),
                (2, 1, Truncated),
                (3, 3, Truncated),
                (6, 2, Truncated),
            ],
        ),
        // Kuhn 3.4: all the truncated sequences of 3.3 in a row that RFC 3629 knows
        (
            b"\xC0\xE0\x80\xF0\x80\x80\xDF\xEF\xBF",
            &[
                (0, 1, InvalidByte),
                (1, 2, Truncated),
                (3, 3, Truncated),
                (6, 1, Truncated),
                (7, 2, Truncated),
            ],
        ),
        // Kuhn 5.2.1, utf8tests 25.0: a pair of surrogates
        (
            b"\xED\xA0\x80\xED\xB0\x80",
            &[(0, 3, Surrogate(0xD800)), (3, 3, Surrogate(0xDC00))],
        ),
        // Kuhn 4.1.4 and 4.1.5, utf8tests 22.5 and 22.6: five and six bytes fall apart
        (
            b"\xF8\x80\x80",
            &[
                (0, 1, InvalidByte),
                (1, 1, UnexpectedContinuation),
                (2, 1, UnexpectedContinuation),
            ],
        ),
        // utf8tests 19.6
        (b"123\xEF\x80\xF0", &[(3, 2, Truncated), (5, 1, Truncated)]),
        // At both ends
        (
            b"\xE9 \xC3\xA9 \xE9",
            &[(0, 1, Truncated), (5, 1, Truncated)],
        ),
    ];
    for (bytes, expected) in rows {
        let found: Vec<_> = Encoding::Utf8
            .ill_formed(bytes)
            .map(|error| (error.offset, error.length, error.kind))
            .collect();
        assert_eq!(found, expected, "{bytes:02X?}");
    }
}

/// The generalized encoding: any value that fits, in as many bytes as asked for.
fn spell(value: u32, length: u32) -> Vec<u8> {
    let lead = [0x00, 0xC0, 0xE0, 0xF0][length as usize - 1] | (value >> (6 * (length - 1)));
    let mut bytes = vec![u8::try_from(lead).unwrap()];
    bytes.extend((0..length - 1).rev().map(|group| {
        let six = (value >> (6 * group)) & 0x3F;
        0x80 | u8::try_from(six).unwrap()
    }));
    bytes
}

#[test]
fn every_value_in_every_length_is_accepted_or_diagnosed_as_what_it_is() {
    for (length, values, shortest) in [
        (1, 0x80, 0),
        (2, 0x800, 0x80),
        (3, 0x1_0000, 0x800),
        (4, 0x20_0000, 0x1_0000),
    ] {
        for value in 0..values {
            let bytes = spell(value, length);
            let whole = |kind| Err((bytes.len(), kind));
            let expected = match value {
                _ if value < shortest => whole(Overlong(value)),
                0xD800..=0xDFFF => whole(Surrogate(value)),
                0x11_0000..=0x13_FFFF => whole(OutOfRange(value)),
                // F5..F7, which never occur
                0x14_0000.. => Err((1, InvalidByte)),
                _ => Ok(()),
            };
            let found = validate(&bytes).map(drop).map_err(|error| {
                assert_eq!(error.offset, 0);
                (error.length, error.kind)
            });
            assert_eq!(found, expected, "{bytes:02X?}");
        }
    }
}

#[test]
fn every_code_point_is_accepted_as_char_encodes_it() {
    let mut buffer = [0; 4];
    for c in '\0'..=char::MAX {
        let encoded = c.encode_utf8(&mut buffer).as_bytes();
        assert!(validate(encoded).is_ok_and(|text| text.chars().eq([c])));
    }
}

/// Accepts what std accepts; else the offset is std's, and the sequence lies within the input and does not take in a
/// well-formed one.
fn agrees_with_std(bytes: &[u8]) -> bool {
    match (validate(bytes), core::str::from_utf8(bytes)) {
        (Ok(_), Ok(_)) => true,
        (Err(ours), Err(theirs)) => {
            let after = &bytes[ours.offset + 1..];
            let claimed = &after[..ours.length - 1];
            ours.offset == theirs.valid_up_to()
                && claimed.iter().all(|byte| (0x80..=0xBF).contains(byte))
        }
        (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
    }
}

#[test]
fn rfc_3629_accepts_exactly_what_std_accepts() {
    for first in 0..=0xFF {
        assert!(agrees_with_std(&[first]));
        for second in 0..=0xFF {
            assert!(agrees_with_std(&[first, second]));
            // Behind an ASCII byte everything is as in the shorter string, and a continuation byte is the first to
            // offend; one of them stands for all.
            if first < 0xC0 && first != b'a' && first != 0x80 {
                continue;
            }
            for third in 0..=0xFF {
                let bytes = [first, second, third];
                assert!(agrees_with_std(&bytes), "{bytes:02X?}");
            }
        }
    }
}

#[test]
fn rfc_3629_accepts_exactly_what_std_accepts_in_four_bytes() {
    for first in 0xF0..=0xF5 {
        for second in 0..=0xFF {
            for third in 0..=0xFF {
                for fourth in [0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xFF] {
                    let bytes = [first, second, third, fourth];
                    assert!(agrees_with_std(&bytes), "{bytes:02X?}");
                }
            }
        }
    }
}

#[test]
fn ill_formed_sequences_are_disjoint_and_ascending_and_the_rest_is_well_formed() {
    // A byte of every kind that the decoder tells apart
    const KINDS: [u8; 13] = [
        b'a', 0x80, 0x8F, 0x9F, 0xBF, 0xC0, 0xC3, 0xE0, 0xE2, 0xED, 0xF0, 0xF4, 0xFF,
    ];
    let mut strings: Vec<Vec<u8>> = vec![vec![]];
    for _ in 0..5 {
        strings = strings
            .iter()
            .flat_map(|string| KINDS.map(|kind| [string.as_slice(), &[kind]].concat()))
            .collect();
        for string in &strings {
            let mut end = 0;
            for error in Encoding::Utf8.ill_formed(string) {
                assert!(error.length > 0, "{string:02X?}");
                assert!(
                    validate(&string[end..error.offset]).is_ok(),
                    "{string:02X?}"
                );
                end = error.offset + error.length;
            }
            assert!(validate(&string[end..]).is_ok(), "{string:02X?}");
        }
    }
}

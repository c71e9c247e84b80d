//! Law N6: escaping and its way back.

use super::{Pieces, escape};
use crate::codec::Encoding;

/// Escapes the bytes of `name` that are not ASCII.
fn escaped(name: &[u8], percents: usize) -> Vec<u8> {
    escape(name, percents, |_, octet| !octet.is_ascii()).bytes
}

/// The name that was escaped with `percents` percent signs.
pub(in crate::names) fn unescape(escaped: &[u8], percents: usize) -> Vec<u8> {
    let mut name = Vec::new();
    let mut rest = escaped;
    while let Some((&octet, after)) = rest.split_first() {
        if octet != b'%' {
            name.push(octet);
            rest = after;
            continue;
        }
        let (signs, digits) = rest.split_at(percents);
        assert!(signs.iter().all(|&sign| sign == b'%'), "{escaped:02X?}");
        let (digits, after) = digits.split_at(2);
        name.push(u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap());
        rest = after;
    }
    name
}

#[test]
fn octets_become_percent_signs_and_two_upper_case_hex_digits() {
    let rows: [(&[u8], usize, &[u8]); 9] = [
        (b"plain", 1, b"plain"),
        (b"caf\xE9", 1, b"caf%E9"),
        (b"caf\xE9", 2, b"caf%%E9"),
        (b"caf\xE9", 3, b"caf%%%E9"),
        // A percent sign is escaped always, even where it looks like an escape already.
        (b"100%", 1, b"100%25"),
        (b"%E9\xE9", 1, b"%25E9%E9"),
        (b"%\xE9", 2, b"%%25%%E9"),
        (b"\x80\xFF\x0A", 1, b"%80%FF\x0A"),
        (b"", 1, b""),
    ];
    for (name, percents, expected) in rows {
        assert_eq!(escaped(name, percents), expected, "{name:02X?}");
    }
}

#[test]
fn escaping_is_undone_for_every_octet_and_number_of_signs() {
    for percents in 1..=9 {
        for first in 0..=0xFF {
            for second in 0..=0xFF {
                let name = [b'%', first, second, b'2', b'5'];
                assert_eq!(unescape(&escaped(&name, percents), percents), name);
            }
        }
    }
}

#[test]
fn an_escape_and_a_character_are_one_piece_each() {
    // é stays, its second byte alone would not: escapes are asked for by offset.
    let pieces = escape("é%\u{FF}x".as_bytes(), 2, |offset, _| {
        offset == 4 || offset == 3
    });
    assert_eq!(pieces.bytes, "é%%25%%C3%%BFx".as_bytes());
    assert_eq!(pieces.ends, [2, 6, 10, 14, 15]);
    assert_eq!(
        Pieces::of("aé😀".as_bytes(), Encoding::Utf8).ends,
        [1, 3, 7]
    );
    assert!(Pieces::of(b"", Encoding::Utf8).ends.is_empty());
}

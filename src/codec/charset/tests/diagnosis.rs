//! Laws C2 and C4: what is wrong with bytes that a charset does not take, and how long its characters are.

use std::collections::HashSet;

use super::{Charset, DecodeError, Malformed, charset, is_multi_byte};

/// Every sequence of bytes that could be a character of a multi-byte charset.
fn candidates(charset: Charset) -> impl Iterator<Item = Vec<u8>> {
    let label = charset.label();
    let singles = (0..=0xFF).map(|a| vec![a]);
    let pairs = (0x80..=0xFF).flat_map(|a| (0..=0xFF).map(move |b| vec![a, b]));
    let triples = (0..=0xFF).flat_map(|b| (0..=0xFF).map(move |c| vec![0x8F, b, c]));
    let of_four = (0x81..=0xFE).flat_map(|a| {
        let heads = (0x30..=0x39).flat_map(move |b| (0x81..=0xFE).map(move |c| [a, b, c]));
        heads.flat_map(|[a, b, c]| (0x30..=0x39).map(move |d| vec![a, b, c, d]))
    });
    singles
        .chain(pairs)
        .chain(triples.filter(move |_| label == "euc-jp"))
        .chain(of_four.take_while(move |_| label == "gb18030"))
}

#[test]
fn a_sequence_that_does_not_decode_has_an_offset_a_length_and_a_kind() {
    use Malformed::{Truncated, Unassigned};
    let rows: [(&str, &[u8], usize, usize, Malformed); 33] = [
        ("windows-1252", b"ab\x81c", 2, 1, Unassigned),
        ("shift_jis", b"a\x80b", 1, 1, Unassigned), // U+0080 for the WHATWG
        ("shift_jis", b"a\xA0", 1, 1, Unassigned),
        ("shift_jis", b"\xB1\x95", 1, 1, Truncated), // after a character of one byte
        ("shift_jis", b"\x85", 0, 1, Unassigned),    // an empty row
        ("shift_jis", b"\x95\x20", 0, 1, Unassigned), // a space is not eaten
        ("shift_jis", b"\x95\xFF", 0, 2, Unassigned),
        ("shift_jis", b"\x85\x40", 0, 1, Unassigned),
        ("euc-jp", b"a\xC9", 1, 1, Truncated),
        ("euc-jp", b"\x8F", 0, 1, Truncated),
        ("euc-jp", b"\x8F\xAB", 0, 2, Truncated),
        ("euc-jp", b"\x8F\xA9", 0, 2, Truncated),
        ("euc-jp", b"\x8F\xA1", 0, 2, Unassigned), // an empty row
        ("euc-jp", b"\x8F\xA1\xA1", 0, 3, Unassigned),
        ("euc-jp", b"\x8F\xAB/", 0, 2, Unassigned),
        ("euc-jp", b"\x80", 0, 1, Unassigned),
        ("euc-kr", b"\xC9", 0, 1, Unassigned), // user-defined
        ("euc-kr", b"\xB0", 0, 1, Truncated),
        ("gbk", b"\xFF", 0, 1, Unassigned),
        ("gbk", b"\xD6", 0, 1, Truncated),
        ("gbk", b"a\x81\x30", 1, 1, Unassigned), // four bytes are not GBK
        ("gbk", b"a\x81\x30\x84", 1, 1, Unassigned),
        ("gbk", b"a\x81\x30\x84\x36", 1, 1, Unassigned),
        ("gb18030", b"\xD6\xD0\x80", 2, 1, Unassigned), // the euro sign for the WHATWG
        ("gb18030", b"\x81\x30", 0, 2, Truncated),
        ("gb18030", b"\x81\x30\x84", 0, 3, Truncated),
        ("gb18030", b"\x81\x30a", 0, 1, Unassigned),
        ("gb18030", b"\x81\x30\x84a", 0, 1, Unassigned),
        ("gb18030", b"\xFE\x39", 0, 2, Unassigned), // beyond U+10FFFF
        ("gb18030", b"\xFE\x39\xFE\x39", 0, 4, Unassigned),
        ("big5", b"\xA4", 0, 1, Truncated),
        ("big5", b"\x88\x62", 0, 1, Unassigned), // Hong Kong's: two code points for the WHATWG
        ("big5", b"a\x88\xA3", 1, 2, Unassigned),
    ];
    for (label, bytes, offset, length, kind) in rows {
        let error = DecodeError {
            offset,
            length,
            kind,
        };
        let decoded = charset(label).decode(bytes);
        assert_eq!(decoded, Err(error), "{label} {bytes:02X?}");
    }
}

#[test]
fn every_byte_and_every_pair_decodes_or_is_diagnosed() {
    for charset in Charset::all().filter(is_multi_byte) {
        let pairs = (0..=0xFF).flat_map(|a| (0..=0xFF).map(move |b| vec![a, b]));
        for bytes in (0..=0xFF).map(|a| vec![a]).chain(pairs) {
            let Err(error) = charset.decode(&bytes) else {
                continue;
            };
            let message = format!("{charset:?} {bytes:02X?} {error:?}");
            let first = charset.first_len(&bytes);
            assert_eq!(error.offset, first.unwrap_or(0), "{message}");
            assert!(error.length > 0, "{message}");
            let end = error.offset + error.length;
            assert!(end <= bytes.len(), "{message}");
            let waits = error.kind == Malformed::Truncated;
            assert!(waits || error.kind == Malformed::Unassigned, "{message}");
            assert!(!waits || end == bytes.len(), "{message}");
            let eats_ascii = error.length > 1 && bytes[error.offset + 1].is_ascii();
            assert!(
                !eats_ascii || waits || charset.label() == "gb18030",
                "{message}"
            );
        }
    }
}

#[test]
fn input_is_truncated_just_where_more_bytes_would_make_a_character() {
    for charset in Charset::all().filter(is_multi_byte) {
        let mut starts = HashSet::new();
        let mut cut = HashSet::new();
        for bytes in candidates(charset) {
            let is_character = charset.first_len(&bytes) == Some(bytes.len());
            for end in 1..bytes.len() {
                let start = &bytes[..end];
                if is_character && !starts.contains(start) {
                    starts.insert(start.to_vec());
                }
            }
            // All starts of four bytes, each once.
            let start = match bytes.as_slice() {
                [start @ .., b'0'] if start.len() == 3 => start,
                [_, _, _, _] => continue,
                other => other,
            };
            let decoded = charset.decode(start);
            if decoded.is_err_and(|error| error.offset == 0 && error.kind == Malformed::Truncated) {
                cut.insert(start.to_vec());
            }
        }
        assert!(!starts.is_empty());
        assert!(starts == cut, "{charset:?}");
    }
}

#[test]
fn a_character_is_one_code_point_of_at_most_so_many_bytes() {
    let rows = [
        ("iso-8859-1", 1),
        ("ibm437", 1),
        ("shift_jis", 2),
        ("euc-jp", 3),
        ("euc-kr", 2),
        ("gbk", 2),
        ("gb18030", 4),
        ("big5", 2),
    ];
    for (label, bytes) in rows {
        assert_eq!(charset(label).max_len(), bytes, "{label}");
    }
    for charset in Charset::all().filter(is_multi_byte) {
        let (mut longest, mut all, mut count) = (0, Vec::new(), 0);
        for bytes in candidates(charset) {
            if charset.first_len(&bytes) == Some(bytes.len()) {
                longest = longest.max(bytes.len());
                count += 1;
                all.extend(bytes);
            }
        }
        assert_eq!(longest, charset.max_len(), "{charset:?}");
        let text = charset.decode(&all).unwrap();
        assert_eq!(text.chars().count(), count, "{charset:?}");
        let mut at = 0;
        for c in text.chars() {
            let length = charset.first_len(&all[at..]).unwrap();
            let alone = charset.decode(&all[at..at + length]).unwrap();
            assert_eq!(alone, c.to_string(), "{charset:?}");
            at += length;
        }
        assert_eq!(charset.first_len(&all[at..]), None);
    }
}

#[test]
fn no_code_point_is_written_in_more_bytes_than_a_character_has() {
    for charset in Charset::all().filter(is_multi_byte) {
        for c in '\0'..=char::MAX {
            if let Ok(bytes) = charset.encode(c.encode_utf8(&mut [0; 4])) {
                assert!(bytes.len() <= charset.max_len(), "{charset:?} {c:?}");
            }
        }
    }
}

//! The examples that the documents print, to the byte.

use utf8fs::codec::{Encoding, Malformed};

use Encoding::{Cesu8, FssUtf, FssUtfXutf, Mutf8, Utf8, Utf8Bmp, Utf8Rfc2279, Utf8b, Wtf8};

/// The forms that have one table, and encode these characters alike.
const ALIKE: [Encoding; 9] = [
    Utf8,
    Utf8Rfc2279,
    FssUtf,
    FssUtfXutf,
    Utf8Bmp,
    Mutf8,
    Cesu8,
    Wtf8,
    Utf8b,
];

/// Document and section, code points, octets.
const EXAMPLES: [(&str, &[u32], &[u8]); 9] = [
    (
        "RFC 2279, section 4: A, not identical to, Alpha, full stop",
        &[0x41, 0x2262, 0x391, 0x2E],
        b"\x41\xE2\x89\xA2\xCE\x91\x2E",
    ),
    (
        "RFC 2279, section 4: hangugo",
        &[0xD55C, 0xAD6D, 0xC5B4],
        b"\xED\x95\x9C\xEA\xB5\xAD\xEC\x96\xB4",
    ),
    (
        "RFC 2279, section 4: nihongo",
        &[0x65E5, 0x672C, 0x8A9E],
        b"\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E",
    ),
    ("utf-8(7): the copyright sign", &[0xA9], b"\xC2\xA9"),
    ("utf-8(7): not equal to", &[0x2260], b"\xE2\x89\xA0"),
    ("Wikipedia, UTF-8, table of examples: $", &[0x24], b"\x24"),
    (
        "Wikipedia, UTF-8, table of examples: cent",
        &[0xA2],
        b"\xC2\xA2",
    ),
    (
        "Wikipedia, UTF-8, table of examples: euro",
        &[0x20AC],
        b"\xE2\x82\xAC",
    ),
    (
        "Wikipedia, UTF-8, table of examples: hwair",
        &[0x1_0348],
        b"\xF0\x90\x8D\x88",
    ),
];

#[test]
fn the_examples_of_the_documents_come_out_to_the_byte() {
    for (origin, code_points, bytes) in EXAMPLES {
        for encoding in ALIKE {
            let is_beyond = code_points.iter().any(|&c| c > encoding.limit());
            let as_a_pair = matches!(encoding, Mutf8 | Cesu8) && code_points == [0x1_0348];
            if is_beyond || as_a_pair {
                assert!(encoding.decode(bytes).is_err(), "{origin} in {encoding}");
                continue;
            }
            assert_eq!(
                encoding.encode(code_points).as_deref(),
                Ok(bytes),
                "{origin} in {encoding}"
            );
            assert_eq!(
                encoding.decode(bytes).as_deref(),
                Ok(code_points),
                "{origin} in {encoding}"
            );
            assert_eq!(encoding.validate(bytes), Ok(()), "{origin} in {encoding}");
        }
    }
}

/// Document and section, octets, offset and length of the first that is refused, kind.
const REFUSED: [(&str, &[u8], usize, usize, Malformed); 4] = [
    (
        "RFC 2279, section 2, note; section 6; RFC 3629, section 3: NUL in two octets",
        b"\xC0\x80",
        0,
        2,
        Malformed::Overlong(0),
    ),
    (
        "RFC 2279, section 6: /../ with a dot in two octets",
        b"\x2F\xC0\xAE\x2E\x2F",
        1,
        2,
        Malformed::Overlong(0x2E),
    ),
    (
        "Wikipedia, UTF-8, overlong encodings: euro in four octets",
        b"\xF0\x82\x82\xAC",
        0,
        4,
        Malformed::Overlong(0x20AC),
    ),
    (
        "RFC 3629, section 3: a pair of surrogates",
        b"\xED\xA1\x8C\xED\xBE\xB4",
        0,
        3,
        Malformed::Surrogate(0xD84C),
    ),
];

#[test]
fn what_the_documents_warn_of_is_refused_and_named() {
    for (origin, bytes, offset, length, kind) in REFUSED {
        let error = Utf8.validate(bytes).unwrap_err();
        let found = (error.offset, error.length, error.kind);
        assert_eq!(found, (offset, length, kind), "{origin}");
        assert_eq!(Utf8.decode(bytes), Err(error), "{origin}");
    }
    // RFC 3629, section 3, of CESU-8: "This leads to different results for character numbers above 0xFFFF".
    assert_eq!(
        Cesu8.decode(b"\xED\xA1\x8C\xED\xBE\xB4"),
        Ok(vec![0x2_33B4])
    );
    assert_eq!(
        Utf8.encode(&[0x2_33B4]).as_deref(),
        Ok(&b"\xF0\xA3\x8E\xB4"[..])
    );
    // RFC 2279, section 6, and the papers of 1992: NUL in two octets is refused there as well.
    for encoding in [Utf8Rfc2279, FssUtf, FssUtfXutf, Utf8Bmp, Cesu8, Wtf8] {
        for (_, bytes, offset, length, kind) in &REFUSED[..2] {
            let error = encoding.validate(bytes).unwrap_err();
            assert_eq!(
                (error.offset, error.length, error.kind),
                (*offset, *length, *kind)
            );
        }
    }
}

/// Criteria 1 and 2 of the papers, and of utf-8(7): "no ASCII byte can appear as part of another character".
#[test]
fn no_octet_of_a_character_beyond_ascii_is_ascii() {
    let all = Encoding::ALL.iter().copied();
    for encoding in all.filter(|encoding| encoding.is_file_system_safe()) {
        let sample = (0x80..=0x11_0000).chain((0x11_0000..=u32::MAX).step_by(65_521));
        let mut bytes = Vec::new();
        for code_point in sample {
            bytes.clear();
            if encoding.encode_into(&[code_point], &mut bytes).is_ok() {
                assert!(
                    bytes.iter().all(|octet| *octet >= 0x80),
                    "{encoding} {code_point:X}"
                );
            }
        }
    }
}

/// RFC 2279, section 1, and utf-8(7): octets sort as code points do. True of all forms but those that pair surrogates, write
/// NUL as C0 80, have escapes, or put the low octet first.
#[test]
fn octets_sort_as_code_points_do() {
    let sorted = [
        Utf8,
        Utf8Rfc2279,
        FssUtf,
        FssUtfXutf,
        Utf8Bmp,
        Encoding::FssUtfDraft,
        Encoding::Ucs2Be,
        Encoding::Ucs4Be,
    ];
    for encoding in sorted {
        let mut before = Vec::new();
        for code_point in (0..=0x11_0000).chain((0x11_0000..=u32::MAX).step_by(65_521)) {
            if let Ok(bytes) = encoding.encode(&[code_point]) {
                assert!(before <= bytes, "{encoding} {code_point:X}");
                before = bytes;
            }
        }
    }
}

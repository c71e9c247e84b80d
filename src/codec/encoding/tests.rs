//! Laws C1 to C3: rows of bytes with reasons. What goes through all bytes and code points is in `tests/it/codec`.

use super::Encoding;
use crate::codec::Malformed;

use Malformed::{InvalidByte, OutOfRange, Overlong, Surrogate, Truncated, UnexpectedContinuation};

type Row = (
    Encoding,
    &'static [u8],
    Result<&'static [u32], (usize, usize, Malformed)>,
);

const ROWS: &[Row] = &[
    // RFC 3629, section 3: the same bytes, by whom they were spelled.
    (
        Encoding::Utf8,
        b"\xED\xA1\x8C\xED\xBE\xB4",
        Err((0, 3, Surrogate(0xD84C))),
    ),
    (
        Encoding::Cesu8,
        b"\xED\xA1\x8C\xED\xBE\xB4",
        Ok(&[0x2_33B4]),
    ),
    (
        Encoding::Mutf8,
        b"\xED\xA1\x8C\xED\xBE\xB4",
        Ok(&[0x2_33B4]),
    ),
    (
        Encoding::Wtf8,
        b"\xED\xA1\x8C\xED\xBE\xB4",
        Err((0, 6, Surrogate(0xD84C))),
    ),
    (
        Encoding::FssUtf,
        b"\xED\xA1\x8C\xED\xBE\xB4",
        Ok(&[0xD84C, 0xDFB4]),
    ),
    (
        Encoding::Utf8Bmp,
        b"\xED\xA1\x8C\xED\xBE\xB4",
        Ok(&[0xD84C, 0xDFB4]),
    ),
    (
        Encoding::Utf8b,
        b"\xED\xA1\x8C",
        Ok(&[0xDCED, 0xDCA1, 0xDC8C]),
    ),
    // Half a pair: by itself, before something else, the other half first, cut short.
    (
        Encoding::Cesu8,
        b"\xED\xB0\x80",
        Err((0, 3, Surrogate(0xDC00))),
    ),
    (
        Encoding::Cesu8,
        b"\xED\xA0\x80\xED\xA0\x80",
        Err((0, 3, Surrogate(0xD800))),
    ),
    (
        Encoding::Cesu8,
        b"\xED\xA0\x80\xED\xB0",
        Err((0, 3, Surrogate(0xD800))),
    ),
    (
        Encoding::Mutf8,
        b"\xED\xB0\x80\xED\xA0\x80",
        Ok(&[0xDC00, 0xD800]),
    ),
    (
        Encoding::Mutf8,
        b"\xED\xA0\x80\xED\xB0",
        Err((3, 2, Truncated)),
    ),
    (
        Encoding::Wtf8,
        b"\xED\xB0\x80\xED\xA0\x80",
        Ok(&[0xDC00, 0xD800]),
    ),
    // Four octets are not how CESU-8 and Modified UTF-8 go beyond U+FFFF.
    (
        Encoding::Cesu8,
        b"\xF0\x90\x80\x80",
        Err((0, 1, InvalidByte)),
    ),
    (
        Encoding::Mutf8,
        b"\xF0\x90\x80\x80",
        Err((0, 1, InvalidByte)),
    ),
    // NUL.
    (Encoding::Mutf8, b"\xC0\x80", Ok(&[0])),
    (Encoding::Mutf8, b"\x00", Err((0, 1, InvalidByte))),
    (
        Encoding::Mutf8,
        b"aaaaaaaaaaaaaaaa\x00",
        Err((16, 1, InvalidByte)),
    ),
    (Encoding::Mutf8, b"\xC0", Err((0, 1, Truncated))),
    (Encoding::Mutf8, b"\xC0\xAF", Err((0, 2, Overlong(0x2F)))),
    (Encoding::Mutf8, b"\xC1", Err((0, 1, InvalidByte))),
    (Encoding::Mutf8, b"\xC1\x80", Err((0, 2, Overlong(0x40)))),
    (Encoding::Mutf8, b"\xE0\x80\x80", Err((0, 3, Overlong(0)))),
    (Encoding::Cesu8, b"\xC0\x80", Err((0, 2, Overlong(0)))),
    (Encoding::Wtf8, b"\xC0\x80", Err((0, 2, Overlong(0)))),
    // The last of each length, and the first too short for it.
    (Encoding::FssUtf, b"\xF7\xBF\xBF\xBF", Ok(&[0x1F_FFFF])),
    (
        Encoding::FssUtf,
        b"\xF8\x87\xBF\xBF\xBF",
        Err((0, 5, Overlong(0x1F_FFFF))),
    ),
    (Encoding::FssUtf, b"\xFB\xBF\xBF\xBF\xBF", Ok(&[0x3FF_FFFF])),
    (
        Encoding::FssUtf,
        b"\xFD\xBF\xBF\xBF\xBF\xBF",
        Ok(&[0x7FFF_FFFF]),
    ),
    (
        Encoding::FssUtf,
        b"\xFE\x80\x80\x80\x80\x80",
        Err((0, 1, InvalidByte)),
    ),
    (
        Encoding::FssUtfXutf,
        b"\xFE\x80\x80\x80\x80\x80",
        Ok(&[0x8000_0000]),
    ),
    (
        Encoding::FssUtfXutf,
        b"\xFC\x83\xBF\xBF\xBF\xBF",
        Err((0, 6, Overlong(0x3FF_FFFF))),
    ),
    (
        Encoding::FssUtfXutf,
        b"\xFF\xBF\xBF\xBF\xBF",
        Err((0, 5, Truncated)),
    ),
    // 16 bits: longer sequences are known, and beyond the end.
    (Encoding::Utf8Bmp, b"\xEF\xBF\xBF", Ok(&[0xFFFF])),
    (
        Encoding::Utf8Bmp,
        b"\xF0\x90\x80\x80",
        Err((0, 4, OutOfRange(0x1_0000))),
    ),
    (
        Encoding::Utf8Bmp,
        b"\xF0\x80\x80\xAF",
        Err((0, 4, Overlong(0x2F))),
    ),
    (
        Encoding::Utf8Bmp,
        b"\xFD\xBF\xBF\xBF\xBF\xBF",
        Err((0, 6, OutOfRange(0x7FFF_FFFF))),
    ),
    (Encoding::Utf8Bmp, b"\xF0\x90", Err((0, 1, InvalidByte))),
    (Encoding::Utf8Bmp, b"\xFE", Err((0, 1, InvalidByte))),
    // Beyond the end, or beyond the table.
    (
        Encoding::Wtf8,
        b"\xF4\x90\x80\x80",
        Err((0, 4, OutOfRange(0x11_0000))),
    ),
    (
        Encoding::Wtf8,
        b"\xF5\x80\x80\x80",
        Err((0, 1, InvalidByte)),
    ),
    (
        Encoding::Utf8b,
        b"\xF4\x90\x80\x80",
        Ok(&[0xDCF4, 0xDC90, 0xDC80, 0xDC80]),
    ),
    // The draft: the first and last of each length; every octet from 80 continues.
    (Encoding::FssUtfDraft, b"\x7F\x80\x80", Ok(&[0x7F, 0x80])),
    (
        Encoding::FssUtfDraft,
        b"\xBF\xFF\xC0\x80\x80",
        Ok(&[0x207F, 0x2080]),
    ),
    (
        Encoding::FssUtfDraft,
        b"\xDF\xFF\xFF\xE0\x80\x80\x80",
        Ok(&[0x8_207F, 0x8_2080]),
    ),
    (
        Encoding::FssUtfDraft,
        b"\xEF\xFF\xFF\xFF",
        Ok(&[0x208_207F]),
    ),
    (
        Encoding::FssUtfDraft,
        b"\xF0\x80\x80\x80\x80",
        Ok(&[0x208_2080]),
    ),
    (
        Encoding::FssUtfDraft,
        b"\xF7\xEF\xDF\xBE\xFF",
        Ok(&[0x7FFF_FFFF]),
    ),
    (
        Encoding::FssUtfDraft,
        b"\xF7\xEF\xDF\xBF\x80",
        Err((0, 5, OutOfRange(0x8000_0000))),
    ),
    (
        Encoding::FssUtfDraft,
        b"\xE0\xFF\xFF",
        Err((0, 3, Truncated)),
    ),
    (Encoding::FssUtfDraft, b"\xFF", Err((0, 1, InvalidByte))),
    // Units.
    (
        Encoding::Utf16Le,
        b"a\0\x00\xD8\x00\xDC",
        Ok(&[0x61, 0x1_0000]),
    ),
    (
        Encoding::Utf16Be,
        b"\xDC\x00\xD8\x00",
        Err((0, 2, Surrogate(0xDC00))),
    ),
    (
        Encoding::Utf16Be,
        b"\xD8\x00\xD8\x00\xDC\x00",
        Err((0, 2, Surrogate(0xD800))),
    ),
    (Encoding::Utf16Be, b"\xD8\x00", Err((0, 2, Truncated))),
    (
        Encoding::Utf16Be,
        b"\xDC\x00",
        Err((0, 2, Surrogate(0xDC00))),
    ),
    (Encoding::Utf16Be, b"\0a\0", Err((2, 1, Truncated))),
    (Encoding::Ucs2Be, b"\xD8\x00\xDC\x00", Ok(&[0xD800, 0xDC00])),
    (Encoding::Ucs4Be, b"\x00\x11\x00\x00", Ok(&[0x11_0000])),
    (
        Encoding::Ucs4Le,
        b"\xFF\xFF\xFF\xFF",
        Err((0, 4, OutOfRange(0xFFFF_FFFF))),
    ),
    (Encoding::Ucs4Le, b"a\0\0\0b\0\0", Err((4, 3, Truncated))),
    (
        Encoding::Utf8Rfc2279,
        b"a\xBF",
        Err((1, 1, UnexpectedContinuation)),
    ),
];

#[test]
fn each_form_reads_what_its_document_says() {
    for &(encoding, bytes, expected) in ROWS {
        let found = encoding.decode(bytes);
        let found = found
            .as_deref()
            .map_err(|error| (error.offset, error.length, error.kind));
        assert_eq!(found, expected, "{encoding} {bytes:02X?}");
        let valid = encoding.validate(bytes);
        let valid = valid.map_err(|error| (error.offset, error.length, error.kind));
        assert_eq!(valid, expected.map(|_| ()), "{encoding} {bytes:02X?}");
        if let Ok(code_points) = expected {
            assert_eq!(
                encoding.encode(code_points).as_deref(),
                Ok(bytes),
                "{encoding}"
            );
        }
    }
}

#[test]
fn what_a_form_lacks_is_named_by_its_place() {
    let rows = [
        (Encoding::Utf8, 0xD800),
        (Encoding::Utf8, 0x11_0000),
        (Encoding::FssUtf, 0x8000_0000),
        (Encoding::FssUtfDraft, 0x8000_0000),
        (Encoding::Utf8Bmp, 0x1_0000),
        (Encoding::Cesu8, 0xD800),
        (Encoding::Mutf8, 0x11_0000),
        (Encoding::Wtf8, 0x11_0000),
        (Encoding::Utf8b, 0xD800),
        (Encoding::Utf8b, 0xDC7F),
        (Encoding::Utf8b, 0xDD00),
        (Encoding::Utf16Le, 0xDFFF),
        (Encoding::Ucs2Be, 0x1_0000),
        (Encoding::Ucs4Be, 0x8000_0000),
    ];
    for (encoding, code_point) in rows {
        let mut bytes = Vec::new();
        let error = encoding.encode_into(&[0x61, code_point, 0x62], &mut bytes);
        assert_eq!(error, Err(1), "{encoding}");
        assert_eq!(Ok(bytes), encoding.encode(&[0x61]), "what is before it");
    }
}

#[test]
fn a_pair_of_surrogates_is_one_character_of_wtf_8() {
    let pair = Encoding::Wtf8.encode(&[0xD83D, 0xDE00]).unwrap();
    assert_eq!(pair, "😀".as_bytes());
    let apart = Encoding::Wtf8
        .encode(&[0xD83D, 0xD83D, 0x61, 0xDE00])
        .unwrap();
    assert_eq!(apart, b"\xED\xA0\xBD\xED\xA0\xBDa\xED\xB8\x80");
    // Three of them: the last is alone again.
    let three = Encoding::Wtf8.encode(&[0xD83D, 0xDE00, 0xDE00]).unwrap();
    assert_eq!(three, b"\xF0\x9F\x98\x80\xED\xB8\x80");
}

#[test]
fn u_fffd_stands_for_maximal_subparts() {
    // The Unicode Standard, section 3.9, tables 3-8 to 3-11; U+FFFD Substitution of Maximal Subparts.
    let rows: [(Encoding, &[u8], &[usize]); 9] = [
        (Encoding::Utf8, b"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82", &[1; 8]),
        (Encoding::Utf8, b"\xED\xA0\x80\xED\xBF\xBF\xED\xAF", &[1; 8]),
        (Encoding::Utf8, b"\xF4\x91\x92\x93\xFF", &[1; 5]),
        (
            Encoding::Utf8,
            b"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF",
            &[2, 1, 3, 2],
        ),
        (Encoding::FssUtf, b"\xFC\x83\xBF\xBF\xBF\xBF", &[1; 6]),
        (Encoding::FssUtf, b"\xFC\x84\xBF\xBF\xBF", &[5]),
        (Encoding::Cesu8, b"\xED\xA0\x80", &[3]),
        (Encoding::FssUtfDraft, b"\xE0\xFF\xFF", &[3]),
        (Encoding::Utf16Be, b"\xD8\x00\xD8\x00\xDC", &[2, 3]),
    ];
    for (encoding, bytes, expected) in rows {
        let mut rest = bytes;
        let mut found = Vec::new();
        while !rest.is_empty() {
            let length = encoding.maximal_subpart(rest);
            found.push(length);
            rest = &rest[length..];
        }
        assert_eq!(found, expected, "{encoding} {bytes:02X?}");
    }
}

#[test]
fn labels_are_found_and_are_all_different() {
    for &encoding in Encoding::ALL {
        assert_eq!(Encoding::from_label(encoding.label()), Some(encoding));
        let typed = encoding.label().to_uppercase().replace('-', "_");
        assert_eq!(Encoding::from_label(&typed), Some(encoding));
    }
    for unknown in ["", "utf", "utf-16", "ucs-2", "utf-8b8", "utf-8 bmp"] {
        assert_eq!(Encoding::from_label(unknown), None, "{unknown}");
    }
}

#[test]
fn what_may_go_on_is_left_for_the_next_piece_of_a_stream() {
    let streams: [(Encoding, &[u8]); 4] = [
        (
            Encoding::Mutf8,
            b"\xED\xA0\x80\xED\xB0\x80a\xC0\x80\xED\xA0\x80\xED\xB0\x80",
        ),
        (
            Encoding::Utf8b,
            b"\xE2\x82\xACa\xE2\x82a\xF0\x9F\x98\x80\xF0\x9F\x98",
        ),
        (
            Encoding::Wtf8,
            b"a\xED\xA0\x80b\xF0\x9F\x98\x80\xED\xA0\x80",
        ),
        (Encoding::Utf16Le, b"\x3D\xD8\x00\xDEa\0\x3D\xD8\x00\xDE"),
    ];
    for (encoding, stream) in streams {
        let whole = encoding.decode(stream).unwrap();
        for size in 1..=stream.len() {
            let mut code_points = Vec::new();
            let mut kept: Vec<u8> = Vec::new();
            for piece in stream.chunks(size) {
                kept.extend(piece);
                let done = encoding.decode_into(&kept, false, &mut code_points);
                kept.drain(..done.unwrap());
            }
            encoding.decode_into(&kept, true, &mut code_points).unwrap();
            assert_eq!(code_points, whole, "{encoding} in pieces of {size}");
        }
    }
}

//! The decoder stress tests of others: Markus Kuhn's of 2003, and the 222 sequences of `utf8tests`. The rows that matter are here as
//! bytes; `scripts/long stress-data` goes through the files.

mod files;

use utf8fs::codec::Encoding;

/// Of Kuhn's text: section, octets, how many malformed sequences he wants signalled.
const MALFORMED: [(&str, &[u8], usize); 37] = [
    ("3.1.1", b"\x80", 1),
    ("3.1.2", b"\xBF", 1),
    ("3.1.3", b"\x80\xBF", 2),
    ("3.1.4", b"\x80\xBF\x80", 3),
    ("3.1.5", b"\x80\xBF\x80\xBF", 4),
    ("3.1.6", b"\x80\xBF\x80\xBF\x80", 5),
    ("3.1.7", b"\x80\xBF\x80\xBF\x80\xBF", 6),
    ("3.1.8", b"\x80\xBF\x80\xBF\x80\xBF\x80", 7),
    ("3.3.1", b"\xC0", 1),
    ("3.3.2", b"\xE0\x80", 1),
    ("3.3.3", b"\xF0\x80\x80", 1),
    ("3.3.4", b"\xF8\x80\x80\x80", 1),
    ("3.3.5", b"\xFC\x80\x80\x80\x80", 1),
    ("3.3.6", b"\xDF", 1),
    ("3.3.7", b"\xEF\xBF", 1),
    ("3.3.8", b"\xF7\xBF\xBF", 1),
    ("3.3.9", b"\xFB\xBF\xBF\xBF", 1),
    ("3.3.10", b"\xFD\xBF\xBF\xBF\xBF", 1),
    (
        "3.4",
        b"\xC0\xE0\x80\xF0\x80\x80\xF8\x80\x80\x80\xFC\x80\x80\x80\x80\xDF\xEF\xBF\xF7\xBF\xBF\xFB\xBF\xBF\xBF\xFD\xBF\xBF\xBF\xBF",
        10,
    ),
    ("3.5.1", b"\xFE", 1),
    ("3.5.2", b"\xFF", 1),
    ("3.5.3", b"\xFE\xFE\xFF\xFF", 4),
    ("4.1.1", b"\xC0\xAF", 1),
    ("4.1.2", b"\xE0\x80\xAF", 1),
    ("4.1.3", b"\xF0\x80\x80\xAF", 1),
    ("4.1.4", b"\xF8\x80\x80\x80\xAF", 1),
    ("4.1.5", b"\xFC\x80\x80\x80\x80\xAF", 1),
    ("4.2.1", b"\xC1\xBF", 1),
    ("4.2.2", b"\xE0\x9F\xBF", 1),
    ("4.2.3", b"\xF0\x8F\xBF\xBF", 1),
    ("4.2.4", b"\xF8\x87\xBF\xBF\xBF", 1),
    ("4.2.5", b"\xFC\x83\xBF\xBF\xBF\xBF", 1),
    ("4.3.1", b"\xC0\x80", 1),
    ("4.3.2", b"\xE0\x80\x80", 1),
    ("4.3.3", b"\xF0\x80\x80\x80", 1),
    ("4.3.4", b"\xF8\x80\x80\x80\x80", 1),
    ("4.3.5", b"\xFC\x80\x80\x80\x80\x80", 1),
];

/// Each malformed sequence is signalled once, and nothing else is lost: the quotation marks around it stay.
#[track_caller]
fn signals(encoding: Encoding, origin: &str, bytes: &[u8], wanted: usize) {
    let quoted = [b"\"", bytes, b"\""].concat();
    let faults = encoding.ill_formed(&quoted).count();
    assert_eq!(faults, wanted, "{origin} {bytes:02X?} in {encoding}");
    let last = encoding.pieces(&quoted).last().unwrap();
    assert_eq!(last.spells, Ok(u32::from(b'"')), "{origin} in {encoding}");
}

#[test]
fn each_malformed_sequence_of_kuhns_text_is_signalled_once() {
    for (origin, bytes, wanted) in MALFORMED {
        for encoding in [Encoding::Utf8Rfc2279, Encoding::FssUtf] {
            signals(encoding, origin, bytes, wanted);
        }
    }
    // 3.1.9 and 3.2: all continuation octets, all leads, each followed by a space.
    let continuation: Vec<u8> = (0x80..=0xBF).collect();
    signals(Encoding::Utf8Rfc2279, "3.1.9", &continuation, 64);
    for (origin, leads) in [
        ("3.2.1", 0xC0..=0xDF),
        ("3.2.2", 0xE0..=0xEF),
        ("3.2.3", 0xF0..=0xF7),
        ("3.2.4", 0xF8..=0xFB),
        ("3.2.5", 0xFC..=0xFDu8),
    ] {
        let wanted = leads.len();
        let bytes: Vec<u8> = leads.flat_map(|lead| [lead, b' ']).collect();
        signals(Encoding::Utf8Rfc2279, origin, &bytes, wanted);
    }
}

#[test]
fn the_first_and_last_sequences_of_kuhns_text_are_what_it_says() {
    // Section 2 of the text: octets, code point.
    let rows: [(&[u8], u32); 17] = [
        (b"\x00", 0),
        (b"\xC2\x80", 0x80),
        (b"\xE0\xA0\x80", 0x800),
        (b"\xF0\x90\x80\x80", 0x1_0000),
        (b"\xF8\x88\x80\x80\x80", 0x20_0000),
        (b"\xFC\x84\x80\x80\x80\x80", 0x400_0000),
        (b"\x7F", 0x7F),
        (b"\xDF\xBF", 0x7FF),
        (b"\xEF\xBF\xBF", 0xFFFF),
        (b"\xF7\xBF\xBF\xBF", 0x1F_FFFF),
        (b"\xFB\xBF\xBF\xBF\xBF", 0x3FF_FFFF),
        (b"\xFD\xBF\xBF\xBF\xBF\xBF", 0x7FFF_FFFF),
        (b"\xED\x9F\xBF", 0xD7FF),
        (b"\xEE\x80\x80", 0xE000),
        (b"\xEF\xBF\xBD", 0xFFFD),
        (b"\xF4\x8F\xBF\xBF", 0x10_FFFF),
        (b"\xF4\x90\x80\x80", 0x11_0000),
    ];
    for (bytes, code_point) in rows {
        for encoding in [Encoding::Utf8Rfc2279, Encoding::FssUtf, Encoding::Utf8] {
            let wanted = (code_point <= encoding.limit()).then(|| vec![code_point]);
            assert_eq!(
                encoding.decode(bytes).ok(),
                wanted,
                "{encoding} {bytes:02X?}"
            );
        }
    }
}

#[test]
fn surrogates_of_kuhns_text_are_refused_today_and_noncharacters_are_not() {
    let (high, low) = (
        [
            [0xED, 0xA0, 0x80],
            [0xED, 0xAD, 0xBF],
            [0xED, 0xAE, 0x80],
            [0xED, 0xAF, 0xBF],
        ],
        [[0xED, 0xB0, 0x80], [0xED, 0xBE, 0x80], [0xED, 0xBF, 0xBF]],
    );
    for alone in high.iter().chain(&low) {
        signals(Encoding::Utf8, "5.1", alone, 1);
        signals(Encoding::Cesu8, "5.1", alone, 1);
        // RFC 2279 does not say so: its table has them.
        signals(Encoding::Utf8Rfc2279, "5.1", alone, 0);
    }
    for high in high {
        for low in [low[0], low[2]] {
            signals(Encoding::Utf8, "5.2", &[high, low].concat(), 2);
            signals(Encoding::Cesu8, "5.2", &[high, low].concat(), 0);
        }
    }
    // 5.3: his text refuses U+FFFE and U+FFFF. They are noncharacters, which text may have: Unicode's Corrigendum 9.
    for noncharacter in [b"\xEF\xBF\xBE", b"\xEF\xBF\xBF"] {
        signals(Encoding::Utf8, "5.3", noncharacter, 0);
    }
}

/// Bytes, with each maximal subpart of an ill-formed sequence as U+FFFD, or with nothing in its place.
fn mended(bytes: &[u8], mark: &[u8]) -> Vec<u8> {
    let mut mended = Vec::new();
    let mut rest = bytes;
    while let Some(piece) = Encoding::Utf8.first(rest) {
        let length = match piece.spells {
            Ok(_) => {
                mended.extend_from_slice(&rest[..piece.length]);
                piece.length
            }
            Err(_) => {
                mended.extend_from_slice(mark);
                Encoding::Utf8.maximal_subpart(rest)
            }
        };
        rest = &rest[length..];
    }
    mended
}

/// Of utf8tests.txt: number, octets, what is left, what is left with U+FFFD shown as `?`.
#[test]
fn u_fffd_stands_where_the_sequences_of_utf8tests_want_it() {
    let rows: &[(&str, &[u8], &str, &str)] = &[
        ("6.0", b"\xF7\xBF\xBF\xBF", "", "????"),
        ("6.0.1", b"\xF4\x90\x80\x80", "", "????"),
        ("6.2", b"\xF7\xBF\xBF\xBF\xBF", "", "?????"),
        ("9.0", b"\xF7\xBF\xBF", "", "???"),
        ("11.2", b"\x80\xBF", "", "??"),
        ("12.7", b"\xB8\xB9\xBA\xBB\xBC\xBD\xBE\xBF", "", "????????"),
        (
            "13.0",
            b"\xC0\x20\xC1\x20\xC2\x20\xC3\x20",
            "    ",
            "? ? ? ? ",
        ),
        (
            "14.2",
            b"\xE8\x20\xE9\x20\xEA\x20\xEB\x20",
            "    ",
            "? ? ? ? ",
        ),
        (
            "14.4.0",
            b"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41",
            "A",
            "????????A",
        ),
        (
            "14.4.1",
            b"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41",
            "A",
            "????????A",
        ),
        (
            "14.4.2",
            b"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42",
            "AB",
            "?????A??B",
        ),
        (
            "14.5.1",
            b"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41",
            "A",
            "????A",
        ),
        ("15.2", b"\xF4\x20\xF5\x20", "  ", "? ? "),
        ("16.0", b"\xF8\x20", " ", "? "),
        ("18.1", b"\xE0\x80", "", "??"),
        ("18.2", b"\xF0\x80\x80", "", "???"),
        ("19.1", b"\xEF\xBF", "", "?"),
        ("19.2", b"\xF7\xBF\xBF", "", "???"),
        ("19.5", b"\x31\x32\x33\xEF\x80", "123", "123?"),
        ("19.6", b"\x31\x32\x33\xEF\x80\xF0", "123", "123??"),
        ("21.6", b"\x37\x38\x39\xFE", "789", "789?"),
        ("22.2", b"\xC0\xAF", "", "??"),
        ("22.4", b"\xF0\x80\x80\xAF", "", "????"),
        ("23.1", b"\xE0\x9F\xBF", "", "???"),
        ("24.0.2", b"\x31\x32\x33\xED\xA0\x80\x31", "1231", "123???1"),
        ("25.0", b"\xED\xA0\x80\xED\xB0\x80", "", "??????"),
        ("29.2", b"\x20\x21\x21\x23\xFE\x20", " !!# ", " !!#? "),
        ("29.5", b"\x20\x80\x20", "  ", " ? "),
        ("30.1", b"\xC2\x7F", "\x7F", "?\x7F"),
        ("30.2", b"\xC2\xC0", "", "??"),
        ("31.1", b"\xE0\x80\x7F", "\x7F", "??\x7F"),
        ("31.2", b"\xE0\x80\xC0", "", "???"),
        ("32.1", b"\xED\x80\x7F", "\x7F", "?\x7F"),
        ("32.2", b"\xED\x80\xC0", "", "??"),
        ("33.1", b"\xF0\x90\x80\x7F", "\x7F", "?\x7F"),
        ("33.3", b"\xF0\x90\x80\xFF", "", "??"),
        ("34.1", b"\xF1\x80\x80\x7F", "\x7F", "?\x7F"),
    ];
    for (number, bytes, skipped, replaced) in rows {
        assert_eq!(mended(bytes, b""), skipped.as_bytes(), "{number}");
        assert_eq!(
            mended(bytes, "\u{FFFD}".as_bytes()),
            replaced.replace('?', "\u{FFFD}").as_bytes(),
            "{number}"
        );
        let lossy = bytes.utf8_chunks().map(|chunk| {
            let mark = if chunk.invalid().is_empty() {
                ""
            } else {
                "\u{FFFD}"
            };
            [chunk.valid(), mark].concat()
        });
        assert_eq!(
            lossy.collect::<String>(),
            replaced.replace('?', "\u{FFFD}"),
            "{number}"
        );
    }
}

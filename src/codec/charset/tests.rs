//! Laws C4 and C5 for legacy charsets.

use std::collections::{HashMap, HashSet};

use super::{Charset, EncodeError, Tables, is_same_component};
use crate::codec::{DecodeError, Malformed};

mod diagnosis;

fn charset(label: &str) -> Charset {
    Charset::from_label(label).unwrap()
}

fn is_multi_byte(charset: &Charset) -> bool {
    matches!(charset.0.tables, Tables::MultiByte(_))
}

#[test]
fn names_found_in_other_projects_decode_and_come_back() {
    let rows: [(&str, &[u8], &str); 13] = [
        // fshost/node-dir test/fixtures/testdir5
        ("iso-8859-1", b"testu\xE7\xF5es.txt", "testuções.txt"),
        // libarchive cpio, tar, zip
        ("cp866", b"\x8F\x90\x88\x82\x85\x92", "ПРИВЕТ"),
        ("cp866", b"\xAF\xE0\xA8\xA2\xA5\xE2", "привет"),
        // libarchive cpio, tar
        ("euc-jp", b"\xB4\xC1\xBB\xFA.txt", "漢字.txt"),
        ("euc-jp", b"\xC9\xBD.txt", "表.txt"),
        // libarchive cpio, tar, zip
        ("koi8-r", b"\xF0\xF2\xE9\xF7\xE5\xF4", "ПРИВЕТ"),
        ("koi8-r", b"\xD0\xD2\xC9\xD7\xC5\xD4", "привет"),
        // libarchive zip; the first has 5C, a backslash in ASCII, as second byte
        ("shift_jis", b"\x95\x5C\x82\xBE\x82\xE6", "表だよ"),
        ("shift_jis", b"\x88\xEA\x97\x97\x95\x5C.txt", "一覧表.txt"),
        ("shift_jis", b"\x8A\xBF\x8E\x9A.txt", "漢字.txt"),
        // libarchive pax: a combining caron in UTF-8 and one Latin-1 byte
        ("iso-8859-1", b"abc\xCC\x8Cmno\xFCxyz", "abcÌ\u{8C}mnoüxyz"),
        // clsty/zip-encoding-test
        (
            "shift_jis",
            b"\x82\xB1\x82\xF1\x82\xC9\x82\xBF\x82\xCD\x90\xA2\x8A\x45.txt",
            "こんにちは世界.txt",
        ),
        (
            "gbk",
            b"\xA4\xB3\xA4\xF3\xA4\xCB\xA4\xC1\xA4\xCF\xCA\xC0\xBD\xE7.txt",
            "こんにちは世界.txt",
        ),
    ];
    for (label, bytes, text) in rows {
        let charset = charset(label);
        assert_eq!(
            charset.decode_reversibly(bytes).as_deref(),
            Some(text),
            "{label}"
        );
        assert_eq!(charset.encode(text).as_deref(), Ok(bytes), "{label}");
    }
}

#[test]
fn a_byte_means_what_iana_says_not_what_browsers_say() {
    let rows: [(&str, &[u8], Result<&str, usize>); 25] = [
        ("iso-8859-1", b"\x80\x9F\xA0\xFF", Ok("\u{80}\u{9F}\u{A0}ÿ")), // not windows-1252
        ("windows-1252", b"\x80\x9F", Ok("€Ÿ")),
        ("windows-1252", b"a\x81", Err(1)), // unassigned, by Microsoft's table
        ("windows-1252", b"\x8D", Err(0)),
        ("windows-1252", b"\x8F", Err(0)),
        ("windows-1252", b"\x90", Err(0)),
        ("windows-1252", b"\x9D", Err(0)),
        (
            "iso-8859-9",
            b"\xD0\xDD\xDE\xF0\xFD\xFE\x80",
            Ok("ĞİŞğış\u{80}"),
        ), // not windows-1254
        ("iso-8859-11", b"\x80\xA0\xA1", Ok("\u{80}\u{A0}ก")), // not windows-874
        ("windows-874", b"\x80\xA1", Ok("€ก")),
        ("windows-874", b"\x81", Err(0)),
        ("koi8-u", b"\xAE\xBE\xA4", Ok("╝╬є")), // RFC 2319: no short u
        ("cp720", b"\x80", Err(0)),             // a hole, not U+0080
        ("iso-8859-1", b"\xFF\xFEa", Ok("ÿþa")), // no byte-order mark
        ("windows-1252", b"\xEF\xBB\xBFa", Ok("ï»¿a")),
        ("gb18030", b"\x84\x31\x95\x33a", Ok("\u{FEFF}a")),
        ("shift_jis", b"a\x80b", Err(1)),     // not U+0080
        ("gbk", b"\x80\xD6\xD0", Ok("€中")),  // as Windows has it
        ("gb18030", b"\xD6\xD0\x80", Err(2)), // the euro sign is A2 E3 here
        ("gb18030", b"\xD6\xD0\x81\x30\x84\x36", Ok("中\u{A5}")),
        ("gbk", b"\xD6\xD0\x81\x30\x84\x36", Err(2)), // four bytes are not GBK
        ("gbk", b"\xD6\xD0\x81\x30\x84\x36\xFF", Err(2)), // nor is FF, but that is later
        ("gb18030", b"\xD6\xD0\x81\x30\x84", Err(2)), // cut short
        ("euc-jp", b"r\x8F\xAB\xB1sum\x8F\xAB\xB1", Ok("résumé")), // JIS X 0212
        ("euc-jp", b"\xC9\xBD\x8F\xAB", Err(2)),      // cut short
    ];
    for (label, bytes, expected) in rows {
        let decoded = charset(label).decode(bytes);
        assert_eq!(
            decoded.as_deref().map_err(|error| error.offset),
            expected,
            "{label} {bytes:02X?}"
        );
        assert_eq!(
            charset(label).decode_reversibly(bytes).as_deref(),
            expected.ok(),
            "{label} {bytes:02X?}"
        );
    }
}

#[test]
fn every_byte_of_a_single_byte_charset_comes_back_or_is_refused_at_its_offset() {
    for charset in Charset::all().filter(|c| !is_multi_byte(c)) {
        let mut seen = HashSet::new();
        for byte in 0..=0xFF {
            let bytes = [b'a', b'/', byte, b'b'];
            match charset.decode(&bytes) {
                Ok(text) => {
                    let c = text.chars().nth(2).unwrap();
                    assert_eq!(c.is_ascii(), byte.is_ascii(), "{charset:?} {byte:02X}");
                    assert!(seen.insert(c), "{charset:?} {byte:02X} twice");
                    assert_eq!(charset.encode(&text).as_deref(), Ok(&bytes[..]));
                    assert_eq!(charset.decode_reversibly(&bytes), Some(text));
                }
                Err(error) => {
                    let unassigned = DecodeError {
                        offset: 2,
                        length: 1,
                        kind: Malformed::Unassigned,
                    };
                    assert_eq!(error, unassigned, "{charset:?} {byte:02X}");
                    assert_eq!(charset.first_len(&[byte]), None);
                    assert!(!byte.is_ascii(), "{charset:?} {byte:02X}");
                    assert_eq!(charset.decode_reversibly(&bytes), None);
                }
            }
        }
    }
}

/// Law C5, over every name of two bytes that does not begin with ASCII, and of three in EUC-JP.
#[test]
fn no_two_names_of_a_multi_byte_charset_have_one_text_and_none_makes_a_separator() {
    for charset in Charset::all().filter(is_multi_byte) {
        let pairs = (0x7F..=0xFF).flat_map(|a| (0..=0xFF).map(move |b| vec![a, b]));
        let triples = (0x80..=0xFF).flat_map(|a| (0x7F..=0xFF).map(move |b| vec![0x8F, a, b]));
        let triples = triples.filter(|_| charset.label() == "euc-jp");
        let mut seen = HashMap::new();
        for bytes in pairs.chain(triples) {
            if let Some(text) = charset.decode_reversibly(&bytes) {
                for separator in ['/', '\0'] {
                    let octet = u8::try_from(separator).unwrap();
                    let below = bytes.iter().filter(|b| **b == octet).count();
                    assert_eq!(text.matches(separator).count(), below, "{bytes:02X?}");
                }
                let twin = seen.insert(text, bytes.clone());
                assert_eq!(twin, None, "{charset:?} {bytes:02X?}");
            }
            if let Err(DecodeError { offset, .. }) = charset.decode(&bytes) {
                assert!(charset.decode(&bytes[..offset]).is_ok(), "{bytes:02X?}");
                let alone = charset.decode(&bytes[..1]).is_ok();
                assert_eq!(offset > 0, alone, "{charset:?} {bytes:02X?}");
            }
        }
    }
}

#[test]
fn characters_are_those_of_the_standard_where_the_web_has_others() {
    let rows: [(&str, &[u8], &str); 16] = [
        // unicode.org, MAPPINGS/OBSOLETE/EASTASIA/JIS/JIS0208.TXT
        ("euc-jp", b"\xA1\xC1", "\u{301C}"),
        ("euc-jp", b"\xA1\xC2", "\u{2016}"),
        ("euc-jp", b"\xA1\xDD", "\u{2212}"),
        ("euc-jp", b"\xA1\xF1", "\u{A2}"),
        ("euc-jp", b"\xA1\xF2", "\u{A3}"),
        ("euc-jp", b"\xA2\xCCa\xA1\xC0", "\u{AC}a\u{FF3C}"),
        // JIS0212.TXT; NEC and IBM have them at AD E2, F9 A1
        ("euc-jp", b"\x8F\xA2\xF1\x8F\xD4\xE3", "\u{2116}\u{7E8A}"),
        ("euc-jp", b"\x8F\xA2\xB7", "\u{FF5E}"), // glibc; the web writes A1 C1
        // unicode.org, MAPPINGS/OBSOLETE/EASTASIA/OTHER/BIG5.TXT; ETEN has them at F9 F9, C6 DF
        ("big5", b"\xA2\xA4", "\u{2550}"),
        ("big5", b"\xC9\x69", "\u{4EDD}"),
        // unicode.org, MAPPINGS/VENDORS/MICSFT/WINDOWS/CP950.TXT
        ("big5", b"\xF9\xFE", "\u{2593}"),
        // Microsoft's cp932, which is registered as windows-31j
        ("shift_jis", b"\x81\x60", "\u{FF5E}"),
        // GB 18030-2022, and glibc 2.41
        ("gb18030", b"\xA6\xD9\x84\x31\x82\x36", "\u{FE10}\u{E78D}"),
        ("gb18030", b"\xFE\x59\x82\x35\x90\x37", "\u{9FB4}\u{E81E}"),
        // GB 18030-2005 and -2022, user-defined
        ("gb18030", b"\xA1\xA1\xA3\xA0", "\u{3000}\u{E5E5}"),
        ("gbk", b"\xA1\xA1\xA3\xA0", "\u{3000}\u{E5E5}"),
    ];
    for (label, bytes, text) in rows {
        let charset = charset(label);
        assert_eq!(charset.decode_reversibly(bytes).as_deref(), Some(text));
        assert_eq!(charset.encode(text).as_deref(), Ok(bytes), "{label}");
    }
}

#[test]
fn gb18030_has_every_code_point() {
    let charset = charset("gb18030");
    for c in '\0'..=char::MAX {
        let mut buffer = [0; 4];
        let text = &*c.encode_utf8(&mut buffer);
        let bytes = charset.encode(text).unwrap();
        assert_eq!(charset.decode(&bytes).as_deref(), Ok(text), "{c:?}");
    }
}

#[test]
fn what_encodes_decodes_to_the_same_text() {
    for charset in Charset::all() {
        let bmp = ('\0'..='\u{FFFF}').step_by(7);
        let beyond = ('\u{10000}'..=char::MAX).step_by(997);
        for text in bmp.chain(beyond).map(String::from) {
            match charset.encode(&text) {
                Ok(bytes) => assert_eq!(charset.decode_reversibly(&bytes), Some(text)),
                Err(error) => assert_eq!((error.offset, error.unmappable.to_string()), (0, text)),
            }
        }
    }
}

#[test]
fn a_character_that_the_charset_lacks_is_not_written_as_another() {
    let rows = [
        ("iso-8859-1", "aé€", 3, '€'),
        ("windows-1252", "é\u{81}", 2, '\u{81}'),
        ("cp437", "é→", 2, '→'),
        ("shift_jis", "表¥", 3, '¥'), // the WHATWG writes 5C, which is `\`
        ("shift_jis", "表‾", 3, '‾'), // and 7E, `~`
        ("euc-jp", "é\u{FF0D}", 2, '\u{FF0D}'), // and A1 DD, the minus sign
        ("gbk", "中é😀", 5, '😀'),
        ("big5", "中𠀀", 3, '𠀀'),
    ];
    for (label, text, offset, unmappable) in rows {
        let error = EncodeError { offset, unmappable };
        assert_eq!(charset(label).encode(text), Err(error), "{label} {text}");
    }
}

#[test]
fn a_second_spelling_of_a_character_is_not_reversible() {
    let rows: [(&str, &[u8]); 4] = [
        ("shift_jis", b"\xED\x40"), // NEC's place for U+7E8A; IBM's, FA 5C, is written
        ("shift_jis", b"\xF0\x40"), // user-defined: read as U+E000, not written
        ("gbk", b"\xA2\xE3"),       // GB18030's place for the euro sign; 80 is written
        ("big5", b"\xC6\xDE"),      // U+3003 is A1 B2
    ];
    for (label, bytes) in rows {
        assert!(charset(label).decode(bytes).is_ok(), "{label}");
        assert_eq!(charset(label).decode_reversibly(bytes), None, "{label}");
    }
}

#[test]
fn a_text_with_another_separator_or_a_special_name_is_found_out() {
    let rows: [(&[u8], &str, bool); 6] = [
        (b"a/b", "a/b", true),
        (b"a\xAFb", "a/b", false),
        (b"a/b", "ab", false),
        (b"a\x80", "a\0", false),
        (b"\xAE\xAE", "..", false),
        (b"\xFF", "", false),
    ];
    for (bytes, text, same) in rows {
        assert_eq!(is_same_component(bytes, text), same, "{bytes:02X?} {text}");
    }
}

#[test]
fn labels_are_found_by_alias_in_any_case_and_with_either_dash() {
    let rows = [
        ("Latin1", "iso-8859-1"),
        ("l1", "iso-8859-1"),
        ("ISO_8859-1:1987", "iso-8859-1"),
        ("iso8859-1", "iso-8859-1"),
        ("iso88591", "iso-8859-1"),
        ("iso-8859-11", "iso-8859-11"), // not iso-8859-1 and a 1
        ("latin5", "iso-8859-9"),
        ("TIS-620", "iso-8859-11"),
        ("CP1252", "windows-1252"),
        ("windows_1251", "windows-1251"),
        ("koi8r", "koi8-r"),
        ("mac_roman", "macintosh"),
        ("cp437", "ibm437"),
        ("850", "ibm850"),
        ("cp858", "ibm00858"),
        ("SJIS", "shift_jis"),
        ("Shift-JIS", "shift_jis"),
        ("windows-31j", "shift_jis"),
        ("cp932", "shift_jis"),
        ("eucJP", "euc-jp"),
        ("uhc", "euc-kr"),
        ("GB2312", "gbk"),
        ("cp950", "big5"),
    ];
    for (label, expected) in rows {
        assert_eq!(charset(label).label(), expected, "{label}");
    }
}

#[test]
fn no_two_charsets_share_a_label() {
    let mut seen = HashMap::new();
    for charset in Charset::all() {
        for name in charset.names() {
            assert_eq!(Charset::from_label(name), Ok(charset), "{name}");
            let key = name.to_ascii_lowercase().replace(['-', '_'], "");
            let other = seen.insert(key, charset.label());
            assert!(other.is_none_or(|o| o == charset.label()), "{name}");
        }
    }
}

#[test]
fn charsets_that_cannot_hold_names_are_refused_with_a_reason() {
    let rows = [
        ("utf-7", "stateful"),
        ("UTF-16LE", "00 and 2F"),
        ("utf_32", "00 and 2F"),
        ("UCS-4", "00 and 2F"),
        ("ISO-10646-UCS-2", "00 and 2F"),
        ("iso-2022-jp", "stateful"),
        ("ISO-2022-KR", "stateful"),
        ("hz-gb-2312", "stateful"),
        ("EBCDIC-CP-US", "`/` there"),
        ("cp037", "`/` there"),
        ("IBM500", "`/` there"),
        ("ibm1047", "`/` there"),
        ("IBM01140", "`/` there"),
        ("utf-8", "no charset"),
        ("UTF8", "no charset"),
        ("us-ascii", "no charset"),
        ("iso-8859-12", "part 12"),
        ("big5-hkscs", "not written back"),
        ("latin9//TRANSLIT", "cannot be undone"),
        ("utf-8//ignore", "cannot be undone"),
    ];
    for (label, words) in rows {
        let refused = Charset::from_label(label).unwrap_err();
        assert_eq!(refused.label, label);
        let reason = refused.reason.unwrap();
        assert!(reason.contains(words), "{label}: {reason}");
        let offered: &[&str] = if label.starts_with("latin9") {
            &["iso-8859-15"]
        } else {
            &[]
        };
        assert_eq!(refused.near, offered, "{label}");
    }
}

#[test]
fn an_unknown_label_brings_at_most_five_near_ones_each_once() {
    let rows = [
        ("latin-11", Some("iso-8859-1")),
        ("windows-1225", Some("windows-1252")),
        ("shitf_jis", Some("shift_jis")),
        ("koi8-t", Some("koi8-r")),
        ("eucjpp", Some("euc-jp")),
        ("", None),
        ("klingon", None),
    ];
    for (label, nearest) in rows {
        let unknown = Charset::from_label(label).unwrap_err();
        assert_eq!((unknown.label.as_str(), unknown.reason), (label, None));
        let distinct: HashSet<_> = unknown.near.iter().collect();
        assert!(unknown.near.len() <= 5 && distinct.len() == unknown.near.len());
        match nearest {
            Some(nearest) => assert!(unknown.near.contains(&nearest), "{unknown:?}"),
            None => assert!(unknown.near.is_empty(), "{unknown:?}"),
        }
    }
    let endless = Charset::from_label(&"x".repeat(100_000)).unwrap_err();
    assert!(endless.near.is_empty());
}

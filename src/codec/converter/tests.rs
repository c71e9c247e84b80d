//! Conversions of whole streams and of streams in pieces.

use super::super::charset::Charset;
use super::super::encoding::Encoding;
use super::{Coding, ConvertError, ConvertFault, Converter, Repair};
use crate::codec::Malformed;

use ConvertFault::{Malformed as Bad, Unmappable};
use Malformed::{InvalidByte, OutOfRange, Overlong, Surrogate, Truncated, Unassigned};

fn coding(label: &str) -> Coding {
    Coding::from_label(label).unwrap()
}

/// What comes out, and what stopped it, with the input in pieces of `size`.
fn pieces(
    (from, to): (&str, &str),
    lossy: Option<Repair>,
    input: &[u8],
    size: usize,
) -> (Vec<u8>, Result<u64, ConvertError>) {
    let mut converter = Converter::new(coding(from), coding(to), lossy);
    let mut output = Vec::new();
    let mut run = || -> Result<u64, ConvertError> {
        for piece in input.chunks(size.max(1)) {
            converter.convert(piece, &mut output)?;
        }
        converter.finish(&mut output)?;
        Ok(converter.repairs.count)
    };
    let result = run();
    (output, result)
}

fn whole(
    labels: (&str, &str),
    lossy: Option<Repair>,
    input: &[u8],
) -> (Vec<u8>, Result<u64, ConvertError>) {
    let expected = pieces(labels, lossy, input, input.len());
    for size in 1..=8 {
        let found = pieces(labels, lossy, input, size);
        assert_eq!(
            found, expected,
            "{labels:?} {input:02X?} in pieces of {size}"
        );
    }
    expected
}

fn stop(offset: u64, length: usize, fault: ConvertFault) -> Result<u64, ConvertError> {
    Err(ConvertError {
        offset,
        length,
        fault,
        no_repair: None,
    })
}

/// That the target lacks `code_point`, which is what stands for the sequence, too.
fn unrepaired(stopped: Result<u64, ConvertError>, code_point: u32) -> Result<u64, ConvertError> {
    stopped.map_err(|error| ConvertError {
        no_repair: Some(code_point),
        ..error
    })
}

#[test]
fn what_is_malformed_or_unmappable_stops_it_and_what_is_before_is_written() {
    type Row = (
        &'static str,
        &'static str,
        &'static [u8],
        &'static [u8],
        Result<u64, ConvertError>,
    );
    let rows: [Row; 20] = [
        ("utf-8", "utf-16le", "a€".as_bytes(), b"a\0\xAC\x20", Ok(0)),
        (
            "utf-8",
            "utf-8",
            b"ab\xC0\xAF",
            b"ab",
            stop(2, 2, Bad(Overlong(0x2F))),
        ),
        (
            "utf-8",
            "utf-8",
            b"caf\xE9",
            b"caf",
            stop(3, 1, Bad(Truncated)),
        ),
        (
            "utf-8",
            "utf-8",
            b"caf\xE9.",
            b"caf",
            stop(3, 1, Bad(Truncated)),
        ),
        ("utf-8", "utf-8", b"\xFF", b"", stop(0, 1, Bad(InvalidByte))),
        (
            "utf-8",
            "utf-8",
            b"\xED\xA0\x80",
            b"",
            stop(0, 3, Bad(Surrogate(0xD800))),
        ),
        (
            "utf-8",
            "utf-8",
            b"\xF4\x90\x80\x80",
            b"",
            stop(0, 4, Bad(OutOfRange(0x11_0000))),
        ),
        (
            "utf-8",
            "iso-8859-1",
            "é€".as_bytes(),
            b"\xE9",
            stop(2, 3, Unmappable(0x20AC)),
        ),
        (
            "fss-utf",
            "utf-8",
            b"a\xFD\xBF\xBF\xBF\xBF\xBF",
            b"a",
            stop(1, 6, Unmappable(0x7FFF_FFFF)),
        ),
        (
            "ucs-2be",
            "utf-8",
            b"\0a\xD8\x00\0b",
            b"a",
            stop(2, 2, Unmappable(0xD800)),
        ),
        (
            "ucs-2be",
            "wtf-8",
            b"\xD8\x3D\xDE\x00\xD8\x00",
            b"\xF0\x9F\x98\x80\xED\xA0\x80",
            Ok(0),
        ),
        (
            "cesu-8",
            "utf-8",
            b"\xED\xA0\xBD\xED\xB8\x80",
            "😀".as_bytes(),
            Ok(0),
        ),
        ("utf-8", "mutf-8", b"\0a", b"\xC0\x80a", Ok(0)),
        (
            "fss-utf",
            "fss-utf-draft",
            b"\xC2\x80\xE2\x89\xA0",
            b"\x80\x80\xC0\x83\xE0",
            Ok(0),
        ),
        (
            "shift_jis",
            "utf-8",
            b"\x95\x5C\x82",
            "表".as_bytes(),
            stop(2, 1, Bad(Truncated)),
        ),
        (
            "shift_jis",
            "koi8-r",
            b"a\x95\x5C",
            b"a",
            stop(1, 2, Unmappable(0x8868)),
        ),
        (
            "windows-1252",
            "utf-8",
            b"\x80\x81",
            "€".as_bytes(),
            stop(1, 1, Bad(Unassigned)),
        ),
        (
            "utf-16le",
            "utf-8",
            b"a\0b",
            b"a",
            stop(2, 1, Bad(Truncated)),
        ),
        ("utf-8b", "utf-8b", b"\xE2\x82\xFF", b"\xE2\x82\xFF", Ok(0)),
        (
            "utf-8b",
            "utf-8",
            b"a\xFF",
            b"a",
            stop(1, 1, Unmappable(0xDCFF)),
        ),
    ];
    for (from, to, input, output, result) in rows {
        let found = whole((from, to), None, input);
        assert_eq!(
            found,
            (output.to_vec(), result),
            "{from} to {to}, {input:02X?}"
        );
    }
}

#[test]
fn each_repair_is_the_one_that_is_known_under_its_name() {
    use Repair::{Latin1, Replace, Utf8b, Windows1252};
    type Row = (
        &'static str,
        &'static str,
        Repair,
        &'static [u8],
        &'static [u8],
        Result<u64, ConvertError>,
    );
    let rows: [Row; 19] = [
        // The Unicode Standard, section 3.9, table 3-11.
        (
            "utf-8",
            "utf-8",
            Replace,
            b"\xE1\x80\xE2\xF0\x91\x92\xF1\xBFA",
            "����A".as_bytes(),
            Ok(4),
        ),
        (
            "utf-8",
            "utf-8",
            Replace,
            b"\xC0\xAF\xED\xA0\x80\xF4\x90\x80\x80",
            "���������".as_bytes(),
            Ok(9),
        ),
        (
            "utf-8",
            "utf-8",
            Replace,
            b"ab\xE2\x82",
            "ab�".as_bytes(),
            Ok(1),
        ),
        (
            "utf-8",
            "iso-8859-1",
            Replace,
            "a€\u{E9}b".as_bytes(),
            b"a?\xE9b",
            Ok(1),
        ),
        ("utf-8", "iso-8859-1", Replace, b"a\xFFb", b"a?b", Ok(1)),
        (
            "utf-16le",
            "utf-8",
            Replace,
            b"\x00\xD8a\0\xAC",
            "�a�".as_bytes(),
            Ok(2),
        ),
        (
            "shift_jis",
            "utf-8",
            Replace,
            b"\x81 \x95\x5C\x80",
            "� 表�".as_bytes(),
            Ok(2),
        ),
        (
            "fss-utf",
            "utf-8",
            Replace,
            b"\xFD\xBF\xBF\xBF\xBF\xBFa",
            "�a".as_bytes(),
            Ok(1),
        ),
        (
            "utf-8",
            "utf-8b",
            Utf8b,
            b"caf\xE9\xE2\x82",
            b"caf\xE9\xE2\x82",
            Ok(2),
        ),
        ("utf-8", "ucs-2be", Utf8b, b"a\xE9", b"\0a\xDC\xE9", Ok(1)),
        ("utf-8", "wtf-8", Utf8b, b"\xE9", b"\xED\xB3\xA9", Ok(1)),
        (
            "utf-8",
            "utf-8",
            Utf8b,
            b"a\xE9",
            b"a",
            unrepaired(stop(1, 1, Bad(Truncated)), 0xDCE9),
        ),
        (
            "utf-8",
            "utf-8",
            Latin1,
            b"caf\xE9 \x80",
            "café \u{80}".as_bytes(),
            Ok(2),
        ),
        (
            "utf-8",
            "utf-8",
            Windows1252,
            b"caf\xE9 \x80\x81",
            "café €\u{81}".as_bytes(),
            Ok(3),
        ),
        (
            "utf-8",
            "utf-8",
            Windows1252,
            b"\xE2\x82",
            "â‚".as_bytes(),
            Ok(1),
        ),
        (
            "utf-8",
            "windows-1252",
            Windows1252,
            b"\xE9\x80",
            b"\xE9\x80",
            Ok(1),
        ),
        (
            "utf-8",
            "koi8-r",
            Latin1,
            b"a\xE9",
            b"a",
            unrepaired(stop(1, 1, Bad(Truncated)), 0xE9),
        ),
        // Unmappable: by its octets.
        (
            "utf-8",
            "iso-8859-1",
            Latin1,
            "€".as_bytes(),
            b"\xE2\x82\xAC",
            Ok(1),
        ),
        ("mutf-8", "utf-8", Utf8b, b"a\0", b"a\0", Ok(1)),
    ];
    for (from, to, lossy, input, output, result) in rows {
        let found = whole((from, to), Some(lossy), input);
        assert_eq!(
            found,
            (output.to_vec(), result),
            "{from} to {to} by {lossy:?}, {input:02X?}"
        );
    }
}

#[test]
fn replacing_is_what_the_standard_library_does() {
    let mut state = 0x9E37_79B9_u32;
    let octets = [
        0x00, 0x41, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xE0, 0xE2, 0xED, 0xF0, 0xF4,
        0xF5, 0xFF,
    ];
    for _ in 0..20_000 {
        let mut input = Vec::new();
        for _ in 0..9 {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            input.push(octets[state as usize % octets.len()]);
        }
        let (found, _) = pieces(("utf-8", "utf-8"), Some(Repair::Replace), &input, 3);
        let mut expected = String::new();
        for chunk in input.utf8_chunks() {
            expected.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                expected.push('\u{FFFD}');
            }
        }
        assert_eq!(found, expected.as_bytes(), "{input:02X?}");
    }
}

#[test]
fn every_form_and_charset_converts_to_itself_and_back_from_utf_8() {
    let all = Encoding::ALL.iter().copied().map(Coding::Form);
    for coding in all.chain(Charset::all().map(Coding::Legacy)) {
        let label = coding.label();
        assert_eq!(Coding::from_label(label), Ok(coding));
        let (there, result) = whole(("utf-8", label), None, b"plain text.");
        assert_eq!(result, Ok(0), "{label}");
        assert_eq!(whole((label, label), None, &there).0, there, "{label}");
        assert_eq!(
            whole((label, "utf-8"), None, &there).0,
            b"plain text.",
            "{label}"
        );
    }
}

#[test]
fn windows_1252_is_the_charset_of_that_name() {
    let charset = Charset::from_label("windows-1252").unwrap();
    for octet in 0..=0xFF {
        let expected = charset.decode(&[octet]).map_or(u32::from(octet), |text| {
            text.chars().next().map(u32::from).unwrap()
        });
        let repair = Some(Repair::Windows1252);
        let mut converter = Converter::new(coding("utf-8"), coding("ucs-4be"), repair);
        let mut output = Vec::new();
        converter.convert(&[octet], &mut output).unwrap();
        converter.finish(&mut output).unwrap();
        assert_eq!(output, expected.to_be_bytes(), "{octet:02X}");
    }
}

#[test]
fn long_streams_of_faults_are_repaired_one_by_one() {
    let count = 200_000;
    for (from, to, octet) in [
        ("shift_jis", "utf-8", 0x80),
        ("utf-8", "gbk", 0xFF),
        ("gbk", "utf-8", 0xFF),
    ] {
        let input = vec![octet; count];
        let (output, result) = pieces((from, to), Some(Repair::Replace), &input, 65_536);
        assert_eq!(result, Ok(200_000), "{from} to {to}");
        assert_eq!(output.len(), if to == "gbk" { count } else { 3 * count });
    }
    // Characters that the target spells otherwise than it reads them.
    let yen = "¥".repeat(count);
    let found = pieces(
        ("utf-8", "shift_jis"),
        Some(Repair::Replace),
        yen.as_bytes(),
        65_536,
    );
    assert_eq!(found, (vec![b'?'; count], Ok(200_000)));
}

/// Found from outside: a character that the charset reads as another, before one that it lacks, took all before it away.
#[test]
fn characters_written_as_others_do_not_hide_those_before_them() {
    let replace = Some(Repair::Replace);
    let rows: [(&str, &str, &[u8], u64); 4] = [
        (
            "shift_jis",
            "hello ¥ world ¦ end",
            b"hello ? world ? end",
            2,
        ),
        ("shift_jis", "caf¥¦", b"caf??", 2),
        ("euc-jp", "width － 5 😀 line", b"width ? 5 ? line", 2),
        ("big5", "one ￭ two 😀 three", b"one ? two ? three", 2),
    ];
    for (label, text, output, count) in rows {
        let found = whole(("utf-8", label), replace, text.as_bytes());
        assert_eq!(found, (output.to_vec(), Ok(count)), "{label} {text}");
    }
    let strict = whole(("utf-8", "shift_jis"), None, "price ¥500 © 2024".as_bytes());
    assert_eq!(strict, (b"price ".to_vec(), stop(6, 2, Unmappable(0xA5))));
}

/// Every character of every charset, between two that it lacks: what is before and behind is there.
#[test]
fn nothing_is_lost_beside_a_character_that_is_lacking() {
    for charset in Charset::all() {
        let lost: Vec<char> = ('\u{80}'..'\u{3100}')
            .chain(['\u{E78D}', '\u{FF0D}', '\u{FFE1}', '\u{FFED}', '\u{1F600}'])
            .filter(|c| charset.encode(&c.to_string()).is_err())
            .collect();
        for pair in lost.windows(2).step_by(7) {
            let text = format!("ab{}cd{}ef", pair[0], pair[1]);
            let (output, result) = pieces(
                ("utf-8", charset.label()),
                Some(Repair::Replace),
                text.as_bytes(),
                text.len(),
            );
            assert_eq!(output, b"ab?cd?ef", "{charset:?} {text:?}");
            assert_eq!(result, Ok(2), "{charset:?} {text:?}");
        }
    }
}

//! A name taken apart: its bytes, the sequences that they form, and what each spells.

use crate::codec::{Encoding, Malformed, Piece};
use crate::names::Quoted;
use crate::policy::{Offence, Policy, Rule};

/// ASCII characters that share a row.
const ASCII_PER_ROW: usize = 4;

/// A sequence, and the objections of the policy to it.
type Judged = (Piece, Vec<String>);

/// Returns the sequences of `name`, with the objections of `policy` beside each. A row has the offset, the bytes in hex (`C0 AF`), the
/// code points (`U+002F`; `-` where it spells none), and the text, quoted, or what is wrong with it. A few ASCII characters that are of
/// no interest share a row.
pub(super) fn rows(name: &[u8], policy: &Policy) -> Vec<[String; 4]> {
    let mut offences = policy.offences(name);
    offences.extend(policy.over_a_limit(name));
    let pieces = policy.encoding.pieces(name);
    let judged = pieces.map(|piece| (piece, said_against(piece, &offences)));
    let judged: Vec<Judged> = judged.collect();
    let is_plain = |(piece, said): &Judged| {
        let is_usual = piece.length == 1 || !policy.encoding.is_file_system_safe();
        is_usual && said.is_empty() && piece.spells.is_ok_and(|c| c < 0x80)
    };
    let runs = judged.chunk_by(|one, next| is_plain(one) && is_plain(next));
    let shared = runs.flat_map(|run| run.chunks(ASCII_PER_ROW));
    shared.map(|run| row(name, run, policy.encoding)).collect()
}

fn row(name: &[u8], run: &[Judged], encoding: Encoding) -> [String; 4] {
    let offset = run.first().map_or(0, |(piece, _)| piece.offset);
    let length: usize = run.iter().map(|(piece, _)| piece.length).sum();
    let rest = name.get(offset..).unwrap_or_default();
    let code_points = run.iter().map(|(piece, _)| match piece.spells {
        Ok(code_point) => notation(code_point),
        Err(kind) => kind.code_point().map_or_else(|| "-".to_owned(), notation),
    });
    let code_points: Vec<String> = code_points.collect();
    let text = match run {
        [(piece, said)] => {
            let text = match piece.spells {
                Ok(code_point) => text(code_point),
                Err(kind) => diagnosis(rest, length, kind, encoding),
            };
            let said = said.join("; ");
            format!("{text}  {said}").trim_end().to_owned()
        }
        run => {
            let spelled = run.iter().filter_map(|(piece, _)| piece.spells.ok());
            let text: String = spelled.filter_map(char::from_u32).collect();
            Quoted(text.as_bytes()).to_string()
        }
    };
    [
        format!("{offset:>4}"),
        hex(rest.get(..length).unwrap_or_default()),
        code_points.join(" "),
        text,
    ]
}

/// Returns the policy's objections to a well-formed sequence. A name gets too long once, where the first sequence
/// over the limit starts.
fn said_against(piece: Piece, offences: &[Offence]) -> Vec<String> {
    let mut said = Vec::new();
    for offence in offences.iter().filter(|_| piece.spells.is_ok()) {
        let is_hit = if matches!(offence.rule, Rule::TooLong { .. }) {
            offence.offset == piece.offset
        } else {
            (offence.offset..offence.offset + offence.length).contains(&piece.offset)
        };
        let words = offence.rule.to_string();
        if is_hit && !said.contains(&words) {
            said.push(words);
        }
    }
    said
}

/// Describes a code point: the character, quoted, or why it is none.
fn text(code_point: u32) -> String {
    match char::from_u32(code_point) {
        Some(c) => Quoted(c.encode_utf8(&mut [0; 4]).as_bytes()).to_string(),
        None if code_point > 0x10_FFFF => "no character: Unicode ends at U+10FFFF".to_owned(),
        None => "no character: half of a pair in UTF-16".to_owned(),
    }
}

/// Describes the fault of the sequence of `length` bytes that `rest` starts with.
fn diagnosis(rest: &[u8], length: usize, kind: Malformed, encoding: Encoding) -> String {
    let lead = rest.first().copied().unwrap_or_default();
    match kind {
        Malformed::UnexpectedContinuation => kind.describe().to_owned(),
        Malformed::InvalidByte if encoding == Encoding::Utf8 => never_occurs(lead, rest),
        Malformed::InvalidByte => format!("never occurs in {encoding}"),
        Malformed::Truncated if encoding.is_file_system_safe() => {
            let ones = lead.leading_ones();
            let is_draft = encoding == Encoding::FssUtfDraft;
            let all = if is_draft { ones + 1 } else { ones.min(6) };
            format!("truncated: {length} of the {all} bytes that the lead byte announces")
        }
        Malformed::Truncated => "truncated: more bytes must follow".to_owned(),
        Malformed::Overlong(c) => {
            let shortest = encoding.encode(&[c]).unwrap_or_default();
            let (text, octets) = (text(c), hex(&shortest));
            format!("overlong: spells {text}, whose only well-formed sequence is {octets}")
        }
        Malformed::Surrogate(_) if length == 6 => {
            "two surrogates: the character that they spell as a pair has a sequence of its own"
                .to_owned()
        }
        Malformed::Surrogate(_) => surrogate(rest, length, encoding),
        Malformed::OutOfRange(_) => {
            format!("beyond {}, the last code point", notation(encoding.limit()))
        }
        Malformed::Unassigned => "no character has these bytes".to_owned(),
    }
}

/// Why a byte never occurs, and what it was in the RFC before.
fn never_occurs(lead: u8, rest: &[u8]) -> String {
    let octets = match lead {
        0xC0 | 0xC1 => return "never occurs: it could only begin an overlong sequence".to_owned(),
        0xF5..=0xF7 => {
            return "never occurs: it could only begin a code point beyond U+10FFFF".to_owned();
        }
        0xF8..=0xFB => 5,
        0xFC..=0xFD => 6,
        _ => return "never occurs, nor did it in RFC 2279".to_owned(),
    };
    let mut told = format!("never occurs since RFC 3629; in RFC 2279 it led {octets} bytes");
    let before = Encoding::Utf8Rfc2279.first(rest);
    if let Some(Ok(spelled)) = before.map(|piece| piece.spells) {
        told.push_str(&format!(", these for {}", notation(spelled)));
    }
    told
}

/// Describes a surrogate, and the pair that it may be half of.
fn surrogate(rest: &[u8], length: usize, encoding: Encoding) -> String {
    let mut told = "surrogate: half of a pair in UTF-16, no character".to_owned();
    let pair = Encoding::Cesu8.first(rest);
    if let Some(pair) = pair.filter(|pair| pair.length > length && encoding == Encoding::Utf8)
        && let Ok(code_point) = pair.spells
    {
        let octets = hex(rest.get(..pair.length).unwrap_or_default());
        let character = notation(code_point);
        told.push_str(&format!("; CESU-8 reads {octets} as {character}"));
    }
    told
}

/// `C0 AF`.
pub(super) fn hex(octets: &[u8]) -> String {
    let octets: Vec<String> = octets.iter().map(|octet| format!("{octet:02X}")).collect();
    octets.join(" ")
}

/// `U+002F`.
pub(super) fn notation(code_point: u32) -> String {
    format!("U+{code_point:04X}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Profile;

    fn told(name: &[u8], profile: Profile) -> Vec<[String; 4]> {
        rows(name, &profile.policy())
    }

    fn one(octets: &[u8]) -> (String, String) {
        let [_, _, code_points, text] = rows(octets, &Policy::default()).remove(0);
        (code_points, text)
    }

    #[test]
    fn ascii_goes_four_to_a_row_and_other_sequences_alone() {
        assert_eq!(
            told("abcdeé.x".as_bytes(), Profile::Utf8),
            [
                [
                    "   0",
                    "61 62 63 64",
                    "U+0061 U+0062 U+0063 U+0064",
                    "\"abcd\""
                ],
                ["   4", "65", "U+0065", "\"e\""],
                ["   5", "C3 A9", "U+00E9", "\"é\""],
                ["   7", "2E 78", "U+002E U+0078", "\".x\""],
            ]
        );
    }

    #[test]
    fn what_the_policy_forbids_stands_alone_with_the_rule() {
        let rows = told(b"a\nb", Profile::Safe);
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[1][3], "\"\\n\"  forbidden: control character");
    }

    #[test]
    fn the_first_sequence_over_the_limit_says_so() {
        let rows = told(&[b'a'; 256], Profile::Utf8);
        let last = rows.last().unwrap();
        assert_eq!(
            (&*last[0], &*last[3]),
            (" 255", "\"a\"  too long: 256 bytes, the limit is 255")
        );
    }

    #[test]
    fn each_kind_of_ill_formed_sequence_is_told_apart() {
        let rows: &[(&[u8], &str, &str)] = &[
            (b"\x80", "-", "continuation byte without a lead byte"),
            (
                b"\xC0",
                "-",
                "never occurs: it could only begin an overlong sequence",
            ),
            (
                b"\xF5\x80",
                "-",
                "never occurs: it could only begin a code point beyond U+10FFFF",
            ),
            (
                b"\xF8",
                "-",
                "never occurs since RFC 3629; in RFC 2279 it led 5 bytes",
            ),
            (
                b"\xFB\xBF\xBF\xBF\xBF",
                "-",
                "never occurs since RFC 3629; in RFC 2279 it led 5 bytes, these for U+3FFFFFF",
            ),
            (
                b"\xFD\xBF\xBF\xBF\xBF\xBF",
                "-",
                "never occurs since RFC 3629; in RFC 2279 it led 6 bytes, these for U+7FFFFFFF",
            ),
            (b"\xFE", "-", "never occurs, nor did it in RFC 2279"),
            (
                b"\xE9.",
                "-",
                "truncated: 1 of the 3 bytes that the lead byte announces",
            ),
            (
                b"\xF0\x9F\x98",
                "-",
                "truncated: 3 of the 4 bytes that the lead byte announces",
            ),
            (
                b"\xC0\xAF",
                "U+002F",
                "overlong: spells \"/\", whose only well-formed sequence is 2F",
            ),
            (
                b"\xE0\x83\xA9",
                "U+00E9",
                "overlong: spells \"é\", whose only well-formed sequence is C3 A9",
            ),
            (
                b"\xED\xA0\x80",
                "U+D800",
                "surrogate: half of a pair in UTF-16, no character",
            ),
            (
                b"\xF4\x90\x80\x80",
                "U+110000",
                "beyond U+10FFFF, the last code point",
            ),
        ];
        for &(octets, code_points, text) in rows {
            assert_eq!(
                one(octets),
                (code_points.to_owned(), text.to_owned()),
                "{}",
                hex(octets)
            );
        }
    }

    #[test]
    fn every_octet_is_in_one_row_whatever_the_name() {
        for first in 0..=255u8 {
            for second in [0x00, 0x2F, 0x41, 0x80, 0xBF, 0xC0, 0xE9, 0xFF] {
                let name = [b'a', first, second, 0x80, b'z'];
                let octets: Vec<String> = rows(&name, &Profile::Portable.policy())
                    .into_iter()
                    .map(|[_, octets, ..]| octets)
                    .collect();
                assert_eq!(octets.join(" "), hex(&name));
            }
        }
    }
}

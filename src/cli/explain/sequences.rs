//! A name taken apart: its octets, the sequences that they form, and what each spells.

use crate::codec::{DecodeError, Malformed, utf8};
use crate::names::Quoted;
use crate::policy::{Offence, Policy, Rule};

/// ASCII characters that share a row.
const ASCII_PER_ROW: usize = 4;

/// One line about a sequence, or about a few ASCII characters that are of no interest.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Offset of its first octet.
    pub(super) offset: usize,
    /// Its octets in hex: `C0 AF`.
    pub(super) octets: String,
    /// Its code points: `U+002F`; `-` where it spells none.
    pub(super) code_points: String,
    /// Its text, quoted, or what is wrong with it.
    pub(super) text: String,
}

/// A well-formed sequence, which spells a character, or an ill-formed one.
struct Sequence {
    offset: usize,
    length: usize,
    spells: Result<char, DecodeError>,
}

/// What `name` is made of, row by row; what `policy` says against a sequence stands beside it.
pub(super) fn rows(name: &[u8], policy: &Policy) -> Vec<Row> {
    let offences = offences(name, policy);
    let mut rows: Vec<Row> = Vec::new();
    let mut run = 0;
    for sequence in sequences(name) {
        let mut row = row(name, &sequence);
        let said = said_against(&sequence, &offences);
        let is_plain = said.is_empty() && sequence.spells.is_ok_and(|c| c.is_ascii());
        if !said.is_empty() {
            row.text = format!("{}  {}", row.text, said.join("; "));
        }
        match rows.last_mut() {
            Some(last) if is_plain && (1..ASCII_PER_ROW).contains(&run) => {
                last.octets = format!("{} {}", last.octets, row.octets);
                last.code_points = format!("{} {}", last.code_points, row.code_points);
                run += 1;
            }
            _ => {
                run = usize::from(is_plain);
                rows.push(row);
            }
        }
        if run > 1
            && let Some(last) = rows.last_mut()
        {
            let text = name.get(last.offset..sequence.offset + sequence.length);
            last.text = Quoted(text.unwrap_or_default()).to_string();
        }
    }
    rows
}

fn offences(name: &[u8], policy: &Policy) -> Vec<Offence> {
    let mut offences = policy.offences(name);
    if let Some(too_long) = utf8::validate(name)
        .ok()
        .and_then(|text| policy.over_a_limit(text))
    {
        offences.push(too_long);
    }
    offences
}

fn sequences(name: &[u8]) -> Vec<Sequence> {
    let mut sequences = Vec::new();
    let mut start = 0;
    let ends = utf8::ill_formed(name).map(Some).chain([None]);
    for error in ends {
        let end = error.map_or(name.len(), |error| error.offset);
        let text = name
            .get(start..end)
            .and_then(|text| core::str::from_utf8(text).ok());
        sequences.extend(
            text.unwrap_or_default()
                .char_indices()
                .map(|(offset, c)| Sequence {
                    offset: start + offset,
                    length: c.len_utf8(),
                    spells: Ok(c),
                }),
        );
        if let Some(error) = error {
            let DecodeError { offset, length, .. } = error;
            sequences.push(Sequence {
                offset,
                length,
                spells: Err(error),
            });
            start = offset + length;
        }
    }
    sequences
}

fn row(name: &[u8], sequence: &Sequence) -> Row {
    let octets = name
        .get(sequence.offset..sequence.offset + sequence.length)
        .unwrap_or_default();
    let code_point = match sequence.spells {
        Ok(c) => Some(u32::from(c)),
        Err(error) => error.kind.code_point(),
    };
    Row {
        offset: sequence.offset,
        octets: hex(octets),
        code_points: code_point.map_or_else(|| "-".to_owned(), notation),
        text: match sequence.spells {
            Ok(_) => Quoted(octets).to_string(),
            Err(error) => diagnosis(name.get(error.offset..).unwrap_or_default(), error),
        },
    }
}

/// What the policy has against a well-formed sequence. A name gets too long once, where the first sequence over the
/// limit starts.
fn said_against(sequence: &Sequence, offences: &[Offence]) -> Vec<String> {
    if sequence.spells.is_err() {
        return Vec::new();
    }
    let mut said = Vec::new();
    for offence in offences {
        let is_hit = match offence.rule {
            Rule::TooLong { .. } => offence.offset == sequence.offset,
            Rule::IllFormed(_)
            | Rule::Forbidden(_)
            | Rule::NotNormalized(_)
            | Rule::NotAComponent => {
                (offence.offset..offence.offset + offence.length).contains(&sequence.offset)
            }
        };
        let words = offence.rule.to_string();
        if is_hit && !said.contains(&words) {
            said.push(words);
        }
    }
    said
}

/// What is wrong with the sequence that `rest` starts with.
fn diagnosis(rest: &[u8], error: DecodeError) -> String {
    let lead = rest.first().copied().unwrap_or_default();
    match error.kind {
        Malformed::UnexpectedContinuation => "continuation byte without a lead byte".to_owned(),
        Malformed::InvalidByte => never_occurs(lead, rest),
        Malformed::Truncated => {
            let announced = lead.leading_ones();
            format!(
                "truncated: the lead byte announces {announced} octets, {} there",
                are(error.length)
            )
        }
        Malformed::Overlong(c) => {
            let shortest = char::from_u32(c).map(String::from).unwrap_or_default();
            let (text, octets) = (Quoted(shortest.as_bytes()), hex(shortest.as_bytes()));
            format!("overlong: spells {text}, whose only well-formed sequence is {octets}")
        }
        Malformed::Surrogate(_) => "surrogate: half of a pair in UTF-16, no character".to_owned(),
        Malformed::OutOfRange(_) => "beyond U+10FFFF, the last code point".to_owned(),
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
    let mut told = format!("never occurs since RFC 3629; in RFC 2279 it led {octets} octets");
    let continuation = rest
        .iter()
        .skip(1)
        .take(octets - 1)
        .take_while(|&&byte| (0x80..=0xBF).contains(&byte));
    if continuation.clone().count() == octets - 1 {
        let spelled = continuation.fold(u32::from(lead) & (0x7F >> octets), |value, &byte| {
            (value << 6) | u32::from(byte & 0x3F)
        });
        told.push_str(&format!(", these for {}", notation(spelled)));
    }
    told
}

fn are(number: usize) -> String {
    if number == 1 {
        "1 is".to_owned()
    } else {
        format!("{number} are")
    }
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

    fn told(name: &[u8], profile: Profile) -> Vec<(usize, String, String, String)> {
        rows(name, &profile.policy())
            .into_iter()
            .map(|row| (row.offset, row.octets, row.code_points, row.text))
            .collect()
    }

    fn one(octets: &[u8]) -> (String, String) {
        let row = rows(octets, &Policy::default()).remove(0);
        (row.code_points, row.text)
    }

    #[test]
    fn ascii_goes_four_to_a_row_and_other_sequences_alone() {
        let row = |offset, octets: &str, code_points: &str, text: &str| {
            (
                offset,
                octets.to_owned(),
                code_points.to_owned(),
                text.to_owned(),
            )
        };
        assert_eq!(
            told("abcdeé.x".as_bytes(), Profile::Utf8),
            [
                row(0, "61 62 63 64", "U+0061 U+0062 U+0063 U+0064", "\"abcd\""),
                row(4, "65", "U+0065", "\"e\""),
                row(5, "C3 A9", "U+00E9", "\"é\""),
                row(7, "2E 78", "U+002E U+0078", "\".x\""),
            ]
        );
    }

    #[test]
    fn what_the_policy_forbids_stands_alone_with_the_rule() {
        let rows = told(b"a\nb", Profile::Safe);
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[1].3, "\"\\n\"  forbidden: control character");
    }

    #[test]
    fn the_first_sequence_over_the_limit_says_so() {
        let rows = told(&[b'a'; 256], Profile::Utf8);
        let last = rows.last().unwrap();
        assert_eq!(
            (last.0, last.3.as_str()),
            (255, "\"a\"  too long: 256 bytes, the limit is 255")
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
                "never occurs since RFC 3629; in RFC 2279 it led 5 octets",
            ),
            (
                b"\xFB\xBF\xBF\xBF\xBF",
                "-",
                "never occurs since RFC 3629; in RFC 2279 it led 5 octets, these for U+3FFFFFF",
            ),
            (
                b"\xFD\xBF\xBF\xBF\xBF\xBF",
                "-",
                "never occurs since RFC 3629; in RFC 2279 it led 6 octets, these for U+7FFFFFFF",
            ),
            (b"\xFE", "-", "never occurs, nor did it in RFC 2279"),
            (
                b"\xE9.",
                "-",
                "truncated: the lead byte announces 3 octets, 1 is there",
            ),
            (
                b"\xF0\x9F\x98",
                "-",
                "truncated: the lead byte announces 4 octets, 3 are there",
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
                    .map(|row| row.octets)
                    .collect();
                assert_eq!(octets.join(" "), hex(&name));
            }
        }
    }
}

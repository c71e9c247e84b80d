//! The diagnosis of one sequence.

use super::sequences::{hex, notation};
use crate::codec::{Encoding, Malformed};
use crate::names::Quoted;

/// Describes a code point: the character, quoted, or why it is none.
pub(super) fn text(code_point: u32) -> String {
    match char::from_u32(code_point) {
        Some(c) => Quoted(c.encode_utf8(&mut [0; 4]).as_bytes()).to_string(),
        None if code_point > 0x10_FFFF => "no character: Unicode ends at U+10FFFF".to_owned(),
        None => "no character: half of a pair in UTF-16".to_owned(),
    }
}

/// Describes the fault of the sequence of `length` bytes that `rest` starts with.
pub(super) fn diagnosis(rest: &[u8], length: usize, kind: Malformed, encoding: Encoding) -> String {
    let lead = rest.first().copied().unwrap_or_default();
    match kind {
        Malformed::UnexpectedContinuation => kind.describe().to_owned(),
        Malformed::InvalidByte if encoding == Encoding::Utf8 => never_occurs(lead, rest),
        Malformed::InvalidByte => format!("never occurs in {encoding}"),
        Malformed::Truncated if encoding.is_file_system_safe() => {
            let all = announced(lead, encoding);
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

/// The bytes of the sequence that a lead byte starts.
fn announced(lead: u8, encoding: Encoding) -> u32 {
    let ones = lead.leading_ones();
    if encoding == Encoding::FssUtfDraft {
        ones + 1
    } else {
        ones.min(6)
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
        told.push_str(&format!(
            "; CESU-8 reads {octets} as {}",
            notation(code_point)
        ));
    }
    told
}

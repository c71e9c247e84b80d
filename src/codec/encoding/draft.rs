//! The X/Open draft of FSS-UTF: 1 to 5 octets, biased.
//!
//! | octets | from | to | sequence |
//! |---|---|---|---|
//! | 1 | 0 | 7F | 0zzzzzzz |
//! | 2 | 80 | 207F | 10zzzzzz 1yyyyyyy |
//! | 3 | 2080 | 8207F | 110zzzzz 1yyyyyyy 1xxxxxxx |
//! | 4 | 82080 | 208207F | 1110zzzz and three |
//! | 5 | 2082080 | 7FFFFFFF | 11110zzz and four |
//!
//! The bits count from the first code point of the row, the high ones first.

use super::{DecodeError, Malformed, malformed};

/// The greatest code point.
pub(super) const LIMIT: u32 = 0x7FFF_FFFF;

/// The row of a code point or of a lead octet: how many octets, what marks the lead, which code point comes first.
struct Row(usize, u8, u32);

const TWO: Row = Row(2, 0x80, 0x80);
const THREE: Row = Row(3, 0xC0, 0x2080);
const FOUR: Row = Row(4, 0xE0, 0x8_2080);
const FIVE: Row = Row(5, 0xF0, 0x208_2080);

/// The character, where it has one or two octets; `None`: ask [`first`].
#[inline(always)]
pub(super) fn usual(bytes: &[u8]) -> Option<(u32, usize)> {
    match *bytes {
        [a @ 0..=0x7F, ..] => Some((u32::from(a), 1)),
        [a @ 0x80..=0xBF, b @ 0x80..=0xFF, ..] => {
            let bits = (u32::from(a & 0x3F) << 7) | u32::from(b & 0x7F);
            Some((0x80 + bits, 2))
        }
        _ => None,
    }
}

/// The character that `bytes`, which are not empty, start with, and its length.
pub(super) fn first(bytes: &[u8]) -> Result<(u32, usize), DecodeError> {
    let lead = bytes.first().copied().unwrap_or_default();
    let Row(octets, mark, start) = match lead {
        0..0x80 => return Ok((u32::from(lead), 1)),
        0x80..0xC0 => TWO,
        0xC0..0xE0 => THREE,
        0xE0..0xF0 => FOUR,
        0xF0..0xF8 => FIVE,
        0xF8..=0xFF => return malformed(1, Malformed::InvalidByte),
    };
    let mut bits = u32::from(lead - mark);
    for length in 1..octets {
        match bytes.get(length) {
            Some(octet @ 0x80..) => bits = (bits << 7) | u32::from(octet & 0x7F),
            _ => return malformed(length, Malformed::Truncated),
        }
    }
    // At most 3 bits of the lead and 28 of the others: the sum with the bias fits into 32.
    let code_point = start + bits;
    if code_point > LIMIT {
        return malformed(octets, Malformed::OutOfRange(code_point));
    }
    Ok((code_point, octets))
}

/// Adds the octets of `code_point`; `None` if there are none.
pub(super) fn push(code_point: u32, bytes: &mut Vec<u8>) -> Option<()> {
    let Row(octets, mark, start) = match code_point {
        0..0x80 => {
            bytes.push(u8::try_from(code_point).ok()?);
            return Some(());
        }
        0x80..0x2080 => TWO,
        0x2080..0x8_2080 => THREE,
        0x8_2080..0x208_2080 => FOUR,
        0x208_2080..=LIMIT => FIVE,
        _ => return None,
    };
    let bits = code_point - start;
    let mut shift = 7 * (octets - 1);
    bytes.push(mark | u8::try_from(bits >> shift).ok()?);
    while shift > 0 {
        shift -= 7;
        bytes.push(0x80 | u8::try_from((bits >> shift) & 0x7F).ok()?);
    }
    Some(())
}

//! UTF-8 as RFC 3629 defines it: is it well-formed, and if not, what exactly is wrong.

#[cfg(test)]
mod tests;

use super::{DecodeError, Malformed};

/// Checks that `bytes` are well-formed UTF-8 (RFC 3629, section 3 and 4; Unicode D92).
///
/// # Errors
/// The first ill-formed sequence, with its offset, length and kind.
pub fn validate(bytes: &[u8]) -> Result<&str, DecodeError> {
    core::str::from_utf8(bytes).map_err(|error| diagnose(bytes, error.valid_up_to()))
}

/// Says what is wrong with the sequence at `offset`, which is known to start an ill-formed one.
///
/// A lead byte claims the continuation bytes (80..BF) that follow it, up to the number it announces. Where all
/// of them are there, the sequence is overlong, a surrogate or out of range; where some are missing it is
/// truncated. C0 and C1 never occur in UTF-8, but with a continuation byte they spell something: an overlong
/// ASCII character, the classic way to smuggle `/` past a check.
#[cold]
fn diagnose(bytes: &[u8], offset: usize) -> DecodeError {
    let rest = bytes.get(offset..).unwrap_or_default();
    let lead = rest.first().copied().unwrap_or_default();
    let announced: usize = match lead {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    };
    let continuation = rest
        .iter()
        .skip(1)
        .take(announced - 1)
        .take_while(|&&byte| (0x80..=0xBF).contains(&byte));
    let length = 1 + continuation.clone().count();
    let code_point = continuation.fold(u32::from(lead) & (0x7F >> announced), |value, &byte| {
        (value << 6) | u32::from(byte & 0x3F)
    });
    let kind = match lead {
        0x80..=0xBF => Malformed::UnexpectedContinuation,
        0xC0 | 0xC1 if length == 1 => Malformed::InvalidByte,
        0xF5..=0xFF => Malformed::InvalidByte,
        _ if length < announced => Malformed::Truncated,
        _ => match (announced, code_point) {
            (2, ..0x80) | (3, ..0x800) | (4, ..0x1_0000) => Malformed::Overlong(code_point),
            (_, 0xD800..=0xDFFF) => Malformed::Surrogate(code_point),
            _ => Malformed::OutOfRange(code_point),
        },
    };
    DecodeError {
        offset,
        length,
        kind,
    }
}

/// The ill-formed sequences of `bytes`, first to last; none overlap.
pub fn ill_formed(bytes: &[u8]) -> impl Iterator<Item = DecodeError> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(start..)?;
        let error = validate(rest).err()?;
        let found = DecodeError {
            offset: start + error.offset,
            ..error
        };
        start = found.offset + found.length;
        Some(found)
    })
}

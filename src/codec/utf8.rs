//! UTF-8 as RFC 3629 defines it, as Rust's `str`: is it well-formed, and if not, what exactly is wrong.

#[cfg(test)]
mod tests;

use super::{DecodeError, Encoding, Piece};

/// Checks that `bytes` are well-formed UTF-8 (RFC 3629, section 3 and 4; Unicode D92).
///
/// ```
/// use utf8fs::codec::{Malformed, utf8};
/// assert_eq!(utf8::validate(b"caf\xC3\xA9"), Ok("café"));
/// let error = utf8::validate(b"caf\xE9.txt").unwrap_err();
/// assert_eq!((error.offset, error.length, error.kind), (3, 1, Malformed::Truncated));
/// ```
///
/// # Errors
/// The first ill-formed sequence, with its offset, length and kind.
pub fn validate(bytes: &[u8]) -> Result<&str, DecodeError> {
    core::str::from_utf8(bytes).map_err(|error| diagnose(bytes, error.valid_up_to()))
}

/// Says what is wrong with the sequence at `offset`, where the standard library stopped.
#[cold]
fn diagnose(bytes: &[u8], offset: usize) -> DecodeError {
    let piece = Encoding::Utf8.first(bytes.get(offset..).unwrap_or_default());
    let error = piece.and_then(Piece::error);
    let error = error.expect("invariant: utf-8 takes just what the standard library takes");
    DecodeError { offset, ..error }
}

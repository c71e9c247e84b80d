//! Bytes to code points and back. Pure: no I/O, no policy, no errno.
//!
//! * [`Encoding`]: every form of UTF-8 since 1992, and UTF-16, UCS-2, UCS-4.
//! * [`Charset`]: legacy charsets by their IANA labels.
//! * [`Converter`]: from any of them to any other.
//! * [`utf8`]: UTF-8 of today as Rust's `str`, with an exact diagnosis.
//! * [`Form`]: normalization forms C and D.
//! * [`guess`]: which charset names are likely in, and whether they were encoded twice. Suggestions, no more.
//! * [`caseless`]: what texts that differ in case and form alone have in common.
//!
//! What does not decode is a [`DecodeError`]: offset, length and kind of the first such sequence.

pub mod caseless;
pub mod charset;
pub mod converter;
pub mod encoding;
pub mod guess;
pub mod normalize;
pub mod utf8;

use strum::{EnumMessage, EnumString, IntoStaticStr, VariantNames};

pub use charset::{Charset, EncodeError, UnknownCharset};
pub use converter::{Coding, ConvertError, ConvertFault, Converter, Repair};
pub use encoding::{Encoding, Piece, Unmappable};
pub use normalize::Form;

/// Why bytes are not well-formed: the first offending sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeError {
    /// Offset of the sequence, in bytes from the start of the input.
    pub offset: usize,
    /// Length of the sequence in bytes, 1 or more; it ends within the input.
    pub length: usize,
    /// The kind of error.
    pub kind: Malformed,
}

/// The kind of an ill-formed sequence.
///
/// Which bytes lead, continue or never occur, and which code point is the last, is each form's own: see [`Encoding`].
/// [`Encoding::Utf8`] shows each of them. The documentation of each is its text for people.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Malformed {
    // 80..BF.
    /// continuation byte without a lead byte
    UnexpectedContinuation,
    // Where a sequence may start: in UTF-8 F5..FF, and C0 or C1 with nothing to continue them.
    /// a byte that never occurs in it
    InvalidByte,
    // A lead byte with too few continuation bytes, part of a unit or of a pair of units.
    /// truncated sequence
    Truncated,
    // Longer than the shortest for the code point that it spells.
    /// overlong sequence
    Overlong(u32),
    // U+D800..U+DFFF where it is no character. In UTF-16, CESU-8 and UTF-8 it stands alone; in WTF-8 it is the first of a pair.
    /// surrogate
    Surrogate(u32),
    // U+10FFFF, or the form's own limit.
    /// beyond the last code point
    OutOfRange(u32),
    // A legacy charset assigns them none; no form of UTF-8 has such.
    /// bytes without a character
    Unassigned,
}

impl Malformed {
    /// The stable name of the kind, as in JSON: `overlong`, `truncated`, ...
    #[must_use]
    pub fn label(self) -> &'static str {
        self.into()
    }

    /// Returns the kind in words.
    #[must_use]
    pub fn describe(self) -> &'static str {
        self.get_documentation().unwrap_or_default()
    }

    /// The code point that the sequence spells, where it spells one.
    #[must_use]
    pub fn code_point(self) -> Option<u32> {
        match self {
            Self::Overlong(c) | Self::Surrogate(c) | Self::OutOfRange(c) => Some(c),
            Self::UnexpectedContinuation
            | Self::InvalidByte
            | Self::Truncated
            | Self::Unassigned => None,
        }
    }
}

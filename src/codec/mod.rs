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
pub use encoding::{Encoding, Piece};
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
/// [`Encoding::Utf8`] shows each of them.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Malformed {
    /// A continuation byte (80..BF) with no lead byte before it.
    #[strum(message = "continuation byte without a lead byte")]
    UnexpectedContinuation,
    /// A byte that never occurs where a sequence may start: in UTF-8 F5..FF, and C0 or C1 with nothing to continue them.
    #[strum(message = "a byte that never occurs in it")]
    InvalidByte,
    /// A sequence that ends too early: a lead byte with too few continuation bytes, part of a unit or of a pair of units.
    #[strum(message = "truncated sequence")]
    Truncated,
    /// A sequence longer than the shortest for the code point that it spells.
    #[strum(message = "overlong sequence")]
    Overlong(u32),
    /// A code point of UTF-16's surrogates, U+D800..U+DFFF, where it is no character. In UTF-16, CESU-8 and UTF-8 it
    /// stands alone; in WTF-8 it is the first of a pair.
    #[strum(message = "surrogate")]
    Surrogate(u32),
    /// A code point beyond U+10FFFF, or the form's own limit.
    #[strum(message = "beyond the last code point")]
    OutOfRange(u32),
    /// Bytes to which a legacy charset assigns no character; no form of UTF-8 has such.
    #[strum(message = "bytes without a character")]
    Unassigned,
}

impl Malformed {
    /// Returns the kind in words.
    pub fn describe(self) -> &'static str {
        self.get_message().unwrap_or_default()
    }

    /// The code point that the sequence spells, where it spells one.
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

/// Returns the form in which labels are compared: lower case, without `-` and `_`.
fn label_key(label: &str) -> String {
    let significant = label.chars().filter(|c| !matches!(c, '-' | '_'));
    significant.map(|c| c.to_ascii_lowercase()).collect()
}

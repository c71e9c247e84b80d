//! Bytes to code points and back: UTF-8, legacy charsets, normalization forms. Pure: no I/O, no policy, no errno.

pub mod charset;
pub mod normalize;
pub mod utf8;

pub use charset::{Charset, EncodeError, UnknownCharset};
pub use normalize::Form;

/// Why bytes are not well-formed: the first offending sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeError {
    /// Offset of the sequence, in bytes from the start of the input.
    pub offset: usize,
    /// Length of the sequence in bytes, 1 or more; it ends within the input.
    pub length: usize,
    /// What is wrong with it.
    pub kind: Malformed,
}

/// What is wrong with an ill-formed sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// A continuation byte (80..BF) with no lead byte before it.
    UnexpectedContinuation,
    /// A byte that never occurs: F5..FF, and C0 or C1 with nothing to continue them.
    InvalidByte,
    /// A lead byte with too few continuation bytes after it.
    Truncated,
    /// A sequence longer than the shortest for the code point that it spells (U+0000..U+FFFF).
    Overlong(u32),
    /// A code point of UTF-16's surrogates, U+D800..U+DFFF.
    Surrogate(u32),
    /// A code point beyond U+10FFFF.
    OutOfRange(u32),
    /// Bytes to which a legacy charset assigns no character; no form of UTF-8 has such.
    Unassigned,
}

impl Malformed {
    /// The stable name of the kind, as in JSON: `overlong`, `truncated`, ...
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::UnexpectedContinuation => "unexpected-continuation",
            Self::InvalidByte => "invalid-byte",
            Self::Truncated => "truncated",
            Self::Overlong(_) => "overlong",
            Self::Surrogate(_) => "surrogate",
            Self::OutOfRange(_) => "out-of-range",
            Self::Unassigned => "unassigned",
        }
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

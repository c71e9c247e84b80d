//! What can be found in a name, or between a name and its siblings.

use crate::codec::{Charset, Form, Malformed};
use crate::policy::Class;

/// What is worth telling of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Finding {
    /// Not well-formed.
    IllFormed,
    /// Over a limit.
    TooLong,
    /// With a forbidden character or shape.
    Forbidden,
    /// Not in the normalization form that is asked for, or in NFC if none is.
    NotNormalized,
    /// Likely UTF-8 that was taken for another charset and encoded again.
    DoublyEncoded,
    /// A sibling differs from it in case alone, or in case and form.
    CollidesInCase,
    /// A sibling differs from it in normalization form alone.
    CollidesInForm,
}

impl Finding {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 7] = [
        Self::IllFormed,
        Self::TooLong,
        Self::Forbidden,
        Self::NotNormalized,
        Self::DoublyEncoded,
        Self::CollidesInCase,
        Self::CollidesInForm,
    ];

    /// The stable name, as in JSON.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::IllFormed => "ill-formed",
            Self::TooLong => "too-long",
            Self::Forbidden => "forbidden",
            Self::NotNormalized => "not-normalized",
            Self::DoublyEncoded => "doubly-encoded",
            Self::CollidesInCase => "collides-in-case",
            Self::CollidesInForm => "collides-in-form",
        }
    }

    /// The finding with that stable name.
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|finding| finding.label() == label)
    }

    /// The kind of this finding with that stable name.
    #[must_use]
    pub fn kind(self, label: &str) -> Option<&'static str> {
        let kinds: Vec<&'static str> = match self {
            Self::IllFormed => [
                Malformed::UnexpectedContinuation,
                Malformed::InvalidByte,
                Malformed::Truncated,
                Malformed::Overlong(0),
                Malformed::Surrogate(0),
                Malformed::OutOfRange(0),
                Malformed::Unassigned,
            ]
            .map(Malformed::label)
            .to_vec(),
            Self::TooLong => vec!["bytes", "chars", "utf16"],
            Self::Forbidden => Class::ALL.map(Class::label).to_vec(),
            Self::NotNormalized => [Form::Nfc, Form::Nfd].map(Form::label).to_vec(),
            Self::DoublyEncoded => Charset::all().map(Charset::label).collect(),
            Self::CollidesInCase => vec!["casefold"],
            Self::CollidesInForm => vec!["nfc"],
        };
        kinds.into_iter().find(|kind| *kind == label)
    }

    const fn bit(self) -> u8 {
        1 << (self as u8)
    }
}

/// A set of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Findings(u8);

impl Findings {
    /// This set and `finding`.
    #[must_use]
    pub const fn with(self, finding: Finding) -> Self {
        Self(self.0 | finding.bit())
    }

    /// Is `finding` in the set?
    #[must_use]
    pub const fn contains(self, finding: Finding) -> bool {
        self.0 & finding.bit() != 0
    }
}

/// A finding in a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// What it is.
    pub finding: Finding,
    /// The kind of malformed sequence, forbidden class, unit of length or form; what doubly encoded text was taken for; in
    /// what names collide (`casefold`, `nfc`).
    pub kind: &'static str,
    /// Offset and length in bytes of the first place of that kind; `None` where it is the whole name.
    pub place: Option<(usize, usize)>,
}

//! Rules gathered under a name.

use super::{Class, Classes, NAME_MAX, Policy};

/// A named set of rules, to be tightened by further options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Well-formed and of legal length, nothing else.
    #[default]
    Utf8,
    /// And no control characters, newlines, bidi overrides, leading dash, spaces at the edges.
    Safe,
    /// And all that Windows, SMB and macOS refuse: their reserved names and characters, trailing dot and space, over 255 UTF-16 units.
    Portable,
    /// POSIX's portable filename character set: `A-Z a-z 0-9 . _ -`, with no dash in front.
    Posix,
}

impl Profile {
    /// The rules of this profile.
    #[must_use]
    pub fn policy(self) -> Policy {
        let safe = Classes::default()
            .with(Class::Control)
            .with(Class::Newline)
            .with(Class::Bidi)
            .with(Class::LeadingDash)
            .with(Class::EdgeSpace);
        match self {
            Self::Utf8 => Policy::default(),
            Self::Safe => Policy {
                forbid: safe,
                ..Policy::default()
            },
            Self::Portable => Policy {
                forbid: safe.with(Class::Windows),
                max_utf16: Some(NAME_MAX),
                ..Policy::default()
            },
            Self::Posix => Policy {
                forbid: Classes::default()
                    .with(Class::NotPosix)
                    .with(Class::LeadingDash),
                ..Policy::default()
            },
        }
    }
}

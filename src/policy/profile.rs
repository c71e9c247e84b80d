//! Rules gathered under a name.

use super::Class::{Bidi, Control, EdgeSpace, LeadingDash, Newline, NotPosix, Windows};
use super::{NAME_MAX, Policy};
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

/// A named set of rules, to be tightened by further options.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Profile {
    /// Well-formed UTF-8 of legal length, nothing else
    #[default]
    Utf8,
    /// And no control characters, newlines, bidi controls, leading dash, white space at the edges
    Safe,
    /// And nothing that Windows, SMB or macOS refuse: reserved names and characters, trailing dot and space, over 255 UTF-16 units
    Portable,
    /// Only A-Z a-z 0-9 . _ - and no dash in front (POSIX's portable filename character set)
    Posix,
}

impl Profile {
    /// The rules of this profile.
    pub fn policy(self) -> Policy {
        let (forbid, max_utf16) = match self {
            Self::Utf8 => (vec![], None),
            Self::Safe => (vec![Control, Newline, Bidi, LeadingDash, EdgeSpace], None),
            Self::Portable => {
                let forbid = vec![Control, Newline, Bidi, Windows, LeadingDash, EdgeSpace];
                (forbid, Some(NAME_MAX))
            }
            Self::Posix => (vec![LeadingDash, NotPosix], None),
        };
        Policy {
            forbid,
            max_utf16,
            ..Policy::default()
        }
    }
}

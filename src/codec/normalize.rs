//! Normalization forms C and D (UAX #15), over the tables of the crate `unicode-normalization`.

#[cfg(test)]
mod tests;

use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};
use unicode_normalization::{UnicodeNormalization, is_nfc, is_nfd};

/// The Unicode version of the normalization tables: major, minor, update.
pub const UNICODE_VERSION: (u8, u8, u8) = unicode_normalization::UNICODE_VERSION;

/// A canonical normalization form. The compatibility forms are left out on purpose: they turn U+FF0F into `/`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Form {
    /// Composed, as Linux and Windows programs write names
    Nfc,
    /// Decomposed, as old macOS filesystems store them
    Nfd,
}

impl Form {
    /// Is `text` in this form?
    pub fn holds(self, text: &str) -> bool {
        match self {
            _ if text.is_ascii() => true,
            Self::Nfc => is_nfc(text),
            Self::Nfd => is_nfd(text),
        }
    }

    /// `text` brought to this form.
    pub fn apply(self, text: &str) -> String {
        match self {
            Self::Nfc => text.nfc().collect(),
            Self::Nfd => text.nfd().collect(),
        }
    }
}

//! Findings: problems of a name, or between a name and its siblings.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray, VariantNames};

use crate::codec::{Charset, Form, Malformed};
use crate::names::Quoted;
use crate::policy::Class;

/// Something worth reporting of a name.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
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

/// The stable name of a kind of a finding: a malformed sequence, a forbidden class, a unit of length or a form. For doubly
/// encoded text, it is the charset that the text was taken for; for collisions, `casefold` or `nfc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KindLabel(pub &'static str);

impl KindLabel {
    /// Returns the kind of that label, of whichever finding, or what is wrong with it.
    pub(super) fn parse(label: &str) -> Result<Self, String> {
        let mut all = ["bytes", "chars", "utf16", "casefold"]
            .into_iter()
            .chain(Malformed::VARIANTS.iter().copied())
            .chain(Class::ALL.iter().map(Into::into))
            .chain([Form::Nfc, Form::Nfd].map(Into::into))
            .chain(Charset::all().map(Charset::label));
        let kind = all.find(|known| *known == label).map(Self);
        kind.ok_or_else(|| format!("unknown kind {}", Quoted(label.as_bytes())))
    }
}

/// A finding in a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// The finding.
    pub finding: Finding,
    /// The kind of it.
    pub kind: KindLabel,
    /// Offset in bytes of the first place of that kind; `None` where it is the whole name.
    pub offset: Option<usize>,
    /// Length in bytes of that place.
    pub length: Option<usize>,
}

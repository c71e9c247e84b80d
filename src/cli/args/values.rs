//! The words that options take. The first line of each doc comment is its help.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::codec::Form;
use crate::fs::audit::Format;
use crate::names::{Legacy, OnViolation};
use crate::policy::{Class, ErrnoChoice, Profile};

/// A value of an option, with its word and its help.
///
/// The layers below know nothing of clap, so that their enums are wrapped here, in a table each.
macro_rules! values {
    ($(#[$doc:meta])* $name:ident($inner:ty) { $($word:literal => $value:expr, $help:literal;)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name(pub $inner);

        impl $name {
            const TABLE: &[(&str, Self, &str)] = &[$(($word, Self($value), $help)),+];

            /// The word as it is typed.
            #[must_use]
            pub fn word(self) -> &'static str {
                Self::TABLE.iter().find(|row| row.1 == self).map_or("", |row| row.0)
            }
        }

        impl ValueEnum for $name {
            fn value_variants<'a>() -> &'a [Self] {
                const { &[$(Self($value)),+] }
            }

            fn to_possible_value(&self) -> Option<PossibleValue> {
                let row = Self::TABLE.iter().find(|row| row.1 == *self)?;
                Some(PossibleValue::new(row.0).help(row.2))
            }
        }
    };
}

values! {
    /// `--profile`.
    ProfileValue(Profile) {
        "utf8" => Profile::Utf8, "Well-formed UTF-8 of legal length, nothing else";
        "safe" => Profile::Safe, "And no control characters, newlines, bidi controls, leading dash, white space at the edges";
        "portable" => Profile::Portable, "And nothing that Windows, SMB or macOS refuse: reserved names and characters, trailing dot and space, over 255 UTF-16 units";
        "posix" => Profile::Posix, "Only A-Z a-z 0-9 . _ - and no dash in front (POSIX's portable filename character set)";
    }
}

values! {
    /// `--normalization`.
    NormalizationValue(Option<Form>) {
        "preserve" => None, "Any form, kept as it is";
        "nfc" => Some(Form::Nfc), "Composed, as Linux and Windows programs write names";
        "nfd" => Some(Form::Nfd), "Decomposed, as old macOS filesystems store them";
    }
}

values! {
    /// `--forbid`.
    ForbidValue(Class) {
        "control" => Class::Control, "Control characters: 01..1F, 7F, U+0080..U+009F";
        "newline" => Class::Newline, "What ends a line: LF, VT, FF, CR, U+0085, U+2028, U+2029";
        "bidi" => Class::Bidi, "Controls of writing direction: U+202A..U+202E, U+2066..U+2069";
        "invisible" => Class::Invisible, "Characters that are not seen, such as U+200B ZERO WIDTH SPACE and U+00AD SOFT HYPHEN";
        "noncharacter" => Class::Noncharacter, "U+FDD0..U+FDEF and the last two of each plane, such as U+FFFF";
        "private-use" => Class::PrivateUse, "Characters without agreed meaning, such as U+E000..U+F8FF";
        "windows" => Class::Windows, "What Windows refuses: < > : \" \\ | ? *, device names such as NUL, trailing dot or space";
        "leading-dash" => Class::LeadingDash, "A - in front, which programs take for an option";
        "edge-space" => Class::EdgeSpace, "White space in front or at the end";
        "non-ascii" => Class::NonAscii, "Anything beyond U+007F";
    }
}

values! {
    /// `--legacy`.
    LegacyValue(Legacy) {
        "decode" => Legacy::Decode, "As its text in the first charset of --from that takes it, else escaped (default with --from)";
        "escape" => Legacy::Escape, "With each offending octet as % and two hex digits: caf%E9.txt (default without --from)";
        "raw" => Legacy::Raw, "As it is: it can be read, renamed to a conforming name and removed, but not made anew";
        "hide" => Legacy::Hide, "Not at all";
    }
}

values! {
    /// `--on-violation`.
    OnViolationValue(OnViolation) {
        "reject" => OnViolation::Reject, "It is refused, and nothing is made (default)";
        "normalize" => OnViolation::Normalize, "The conforming name that it stands for is made instead, or it is refused where there is none";
        "report" => OnViolation::Report, "It is made as asked, and the audit log says so";
    }
}

values! {
    /// `--errno`.
    ErrnoValue(ErrnoChoice) {
        "eilseq" => ErrnoChoice::Eilseq, "Illegal byte sequence, as ZFS answers (default)";
        "einval" => ErrnoChoice::Einval, "Invalid argument, for NFS servers, which do not know EILSEQ";
        "eperm" => ErrnoChoice::Eperm, "Operation not permitted";
    }
}

values! {
    /// `--audit-format`.
    AuditFormatValue(Format) {
        "text" => Format::Text, "A line for people (default)";
        "json" => Format::Json, "A line of JSON";
    }
}

//! The words that options take. The first line of each doc comment is its help.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::status::StatusFormat;
use crate::cli::audit::{Offended, Unit};
use crate::codec::{Encoding, Form, Repair};
use crate::daemon::audit::Format;
use crate::daemon::transport::Uring;
use crate::fs::LocksAt;
use crate::fuse::Passthrough;
use crate::names::rules::Mode;
use crate::names::{Legacy, OnViolation};
use crate::os::Sandbox;
use crate::policy::{Alike, Class, ErrnoChoice, Profile};
use crate::tree::plan::OnCollision;

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

            /// What is said about it in the help.
            #[must_use]
            pub fn help(self) -> &'static str {
                Self::TABLE.iter().find(|row| row.1 == self).map_or("", |row| row.2)
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
    /// `migrate --normalize`.
    NormalizeValue(Form) {
        "nfc" => Form::Nfc, "Composed, as Linux and Windows programs write names";
        "nfd" => Form::Nfd, "Decomposed, as old macOS filesystems store them";
    }
}

values! {
    /// `migrate --on-collision`.
    CollisionValue(OnCollision) {
        "skip" => OnCollision::Skip, "It keeps its name (default)";
        "suffix" => OnCollision::Suffix, "It gets the first of name-2.ext, name-3.ext, ... that is free";
        "same" => OnCollision::Same, "Of files with the same content one is set aside, where undo finds it; others keep their names";
    }
}

values! {
    /// `--passthrough`.
    PassthroughValue(Passthrough) {
        "auto" => Passthrough::Auto, "Wherever it can";
        "off" => Passthrough::Off, "Never: utf8fs carries all data";
    }
}

values! {
    /// `--unique`.
    UniqueValue(Alike) {
        "casefold" => Alike::Casefold, "Case, or normalization form: README and readme, ß and SS";
        "nfc" => Alike::Nfc, "Normalization form: é as one character and as e with an accent";
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
    /// `mount --encoding`.
    MountEncodingValue(Encoding) {
        "utf-8" => Encoding::Utf8, "RFC 3629 (2003): 1 to 4 octets, to U+10FFFF, no surrogates (default)";
        "utf-8-rfc2279" => Encoding::Utf8Rfc2279, "RFC 2279 (1998): 1 to 6 octets, 31 bits, surrogates like others";
        "fss-utf" => Encoding::FssUtf, "FSS-UTF of 8 September 1992: the same 31 bits";
        "utf-8-bmp" => Encoding::Utf8Bmp, "utf-8(7) of a Linux of 16 bits: 1 to 3 octets, to U+FFFF";
    }
}

values! {
    /// `explain --encoding`.
    EncodingValue(Encoding) {
        "utf-8" => Encoding::Utf8, "RFC 3629 (2003): 1 to 4 octets, to U+10FFFF, no surrogates (default)";
        "utf-8-rfc2279" => Encoding::Utf8Rfc2279, "RFC 2279 (1998): 1 to 6 octets, 31 bits, surrogates like others";
        "fss-utf" => Encoding::FssUtf, "FSS-UTF of 8 September 1992: the same 31 bits";
        "utf-8-bmp" => Encoding::Utf8Bmp, "utf-8(7) of a Linux of 16 bits: 1 to 3 octets, to U+FFFF";
        "fss-utf-draft" => Encoding::FssUtfDraft, "The X/Open draft before it: 1 to 5 octets, biased, 31 bits";
        "fss-utf-xutf" => Encoding::FssUtfXutf, "The note at its end: 1 to 6 octets, 32 bits";
        "mutf-8" => Encoding::Mutf8, "Modified UTF-8 of Java: C0 80 for NUL, pairs of surrogates";
        "cesu-8" => Encoding::Cesu8, "UTR #26: pairs of surrogates, of three octets each, beyond U+FFFF";
        "wtf-8" => Encoding::Wtf8, "RFC 3629 and surrogates that are alone";
        "utf-8b" => Encoding::Utf8b, "RFC 3629, and each other byte b as U+DC00+b";
        "utf-16be" => Encoding::Utf16Be, "UTF-16, high octet first";
        "utf-16le" => Encoding::Utf16Le, "UTF-16, low octet first";
        "ucs-2be" => Encoding::Ucs2Be, "16 bits, high octet first";
        "ucs-2le" => Encoding::Ucs2Le, "16 bits, low octet first";
        "ucs-4be" => Encoding::Ucs4Be, "31 bits in four octets, high octet first";
        "ucs-4le" => Encoding::Ucs4Le, "31 bits in four octets, low octet first";
    }
}

impl EncodingValue {
    /// Can names in it be mounted?
    #[must_use]
    pub fn is_mountable(self) -> bool {
        MountEncodingValue::TABLE
            .iter()
            .any(|row| row.1.0 == self.0)
    }
}

values! {
    /// `convert --lossy`.
    LossyValue(Repair) {
        "replace" => Repair::Replace, "U+FFFD for each maximal subpart, as Unicode has it; ? where the target lacks U+FFFD";
        "utf-8b" => Repair::Utf8b, "U+DC80..U+DCFF for each byte, which wtf-8, utf-8b, ucs-2 and older forms can hold";
        "latin1" => Repair::Latin1, "Each byte as its character in ISO-8859-1";
        "cp1252" => Repair::Windows1252, "Each byte as its character in windows-1252";
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
    /// `mode` of a policy file.
    ModeValue(Mode) {
        "enforce" => Mode::Enforce, "It is refused, and nothing is made";
        "normalize" => Mode::Normalize, "The conforming name that it stands for is made instead, or it is refused where there is none";
        "report" => Mode::Report, "It is made as asked, and the audit log says so";
        "off" => Mode::Off, "It is made as asked, and nothing is said";
    }
}

values! {
    /// `--errno`.
    ErrnoValue(ErrnoChoice) {
        "eilseq" => ErrnoChoice::Eilseq, "Illegal byte sequence, as ZFS answers (default)";
        "einval" => ErrnoChoice::Einval, "Invalid argument, for NFS servers, which do not know EILSEQ";
        "eperm" => ErrnoChoice::Eperm, "Operation not permitted";
        "enametoolong" => ErrnoChoice::Enametoolong, "File name too long, for Samba, whose clients are told then that the name is invalid";
    }
}

values! {
    /// `--locks`.
    LocksValue(LocksAt) {
        "local" => LocksAt::Local, "Among the users of the mount, by the kernel alone (default)";
        "backing" => LocksAt::Backing, "On the backing files, so that they hold beside programs that work below";
    }
}

values! {
    /// `--uring`.
    UringValue(Uring) {
        "auto" => Uring::Auto, "Where they can be had";
        "off" => Uring::Off, "Never: all requests come by /dev/fuse";
    }
}

values! {
    /// `--sandbox`.
    SandboxValue(Sandbox) {
        "full" => Sandbox::Full, "To the backing directory and its logs, with few capabilities and system calls (default)";
        "none" => Sandbox::None, "Not at all, to look for the cause of a fault";
    }
}

values! {
    /// `--audit-format`.
    AuditFormatValue(Format) {
        "text" => Format::Text, "A line for people (default)";
        "json" => Format::Json, "A line of JSON";
    }
}

values! {
    /// `audit --rule`.
    OffenceValue(Offended) {
        "ill-formed" => Offended::IllFormed, "Not well-formed";
        "too-long" => Offended::TooLong, "Over a limit";
        "forbidden" => Offended::Forbidden, "With a forbidden character or shape";
        "not-normalized" => Offended::NotNormalized, "In another normalization form";
        "unmappable" => Offended::Unmappable, "Not in the charset that names are stored in";
        "not-unique" => Offended::NotUnique, "Like a sibling in all but case or form";
    }
}

values! {
    /// `audit --by`.
    UnitValue(Unit) {
        "hour" => Unit::Hour, "Hours of UTC";
        "day" => Unit::Day, "Days of UTC";
    }
}

values! {
    /// `status --format`.
    StatusFormatValue(StatusFormat) {
        "text" => StatusFormat::Text, "A table for people (default)";
        "json" => StatusFormat::Json, "One JSON object; docs/status.md has its fields";
        "prometheus" => StatusFormat::Prometheus, "Metrics, for the textfile collector of a node exporter, say";
    }
}

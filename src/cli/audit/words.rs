//! The words and shapes of text that are in a record.

use jiff::Timestamp;

use crate::fs::audit::Operation;

/// A type each value of which is a word in records.
pub(super) trait Worded: Copy + 'static {
    /// All of them.
    const WORDS: &'static [Self];
    /// As in a record.
    fn word(self) -> &'static str;
}

/// What a word stands for.
#[derive(Debug)]
pub(super) struct Word<T>(pub(super) T);

impl<T: Worded> Word<T> {
    /// `None`: it stands for nothing.
    pub(super) fn of(text: &str) -> Option<Self> {
        let found = T::WORDS.iter().find(|value| value.word() == text);
        found.copied().map(Self)
    }
}

/// A rule, as a record names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Offended {
    /// Not well-formed.
    IllFormed,
    /// Over a limit.
    TooLong,
    /// With a forbidden character or shape.
    Forbidden,
    /// In another normalization form.
    NotNormalized,
    /// Not in the charset that names are stored in.
    Unmappable,
    /// Like a sibling in all but case or form.
    NotUnique,
}

impl Offended {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 6] = [
        Self::IllFormed,
        Self::TooLong,
        Self::Forbidden,
        Self::NotNormalized,
        Self::Unmappable,
        Self::NotUnique,
    ];

    /// As in a record.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::IllFormed => "ill-formed",
            Self::TooLong => "too-long",
            Self::Forbidden => "forbidden",
            Self::NotNormalized => "not-normalized",
            Self::Unmappable => "unmappable",
            Self::NotUnique => "not-unique",
        }
    }
}

/// What came of an offence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Verdict {
    Refused,
    Normalized,
    Reported,
}

impl Verdict {
    pub(super) const LABELS: [&str; 3] = ["refused", "normalized", "reported"];
}

/// Why an offence was let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exempt {
    Uid,
    Path,
}

impl Worded for Offended {
    const WORDS: &'static [Self] = &Self::ALL;
    fn word(self) -> &'static str {
        self.label()
    }
}

impl Worded for Verdict {
    const WORDS: &'static [Self] = &[Self::Refused, Self::Normalized, Self::Reported];
    fn word(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Normalized => "normalized",
            Self::Reported => "reported",
        }
    }
}

impl Worded for Exempt {
    const WORDS: &'static [Self] = &[Self::Uid, Self::Path];
    fn word(self) -> &'static str {
        match self {
            Self::Uid => "uid",
            Self::Path => "path",
        }
    }
}

impl Worded for Operation {
    const WORDS: &'static [Self] = &Self::ALL;
    fn word(self) -> &'static str {
        self.label()
    }
}

/// A time as records have it: RFC 3339, in UTC, with microseconds, and of a second that there was.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    const SHAPE: &[u8; 27] = b"0000-00-00T00:00:00.000000Z";
    let fits = |(octet, shape): (u8, u8)| match shape {
        b'0' => octet.is_ascii_digit(),
        _ => octet == shape,
    };
    let has_shape = text.len() == SHAPE.len() && text.bytes().zip(*SHAPE).all(fits);
    // A second 60 would be read as the 59th, which it is not.
    let is_leap = text.get(17..19) == Some("60");
    (has_shape && !is_leap).then(|| text.parse().ok())?
}

/// `U+` and four to eight digits.
pub(super) fn is_code_point(text: &str) -> bool {
    let digits = text.strip_prefix("U+").unwrap_or_default();
    let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'A'..=b'F');
    (4..=8).contains(&digits.len()) && digits.bytes().all(is_digit)
}

/// `E` and more capitals and digits.
pub(super) fn is_errno(text: &str) -> bool {
    let rest = text.strip_prefix('E').unwrap_or_default();
    let is_such = |octet: u8| octet.is_ascii_uppercase() || octet.is_ascii_digit();
    (1..=30).contains(&rest.len()) && rest.bytes().all(is_such)
}

#[cfg(test)]
mod tests {
    use super::{is_code_point, is_errno, time};

    #[test]
    fn times_are_those_that_a_record_has() {
        for good in [
            "2026-11-21T11:49:58.965881Z",
            "2024-02-29T23:59:59.999999Z",
            "0001-01-01T00:00:00.000000Z",
        ] {
            let read = time(good).unwrap();
            assert_eq!(format!("{read:.6}"), good);
        }
        for bad in [
            "2026-02-29T00:00:00.000000Z",
            "2026-13-01T00:00:00.000000Z",
            "2026-00-10T00:00:00.000000Z",
            "2026-11-21T24:00:00.000000Z",
            "2026-11-21T11:60:00.000000Z",
            "2026-11-21T11:49:60.000000Z",
            "2026-11-21T11:49:58Z",
            "2026-11-21T11:49:58.965Z",
            "2026-11-21T11:49:58.965881+00:00",
            "2026-11-21 11:49:58.965881Z",
            "2026-11-21t11:49:58.965881z",
            "+02026-11-21T11:49:58.96588Z",
            "yesterday",
            "",
        ] {
            assert_eq!(time(bad), None, "{bad}");
        }
    }

    #[test]
    fn code_points_and_errnos_have_a_shape() {
        for (text, is_one) in [
            ("U+003F", true),
            ("U+7FFFFFFF", true),
            ("U+3F", false),
            ("003F", false),
            ("U+00G0", false),
        ] {
            assert_eq!(is_code_point(text), is_one, "{text}");
        }
        for (text, is_one) in [
            ("EILSEQ", true),
            ("E2BIG", true),
            ("E", false),
            ("84", false),
            ("Eilseq", false),
        ] {
            assert_eq!(is_errno(text), is_one, "{text}");
        }
    }
}

//! Is this name allowed, and if not, why. Pure; the errno table is in [`errno`].

pub mod alike;
pub mod class;
pub mod errno;
mod name_text;
pub mod profile;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use strum::{EnumDiscriminants, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use crate::codec::{Charset, DecodeError, Encoding, Form, Malformed};
pub use alike::Alike;
pub use class::Class;
pub use errno::ErrnoChoice;
use name_text::NameText;
pub use profile::Profile;

/// `NAME_MAX` of Linux, in bytes, and of NTFS, SMB and HFS+, in UTF-16 units.
pub const NAME_MAX: usize = 255;

/// The smallest limit that can be set: room for the mark of law N7 (`~` and 16 hash characters) and some text.
pub const SMALLEST_LIMIT: usize = 24;

/// The conditions under which a name conforms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The definition of UTF-8 by which names must be well-formed.
    pub encoding: Encoding,
    /// Most bytes in a name, `SMALLEST_LIMIT..=NAME_MAX`.
    pub max_bytes: usize,
    /// Most characters (code points) in a name; `None`: no limit of its own.
    pub max_chars: Option<usize>,
    /// Most UTF-16 code units in a name; `None`: no limit of its own.
    pub max_utf16: Option<usize>,
    /// The normalization form that names must have; `None` keeps whatever form they have.
    pub form: Option<Form>,
    /// Classes of characters and shapes that names must not have, in order.
    pub forbid: Vec<Class>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            encoding: Encoding::Utf8,
            max_bytes: NAME_MAX,
            max_chars: None,
            max_utf16: None,
            form: None,
            forbid: Vec::new(),
        }
    }
}

/// The choice of a normalization form for names.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Normalization {
    /// Any form, kept as it is
    Preserve,
    /// Composed, as Linux and Windows programs write names
    Nfc,
    /// Decomposed, as old macOS filesystems store them
    Nfd,
}

impl Normalization {
    /// Returns the form that names must have; `None` for any.
    pub fn form(self) -> Option<Form> {
        match self {
            Self::Preserve => None,
            Self::Nfc => Some(Form::Nfc),
            Self::Nfd => Some(Form::Nfd),
        }
    }
}

impl From<Option<Form>> for Normalization {
    fn from(form: Option<Form>) -> Self {
        match form {
            None => Self::Preserve,
            Some(Form::Nfc) => Self::Nfc,
            Some(Form::Nfd) => Self::Nfd,
        }
    }
}

/// A rule that a name breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumDiscriminants)]
#[strum_discriminants(
    name(RuleName),
    doc = "The name of a rule, without what it says of the name that breaks it.",
    derive(
        Hash,
        PartialOrd,
        Ord,
        EnumMessage,
        EnumString,
        IntoStaticStr,
        VariantArray
    ),
    strum(serialize_all = "kebab-case")
)]
pub enum Rule {
    /// Not well-formed
    IllFormed(Encoding, Malformed),
    /// Over a limit
    TooLong {
        /// Which limit.
        unit: Unit,
        /// The name's length in that unit.
        actual: usize,
        /// The limit.
        limit: usize,
    },
    /// With a forbidden character or shape
    Forbidden(Class),
    /// In another normalization form
    NotNormalized(Form),
    /// Not in the charset that names are stored in
    Unmappable(Charset),
    /// Like a sibling in all but case or form
    NotUnique(Alike),
    /// Not one component of a path
    NotAComponent,
}

/// The unit of a length. The documentation of each is its text for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumMessage, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Unit {
    /// bytes
    Bytes,
    /// characters
    Chars,
    /// UTF-16 units
    Utf16,
}

/// Why a name does not conform: the rule, and the bytes that break it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offence {
    /// The rule.
    pub rule: Rule,
    /// Offset of the first offending byte; for a name that is too long, of the first byte over the limit.
    pub offset: usize,
    /// Length of the offending sequence in bytes.
    pub length: usize,
    /// The code point that the sequence spells, where it spells one.
    pub code_point: Option<u32>,
}

impl Offence {
    /// Makes the offence of bytes that spell no code point, or more than one.
    pub fn new(rule: Rule, offset: usize, length: usize) -> Self {
        Self {
            rule,
            offset,
            length,
            code_point: None,
        }
    }

    /// Makes the offence of so many bytes, more than a name can have.
    pub fn over_name_max(octets: usize, offset: usize, length: usize) -> Self {
        let rule = Rule::TooLong {
            unit: Unit::Bytes,
            actual: octets,
            limit: NAME_MAX,
        };
        Self::new(rule, offset, length)
    }

    /// Makes the offence of a name that is not well-formed by `encoding`.
    pub fn ill_formed(encoding: Encoding, error: DecodeError) -> Self {
        let rule = Rule::IllFormed(encoding, error.kind);
        Self {
            code_point: error.kind.code_point(),
            ..Self::new(rule, error.offset, error.length)
        }
    }
}

impl Rule {
    /// Returns the stable name of the rule, as in JSON.
    pub fn label(self) -> &'static str {
        RuleName::from(self).into()
    }

    /// The kind within the rule: of a malformed sequence, a forbidden class, a form, a likeness, a unit of length.
    pub fn kind(self) -> Option<&'static str> {
        match self {
            Self::IllFormed(_, malformed) => Some(malformed.into()),
            Self::Forbidden(class) => Some(class.into()),
            Self::NotNormalized(form) => Some(form.into()),
            Self::Unmappable(charset) => Some(charset.label()),
            Self::NotUnique(alike) => Some(alike.into()),
            Self::TooLong { unit, .. } => Some(unit.into()),
            Self::NotAComponent => None,
        }
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::IllFormed(encoding, malformed) => {
                write!(f, "ill-formed {encoding}: ")?;
                let what = malformed.describe();
                match malformed {
                    Malformed::Overlong(c) => write!(f, "{what} for U+{c:04X}"),
                    Malformed::Surrogate(c) => write!(f, "{what} U+{c:04X}"),
                    Malformed::OutOfRange(c) => {
                        write!(f, "U+{c:04X} is beyond U+{:04X}", encoding.limit())
                    }
                    Malformed::UnexpectedContinuation
                    | Malformed::InvalidByte
                    | Malformed::Truncated
                    | Malformed::Unassigned => f.write_str(what),
                }
            }
            Self::TooLong {
                unit,
                actual,
                limit,
            } => write!(
                f,
                "too long: {actual} {}, the limit is {limit}",
                unit.get_documentation().unwrap_or_default()
            ),
            Self::Forbidden(class) => write!(f, "forbidden: {}", class.describe()),
            Self::NotNormalized(Form::Nfc) => f.write_str("not in normalization form C"),
            Self::NotNormalized(Form::Nfd) => f.write_str("not in normalization form D"),
            Self::Unmappable(charset) => {
                let charset = charset.label();
                write!(
                    f,
                    "unmappable: {charset}, in which names are stored, lacks it"
                )
            }
            Self::NotUnique(Alike::Casefold) => {
                f.write_str("not unique: differs from a sibling in case or form alone")
            }
            Self::NotUnique(Alike::Nfc) => {
                f.write_str("not unique: differs from a sibling in normalization form alone")
            }
            Self::NotAComponent => {
                f.write_str("not a file name: empty, \".\", \"..\", or with \"/\" or NUL in it")
            }
        }
    }
}

/// Is `name` one component of a path: not empty, `.` or `..`, without `/` and NUL (law C5)?
pub fn is_component(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && !name.iter().any(|&byte| byte == b'/' || byte == 0)
}

impl Policy {
    /// Forbids further classes.
    pub fn forbid(&mut self, classes: &[Class]) {
        self.forbid.extend(classes);
        self.forbid.sort_unstable_by_key(|&class| class as u8);
        self.forbid.dedup();
    }

    /// Does `name` conform to the whole policy?
    pub fn conforms(&self, name: &[u8]) -> bool {
        self.check(name).is_ok()
    }

    /// Checks `name` against every rule, in the order well-formed, length, characters, form.
    ///
    /// # Errors
    /// The first offence of the first rule that it breaks.
    pub fn check(&self, name: &[u8]) -> Result<(), Offence> {
        if !self.is_component(name) {
            return Err(Offence::new(Rule::NotAComponent, 0, name.len()));
        }
        let name_text = NameText::of(name, self.encoding)
            .map_err(|error| Offence::ill_formed(self.encoding, error))?;
        let found = self.beyond_a_limit(&name_text).or_else(|| {
            let forbidden = class::forbidden(name_text.text(), &self.forbid);
            let first = forbidden.min_by_key(|found| found.offset);
            let found = first.or_else(|| out_of_form(name_text.text(), self.form?));
            found.map(|found| name_text.in_name(found))
        });
        found.map_or(Ok(()), Err)
    }

    /// Is `name` one component of a path? By its bytes where a name on disk can be in the encoding, else by its
    /// characters.
    fn is_component(&self, name: &[u8]) -> bool {
        if self.encoding.is_file_system_safe() {
            return is_component(name);
        }
        let characters = || self.encoding.pieces(name).map(|piece| piece.spells);
        let is_dots = characters().take(3).count() < 3 && characters().all(|c| c == Ok(0x2E));
        !is_dots && !characters().any(|c| matches!(c, Ok(0 | 0x2F)))
    }

    /// The first limit that `name` is over; one that is not well-formed is over none.
    pub fn over_a_limit(&self, name: &[u8]) -> Option<Offence> {
        self.beyond_a_limit(&NameText::of(name, self.encoding).ok()?)
    }

    fn beyond_a_limit(&self, name_text: &NameText<'_>) -> Option<Offence> {
        let text = name_text.text();
        let octets = name_text.place(text.len());
        let limits = [
            (Unit::Bytes, Some(self.max_bytes)),
            (Unit::Chars, self.max_chars),
            (Unit::Utf16, self.max_utf16),
        ];
        limits.into_iter().find_map(|(unit, limit)| {
            // A name has no more characters or UTF-16 units than its text has bytes, so that short names are not counted.
            let limit = limit.filter(|&limit| octets.max(text.len()) > limit)?;
            let length = |(offset, c): (usize, char)| match unit {
                Unit::Bytes => name_text.place(offset + c.len_utf8()) - name_text.place(offset),
                Unit::Chars => 1,
                Unit::Utf16 => c.len_utf16(),
            };
            let mut used = 0;
            let (offset, _) = text.char_indices().find(|&start| {
                used += length(start);
                used > limit
            })?;
            let rule = Rule::TooLong {
                unit,
                actual: text.char_indices().map(length).sum(),
                limit,
            };
            let offset = name_text.place(offset);
            Some(Offence::new(rule, offset, octets - offset))
        })
    }

    /// Is `name`, but for what is ill-formed in it, in the wanted form?
    pub fn is_in_form(&self, name: &[u8]) -> bool {
        let holds = |form: Form| name.utf8_chunks().all(|chunk| form.holds(chunk.valid()));
        self.form.is_none_or(holds)
    }

    /// `name` in the wanted form; what is no text in it by RFC 3629, which nothing combines with, stays as it is.
    pub fn in_form<'a>(&self, name: &'a [u8]) -> Cow<'a, [u8]> {
        let Some(form) = self.form else {
            return Cow::Borrowed(name);
        };
        let chunks = name.utf8_chunks();
        let formed =
            chunks.flat_map(|chunk| [form.apply(chunk.valid()).into(), chunk.invalid().to_vec()]);
        Cow::Owned(formed.collect::<Vec<Vec<u8>>>().concat())
    }

    /// Every sequence of `name` that is ill-formed or forbidden, first to last, each with its offset and length; they
    /// may overlap. Length and normalization form are not looked at.
    pub fn offences(&self, name: &[u8]) -> Vec<Offence> {
        let errors: Vec<DecodeError> = self.encoding.ill_formed(name).collect();
        let ill_formed = |error: &DecodeError| Offence::ill_formed(self.encoding, *error);
        let mut found: Vec<Offence> = errors.iter().map(ill_formed).collect();
        if !self.forbid.is_empty() {
            let name_text = NameText::with_stand_ins(name, self.encoding);
            let forbidden = class::forbidden(name_text.text(), &self.forbid);
            let forbidden = forbidden.map(|found| name_text.in_name(found));
            // What stands for an ill-formed sequence is no character.
            found.extend(forbidden.filter(|found| {
                let error = errors.binary_search_by_key(&found.offset, |error| error.offset);
                error.is_err()
            }));
        }
        found.sort_by_key(|offence| (offence.offset, offence.length));
        found
    }
}

/// The first part of `text` that is not in `form`: from an ASCII character, or the start, to before the next one.
/// ASCII characters are starters that nothing before them combines with, so that such parts are independent.
fn out_of_form(text: &str, form: Form) -> Option<Offence> {
    if form.holds(text) {
        return None;
    }
    let starts = text.char_indices();
    let starts = starts.filter(|&(offset, c)| c.is_ascii() || offset == 0);
    let starts = starts.map(|(offset, _)| offset);
    let ends = starts.clone().skip(1).chain([text.len()]);
    let is_wrong = |part: &str| !form.holds(part);
    let wrong = starts
        .zip(ends)
        .find(|&(start, end)| text.get(start..end).is_some_and(is_wrong));
    let (start, end) = wrong.unwrap_or((0, text.len()));
    Some(Offence::new(Rule::NotNormalized(form), start, end - start))
}

//! Classes of characters and shapes that a policy can forbid.

mod joiner_table;
mod joiners;
#[cfg(test)]
mod tests;

use super::{Offence, Rule};
use joiners::Neighbours;
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

/// A class of characters, or a shape of the whole name, that a policy can forbid.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Class {
    /// Control characters: 01..1F, 7F, U+0080..U+009F
    Control,
    /// Line ends: LF, VT, FF, CR, U+0085, U+2028, U+2029
    Newline,
    /// Controls of writing direction: U+202A..U+202E, U+2066..U+2069
    Bidi,
    /// Characters that are not seen, such as U+200B ZERO WIDTH SPACE; not joiners and variation selectors where a language or an emoji needs them
    Invisible,
    /// U+FDD0..U+FDEF and the last two of each plane, such as U+FFFF
    Noncharacter,
    /// Characters without agreed meaning, such as U+E000..U+F8FF
    PrivateUse,
    /// What Windows refuses: < > : | ? *, double quotes, backslashes, device names such as NUL, trailing dot or space
    Windows,
    /// A - in front, which programs take for an option
    LeadingDash,
    /// White space in front or at the end
    EdgeSpace,
    /// Anything beyond U+007F
    NonAscii,
    /// Anything but A-Z a-z 0-9 . _ - (POSIX's portable filename character set)
    NotPosix,
}

impl Class {
    /// Every class, in the order in which they are listed to people.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Describes the class for people.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Control => "control character",
            Self::Newline => "newline",
            Self::Bidi => "bidirectional control",
            Self::Invisible => "invisible character",
            Self::Noncharacter => "noncharacter",
            Self::PrivateUse => "private-use character",
            Self::Windows => "refused by Windows (character, device or ending)",
            Self::LeadingDash => "dash in front",
            Self::EdgeSpace => "white space at the edge",
            Self::NonAscii => "not ASCII",
            Self::NotPosix => "not in POSIX's portable filename character set",
        }
    }

    /// Is `c` of this class by itself? Where an invisible character stands, it may have a use; [`forbidden`] knows. Shapes of the
    /// whole name are not of any.
    pub fn has(self, c: char) -> bool {
        match self {
            Self::Control => c.is_control(),
            Self::Newline => matches!(c, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}'),
            Self::Bidi => matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'),
            Self::Invisible => is_default_ignorable(c) || is_blank(c),
            Self::Noncharacter => {
                matches!(c, '\u{FDD0}'..='\u{FDEF}') || (u32::from(c) & 0xFFFE) == 0xFFFE
            }
            Self::PrivateUse => {
                matches!(c, '\u{E000}'..='\u{F8FF}' | '\u{F0000}'..='\u{FFFFD}' | '\u{100000}'..='\u{10FFFD}')
            }
            Self::Windows => matches!(
                c,
                '\u{1}'..='\u{1F}' | '<' | '>' | ':' | '"' | '/' | '\\' | '|' | '?' | '*'
            ),
            Self::NonAscii => !c.is_ascii(),
            Self::NotPosix => !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')),
            Self::LeadingDash | Self::EdgeSpace => false,
        }
    }
}

/// `Default_Ignorable_Code_Point` of Unicode 17.0 (DerivedCoreProperties.txt).
fn is_default_ignorable(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}'
        | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFF8}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E0FFF}')
}

/// Is `c` a symbol without ink: BRAILLE PATTERN BLANK or MUSICAL SYMBOL NULL NOTEHEAD?
fn is_blank(c: char) -> bool {
    matches!(c, '\u{2800}' | '\u{1D159}')
}

/// Returns what `forbid` finds in the text of a name, in no given order.
pub fn forbidden(text: &str, forbid: &[Class]) -> impl Iterator<Item = Offence> {
    let text = if forbid.is_empty() { "" } else { text };
    let characters = text.char_indices().filter_map(move |(offset, c)| {
        let mut classes = forbid.iter().filter(|class| class.has(c));
        let class = classes
            .find(|class| **class != Class::Invisible || !has_use(text, offset, c, forbid))?;
        Some(offence(*class, offset, c.len_utf8(), Some(c)))
    });
    characters.chain(shapes(text, forbid))
}

/// Has the invisible character `c` at `offset` a use there?
fn has_use(text: &str, offset: usize, c: char, forbid: &[Class]) -> bool {
    let others = || forbid.iter().filter(|class| **class != Class::Invisible);
    let is_visible = |c: &char| !others().any(|class| class.has(*c));
    let before = text.get(..offset).unwrap_or_default();
    let after = text.get(offset + c.len_utf8()..).unwrap_or_default();
    let neighbours = Neighbours {
        before: before.chars().rev().take_while(is_visible),
        after: after.chars().take_while(is_visible),
    };
    neighbours.have_use_for(c)
}

fn offence(class: Class, offset: usize, length: usize, first: Option<char>) -> Offence {
    Offence {
        code_point: first.map(u32::from),
        ..Offence::new(Rule::Forbidden(class), offset, length)
    }
}

/// Returns what `forbid` finds in the shape of a name: its edges and the name as a whole.
fn shapes(text: &str, forbid: &[Class]) -> impl Iterator<Item = Offence> {
    let at_start = |class, end| (class, 0, end);
    let at_end = |class, rest: &str| (class, rest.len(), text.len());
    let parts = [
        at_start(Class::LeadingDash, usize::from(text.starts_with('-'))),
        at_start(Class::EdgeSpace, text.len() - text.trim_start().len()),
        at_end(Class::EdgeSpace, text.trim_end()),
        at_end(Class::Windows, text.trim_end_matches(['.', ' '])),
    ];
    let found = parts
        .into_iter()
        .filter(move |&(class, start, end)| start < end && forbid.contains(&class));
    let found = found.map(|(class, start, end)| {
        let first = text.get(start..).and_then(|part| part.chars().next());
        offence(class, start, end - start, first)
    });
    let has_device = forbid.contains(&Class::Windows);
    let device = has_device.then(|| device_name(text)).flatten();
    found.chain(device.map(|length| offence(Class::Windows, 0, length, None)))
}

/// Length of the reserved device name that is the stem of `text`, if it is one: `CON`, `nul.txt`, `COM1 .x`.
/// The list is that of "Naming Files, Paths, and Namespaces" in Microsoft's Win32 documentation.
fn device_name(text: &str) -> Option<usize> {
    let stem = text.split('.').next()?.trim_end_matches(' ');
    let upper = stem.to_ascii_uppercase();
    let numbered = |prefix: &str| {
        upper.strip_prefix(prefix).is_some_and(|number| {
            let mut chars = number.chars();
            matches!(chars.next(), Some('0'..='9' | '¹' | '²' | '³')) && chars.next().is_none()
        })
    };
    let reserved = matches!(
        upper.as_str(),
        "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$"
    ) || numbered("COM")
        || numbered("LPT");
    reserved.then_some(stem.len())
}

//! Names for people and logs (law L1): quoted, lossless, harmless to a terminal.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::{Display, Formatter, Result, Write};
use std::os::unix::ffi::OsStrExt;

use crate::policy::Class;

/// Bytes of a name or path, shown in double quotes so that they can be read back and move no cursor.
///
/// Writes `\"`, `\\`, `\n`, `\t` and `\r` as usual. Other ASCII controls and every byte of an ill-formed sequence
/// become `\xHH`. Well-formed controls beyond ASCII, bidirectional controls, invisible characters, line ends,
/// noncharacters and private use become `\u{202E}`. All else stands for itself. Two different inputs never look the
/// same; width and alignment of the format are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoted<'a>(pub &'a [u8]);

impl<'a> Quoted<'a> {
    /// Quotes a path, or other text of the system.
    pub fn of(text: &'a (impl AsRef<OsStr> + ?Sized)) -> Self {
        Self(text.as_ref().as_bytes())
    }
}

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_char('"')?;
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                match c {
                    '"' | '\\' => write!(f, "\\{c}")?,
                    '\n' => f.write_str("\\n")?,
                    '\t' => f.write_str("\\t")?,
                    '\r' => f.write_str("\\r")?,
                    _ if !is_dangerous(c) => f.write_char(c)?,
                    _ if c.is_ascii() => write!(f, "\\x{:02X}", u32::from(c))?,
                    _ => write!(f, "\\u{{{:X}}}", u32::from(c))?,
                }
            }
            for octet in chunk.invalid() {
                write!(f, "\\x{octet:02X}")?;
            }
        }
        f.write_char('"')
    }
}

/// Reads a [`Quoted`] name at the start of `text`. Returns its bytes and the rest of the text.
pub fn unquote(text: &str) -> Option<(Vec<u8>, &str)> {
    let mut rest = text.strip_prefix('"')?;
    let mut bytes = Vec::new();
    loop {
        let (run, after) = rest.split_at(rest.find(['"', '\\'])?);
        bytes.extend_from_slice(run.as_bytes());
        let Some(escape) = after.strip_prefix('\\') else {
            return Some((bytes, after.strip_prefix('"')?));
        };
        let kind = escape.chars().next()?;
        rest = escape.strip_prefix(kind)?;
        match kind {
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            '"' => bytes.push(b'"'),
            '\\' => bytes.push(b'\\'),
            'x' => {
                let (digits, after) = rest.split_at_checked(2)?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest = after;
            }
            'u' => {
                let (digits, after) = rest.strip_prefix('{')?.split_once('}')?;
                let c = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
                bytes.extend(c.encode_utf8(&mut [0; 4]).bytes());
                rest = after;
            }
            _ => return None,
        }
    }
}

/// Characters that could move a cursor, forge a line or hide.
const HARMFUL: [Class; 4] = [
    Class::Control,
    Class::Newline,
    Class::Bidi,
    Class::Invisible,
];

/// Other characters that a terminal or a log must not get raw.
const UNCLEAR: [Class; 2] = [Class::Noncharacter, Class::PrivateUse];

/// Could `c`, sent raw, move a cursor, end a line, reorder or hide text, look like anything, or join the letter before it, so that two
/// forms of one name look the same?
pub fn is_dangerous(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    // Letters of most alphabets, ideographs and Hangul, for speed.
    if matches!(c, '\u{A1}'..='\u{AC}' | '\u{AE}'..='\u{2FF}' | '\u{370}'..='\u{52F}' | '\u{3041}'..='\u{3096}' | '\u{309B}'..='\u{30FF}' | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}')
    {
        return false;
    }
    is_of_a_dangerous_class(c)
}

fn is_of_a_dangerous_class(c: char) -> bool {
    let joins = matches!(c, '\u{300}'..='\u{36F}' | '\u{3099}' | '\u{309A}');
    joins || HARMFUL.iter().chain(&UNCLEAR).any(|class| class.has(c))
}

/// `text` with all that could move a cursor, forge a line or hide as `\u{1B}`. Not for names: those are
/// [`Quoted`], which can be read back.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| HARMFUL.iter().any(|class| class.has(c));
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        if is_harmful(c) {
            shown += &format!("\\u{{{:X}}}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::{Quoted, is_dangerous, is_of_a_dangerous_class};

    #[test]
    fn what_is_found_harmless_at_once_is_of_no_dangerous_class() {
        for c in '\u{80}'..=char::MAX {
            assert_eq!(is_dangerous(c), is_of_a_dangerous_class(c), "{c:?}");
        }
    }

    /// Reads a quoted name back; panics where it is not one.
    fn unquote(quoted: &str) -> Vec<u8> {
        let (bytes, rest) = super::unquote(quoted).unwrap();
        assert_eq!(rest, "", "a quote inside {quoted}");
        bytes
    }

    /// Law L1: what comes out is harmless and says just what went in.
    fn holds(bytes: &[u8]) {
        let quoted = Quoted(bytes).to_string();
        assert!(!quoted.chars().any(is_dangerous), "{bytes:?}");
        assert_eq!(unquote(&quoted), bytes, "{quoted}");
    }

    #[test]
    fn names_are_quoted_as_the_rows_say() {
        let rows: [(&[u8], &str); 22] = [
            (b"", r#""""#),
            (b"plain.txt", r#""plain.txt""#),
            (b"caf\xE9.txt", r#""caf\xE9.txt""#),
            ("café.txt".as_bytes(), r#""café.txt""#),
            (br"caf\xE9", r#""caf\\xE9""#),
            (b"a\"b", r#""a\"b""#),
            (b"a b ", r#""a b ""#),
            (b"a\nb\tc\rd", r#""a\nb\tc\rd""#),
            (b"\x1B[2J\x07\x00\x7F", r#""\x1B[2J\x07\x00\x7F""#),
            // C1: NEL and CSI, well-formed and as bare bytes
            (b"\xC2\x85\xC2\x9B", r#""\u{85}\u{9B}""#),
            (b"\x85\x9B", r#""\x85\x9B""#),
            // right-to-left override, isolate, mark
            ("a\u{202E}gpj.exe".as_bytes(), r#""a\u{202E}gpj.exe""#),
            ("\u{2067}\u{200F}".as_bytes(), r#""\u{2067}\u{200F}""#),
            // zero width space, soft hyphen, BOM, tag
            ("\u{200B}\u{AD}".as_bytes(), r#""\u{200B}\u{AD}""#),
            ("\u{FEFF}\u{E0041}".as_bytes(), r#""\u{FEFF}\u{E0041}""#),
            ("\u{2028}\u{2029}".as_bytes(), r#""\u{2028}\u{2029}""#),
            ("\u{FFFE}\u{FDD0}".as_bytes(), r#""\u{FFFE}\u{FDD0}""#),
            ("\u{E000}\u{10FFFD}".as_bytes(), r#""\u{E000}\u{10FFFD}""#),
            // overlong slash, surrogate, truncated, beyond U+10FFFF: byte by byte
            (b"\xC0\xAF", r#""\xC0\xAF""#),
            (b"\xED\xA0\x80", r#""\xED\xA0\x80""#),
            (b"\xE2\x82x", r#""\xE2\x82x""#),
            (b"\xF4\x90\x80\x80", r#""\xF4\x90\x80\x80""#),
        ];
        for (bytes, expected) in rows {
            assert_eq!(Quoted(bytes).to_string(), expected);
            holds(bytes);
        }
    }

    #[test]
    fn every_one_and_two_octets_can_be_read_back() {
        for a in 0..=u8::MAX {
            holds(&[a]);
            for b in 0..=u8::MAX {
                holds(&[a, b]);
            }
        }
    }

    #[test]
    fn every_character_can_be_read_back() {
        // In a row of 64, so that each also stands beside others.
        let all: Vec<char> = ('\0'..=char::MAX).collect();
        for row in all.chunks(64) {
            holds(row.iter().collect::<String>().as_bytes());
        }
    }

    #[test]
    fn an_octet_and_its_escape_never_look_the_same() {
        let spellings: [&[u8]; 4] = [b"\x85", b"\xC2\x85", br"\x85", br"\u{85}"];
        let quoted: std::collections::HashSet<String> = spellings
            .iter()
            .map(|bytes| Quoted(bytes).to_string())
            .collect();
        assert_eq!(quoted.len(), spellings.len());
    }
}

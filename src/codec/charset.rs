//! Legacy charsets by their IANA label.
//!
//! Labels, aliases and refusals are ours; tables are those of `encoding_rs` and `oem_cp`. `encoding_rs` follows the
//! WHATWG, which reads the label `iso-8859-1` as windows-1252 and takes bytes that no standard assigns. Here a label
//! means what IANA says, and an unassigned byte is malformed.
//!
//! Every charset on offer (law C4) is stateless, and writes U+0000..U+007F as the bytes 00..7F.

mod catalogue;
mod corrections;
mod labels;
mod multi_byte;
mod single_byte;
#[cfg(test)]
mod tests;

use unicode_normalization::char::is_public_assigned;

use super::{DecodeError, Malformed};
use catalogue::{CATALOGUE, CatalogueEntry, Tables};

/// A stateless legacy charset.
#[derive(Clone, Copy)]
pub struct Charset(&'static CatalogueEntry);

impl std::fmt::Debug for Charset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.label)
    }
}

impl PartialEq for Charset {
    fn eq(&self, other: &Self) -> bool {
        self.0.label == other.0.label
    }
}

impl Eq for Charset {}

/// A label that names no charset on offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownCharset {
    /// The label as given.
    pub label: String,
    /// Why a known charset is not on offer (UTF-7, UTF-16, ISO-2022, EBCDIC, UTF-8 itself); `None` if it is just not known.
    pub reason: Option<&'static str>,
    /// Similar labels on offer, nearest first, at most five. Empty where there is a reason, except for the charset
    /// before a `//TRANSLIT` or `//IGNORE`.
    pub near: Vec<&'static str>,
}

/// A character that the charset lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodeError {
    /// Its offset in the text, in bytes.
    pub offset: usize,
    /// The character.
    pub unmappable: char,
}

/// Is `c` a control character, a noncharacter or an unassigned code point? No legacy name means one, beyond ASCII: another
/// charset is right.
pub fn is_meaningless(c: char) -> bool {
    // Most characters of legacy charsets, which need no look at a table.
    if matches!(
        c,
        ' '..='~' | '\u{A1}'..='\u{377}' | '\u{400}'..='\u{52F}' | '\u{5D0}'..='\u{5EA}' | '\u{620}'..='\u{652}'
            | '\u{E01}'..='\u{E3A}' | '\u{2500}'..='\u{25FF}' | '\u{3041}'..='\u{3096}' | '\u{30A0}'..='\u{30FF}'
            | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}'
    ) {
        return false;
    }
    let is_private = matches!(c, '\u{E000}'..='\u{F8FF}' | '\u{F0000}'..='\u{FFFFD}' | '\u{100000}'..='\u{10FFFD}');
    c.is_control() || !is_private && !is_public_assigned(c)
}

impl Charset {
    /// The preferred label, lower case: `iso-8859-1`.
    pub fn label(self) -> &'static str {
        self.0.label
    }

    /// Returns its aliases: those of IANA, and names of Windows, glibc and Python.
    pub fn aliases(self) -> impl Iterator<Item = &'static str> {
        self.0.aliases.split_ascii_whitespace()
    }

    /// Returns how often names on disks and in archives are in it, against other charsets, and the codes of the languages that are
    /// written in it.
    pub(super) fn prior(self) -> (f64, impl Iterator<Item = &'static str> + Clone) {
        (self.0.weight, self.0.languages.split(','))
    }

    /// Every charset on offer.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> {
        CATALOGUE.iter().map(Self)
    }

    /// Decodes; strict: no replacement, and a byte-order mark is nothing special.
    ///
    /// Not checked: that the text encodes back to the same bytes. Some multi-byte charsets spell a character in two
    /// ways, or read characters that they do not write.
    ///
    /// # Errors
    /// The first sequence that does not decode. It is [`Malformed::Truncated`] if the input ends in it and more bytes
    /// could make it a character; all else is [`Malformed::Unassigned`], with the length that the WHATWG's decoders give it:
    /// an ASCII byte after a lead byte with which it makes no character is not part of the sequence. More input can
    /// change the error only if less than [`Charset::max_len`] bytes follow its offset.
    pub fn decode(self, bytes: &[u8]) -> Result<String, DecodeError> {
        if let Ok(text) = std::str::from_utf8(bytes)
            && text.is_ascii()
        {
            return Ok(text.to_owned());
        }
        let mut text = String::with_capacity(bytes.len() * 2);
        match self.read(bytes, |c| text.push(c)) {
            length if length == bytes.len() => Ok(text),
            length => Err(self.diagnose(bytes, length)),
        }
    }

    /// Adds the code points that `bytes` spell to `code_points`, and says how many bytes these were: all of them if
    /// `is_last`. Else fewer bytes than a character can have may be left at the end, whose meaning hangs on what follows.
    ///
    /// # Errors
    /// The first sequence that does not decode; what comes before it was added.
    pub(super) fn decode_into(
        self,
        bytes: &[u8],
        is_last: bool,
        code_points: &mut Vec<u32>,
    ) -> Result<usize, DecodeError> {
        let length = self.read(bytes, |c| code_points.push(c.into()));
        let left = bytes.len() - length;
        if left == 0 || !is_last && left < self.max_len() {
            Ok(length)
        } else {
            Err(self.diagnose(bytes, length))
        }
    }

    /// Reads characters up to the first sequence that is none, and says how many bytes these were.
    fn read(self, bytes: &[u8], mut take: impl FnMut(char)) -> usize {
        match &self.0.tables {
            Tables::SingleByte(table) => {
                let known = bytes.iter().map_while(|byte| table.character(*byte));
                known.map(take).count()
            }
            Tables::MultiByte(characters) => {
                let mut rest = bytes;
                while let Some((c, length)) = characters.first(rest) {
                    take(c);
                    rest = rest.get(length..).unwrap_or_default();
                }
                bytes.len() - rest.len()
            }
        }
    }

    /// Says what is wrong at `offset`, where no character is.
    fn diagnose(self, bytes: &[u8], offset: usize) -> DecodeError {
        let (length, kind) = match &self.0.tables {
            Tables::SingleByte(..) => (1, Malformed::Unassigned),
            Tables::MultiByte(characters) => {
                characters.diagnose(bytes.get(offset..).unwrap_or_default())
            }
        };
        DecodeError {
            offset,
            length,
            kind,
        }
    }

    /// Length in bytes of the first character of `bytes`; `None` if they do not start with one. What follows does not
    /// matter.
    ///
    /// Every character is one code point, so that as many steps of this length as the text has code points pass all
    /// bytes. (The WHATWG's Big5 has four pairs of bytes for two code points each: 88 62, 88 64, 88 A3 and 88 A5. It
    /// reads but does not write those rows of Hong Kong's supplement; they are no part of Big5 here.)
    pub fn first_len(self, bytes: &[u8]) -> Option<usize> {
        match &self.0.tables {
            Tables::SingleByte(table) => table.character(*bytes.first()?).map(|_| 1),
            Tables::MultiByte(characters) => characters.first(bytes).map(|(_, length)| length),
        }
    }

    /// The most bytes that a character has.
    pub fn max_len(self) -> usize {
        match &self.0.tables {
            Tables::SingleByte(..) => 1,
            Tables::MultiByte(characters) => characters.charset.max_len(),
        }
    }

    /// Encodes; strict: what it yields decodes to the same text, so nothing is transliterated (`¥` to 5C, say).
    ///
    /// # Errors
    /// The first character that the charset lacks.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, EncodeError> {
        if text.is_ascii() {
            return Ok(text.as_bytes().to_owned());
        }
        let mut bytes = Vec::with_capacity(text.len());
        for (offset, unmappable) in text.char_indices() {
            let written = self.push(unmappable, &mut bytes);
            written.ok_or(EncodeError { offset, unmappable })?;
        }
        Ok(bytes)
    }

    /// Adds the bytes of `code_points` to `bytes`.
    ///
    /// # Errors
    /// The index of the first code point that it lacks; what comes before it was added.
    pub(super) fn encode_into(self, code_points: &[u32], bytes: &mut Vec<u8>) -> Result<(), usize> {
        for (index, code_point) in code_points.iter().enumerate() {
            let c = char::from_u32(*code_point);
            c.and_then(|c| self.push(c, bytes)).ok_or(index)?;
        }
        Ok(())
    }

    /// Adds the bytes of a character; `None` if there are none.
    fn push(self, c: char, bytes: &mut Vec<u8>) -> Option<()> {
        match &self.0.tables {
            Tables::SingleByte(table) => bytes.push(table.byte(c)?),
            Tables::MultiByte(_) if c.is_ascii() => bytes.push(u8::try_from(c).ok()?),
            Tables::MultiByte(characters) => bytes.extend(characters.sequence(c)?),
        }
        Some(())
    }

    /// Decodes if the text encodes back to just these bytes (law N6); else `None`.
    ///
    /// `None` also where `/` or NUL would appear or vanish, or the text would newly be empty, `.` or `..` (law C5).
    pub fn decode_reversibly(self, bytes: &[u8]) -> Option<String> {
        let text = self
            .gives_back(bytes)
            .then(|| self.decode(bytes).ok())
            .flatten()?;
        is_same_component(bytes, &text).then_some(text)
    }

    /// Would the text of `bytes`, if they decode, encode to them?
    pub(super) fn gives_back(self, bytes: &[u8]) -> bool {
        match &self.0.tables {
            // None has two bytes for one character.
            Tables::SingleByte(..) => true,
            Tables::MultiByte(characters) => characters.gives_back(bytes),
        }
    }
}

/// Law C5: decoding neither made nor lost a separator, and did not make a name that means something else.
fn is_same_component(bytes: &[u8], text: &str) -> bool {
    let is_separator = |byte: &&u8| matches!(byte, b'/' | 0);
    let separators = bytes.iter().filter(is_separator);
    let is_same = separators.eq(text.as_bytes().iter().filter(is_separator));
    let special = matches!(text, "" | "." | "..");
    is_same && (!special || text.as_bytes() == bytes)
}

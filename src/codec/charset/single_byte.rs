//! Charsets of one byte per character: a table of the bytes 80..FF, and its inverse.

use encoding_rs::Encoding;
use oem_cp::code_table_type::TableType;

use super::EncodeError;
use crate::codec::{DecodeError, Malformed};

/// The source of the characters of 80..FF. ASCII is ASCII in all of them.
pub(super) enum Source {
    /// ISO-8859-1, where byte b is U+00bb, with these bytes replaced.
    Latin1(&'static [(u8, char)]),
    /// ISO-8859-11: A1..FF of the library's windows-874, the rest as in ISO-8859-1.
    Thai,
    /// A part of ISO 8859 as the library has it: 80..9F are the C1 controls.
    Iso(&'static Encoding),
    /// A vendor's charset as the library has it, with these bytes replaced. The library fills the vendor's holes with
    /// C1 controls; here they stay holes.
    Vendor(&'static Encoding, &'static [(u8, char)]),
    /// A DOS code page; holes as in `Vendor`.
    Dos(TableType),
}

impl Source {
    /// The character of a byte in 80..FF, `None` if it is unassigned.
    fn character(&self, byte: u8) -> Option<char> {
        match self {
            Self::Latin1(replaced) => patch(replaced, byte).or(Some(char::from(byte))),
            Self::Thai if byte <= 0xA0 => Some(char::from(byte)),
            Self::Thai => of_library(&encoding_rs::WINDOWS_874_INIT, byte),
            Self::Iso(encoding) => of_library(encoding, byte),
            Self::Vendor(encoding, replaced) => {
                patch(replaced, byte).or_else(|| of_library(encoding, byte).filter(is_not_c1))
            }
            Self::Dos(table) => of_dos(table, usize::from(byte & 0x7F)).filter(is_not_c1),
        }
    }
}

fn patch(replaced: &[(u8, char)], byte: u8) -> Option<char> {
    let (_, c) = replaced.iter().find(|(b, _)| *b == byte)?;
    Some(*c)
}

fn of_library(encoding: &'static Encoding, byte: u8) -> Option<char> {
    let bytes = [byte];
    let text = encoding.decode_without_bom_handling_and_without_replacement(&bytes)?;
    text.chars().next()
}

fn of_dos(table: &TableType, index: usize) -> Option<char> {
    match table {
        TableType::Complete(chars) => chars.get(index).copied(),
        TableType::Incomplete(chars) => chars.get(index).copied().flatten(),
    }
}

fn is_not_c1(c: &char) -> bool {
    !matches!(c, '\u{80}'..='\u{9F}')
}

/// Both directions of one charset.
pub(super) struct Table {
    /// The characters of 80..FF.
    chars: Box<[Option<char>]>,
    /// Their bytes, sorted by character. Of two bytes for one character the lower is here.
    bytes: Vec<(char, u8)>,
}

impl Table {
    pub(super) fn new(source: &Source) -> Self {
        let chars: Box<[_]> = (0x80..=0xFF).map(|byte| source.character(byte)).collect();
        let mut bytes: Vec<(char, u8)> = chars
            .iter()
            .zip(0x80..=0xFF)
            .filter_map(|(slot, byte)| slot.map(|c| (c, byte)))
            .collect();
        bytes.sort_unstable();
        bytes.dedup_by_key(|(c, _)| *c);
        Self { chars, bytes }
    }

    /// Decodes, or says which byte is the first that is unassigned.
    pub(super) fn decode(&self, bytes: &[u8]) -> Result<String, DecodeError> {
        // Two octets of UTF-8 for most; three for Thai and the box drawings of DOS.
        let mut text = String::with_capacity(bytes.len() * 2);
        for (offset, &byte) in bytes.iter().enumerate() {
            let unassigned = DecodeError {
                offset,
                length: 1,
                kind: Malformed::Unassigned,
            };
            text.push(self.character(byte).ok_or(unassigned)?);
        }
        Ok(text)
    }

    pub(super) fn character(&self, byte: u8) -> Option<char> {
        match byte.checked_sub(0x80) {
            None => Some(char::from(byte)),
            Some(index) => self.chars.get(usize::from(index)).copied().flatten(),
        }
    }

    /// Encodes, or gives the first character that has no byte.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = Vec::with_capacity(text.len());
        for (offset, unmappable) in text.char_indices() {
            let byte = self.byte(unmappable);
            bytes.push(byte.ok_or(EncodeError { offset, unmappable })?);
        }
        Ok(bytes)
    }

    fn byte(&self, c: char) -> Option<u8> {
        if c.is_ascii() {
            return u8::try_from(c).ok();
        }
        let index = self.bytes.binary_search_by_key(&c, |(c, _)| *c).ok()?;
        self.bytes.get(index).map(|(_, byte)| *byte)
    }
}

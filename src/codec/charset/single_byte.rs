//! Charsets of one byte per character: a table of the bytes 80..FF, and its inverse.

use encoding_rs::Encoding;
use oem_cp::code_table::DECODING_TABLE_CP_MAP;

/// The source of the characters of 80..FF. ASCII is ASCII in all of them.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// A part of ISO 8859: A0..FF are those of `encoding_rs`, 80..9F the C1 controls. By the labels of the parts 1, 9
    /// and 11 it has charsets of Windows, which are the same in A0..FF.
    Iso,
    /// A vendor's charset as `encoding_rs` has it, which fills the vendor's holes with C1 controls; here they stay
    /// holes.
    Vendor,
    /// KOI8-U by RFC 2319; `encoding_rs` has the Belarusian short u in it.
    Koi8U,
    /// The DOS code page of this number, as `oem_cp` has it; holes as in `Vendor`.
    Dos(u16),
}

impl Source {
    /// The character of a byte in 80..FF of the charset with this label, `None` if it is unassigned.
    fn character(self, label: &str, byte: u8) -> Option<char> {
        match (self, byte) {
            (Self::Iso, ..=0x9F) => Some(char::from(byte)),
            (Self::Iso, _) => of_encoding_rs(label, byte),
            (Self::Koi8U, 0xAE) => Some('╝'),
            (Self::Koi8U, 0xBE) => Some('╬'),
            (Self::Vendor | Self::Koi8U, _) => of_encoding_rs(label, byte).filter(is_not_c1),
            (Self::Dos(page), _) => {
                let table = DECODING_TABLE_CP_MAP.get(&page)?;
                table.decode_char_checked(byte).filter(is_not_c1)
            }
        }
    }
}

fn of_encoding_rs(label: &str, byte: u8) -> Option<char> {
    let encoding = Encoding::for_label(label.as_bytes())?;
    let bytes = [byte];
    let text = encoding.decode_without_bom_handling_and_without_replacement(&bytes)?;
    text.chars().next()
}

fn is_not_c1(c: &char) -> bool {
    !matches!(c, '\u{80}'..='\u{9F}')
}

/// Both directions of one charset.
pub(super) struct Table {
    /// The characters of 80..FF.
    chars: Box<[Option<char>]>,
    /// Their bytes, sorted by character. No character has two.
    bytes: Vec<(char, u8)>,
}

impl Table {
    pub(super) fn new(source: Source, label: &str) -> Self {
        let chars: Box<[_]> = (0x80..=0xFF)
            .map(|byte| source.character(label, byte))
            .collect();
        let mut bytes: Vec<(char, u8)> = chars
            .iter()
            .zip(0x80..=0xFF)
            .filter_map(|(slot, byte)| slot.map(|c| (c, byte)))
            .collect();
        bytes.sort_unstable();
        Self { chars, bytes }
    }

    pub(super) fn character(&self, byte: u8) -> Option<char> {
        match byte.checked_sub(0x80) {
            None => Some(char::from(byte)),
            Some(index) => self.chars.get(usize::from(index)).copied().flatten(),
        }
    }

    pub(super) fn byte(&self, c: char) -> Option<u8> {
        if c.is_ascii() {
            return u8::try_from(c).ok();
        }
        let index = self.bytes.binary_search_by_key(&c, |(c, _)| *c).ok()?;
        self.bytes.get(index).map(|(_, byte)| *byte)
    }
}

//! Charsets of one to four bytes per character, by `encoding_rs`, made stricter than the WHATWG has them. They are
//! stateless: each sequence of bytes is read by itself.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use encoding_rs::{DecoderResult, Encoding};
use strum::EnumString;

use super::corrections::{BIG5, Correction, GB_18030_2022, GBK_USER_DEFINED, JIS_X_0208};
use crate::codec::Malformed;

/// A multi-byte charset.
#[derive(Clone, Copy, PartialEq, Eq, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum MultiByte {
    ShiftJis,
    EucJp,
    EucKr,
    Gbk,
    Gb18030,
    Big5,
}

impl MultiByte {
    fn corrections(self) -> &'static [Correction] {
        match self {
            Self::EucJp => &JIS_X_0208,
            Self::Gbk => &GBK_USER_DEFINED,
            Self::Gb18030 => &GB_18030_2022,
            Self::Big5 => &BIG5,
            Self::ShiftJis | Self::EucKr => &[],
        }
    }

    fn encoding(self) -> &'static Encoding {
        match self {
            Self::ShiftJis => encoding_rs::SHIFT_JIS,
            Self::EucJp => encoding_rs::EUC_JP,
            Self::EucKr => encoding_rs::EUC_KR,
            Self::Gbk => encoding_rs::GBK,
            Self::Gb18030 => encoding_rs::GB18030,
            Self::Big5 => encoding_rs::BIG5,
        }
    }

    /// See [`super::Charset::max_len`].
    pub(super) fn max_len(self) -> usize {
        match self {
            Self::ShiftJis | Self::EucKr | Self::Gbk | Self::Big5 => 2,
            Self::EucJp => 3,
            Self::Gb18030 => 4,
        }
    }

    /// The length that the first character has by its first two bytes, if there is one.
    fn announced(self, bytes: &[u8]) -> usize {
        match (self, bytes) {
            (_, [0..=0x80, ..]) | (Self::ShiftJis, [0xA1..=0xDF, ..]) => 1,
            (Self::Gb18030, [_, second, ..]) if second.is_ascii_digit() => 4,
            (Self::EucJp, [0x8F, ..]) => 3,
            _ => 2,
        }
    }

    /// The character of one whole sequence by the charset's own standard.
    fn character(self, sequence: &[u8]) -> Option<char> {
        let mut corrections = self.corrections().iter();
        match corrections.find(|(bytes, _)| *bytes == sequence) {
            Some((_, standard)) => Some(*standard),
            None => self.of_library(sequence),
        }
    }

    /// Is this sequence a character that is written as it?
    fn comes_back(self, sequence: &[u8]) -> bool {
        let written = self.character(sequence).and_then(|c| self.sequence(c));
        written.as_deref() == Some(sequence)
    }

    /// The library's character, if the charset has one there. In `Shift_JIS` the library has U+0080 for 80, in GB18030
    /// the euro sign (which is A2 E3 there), and in Big5 the rows before A1 of Hong Kong's supplement.
    fn of_library(self, sequence: &[u8]) -> Option<char> {
        let is_hole = matches!(
            (self, sequence),
            (Self::ShiftJis | Self::Gb18030, [0x80]) | (Self::Big5, [0x81..=0xA0, ..])
        );
        let encoding = self.encoding();
        let text = encoding.decode_without_bom_handling_and_without_replacement(sequence)?;
        text.chars().next().filter(|_| !is_hole)
    }

    /// The bytes of a character by the charset's own standard. They may be those of another one: the library writes a
    /// few characters as others (`¥` as `\` in `Shift_JIS`).
    ///
    /// In EUC-JP the standard has the characters of JIS X 0212 too, such as the accented letters of Europe (`é` is
    /// 8F AB B1). Of those the library writes only what NEC and IBM have too, as they do.
    fn sequence(self, c: char) -> Option<Vec<u8>> {
        static JIS_X_0212: LazyLock<HashMap<char, [u8; 3]>> = LazyLock::new(|| {
            let cells = |row| (0xA1..=0xFE).map(move |cell| [0x8F, row, cell]);
            let read = |bytes: [u8; 3]| Some((MultiByte::EucJp.of_library(&bytes)?, bytes));
            (0xA1..=0xFE).flat_map(cells).filter_map(read).collect()
        });
        let mut corrections = self.corrections().iter();
        if let Some((bytes, _)) = corrections.find(|(_, standard)| *standard == c) {
            return Some(bytes.to_vec());
        }
        if self == Self::EucJp
            && let Some(bytes) = JIS_X_0212.get(&c)
        {
            return Some(bytes.to_vec());
        }
        let mut text = [0; 4];
        let (bytes, _, is_lacking) = self.encoding().encode(c.encode_utf8(&mut text));
        (!is_lacking).then(|| bytes.into_owned())
    }
}

/// The characters of a multi-byte charset. Those of two bytes are looked up at the first use: the library takes a
/// hundred times as long.
pub(super) struct Characters {
    pub(super) charset: MultiByte,
    /// Indexed by lead byte, 80..=FF, and the byte behind it.
    rows: Box<[OnceLock<Vec<Option<Character>>>]>,
}

/// The character that one or two bytes spell.
#[derive(Clone, Copy)]
struct Character {
    c: char,
    /// Is it written as these bytes?
    comes_back: bool,
}

impl Characters {
    pub(super) fn new(charset: MultiByte) -> Self {
        Self {
            charset,
            rows: (0..0x80).map(|_| OnceLock::new()).collect(),
        }
    }

    /// The first character of `bytes`, and its length; `None` if they do not start with one.
    pub(super) fn first(&self, bytes: &[u8]) -> Option<(char, usize)> {
        let lead = *bytes.first()?;
        if lead.is_ascii() {
            return Some((char::from(lead), 1));
        }
        let length = self.charset.announced(bytes);
        let c = if length > 2 {
            self.charset.character(bytes.get(..length)?)?
        } else {
            self.short(bytes)?.c
        };
        Some((c, length))
    }

    /// The first character of `bytes`, which is not ASCII and has one or two bytes.
    fn short(&self, bytes: &[u8]) -> Option<Character> {
        // A NUL ends no character.
        let second = bytes.get(1).copied().unwrap_or_default();
        let lead = *bytes.first()?;
        let row = self.rows.get(usize::from(lead & 0x7F))?.get_or_init(|| {
            let cell = |second| {
                let pair = [lead, second];
                let sequence = pair.get(..self.charset.announced(&pair))?;
                let c = self.charset.character(sequence)?;
                let comes_back = self.charset.comes_back(sequence);
                Some(Character { c, comes_back })
            };
            (0..=0xFF).map(cell).collect()
        });
        *row.get(usize::from(second))?
    }

    /// Do the bytes decode to a text that encodes to them?
    pub(super) fn gives_back(&self, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        while let Some(lead) = rest.first() {
            let length = self.charset.announced(rest);
            let sequence = rest.get(..length).unwrap_or_default();
            let comes_back = match length {
                _ if lead.is_ascii() => true,
                ..=2 => self.short(rest).is_some_and(|found| found.comes_back),
                _ => self.charset.comes_back(sequence),
            };
            if !comes_back {
                return false;
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        true
    }

    /// The bytes of a character; `None` if it has none of its own.
    pub(super) fn sequence(&self, c: char) -> Option<Vec<u8>> {
        let sequence = self.charset.sequence(c)?;
        (self.first(&sequence) == Some((c, sequence.len()))).then_some(sequence)
    }

    /// Returns length and kind of the malformed sequence that `bytes` start with.
    #[cold]
    pub(super) fn diagnose(&self, bytes: &[u8]) -> (usize, Malformed) {
        if self.is_cut_short(bytes) {
            return (bytes.len(), Malformed::Truncated);
        }
        let mut decoder = self.charset.encoding().new_decoder_without_bom_handling();
        let sequence = bytes.get(..4).unwrap_or(bytes);
        let (result, _, written) =
            decoder.decode_to_utf8_without_replacement(sequence, &mut [0; 32], true);
        let ends_in_ascii = bytes.get(1).is_some_and(u8::is_ascii);
        let length = if ends_in_ascii && self.charset != MultiByte::Gb18030 {
            // Only the library's GBK waits for more.
            1
        } else if let (DecoderResult::Malformed(length, _), 0) = (result, written) {
            length.into()
        } else {
            // A character of the library's that the charset does not have.
            self.charset.announced(bytes)
        };
        (length, Malformed::Unassigned)
    }

    /// Would more bytes make these, which are malformed from the first on, a character?
    fn is_cut_short(&self, bytes: &[u8]) -> bool {
        let is_character = |more: &[u8]| self.first(&[bytes, more].concat()).is_some();
        match (self.charset, bytes) {
            (MultiByte::EucJp, [0x8F]) => true,
            (_, [_]) | (MultiByte::EucJp, [0x8F, _]) => {
                (0..=0xFF).any(|byte| is_character(&[byte]))
            }
            // The code points of four bytes go up with the bytes, and start anew only where the first byte does.
            (MultiByte::Gb18030, [_, 0x30..=0x39]) => is_character(&[0x81, 0x30]),
            (MultiByte::Gb18030, [_, 0x30..=0x39, _]) => is_character(&[0x30]),
            _ => false,
        }
    }
}

//! Charsets of one to four bytes per character, by `encoding_rs`, made stricter than the WHATWG has them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use encoding_rs::{DecoderResult, EncoderResult, Encoding};
use strum::EnumString;

use super::EncodeError;
use super::corrections::{BIG5, Correction, GB_18030_2022, GBK_USER_DEFINED, JIS_X_0208};
use crate::codec::{DecodeError, Malformed};

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

    /// Decodes, or says which sequence is the first that does not.
    pub(super) fn decode(self, bytes: &[u8]) -> Result<String, DecodeError> {
        match decode_as_library(self.encoding(), bytes) {
            Ok(text) => match self.hole(bytes) {
                None => Ok(self.correct(bytes, text)),
                Some(error) => Err(error),
            },
            Err((offset, length)) => {
                let sound = bytes.get(..offset).unwrap_or_default();
                let diagnose = || self.diagnose(bytes, offset, length);
                Err(self.hole(sound).unwrap_or_else(diagnose))
            }
        }
    }

    /// The text of `bytes` by the charset's own standard, from the library's.
    fn correct(self, bytes: &[u8], text: String) -> String {
        let corrections = self.corrections();
        let mut of_library = corrections.iter().map(|(_, library, _)| *library);
        if !of_library.any(|library| text.contains(library)) {
            return text;
        }
        let mut rest = bytes;
        let correct = |c| {
            let length = self.announced(rest).unwrap_or_default();
            let (sequence, after) = rest.split_at_checked(length).unwrap_or_default();
            rest = after;
            let fix = corrections.iter().find(|(bytes, ..)| *bytes == sequence);
            fix.map_or(c, |(_, _, standard)| *standard)
        };
        text.chars().map(correct).collect()
    }

    /// See [`super::Charset::first_len`].
    pub(super) fn first_len(self, bytes: &[u8]) -> Option<usize> {
        let length = self.announced(bytes)?;
        let first = bytes.get(..length)?;
        self.takes(first).then_some(length)
    }

    fn takes(self, bytes: &[u8]) -> bool {
        decode_as_library(self.encoding(), bytes).is_ok() && self.hole(bytes).is_none()
    }

    /// The length that the first character has by its first two bytes, if there is one; `None` only of nothing.
    fn announced(self, bytes: &[u8]) -> Option<usize> {
        let lead = *bytes.first()?;
        let length = match (self, lead) {
            (_, 0..=0x80) | (Self::ShiftJis, 0xA1..=0xDF) => 1,
            (Self::Gb18030, _) if bytes.get(1).is_some_and(u8::is_ascii_digit) => 4,
            (Self::EucJp, 0x8F) => 3,
            _ => 2,
        };
        Some(length)
    }

    /// Returns the first sequence that the library takes although the charset does not have it. In `Shift_JIS` that
    /// is 80 as U+0080, in GB18030 it is 80 as the euro sign (which is A2 E3 there). In GBK it is each sequence of
    /// four bytes, in Big5 the rows before A1 of Hong Kong's supplement. As in the WHATWG's decoders, an ASCII byte
    /// never ends such a sequence.
    fn hole(self, bytes: &[u8]) -> Option<DecodeError> {
        let mut offset = 0;
        while let Some(rest) = bytes.get(offset..) {
            let length = self.announced(rest)?;
            let is_hole = match (self, rest) {
                (Self::ShiftJis | Self::Gb18030, [0x80, ..]) => true,
                (Self::Gbk, [0x81..=0xFE, second, ..]) => second.is_ascii_digit(),
                (Self::Big5, [lead, ..]) => (0x81..=0xA0).contains(lead),
                _ => false,
            };
            if is_hole {
                let ends_in_ascii = rest.get(1).is_some_and(u8::is_ascii);
                let length = if ends_in_ascii { 1 } else { length };
                return Some(unassigned(offset, length));
            }
            offset += length;
        }
        None
    }

    /// Says what is wrong at `offset`, where the library found a malformed sequence of `length` bytes.
    #[cold]
    fn diagnose(self, bytes: &[u8], offset: usize, length: usize) -> DecodeError {
        let rest = bytes.get(offset..).unwrap_or_default();
        let is_ascii_after_lead = rest.get(1).is_some_and(u8::is_ascii);
        if self.is_cut_short(rest) {
            DecodeError {
                offset,
                length: rest.len(),
                kind: Malformed::Truncated,
            }
        } else if self == Self::Gbk && is_ascii_after_lead {
            // The library waits for four bytes after a digit.
            unassigned(offset, 1)
        } else {
            unassigned(offset, length)
        }
    }

    /// Would more bytes make these, which are malformed from the first on, a character?
    fn is_cut_short(self, bytes: &[u8]) -> bool {
        match (self, bytes) {
            (Self::EucJp, [0x8F]) => true,
            (_, [_]) | (Self::EucJp, [0x8F, _]) => (0..=0xFF).any(|byte| {
                let longer = [bytes, &[byte]].concat();
                self.takes(&longer)
            }),
            // The code points of four bytes go up with the bytes, and start anew only where the first byte does.
            (Self::Gb18030, [_, 0x30..=0x39]) => self.takes(&[bytes, &[0x81, 0x30]].concat()),
            (Self::Gb18030, [_, 0x30..=0x39, _]) => self.takes(&[bytes, &[0x30]].concat()),
            _ => false,
        }
    }

    /// Encodes so that the bytes decode to the same text, or gives the first character for which there are none.
    pub(super) fn encode(self, text: &str) -> Result<Vec<u8>, EncodeError> {
        let bytes = self.encode_unverified(text).map_err(|lacking| {
            // One that is written as another may come before the first that is not written at all.
            let known = text.get(..lacking.offset).unwrap_or_default();
            self.encode(known).err().unwrap_or(lacking)
        })?;
        if self.decode(&bytes).as_deref() == Ok(text) {
            Ok(bytes)
        } else {
            Err(self.first_lossy(text))
        }
    }

    /// The first character that encodes to the bytes of another one, in a text that has one.
    #[cold]
    fn first_lossy(self, text: &str) -> EncodeError {
        let is_lossy = |c: char| {
            let text = c.to_string();
            let bytes = self.encode_unverified(&text).unwrap_or_default();
            self.decode(&bytes) != Ok(text)
        };
        let (offset, unmappable) = text
            .char_indices()
            .find(|(_, c)| is_lossy(*c))
            .or_else(|| text.char_indices().next())
            .unwrap_or_default();
        EncodeError { offset, unmappable }
    }

    /// Encodes as the library does, but for characters to which the standard gives other bytes. The library writes a
    /// few characters as others (`¥` as `\` in `Shift_JIS`).
    pub(super) fn encode_unverified(self, text: &str) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = Vec::with_capacity(text.len() * 2);
        let mut start = 0;
        for (offset, c) in text.char_indices().filter(|(_, c)| !c.is_ascii()) {
            if let Some(standard) = self.standard(c) {
                self.encode_as_library(text, start..offset, &mut bytes)?;
                bytes.extend_from_slice(standard);
                start = offset + c.len_utf8();
            }
        }
        self.encode_as_library(text, start..text.len(), &mut bytes)?;
        Ok(bytes)
    }

    /// The bytes of a character that the library writes otherwise or not at all.
    ///
    /// In EUC-JP these are also the characters of JIS X 0212, such as the accented letters of Europe (`é` is 8F AB
    /// B1). Of those the library writes only what NEC and IBM have too, as they do.
    fn standard(self, c: char) -> Option<&'static [u8]> {
        static JIS_X_0212: OnceLock<HashMap<char, [u8; 3]>> = OnceLock::new();
        let mut corrections = self.corrections().iter();
        if let Some((bytes, ..)) = corrections.find(|(_, _, standard)| *standard == c) {
            return Some(bytes);
        }
        if self != Self::EucJp {
            return None;
        }
        let table = JIS_X_0212.get_or_init(|| {
            let rows = (0xA1..=0xFE).flat_map(|row| (0xA1..=0xFE).map(move |cell| (row, cell)));
            let decode = |(row, cell)| {
                let bytes = [0x8F, row, cell];
                let text = decode_as_library(encoding_rs::EUC_JP, &bytes).ok()?;
                Some((text.chars().next()?, bytes))
            };
            rows.filter_map(decode).collect()
        });
        table.get(&c).map(<[u8; 3]>::as_slice)
    }

    fn encode_as_library(
        self,
        text: &str,
        part: Range<usize>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let start = part.start;
        let part = text.get(part).unwrap_or_default();
        let mut encoder = self.encoding().new_encoder();
        let most = encoder.max_buffer_length_from_utf8_without_replacement(part.len());
        bytes.reserve(most.unwrap_or_default());
        match encoder.encode_from_utf8_to_vec_without_replacement(part, bytes, true) {
            (EncoderResult::Unmappable(unmappable), read) => {
                let offset = (start + read).saturating_sub(unmappable.len_utf8());
                Err(EncodeError { offset, unmappable })
            }
            // There is room for the longest output.
            (EncoderResult::InputEmpty | EncoderResult::OutputFull, _) => Ok(()),
        }
    }
}

fn unassigned(offset: usize, length: usize) -> DecodeError {
    DecodeError {
        offset,
        length,
        kind: Malformed::Unassigned,
    }
}

/// Decodes as the WHATWG does, but stops at the first malformed sequence and gives its offset and length.
fn decode_as_library(encoding: &'static Encoding, bytes: &[u8]) -> Result<String, (usize, usize)> {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let capacity = decoder.max_utf8_buffer_length_without_replacement(bytes.len());
    let mut text = String::with_capacity(capacity.unwrap_or(bytes.len()));
    match decoder.decode_to_string_without_replacement(bytes, &mut text, true) {
        (DecoderResult::Malformed(length, after), read) => {
            let (length, after) = (usize::from(length), usize::from(after));
            Err((read.saturating_sub(length + after), length))
        }
        // There is room for the longest output.
        (DecoderResult::InputEmpty | DecoderResult::OutputFull, _) => Ok(text),
    }
}

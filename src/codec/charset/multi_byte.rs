//! Charsets of one to four bytes per character, by `encoding_rs`, made stricter than the WHATWG has them.

use std::collections::HashMap;
use std::sync::OnceLock;

use encoding_rs::{DecoderResult, EncoderResult, Encoding};

use super::EncodeError;

/// A multi-byte charset.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MultiByte {
    ShiftJis,
    EucJp,
    EucKr,
    Gbk,
    Gb18030,
    Big5,
}

impl MultiByte {
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

    /// Decodes, or gives the offset of the first sequence that does not.
    pub(super) fn decode(self, bytes: &[u8]) -> Result<String, usize> {
        match decode_as_library(self.encoding(), bytes) {
            Ok(text) => self.hole(bytes).map_or(Ok(text), Err),
            Err(offset) => Err(bytes
                .get(..offset)
                .and_then(|sound| self.hole(sound))
                .unwrap_or(offset)),
        }
    }

    /// The offset of the first sequence that the library takes although the charset does not have it:
    /// 80 as U+0080 in `Shift_JIS` and as the euro sign in GB18030 (where that is A2 E3), and sequences of four bytes in GBK.
    fn hole(self, bytes: &[u8]) -> Option<usize> {
        let mut offset = 0;
        while let Some(&lead) = bytes.get(offset) {
            let second_is_digit = bytes.get(offset + 1).is_some_and(u8::is_ascii_digit);
            offset += match (self, lead) {
                (_, 0..0x80) | (Self::ShiftJis, 0xA1..=0xDF) | (Self::Gbk, 0x80) => 1,
                (Self::ShiftJis | Self::Gb18030, 0x80) => return Some(offset),
                (Self::Gbk, _) if second_is_digit => return Some(offset),
                (Self::Gb18030, _) if second_is_digit => 4,
                (Self::EucJp, 0x8F) => 3,
                _ => 2,
            };
        }
        None
    }

    /// Encodes so that the bytes decode to the same text, or gives the first character for which there are none.
    pub(super) fn encode(self, text: &str) -> Result<Vec<u8>, EncodeError> {
        let bytes = self.encode_unverified(text)?;
        if self.decode(&bytes).as_deref() == Ok(text) {
            return Ok(bytes);
        }
        Err(self.first_lossy(text))
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

    /// Encodes as the library does, which writes a few characters as others: `¥` as `\` in `Shift_JIS`.
    pub(super) fn encode_unverified(self, text: &str) -> Result<Vec<u8>, EncodeError> {
        let mut encoder = self.encoding().new_encoder();
        let mut bytes = Vec::with_capacity(text.len() * 2);
        let mut offset = 0;
        while let Some(rest) = text.get(offset..) {
            let (result, read) =
                encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
            offset += read;
            match result {
                EncoderResult::InputEmpty => break,
                EncoderResult::OutputFull => bytes.reserve(rest.len() * 2 + 16),
                EncoderResult::Unmappable(unmappable) => match self.supplement(unmappable) {
                    Some(more) => bytes.extend_from_slice(&more),
                    None => {
                        let offset = offset.saturating_sub(unmappable.len_utf8());
                        return Err(EncodeError { offset, unmappable });
                    }
                },
            }
        }
        Ok(bytes)
    }

    /// The bytes of a character that the library reads but does not write: JIS X 0212 in EUC-JP, which has the accented
    /// letters of Europe (`é` is 8F AB B1).
    fn supplement(self, c: char) -> Option<[u8; 3]> {
        static JIS_X_0212: OnceLock<HashMap<char, [u8; 3]>> = OnceLock::new();
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
        table.get(&c).copied()
    }
}

/// Decodes as the WHATWG does, but stops at the first malformed sequence and gives its offset.
fn decode_as_library(encoding: &'static Encoding, bytes: &[u8]) -> Result<String, usize> {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let capacity = decoder.max_utf8_buffer_length_without_replacement(bytes.len());
    let mut text = String::with_capacity(capacity.unwrap_or(bytes.len()));
    let mut offset = 0;
    while let Some(rest) = bytes.get(offset..) {
        let (result, read) = decoder.decode_to_string_without_replacement(rest, &mut text, true);
        offset += read;
        match result {
            DecoderResult::InputEmpty => break,
            DecoderResult::OutputFull => text.reserve(rest.len() * 3 + 16),
            DecoderResult::Malformed(length, after) => {
                return Err(offset.saturating_sub(usize::from(length) + usize::from(after)));
            }
        }
    }
    Ok(text)
}

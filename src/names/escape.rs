//! Escaping: bytes as `%` and two upper-case hex digits (law N6), and the escapes of others.

#[cfg(test)]
pub(super) mod tests;

use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

use crate::codec::Encoding;

/// Escapes that can be undone.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Escapes {
    /// Those of utf8fs, as in copies from a mount: caf%E9.txt
    Utf8fs,
    /// Those of URLs, as in downloads: a%20b. A name that would get a / or a control character stays
    Percent,
}

/// Text in pieces that a cut must not divide: a character, or an escape.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// The bytes of all pieces.
    pub(super) bytes: Vec<u8>,
    /// Ends of the pieces, ascending; the last is the length of `bytes`.
    pub(super) ends: Vec<usize>,
}

impl Pieces {
    /// The characters of `text`, one piece each.
    pub(super) fn of(text: &[u8], encoding: Encoding) -> Self {
        let pieces = encoding.pieces(text);
        Self {
            bytes: text.to_vec(),
            ends: pieces.map(|piece| piece.offset + piece.length).collect(),
        }
    }

    fn push_escaped(&mut self, octet: u8, percents: usize) {
        const HEX: &[u8; 16] = b"0123456789ABCDEF";
        let digit = |nibble: u8| HEX.get(usize::from(nibble)).copied().unwrap_or(b'0');
        self.bytes.extend(std::iter::repeat_n(b'%', percents));
        self.bytes.extend([digit(octet >> 4), digit(octet & 0xF)]);
    }
}

/// Takes the escapes of URLs in a name back: `%` and two hex digits (RFC 3986, section 2.1). `None` without such escapes.
pub fn percent_decoded(name: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if let (b'%', [high, low, after @ ..]) = (byte, rest)
            && let Some(octet) = octet_of(*high, *low)
        {
            decoded.push(octet);
            rest = after;
        } else {
            decoded.push(byte);
        }
    }
    (decoded.len() < name.len()).then_some(decoded)
}

/// The byte that two hex digits spell.
fn octet_of(high: u8, low: u8) -> Option<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

/// Takes escapes back, each of as many percent signs as the first one has. Returns the name and that number. `None`
/// without escapes, or where a percent sign lacks two upper-case hex digits.
pub(super) fn unescape(escaped: &[u8]) -> Option<(Vec<u8>, usize)> {
    let first = escaped.iter().position(|&octet| octet == b'%')?;
    let signs = escaped.iter().skip(first);
    let percents = signs.take_while(|&&octet| octet == b'%').count();
    let mut name = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some((&octet, after)) = rest.split_first() {
        if octet != b'%' {
            name.push(octet);
            rest = after;
            continue;
        }
        let (signs, after) = rest.split_at_checked(percents)?;
        let ([high, low], after) = after.split_first_chunk()?;
        let is_lower = high.is_ascii_lowercase() || low.is_ascii_lowercase();
        if is_lower || signs.iter().any(|&sign| sign != b'%') {
            return None;
        }
        name.push(octet_of(*high, *low)?);
        rest = after;
    }
    Some((name, percents))
}

/// Escapes each byte of `name` for which `offends` holds (it is given the byte's offset), and each `%`, with
/// `percents` percent signs, one or more. What is left must be well-formed UTF-8 for the pieces to be characters.
pub(super) fn escape(name: &[u8], percents: usize, offends: impl Fn(usize, u8) -> bool) -> Pieces {
    let mut pieces = Pieces::default();
    let mut octets = name.iter().copied().enumerate().peekable();
    while let Some((offset, octet)) = octets.next() {
        if octet == b'%' || offends(offset, octet) {
            pieces.push_escaped(octet, percents);
        } else {
            pieces.bytes.push(octet);
            let continues = |&(offset, octet): &(usize, u8)| {
                (0x80..=0xBF).contains(&octet) && !offends(offset, octet)
            };
            while let Some((_, continuation)) = octets.next_if(continues) {
                pieces.bytes.push(continuation);
            }
        }
        pieces.ends.push(pieces.bytes.len());
    }
    pieces
}

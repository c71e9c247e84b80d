//! Finds the start of characters from the middle of a stream.

use super::octets::Rules;
use super::{Encoding, Scheme};

impl Encoding {
    /// Returns the offset of the first start of a character at or after `offset`, as far as that can be known; the
    /// length of `bytes` where none follows. `bytes` must be well-formed. `None` for the draft, where this cannot be
    /// known.
    ///
    /// Reads the rest of one character at most, and nothing before `offset`: criterion 6 of FSS-UTF, for which the
    /// draft was given up. In the draft every octet of 80..BF both leads and continues characters, and so does
    /// C0..F7. `80 80 80 80` may be two characters, or the end of one, a second, and the start of a third. Only the
    /// whole text since the last ASCII character decides.
    ///
    /// In `utf-8b` a continuation octet may be a character by itself, and `mutf-8` has lone low surrogates. There,
    /// characters at `offset` may be passed over: up to three octets, or one surrogate. In units of two and four
    /// octets, `offset` counts from the start of the stream: a lost octet is not noticed.
    ///
    /// ```
    /// use utf8fs::codec::Encoding;
    /// let bytes = "a€b".as_bytes(); // 61 E2 82 AC 62
    /// let next = |offset| Encoding::Utf8.next_boundary(bytes, offset);
    /// assert_eq!([0, 1, 2, 3, 4, 5].map(next), [0, 1, 4, 4, 4, 5].map(Some));
    /// assert_eq!(Encoding::FssUtfDraft.next_boundary(bytes, 2), None);
    /// ```
    #[must_use]
    pub fn next_boundary(self, bytes: &[u8], offset: usize) -> Option<usize> {
        let offset = offset.min(bytes.len());
        if offset == 0 {
            return Some(0);
        }
        let rest = bytes.get(offset..).unwrap_or_default();
        match self.scheme() {
            Scheme::Octets(rules) | Scheme::Escaping(rules) => {
                Some(offset + continuing(rest, rules))
            }
            Scheme::Draft => None,
            Scheme::Units(unit, order) => {
                let aligned = offset.next_multiple_of(unit.octets());
                let next = bytes.get(aligned..).unwrap_or_default();
                let is_second = unit == super::Unit::Utf16
                    && matches!(unit.read(order, next), Some(0xDC00..=0xDFFF));
                let boundary = if is_second { aligned + 2 } else { aligned };
                Some(boundary.min(bytes.len()))
            }
        }
    }
}

/// Counts the bytes at the start of `rest` that continue a character that began before it.
fn continuing(rest: &[u8], rules: &Rules) -> usize {
    /// Five octets continue the longest sequence.
    const MOST: usize = 5;
    let is_continuation = |octet: &&u8| (0x80..=0xBF).contains(*octet);
    let most = if rules.limit > 0x1F_FFFF { MOST } else { 3 };
    let rest_of_sequence = rest.iter().take(most).take_while(is_continuation).count();
    match rest.get(rest_of_sequence..) {
        Some(&[0xED, 0xB0..=0xBF, 0x80..=0xBF, ..]) if rules.has_pairs() => rest_of_sequence + 3,
        _ => rest_of_sequence,
    }
}

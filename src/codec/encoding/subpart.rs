//! Maximal subparts: what one U+FFFD replaces.

use super::{Encoding, LOOKAHEAD, Scheme};

impl Encoding {
    /// Returns the length of the maximal subpart of the ill-formed sequence at the start of `bytes`, which one U+FFFD
    /// replaces. That is the most octets that a well-formed sequence could start with, or 1 (Unicode 3.9, "U+FFFD
    /// Substitution of Maximal Subparts"). Units of two or four octets are taken whole.
    ///
    /// ```
    /// use utf8fs::codec::Encoding;
    /// assert_eq!(Encoding::Utf8.maximal_subpart(b"\xF0\x9F\x98a"), 3); // a truncated sequence is one
    /// assert_eq!(Encoding::Utf8.maximal_subpart(b"\xE0\x80\xAF"), 1); // no well-formed one starts with E0 80
    /// ```
    pub fn maximal_subpart(self, bytes: &[u8]) -> usize {
        let Some(piece) = self.first(bytes) else {
            return 0;
        };
        let starts = |length: &usize| self.may_start(bytes.get(..*length).unwrap_or_default());
        match self.scheme() {
            Scheme::Units(..) => piece.length,
            Scheme::Octets(_) | Scheme::Draft => (2..=piece.length).rev().find(starts).unwrap_or(1),
        }
    }

    /// Says whether a well-formed sequence of octets can start with `prefix`. It can if `prefix` filled up with the
    /// least or the greatest continuation octets does, or with a surrogate that makes a pair: the rules exclude only
    /// one end of a length.
    fn may_start(self, prefix: &[u8]) -> bool {
        const FILLINGS: [[u8; LOOKAHEAD]; 4] = [
            [0x80; LOOKAHEAD],
            [0xBF; LOOKAHEAD],
            [0xFF; LOOKAHEAD],
            *b"\x80\x80\x80\xED\xB0\x80",
        ];
        FILLINGS.into_iter().any(|mut whole| {
            let octets = whole.iter_mut().zip(prefix);
            octets.for_each(|(to, from)| *to = *from);
            let piece = self.first(&whole);
            piece.is_some_and(|piece| piece.spells.is_ok() && piece.length >= prefix.len())
        })
    }
}

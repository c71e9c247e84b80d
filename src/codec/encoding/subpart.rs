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
    #[must_use]
    pub fn maximal_subpart(self, bytes: &[u8]) -> usize {
        let Some(piece) = self.first(bytes) else {
            return 0;
        };
        let starts = |length: &usize| self.may_start(bytes.get(..*length).unwrap_or_default());
        match self.scheme() {
            Scheme::Units(..) => piece.length,
            Scheme::Octets(_) | Scheme::Escaping(_) | Scheme::Draft => {
                (2..=piece.length).rev().find(starts).unwrap_or(1)
            }
        }
    }

    /// Says whether a well-formed sequence of octets can start with `prefix`. It can if `prefix` filled up with the
    /// least or the greatest continuation octets is one: the rules exclude only one end of a length.
    fn may_start(self, prefix: &[u8]) -> bool {
        let second: &[u8] = if self == Self::Cesu8 {
            b"\xED\xB0\x80"
        } else {
            b""
        };
        [0x80, 0xBF, 0xFF].into_iter().any(|octet| {
            (prefix.len()..=LOOKAHEAD).any(|length| {
                let is_whole = |behind: &[u8]| {
                    let mut whole = [octet; LOOKAHEAD];
                    let given = prefix.iter().copied();
                    let filling = std::iter::repeat_n(octet, length - prefix.len());
                    let octets = given.chain(filling).chain(behind.iter().copied());
                    let count = length + behind.len();
                    whole
                        .iter_mut()
                        .zip(octets)
                        .for_each(|(to, from)| *to = from);
                    let piece = self.first(whole.get(..count).unwrap_or_default());
                    piece.is_some_and(|piece| piece.spells.is_ok() && piece.length == count)
                };
                is_whole(b"") || (length == 3 && is_whole(second))
            })
        })
    }
}

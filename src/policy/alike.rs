//! When two names are alike, so that volumes shared with Windows and macOS can hold only one of them.

use crate::codec::Form;
use crate::codec::caseless::caseless;
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

/// In what two names may not differ alone (`--unique`).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Alike {
    /// Case, or normalization form: README and readme, ß and SS
    Casefold,
    /// Normalization form: é as one character and as e with an accent
    Nfc,
}

impl Alike {
    /// Returns the key that names share if and only if they are alike. Bytes that are not text by RFC 3629, which have no
    /// case and which nothing combines with, stay as they are.
    pub fn key(self, name: &[u8]) -> Vec<u8> {
        let mut key = Vec::with_capacity(name.len());
        for chunk in name.utf8_chunks() {
            let text = match self {
                Self::Casefold => caseless(chunk.valid()),
                Self::Nfc => Form::Nfc.apply(chunk.valid()),
            };
            key.extend_from_slice(text.as_bytes());
            key.extend_from_slice(chunk.invalid());
        }
        key
    }
}

/// Returns where `name` differs from `sibling`: offset and length of the rest between the characters that both start
/// with and those that both end in.
pub fn difference(name: &[u8], sibling: &[u8]) -> (usize, usize) {
    let (ours, theirs) = (pieces(name), pieces(sibling));
    let common = |pairs: &mut dyn Iterator<Item = (&&[u8], &&[u8])>| {
        let same = pairs.take_while(|(one, other)| one == other);
        same.map(|(piece, _)| piece.len()).collect::<Vec<usize>>()
    };
    let before = common(&mut ours.iter().zip(&theirs));
    let most = ours.len().min(theirs.len()) - before.len();
    let mut after = common(&mut ours.iter().rev().zip(theirs.iter().rev()));
    after.truncate(most);
    let offset: usize = before.iter().sum();
    (offset, name.len() - offset - after.iter().sum::<usize>())
}

/// The characters of a name, and each byte that is of none.
fn pieces(name: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    for chunk in name.utf8_chunks() {
        let text = chunk.valid();
        pieces.extend(text.split_inclusive(|_| true).map(str::as_bytes));
        pieces.extend(chunk.invalid().chunks(1));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::{Alike, difference};

    fn are_alike(alike: Alike, one: &[u8], other: &[u8]) -> bool {
        alike.key(one) == alike.key(other)
    }

    #[test]
    fn names_are_alike_as_the_rows_say() {
        // casefold, nfc
        let rows: [(&[u8], &[u8], bool, bool); 12] = [
            (b"a", b"A", true, false),
            ("é".as_bytes(), b"e\xCC\x81", true, true),
            ("É".as_bytes(), b"e\xCC\x81", true, false),
            // ANGSTROM SIGN
            (b"\xE2\x84\xAB", "Å".as_bytes(), true, true),
            ("ß".as_bytes(), b"SS", true, false),
            (
                "한".as_bytes(),
                "\u{1112}\u{1161}\u{11AB}".as_bytes(),
                true,
                true,
            ),
            // compatibility is no likeness
            ("ﬁ".as_bytes(), b"fi", true, false),
            ("²".as_bytes(), b"2", false, false),
            // Latin-1: bytes have no case
            (b"caf\xE9", b"CAF\xE9", true, false),
            (b"caf\xE9", b"caf\xC9", false, false),
            // a surrogate, text by RFC 2279: what stands around it is folded
            (b"A\xED\xA0\x80B", b"a\xED\xA0\x80b", true, false),
            // a mark behind such a byte combines with nothing
            (b"e\xFF\xCC\x81", b"\xC3\xA9\xFF", false, false),
        ];
        for (one, other, casefold, nfc) in rows {
            let what = format!("{} and {}", one.escape_ascii(), other.escape_ascii());
            assert_eq!(are_alike(Alike::Casefold, one, other), casefold, "{what}");
            assert_eq!(are_alike(Alike::Nfc, one, other), nfc, "{what}");
        }
    }

    #[test]
    fn the_difference_is_what_is_not_common_at_either_end() {
        let rows: [(&[u8], &[u8], usize, usize); 9] = [
            (b"readme", b"README", 0, 6),
            (b"readMe.txt", b"readme.txt", 4, 1),
            ("straße".as_bytes(), b"strasse", 4, 2),
            (b"strasse", "straße".as_bytes(), 4, 2),
            // each s could be the one that is common
            (b"sss", "sß".as_bytes(), 1, 2),
            (b"sss", "ßs".as_bytes(), 0, 2),
            (b"e\xCC\x81", "é".as_bytes(), 0, 3),
            // é and É share their first byte, which is no character
            ("É".as_bytes(), "é".as_bytes(), 0, 2),
            (b"A\xFF", b"a\xFF", 0, 1),
        ];
        for (name, sibling, offset, length) in rows {
            assert_eq!(
                difference(name, sibling),
                (offset, length),
                "{}",
                name.escape_ascii()
            );
        }
    }
}

//! ASCII names, as most are: their keys, a word at a time, and which of them conform.

use crate::policy::Policy;

/// The highest bit of each byte.
const HIGH: u64 = 0x8080_8080_8080_8080;
const ONES: u64 = 0x0101_0101_0101_0101;
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// Bytes that ASCII names may have, as the policy itself answered.
#[derive(Debug)]
pub(super) struct AsciiBytes {
    /// At both ends of a name.
    edge: [bool; 256],
    /// Within a name.
    inner: [bool; 256],
}

impl AsciiBytes {
    pub(super) fn new(policy: &Policy) -> Self {
        let ask = |name: fn(u8) -> [u8; 3]| {
            let conforms = |byte| u8::is_ascii(&byte) && policy.conforms(&name(byte));
            std::array::from_fn(|byte| u8::try_from(byte).is_ok_and(conforms))
        };
        Self {
            edge: ask(|byte| [byte, b'z', byte]),
            inner: ask(|byte| [b'z', byte, b'z']),
        }
    }

    /// Does a name surely have no forbidden character or shape? One that begins as a device does (AUX, COM1, LPT1, NUL, PRN) may have.
    pub(super) fn allow(&self, name: &[u8]) -> bool {
        let has = |table: &[bool; 256], byte: &u8| table.get(usize::from(*byte)) == Some(&true);
        let [Some(first), Some(last)] = [name.first(), name.last()] else {
            return false;
        };
        !b"aclnp".contains(&first.to_ascii_lowercase())
            && has(&self.edge, first)
            && has(&self.edge, last)
            && name.iter().all(|byte| has(&self.inner, byte))
    }
}

/// Returns the number that all texts have in common whose folded form is `folded`.
pub(super) fn key(folded: &[u8]) -> u64 {
    hash(folded, |word| word)
}

/// Returns [`key`] of a name once it is folded, if it is ASCII.
pub(super) fn ascii_key(name: &[u8]) -> Option<u64> {
    name.is_ascii().then(|| hash(name, lower))
}

/// Mixes the words of a text, each changed by `change`, and its length.
fn hash(text: &[u8], change: impl Fn(u64) -> u64) -> u64 {
    let (words, rest) = text.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
    let words = words.chain([last_word(rest)]).map(change);
    words.fold(length, mixed)
}

fn last_word(rest: &[u8]) -> u64 {
    rest.iter()
        .rev()
        .fold(0, |word, byte| word << 8 | u64::from(*byte))
}

fn mixed(sum: u64, word: u64) -> u64 {
    let product = (sum.rotate_left(23) ^ word).wrapping_mul(MIX);
    product ^ (product >> 32)
}

/// Eight ASCII characters in lower case. Where a byte is not ASCII, the result has no meaning.
fn lower(word: u64) -> u64 {
    let from_a = word.wrapping_add(ONES * (0x80 - 0x41));
    let beyond_z = word.wrapping_add(ONES * (0x7F - 0x5A));
    word | ((from_a ^ beyond_z) & HIGH) >> 2
}

#[cfg(test)]
mod tests {
    use super::{ascii_key, key};
    use crate::policy::Alike;

    #[test]
    fn keys_of_ascii_names_are_those_of_their_folded_text() {
        for length in 0..40_u8 {
            for first in 0..0x80_u8 {
                let name: Vec<u8> = (0..length)
                    .map(|i| (first.wrapping_add(i.wrapping_mul(37))) & 0x7F)
                    .collect();
                let folded = Alike::Casefold.key(&name);
                assert_eq!(ascii_key(&name), Some(key(&folded)), "{name:?}");
                for place in 0..name.len() {
                    let mut beyond = name.clone();
                    beyond[place] |= 0x80;
                    assert_eq!(ascii_key(&beyond), None);
                }
            }
        }
    }
}

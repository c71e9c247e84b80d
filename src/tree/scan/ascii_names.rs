//! Names that are ASCII and conform, looked at a word at a time: most names are, and nothing more is done for them.

use crate::policy::Policy;

const HIGH: u64 = 0x8080_8080_8080_8080;
const ONES: u64 = 0x0101_0101_0101_0101;
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// ASCII names that surely conform, as the policy itself answered.
#[derive(Debug)]
pub(super) struct Plain {
    /// Names up to this many bytes are over no limit.
    most: usize,
    /// `None` where every character may stand everywhere.
    shapes: Option<Box<Shapes>>,
}

/// Places where each byte may stand: in front, within, at the end.
#[derive(Debug)]
struct Shapes {
    first: [bool; 256],
    inner: [bool; 256],
    last: [bool; 256],
    /// Some short words are forbidden as a whole, or before a dot.
    has_devices: bool,
}

/// The longest of those words is `CONOUT$`.
const LONGEST_DEVICE: usize = 7;

impl Plain {
    pub(super) fn new(policy: &Policy) -> Self {
        // ASCII is the same in every encoding and form.
        let Policy {
            encoding: _,
            max_bytes,
            max_chars,
            max_utf16,
            form: _,
            forbid,
        } = policy;
        let limits = [Some(*max_bytes), *max_chars, *max_utf16];
        let ask = |shape: fn(u8) -> Vec<u8>| {
            let conforms = |byte| u8::is_ascii(&byte) && policy.conforms(&shape(byte));
            std::array::from_fn(|byte| u8::try_from(byte).is_ok_and(conforms))
        };
        let shapes = Shapes {
            first: ask(|byte| vec![byte, b'z', b'z', b'z']),
            inner: ask(|byte| vec![b'z', byte, b'z', b'z']),
            last: ask(|byte| vec![b'z', b'z', b'z', byte]),
            has_devices: !policy.conforms(b"NUL"),
        };
        Self {
            most: limits.into_iter().flatten().min().unwrap_or(*max_bytes),
            shapes: (!forbid.is_empty()).then(|| shapes.into()),
        }
    }

    /// Returns what the name has in common with all that differ from it in case alone, if it is ASCII and surely conforms.
    pub(super) fn key(&self, name: &[u8]) -> Option<u64> {
        let key = ascii_key(name)?;
        let is_plain =
            name.len() <= self.most && self.shapes.as_ref().is_none_or(|shapes| shapes.allow(name));
        is_plain.then_some(key)
    }
}

impl Shapes {
    fn allow(&self, name: &[u8]) -> bool {
        let of = |table: &[bool; 256], byte: Option<&u8>| {
            byte.is_none_or(|byte| table.get(usize::from(*byte)) == Some(&true))
        };
        let might_be_device = || {
            let stem = name.iter().position(|byte| matches!(byte, b'.' | b' '));
            stem.unwrap_or(name.len()) <= LONGEST_DEVICE
                && matches!(
                    name.first().map(u8::to_ascii_lowercase),
                    Some(b'a' | b'c' | b'l' | b'n' | b'p')
                )
        };
        of(&self.first, name.first())
            && of(&self.last, name.last())
            && name.iter().all(|byte| of(&self.inner, Some(byte)))
            && !(self.has_devices && might_be_device())
    }
}

/// A number that all texts have in common that are `text` once they are folded: [`ascii_key`] of ASCII ones.
pub(super) fn key(folded: &[u8]) -> u64 {
    let (words, rest) = folded.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    words.chain([last_word(rest)]).fold(start(folded), mixed)
}

/// The same of a name in lower case, if it is ASCII.
fn ascii_key(name: &[u8]) -> Option<u64> {
    let (words, rest) = name.as_chunks::<8>();
    let mut sum = start(name);
    let mut beyond = 0;
    for word in words {
        let word = u64::from_le_bytes(*word);
        beyond |= word & HIGH;
        sum = mixed(sum, lower(word));
    }
    let word = last_word(rest);
    beyond |= word & HIGH;
    (beyond == 0).then(|| mixed(sum, lower(word)))
}

fn start(name: &[u8]) -> u64 {
    u64::try_from(name.len()).unwrap_or(u64::MAX)
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
    use super::{Plain, ascii_key, key};
    use crate::policy::{Alike, Class, Policy, Profile};

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

    #[test]
    fn a_name_that_is_plain_conforms_under_every_policy() {
        let profiles = [
            Profile::Utf8,
            Profile::Safe,
            Profile::Portable,
            Profile::Posix,
        ];
        let mut policies: Vec<Policy> = profiles.iter().map(|p| p.policy()).collect();
        policies.extend(Class::ALL.iter().map(|&class| {
            let mut policy = Policy::default();
            policy.forbid = policy.forbid.with(class);
            policy.max_bytes = 24;
            policy
        }));
        let mut plain = 0;
        for policy in &policies {
            let found = Plain::new(policy);
            let mut check = |name: &[u8]| {
                if found.key(name).is_some() {
                    plain += 1;
                    assert!(policy.conforms(name), "{policy:?} {}", name.escape_ascii());
                }
            };
            for a in 1..0x80_u8 {
                for b in 1..0x80_u8 {
                    for name in [&[a, b][..], &[a, b'x', b], &[b'x', a, b], &[a, b, b'x']] {
                        let is_name = !name.contains(&b'/') && name != b"..";
                        is_name.then(|| check(name));
                    }
                }
            }
            for name in [
                "NUL",
                "nul.txt",
                "com1",
                "COM9.x",
                "LPT3",
                "aux ",
                "prn.",
                "CONOUT$",
                "conin$.a",
                "nulls",
                "-rf",
                " a",
                "a ",
                "a.",
                "plain.txt",
                "AUX .b",
                "a23456789012345678901234567",
            ] {
                check(name.as_bytes());
            }
        }
        assert!(plain > 100_000, "{plain}");
    }
}

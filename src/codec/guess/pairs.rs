//! Which names a charset of several bytes a character decodes, by their pairs of bytes.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::codec::Charset;

/// Marks of what starts with a pair of bytes. Numbers below are the length of a character.
const UNSEEN: u8 = 0;
const NONE: u8 = 0xFE;
/// Perhaps a character of more than two bytes.
const LONG: u8 = 0xFF;

/// The characters that pairs of bytes start in one charset. Looked up at the first use: the charset itself takes a
/// hundred times as long.
pub(super) struct Pairs {
    charset: Charset,
    /// Indexed by lead byte, 80..=FF, and the byte behind it.
    seen: Vec<AtomicU8>,
}

impl Pairs {
    pub(super) fn new(charset: Charset) -> Self {
        let seen = (0..0x80 * 0x100).map(|_| AtomicU8::new(UNSEEN)).collect();
        Self { charset, seen }
    }

    /// Does the charset decode `name` reversibly?
    ///
    /// The charsets are stateless: a name is decoded if each of its sequences is, and encoded again likewise. Where there may be
    /// one of more than two bytes, the charset is asked.
    pub(super) fn read(&self, name: &[u8]) -> bool {
        let mut rest = name;
        while let Some(start) = rest.iter().position(|byte| !byte.is_ascii()) {
            let lead = rest.get(start).copied().unwrap_or_default();
            // A NUL is the end of no character.
            let second = rest.get(start + 1).copied().unwrap_or_default();
            let length = match self.starts(lead, second) {
                NONE => return false,
                LONG => return self.charset.decode_reversibly(name).is_some(),
                length => usize::from(length),
            };
            rest = rest.get(start + length..).unwrap_or_default();
        }
        true
    }

    fn starts(&self, lead: u8, second: u8) -> u8 {
        let index = usize::from(lead & 0x7F) << 8 | usize::from(second);
        let Some(seen) = self.seen.get(index) else {
            return LONG;
        };
        match seen.load(Ordering::Relaxed) {
            UNSEEN => {
                let found = self.look(lead, second);
                seen.store(found, Ordering::Relaxed);
                found
            }
            known => known,
        }
    }

    #[cold]
    fn look(&self, lead: u8, second: u8) -> u8 {
        let pair = [lead, second];
        let is_long = || self.charset.max_len() > 2 && (lead == 0x8F || second.is_ascii_digit());
        match self.charset.first_len(&pair) {
            None if is_long() => LONG,
            None => NONE,
            Some(length) => {
                let character = pair.get(..length).unwrap_or_default();
                let is_sound = self.charset.decode_reversibly(character).is_some();
                u8::try_from(length)
                    .ok()
                    .filter(|_| is_sound)
                    .unwrap_or(NONE)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Pairs;
    use crate::codec::Charset;

    #[test]
    fn names_are_read_pair_by_pair_just_where_the_charset_decodes_them() {
        for charset in Charset::all().filter(|charset| charset.max_len() > 1) {
            let pairs = Pairs::new(charset);
            for lead in 0x80..=0xFF_u8 {
                for second in 0..=0xFF_u8 {
                    for rest in [&b""[..], b"~\\", b"1\x811", b"\xA4\xA2.", b"\xE9"] {
                        let name = [b"x", &[lead, second][..], rest].concat();
                        let is_decoded = charset.decode_reversibly(&name).is_some();
                        assert_eq!(pairs.read(&name), is_decoded, "{charset:?} {name:X?}");
                    }
                }
            }
        }
    }
}

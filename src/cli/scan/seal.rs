//! By what it is noticed that a report of a part was altered, cut or put together.

use sha2::{Digest, Sha256};

use super::merge::kind_of;

/// How many octets of a checksum are kept, as in a journal.
const SUM: usize = 16;

/// Lines of a report, in whatever order: how many there are, and the sum of their checksums. Threads tell of names as they come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sealed {
    /// Of names.
    pub(super) entries: u64,
    /// Of what could not be read.
    pub(super) unread: u64,
    sum: u128,
}

impl Sealed {
    /// Adds each of these lines that is one of a name or of what could not be read.
    pub(super) fn add_all(&mut self, lines: &[u8]) {
        for line in lines.split(|octet| *octet == b'\n') {
            self.add(kind_of(line), line);
        }
    }

    /// Adds a line of this kind, without the newline at its end, if it is one of those.
    pub(super) fn add(&mut self, kind: &str, line: &[u8]) {
        match kind {
            "entry" => self.entries += 1,
            "unread" => self.unread += 1,
            _ => return,
        }
        self.sum = self.sum.wrapping_add(checksum(line));
    }

    /// Adds those of others.
    pub(super) fn add_sealed(&mut self, others: &Self) {
        self.entries += others.entries;
        self.unread += others.unread;
        self.sum = self.sum.wrapping_add(others.sum);
    }

    /// The sum in hexadecimal.
    pub(super) fn digest(&self) -> String {
        format!("{:032x}", self.sum)
    }
}

fn checksum(octets: &[u8]) -> u128 {
    let sum = Sha256::digest(octets);
    let sum = sum.first_chunk::<SUM>().copied().unwrap_or_default();
    u128::from_be_bytes(sum)
}

/// What stands in front of the seal of a part's line.
const SEAL: &str = r#","seal":""#;

/// The line with a seal over all that is in it.
pub(super) fn sealed(line: &str) -> String {
    let body = line.strip_suffix('}').unwrap_or(line);
    let seal = checksum(body.as_bytes());
    format!("{body}{SEAL}{seal:032x}\"}}")
}

/// Is it what [`sealed`] made?
pub(super) fn is_sound(line: &[u8]) -> bool {
    let line = std::str::from_utf8(line).unwrap_or_default();
    let body = line.rfind(SEAL).and_then(|end| line.get(..end));
    body.is_some_and(|body| sealed(&format!("{body}}}")) == line)
}

#[cfg(test)]
mod tests {
    use super::{Sealed, is_sound, sealed};

    fn of(lines: &str) -> Sealed {
        let mut sealed = Sealed::default();
        sealed.add_all(lines.as_bytes());
        sealed
    }

    /// The order is free, and nothing else is.
    #[test]
    fn lines_that_are_gone_doubled_or_altered_change_the_seal_and_their_order_does_not() {
        let a = r#"{"scan":"entry","path":{"text":"a"}}"#;
        let b = r#"{"scan":"entry","path":{"text":"b"}}"#;
        let unread = r#"{"scan":"unread","path":{"text":"b"}}"#;
        let whole = of(&[a, b, unread, ""].join("\n"));
        assert_eq!((whole.entries, whole.unread), (2, 1));
        assert_eq!(whole, of(&[unread, b, a, r#"{"scan":"total"}"#].join("\n")));
        let others = [
            vec![a, unread],
            vec![a, b],
            vec![a, a, b, unread],
            vec![a, a, unread],
            vec![b, b, unread],
            vec![a, b, b, b, unread],
        ];
        for lines in others {
            assert_ne!(of(&lines.join("\n")), whole, "{lines:?}");
        }
        let altered = of(&[a, &b.replace("b\"", "c\""), unread].join("\n"));
        assert_eq!((altered.entries, altered.unread), (2, 1));
        assert_ne!(altered.digest(), whole.digest());
        let mut both = of(a);
        both.add_sealed(&of(&[b, unread].join("\n")));
        assert_eq!(both, whole);
    }

    #[test]
    fn a_line_that_was_altered_anywhere_is_not_sound() {
        let line = sealed(r#"{"scan":"part","of":3,"x":",\"seal\":\""}"#);
        assert!(is_sound(line.as_bytes()), "{line}");
        for at in 0..line.len() {
            let mut altered = line.clone().into_bytes();
            altered[at] ^= 1;
            assert!(!is_sound(&altered), "{at}");
        }
        assert!(!is_sound(b"{}") && !is_sound(b"") && !is_sound(b"\xFF"));
    }
}

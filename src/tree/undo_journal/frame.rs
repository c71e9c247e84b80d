//! Frames: the lines of a journal, each sound by itself.
//!
//! A frame is a checksum, its number, the number of the first frame that was written together with it, and the length of its JSON,
//! then that JSON, with spaces between them, and a newline. The checksum covers the journal's id and all that follows it, so that a
//! block of another file that turns up here after a power cut is no frame of this journal.
//!
//! Frames that are written together start at a page of their own. Whatever a power cut makes of that page, nothing that was on the
//! medium before was on it.

use sha2::{Digest, Sha256};

use crate::records::{JournalEvent, json_line};

/// The first line, before the version.
const MAGIC: &str = "utf8fs journal ";

/// The version that is written.
pub(super) const VERSION: u32 = 2;

/// Hex digits of an id, and of a checksum.
pub(super) const DIGITS: usize = 32;

/// Length of the longest first line.
pub(super) const LONGEST_PREAMBLE: usize = 80;

/// Length of the longest start of a frame: a checksum and three numbers.
pub(super) const LONGEST_HEADER: usize = DIGITS + 1 + 3 * 21;

/// The smallest part of a file that a power cut takes or leaves: a page of the kernel's, and a block of most filesystems.
pub(super) const PAGE: u64 = 4096;

/// The first line of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Preamble {
    /// It is of this version, and has this id.
    Id(String),
    /// It is of another version.
    OtherVersion(u32),
    /// It is none.
    None,
}

/// Returns the first line of a journal with this id.
pub(super) fn preamble(id: &str) -> Vec<u8> {
    format!("{MAGIC}{VERSION} {id}\n").into_bytes()
}

/// Reads the first line of a file.
pub(super) fn read_preamble(line: &[u8]) -> Preamble {
    let text = str::from_utf8(line).ok();
    let Some(words) = text.and_then(|text| text.strip_prefix(MAGIC)?.strip_suffix('\n')) else {
        return Preamble::None;
    };
    let (version, id) = words.split_once(' ').unwrap_or((words, ""));
    match version.parse() {
        Ok(VERSION) if id.len() == DIGITS && is_hex(id.as_bytes()) => Preamble::Id(id.to_owned()),
        Ok(VERSION) | Err(_) => Preamble::None,
        Ok(version) => Preamble::OtherVersion(version),
    }
}

/// The start of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FrameHeader {
    /// The checksum, in hex digits.
    sum: String,
    /// What stands between the checksum and the JSON.
    numbers: String,
    /// The number of the frame, from 0.
    pub(super) number: u64,
    /// The number of the first frame that was written together with it.
    pub(super) first: u64,
    /// Length of its JSON.
    pub(super) length: usize,
    /// Length of the start itself.
    pub(super) size: usize,
}

impl FrameHeader {
    /// Reads the start of a frame; `None` if it is none.
    pub(super) fn parse(start: &[u8]) -> Option<Self> {
        let (sum, rest) = start.split_at_checked(DIGITS)?;
        let after_sum = rest.strip_prefix(b" ").filter(|_| is_hex(sum))?;
        let mut rest = after_sum;
        let mut numbers = [0; 3];
        for number in &mut numbers {
            let end = rest.iter().position(|octet| *octet == b' ')?;
            let (digits, after) = rest.split_at(end);
            *number = str::from_utf8(digits).ok()?.parse().ok()?;
            rest = after.get(1..)?;
        }
        let [number, first, length] = numbers;
        let numbers = after_sum.get(..after_sum.len() - rest.len())?;
        Some(Self {
            sum: str::from_utf8(sum).ok()?.to_owned(),
            numbers: str::from_utf8(numbers).ok()?.to_owned(),
            number,
            first,
            length: usize::try_from(length).ok()?,
            size: start.len() - rest.len(),
        })
    }

    /// Is the frame sound that has this start and this JSON?
    pub(super) fn is_of(&self, id: &str, json: &[u8]) -> bool {
        self.length == json.len() && self.sum == checksum(id, &self.numbers, json)
    }
}

/// Returns the first half of a SHA-256, in hex digits.
fn checksum(id: &str, numbers: &str, json: &[u8]) -> String {
    let hash = Sha256::new().chain_update(id).chain_update(numbers);
    let sum: [u8; 32] = hash.chain_update(json).finalize().into();
    let half = sum.first_chunk().copied().map(u128::from_be_bytes);
    format!("{:032x}", half.unwrap_or_default())
}

fn is_hex(digits: &[u8]) -> bool {
    let mut digits = digits.iter();
    digits.all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

/// Frames that are written together, in the making.
#[derive(Debug)]
pub(super) struct FrameBatch<'i> {
    id: &'i str,
    first: u64,
    /// The number of the next frame.
    pub(super) next: u64,
    /// Their bytes, from an offset of the file on.
    pub(super) bytes: Vec<u8>,
    offset: u64,
}

impl<'i> FrameBatch<'i> {
    /// Starts a new file of a journal.
    pub(super) fn of_new_file(id: &'i str) -> Self {
        Self {
            id,
            first: 0,
            next: 0,
            bytes: preamble(id),
            offset: 0,
        }
    }

    /// Starts frames that are added to a file of this size, the first of which has this number. They start at the next page.
    pub(super) fn added_to(id: &'i str, size: u64, first: u64) -> Self {
        let padding = size.next_multiple_of(PAGE) - size;
        let mut bytes = vec![b' '; usize::try_from(padding).unwrap_or_default()];
        if let Some(last) = bytes.last_mut() {
            *last = b'\n';
        }
        Self {
            id,
            first,
            next: first,
            bytes,
            offset: size,
        }
    }

    /// Adds the frame of an event.
    pub(super) fn push(&mut self, event: &JournalEvent<'_>) {
        self.push_json(json_line(event).as_bytes());
    }

    /// Adds the frame of an event's JSON. Returns the frame's number, and the offset of the JSON.
    pub(super) fn push_json(&mut self, json: &[u8]) -> (u64, u64) {
        let number = self.next;
        let numbers = format!("{number} {} {} ", self.first, json.len());
        self.bytes.extend(checksum(self.id, &numbers, json).bytes());
        self.bytes.push(b' ');
        self.bytes.extend(numbers.bytes());
        let offset = self.end();
        self.bytes.extend(json);
        self.bytes.push(b'\n');
        self.next += 1;
        (number, offset)
    }

    /// Returns the offset of what is added next.
    pub(super) fn end(&self) -> u64 {
        self.offset + u64::try_from(self.bytes.len()).unwrap_or(u64::MAX)
    }

    /// Forgets the bytes, which were written.
    pub(super) fn clear(&mut self) {
        self.offset = self.end();
        self.bytes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef";

    fn frame() -> (FrameHeader, Vec<u8>) {
        let mut batch = FrameBatch::added_to(ID, 10, 7);
        batch.push_json(b"{}");
        batch.push_json(br#"{"event":"undoing"}"#);
        let line = batch.bytes.split(|octet| *octet == b'\n').nth(2).unwrap();
        let header = FrameHeader::parse(line).unwrap();
        let json = line[header.size..].to_vec();
        (header, json)
    }

    #[test]
    fn a_frame_has_its_number_and_that_of_the_first_one_written_with_it() {
        let (header, json) = frame();
        assert_eq!((header.number, header.first), (8, 7));
        assert_eq!(json, br#"{"event":"undoing"}"#);
        assert!(header.is_of(ID, &json));
    }

    #[test]
    fn a_frame_is_sound_in_its_own_journal_only_and_with_its_own_number_and_content() {
        let (header, json) = frame();
        assert!(!header.is_of(&ID.replace('0', "1"), &json));
        assert!(!header.is_of(ID, b"{}"));
        for numbers in ["9 7 19 ", "8 8 19 ", "+8 7 19 "] {
            let line = format!("{} {numbers}{{", header.sum);
            let other = FrameHeader::parse(line.as_bytes()).unwrap();
            assert_eq!(other.length, json.len());
            assert!(!other.is_of(ID, &json), "{other:?}");
        }
    }

    #[test]
    fn frames_that_are_added_start_at_a_page() {
        for (size, padding) in [(4095, 1), (4096, 0), (4097, 4095)] {
            let batch = FrameBatch::added_to(ID, size, 1);
            assert_eq!(batch.bytes.len(), padding, "{size}");
            assert_eq!(batch.end() % PAGE, 0, "{size}");
        }
    }

    #[test]
    fn the_first_line_tells_version_and_id() {
        assert_eq!(read_preamble(&preamble(ID)), Preamble::Id(ID.to_owned()));
        let rows = [
            ("utf8fs journal 1\n", Preamble::OtherVersion(1)),
            ("utf8fs journal 3 x\n", Preamble::OtherVersion(3)),
            ("utf8fs journal 2 x\n", Preamble::None),
            ("utf8fs journal\n", Preamble::None),
            ("utf8fs journal 2", Preamble::None),
            ("", Preamble::None),
        ];
        for (line, expected) in rows {
            assert_eq!(read_preamble(line.as_bytes()), expected, "{line}");
        }
    }
}

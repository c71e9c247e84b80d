//! Frames: the parts of a journal, each sealed by a checksum that covers all before it.

use std::fs::File;
use std::io::{self, BufReader, Read};

use sha2::{Digest, Sha256};
use strum::FromRepr;

use super::journal_error::JournalError;

/// The start of the file: a mark with a byte that is no ASCII, and the version.
pub(super) const PREAMBLE: [u8; 16] = *b"\x93utf8fsJ\x01\0\0\0\0\0\0\0";
/// The version that is written.
pub(super) const VERSION: u32 = 1;
/// Bytes in front of a payload.
pub(super) const HEAD: usize = 8;
/// Bytes of a checksum.
pub(super) const SUM: usize = 16;
/// The payload of all kinds but the first two: five numbers.
pub(super) const MARK: usize = 40;

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRepr)]
#[repr(u8)]
pub(super) enum FrameKind {
    Header = 1,
    Job = 2,
    /// All jobs are there. Only marks follow.
    Complete = 3,
    /// Jobs up to one are done, and on the medium.
    Progress = 4,
    Finished = 5,
    Undoing = 6,
    Undone = 7,
    /// From here on a name may have been changed by linking and unlinking.
    Linking = 8,
    /// From here on jobs may follow.
    Growing = 9,
}

/// The state of sealing: how many frames there are, and the checksum of the last.
#[derive(Debug, Clone)]
pub(super) struct Seal {
    pub(super) number: u64,
    sum: [u8; SUM],
}

/// The state before the first frame.
impl Default for Seal {
    fn default() -> Self {
        let sum = shortened(Sha256::digest(PREAMBLE).into());
        Self { number: 0, sum }
    }
}

impl Seal {
    fn next(&mut self, head: &[u8; HEAD], payload: &[u8]) -> [u8; SUM] {
        let hash = Sha256::new()
            .chain_update(self.sum)
            .chain_update(self.number.to_le_bytes())
            .chain_update(head)
            .chain_update(payload);
        self.sum = shortened(hash.finalize().into());
        self.number += 1;
        self.sum
    }

    /// Appends a frame to `out`; `None` if the payload is too long for one.
    pub(super) fn frame(
        &mut self,
        kind: FrameKind,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let [a, b, c, d] = u32::try_from(payload.len()).ok()?.to_le_bytes();
        let head = [a, b, c, d, kind as u8, 0, 0, 0];
        out.extend(head);
        out.extend(payload);
        out.extend(self.next(&head, payload));
        Some(())
    }
}

fn shortened(hash: [u8; 32]) -> [u8; SUM] {
    hash.first_chunk().copied().unwrap_or_default()
}

/// A mark's payload.
pub(super) fn mark(numbers: [u64; 5]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

/// Returns the numbers of a mark's payload.
pub(super) fn numbers(payload: &[u8]) -> Option<[u64; 5]> {
    let (numbers, _rest) = payload.as_chunks();
    let numbers: [[u8; 8]; 5] = numbers.try_into().ok()?;
    Some(numbers.map(u64::from_le_bytes))
}

/// A frame that is sound.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    pub(super) kind: FrameKind,
    /// The offset of its payload.
    pub(super) start: u64,
    pub(super) payload: &'a [u8],
}

/// The frames of a file, from its first on.
#[derive(Debug)]
pub(super) struct Frames<'f> {
    file: BufReader<&'f File>,
    left: u64,
    pub(super) seal: Seal,
    /// The offset of the next frame.
    pub(super) offset: u64,
    /// A `Complete` was met: a mark that the file is too short for was being written when the machine or its disk failed.
    pub(super) is_complete: bool,
    /// A `Growing` was met: a job that the file is too short for was being written, too.
    is_growing: bool,
    payload: Vec<u8>,
}

impl<'f> Frames<'f> {
    /// Starts at the beginning of a file, which has to stand there.
    ///
    /// # Errors
    /// [`JournalError::NotAJournal`], [`JournalError::Version`], [`JournalError::Io`].
    pub(super) fn new(file: &'f File) -> Result<Self, JournalError> {
        let io = JournalError::io("read the journal");
        let size = file.metadata().map_err(&io)?.len();
        let mut file = BufReader::with_capacity(1 << 20, file);
        let mut preamble = [0; PREAMBLE.len()];
        match file.read_exact(&mut preamble) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(JournalError::NotAJournal);
            }
            Err(error) => return Err(io(error)),
        }
        if preamble != PREAMBLE {
            let (mark, version) = preamble.split_at(8);
            let version = version.first_chunk().copied().map(u32::from_le_bytes);
            // What stands behind the version is not used by this one.
            return Err(match version.filter(|version| *version != VERSION) {
                Some(version) if PREAMBLE.starts_with(mark) => JournalError::Version(version),
                _ => JournalError::NotAJournal,
            });
        }
        let offset = 16;
        Ok(Self {
            file,
            left: size.saturating_sub(offset),
            seal: Seal::default(),
            offset,
            is_complete: false,
            is_growing: false,
            payload: Vec::new(),
        })
    }

    /// The frame that was read last, or the next one, is broken.
    pub(super) fn broken<T>(&self, why: &'static str) -> Result<T, JournalError> {
        Err(JournalError::Broken {
            frame: self.seal.number,
            offset: self.offset,
            why,
        })
    }

    /// The next frame; `None` at the end.
    ///
    /// # Errors
    /// [`JournalError::Broken`], [`JournalError::Io`].
    pub(super) fn next(&mut self) -> Result<Option<Frame<'_>>, JournalError> {
        let whole = |payload: u64| payload + 24;
        let least = if self.is_growing { whole(0) } else { whole(40) };
        if self.left == 0 || self.is_complete && self.left < least {
            return Ok(None);
        }
        if self.left < whole(0) {
            return self.broken("it is cut");
        }
        let mut head = [0; HEAD];
        self.file
            .read_exact(&mut head)
            .map_err(JournalError::io("read the journal"))?;
        let [a, b, c, d, kind, zeroes @ ..] = head;
        let length = u32::from_le_bytes([a, b, c, d]);
        let Some(kind) = FrameKind::from_repr(kind).filter(|_| zeroes == [0; 3]) else {
            return self.broken("it is of an unknown kind");
        };
        let is_mark = !matches!(kind, FrameKind::Header | FrameKind::Job);
        if is_mark && usize::try_from(length) != Ok(MARK) {
            return self.broken("its length is wrong");
        }
        if self.left < whole(length.into()) {
            return match self.is_growing {
                true => Ok(None),
                false => self.broken("it is cut"),
            };
        }
        let is_late_job = kind == FrameKind::Job && self.is_growing;
        if self.is_complete != (is_mark && kind != FrameKind::Complete || is_late_job)
            || (kind == FrameKind::Header) != (self.seal.number == 0)
        {
            return self.broken("it does not belong there");
        }
        let length = usize::try_from(length).or_else(|_| self.broken("it is too long"))?;
        self.payload.resize(length, 0);
        let mut sum = [0; SUM];
        let mut read = self.file.read_exact(&mut self.payload);
        read = read.and_then(|()| self.file.read_exact(&mut sum));
        read.map_err(JournalError::io("read the journal"))?;
        let mut seal = self.seal.clone();
        if seal.next(&head, &self.payload) != sum {
            return self.broken("its checksum is wrong");
        }
        let start = self.offset + 8;
        let size = whole(u64::try_from(length).unwrap_or(u64::MAX));
        self.seal = seal;
        self.offset += size;
        self.left -= size;
        self.is_complete |= kind == FrameKind::Complete;
        self.is_growing |= kind == FrameKind::Growing;
        Ok(Some(Frame {
            kind,
            start,
            payload: &self.payload,
        }))
    }
}

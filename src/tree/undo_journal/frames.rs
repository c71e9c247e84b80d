//! Frames: the parts of a journal, each sealed by a checksum that covers all before it.

use std::fs::File;
use std::io::{BufReader, Read};

use sha2::{Digest, Sha256};

use super::about::About;
use super::job::{Job, Totals};
use super::journal_error::JournalError;
use super::mark::{self, Mark, State};

/// The start of the file: a mark with a byte that is no ASCII, and the version.
pub(super) const PREAMBLE: [u8; 16] = *b"\x93utf8fsJ\x01\0\0\0\0\0\0\0";
/// The version that is written.
pub(super) const VERSION: u32 = 1;
/// Bytes in front of a payload.
pub(super) const HEAD: usize = 8;
/// Bytes of a checksum.
pub(super) const SUM: usize = 16;
/// The kinds of frames that are no marks.
const HEADER: u8 = 1;
const JOB: u8 = 2;

/// The content of a frame.
#[derive(Debug)]
pub(super) enum Content {
    /// The first frame: which migration it is of.
    Header(About),
    /// The changes of a directory.
    Job(Job),
    /// A point that the migration got to.
    Mark(Mark),
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

    /// Appends the header to `out`; `None` if it is too long for a frame.
    pub(super) fn header(&mut self, about: &About, out: &mut Vec<u8>) -> Option<()> {
        self.frame(HEADER, &about.write()?, out)
    }

    /// Appends the frame of a job, given by its bytes; `None` if they are too many for one.
    pub(super) fn job(&mut self, job: &[u8], out: &mut Vec<u8>) -> Option<()> {
        self.frame(JOB, job, out)
    }

    /// Appends the frame of a mark.
    pub(super) fn mark(&mut self, mark: Mark, out: &mut Vec<u8>) -> Option<()> {
        let (kind, payload) = mark::write(mark);
        self.frame(kind, &payload, out)
    }

    fn frame(&mut self, kind: u8, payload: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let [a, b, c, d] = u32::try_from(payload.len()).ok()?.to_le_bytes();
        let head = [a, b, c, d, kind, 0, 0, 0];
        out.extend(head);
        out.extend(payload);
        out.extend(self.next(&head, payload));
        Some(())
    }
}

fn shortened(hash: [u8; 32]) -> [u8; SUM] {
    hash.first_chunk().copied().unwrap_or_default()
}

/// A frame that is sound.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) content: Content,
    /// The offset and the length of its payload.
    pub(super) start: u64,
    pub(super) length: usize,
}

/// The frames of a file, from its first on.
#[derive(Debug)]
pub(super) struct Frames<'f> {
    file: BufReader<&'f File>,
    /// Bytes behind the last frame.
    pub(super) left: u64,
    pub(super) seal: Seal,
    /// The offset of the next frame.
    pub(super) offset: u64,
    /// The numbers of all jobs so far.
    pub(super) totals: Totals,
    /// The state by the marks so far. Once it is complete, a mark that the file is too short for was being written when the
    /// machine or its disk failed; once it is growing, so was a job.
    pub(super) state: State,
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
        let mut preamble = Vec::new();
        let read = file.by_ref().take(16).read_to_end(&mut preamble);
        read.map_err(io)?;
        if preamble != PREAMBLE {
            let (mark, _version) = PREAMBLE.split_at(8);
            let version = preamble.strip_prefix(mark).and_then(<[u8]>::first_chunk);
            // What stands behind the version is not used by this one.
            return Err(match version.copied().map(u32::from_le_bytes) {
                Some(version) if version != VERSION => JournalError::Version(version),
                _ => JournalError::NotAJournal,
            });
        }
        let offset = 16;
        Ok(Self {
            file,
            left: size.saturating_sub(offset),
            seal: Seal::default(),
            offset,
            totals: Totals::default(),
            state: State::default(),
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
    pub(super) fn next(&mut self) -> Result<Option<Frame>, JournalError> {
        let state = self.state;
        let whole = |payload: u32| 24 + u64::from(payload);
        let least = if state.is_growing { 0 } else { mark::LENGTH };
        if self.left == 0 || state.is_complete && self.left < whole(least) {
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
        let size = u32::from_le_bytes([a, b, c, d]);
        let is_mark = !matches!(kind, HEADER | JOB);
        if zeroes != [0; 3] {
            return self.broken("it is of an unknown kind");
        }
        if is_mark && size != mark::LENGTH {
            return self.broken("its length is wrong");
        }
        if self.left < whole(size) {
            return match state.is_growing {
                true => Ok(None),
                false => self.broken("it is cut"),
            };
        }
        let is_late_job = kind == JOB && state.is_growing;
        if state.is_complete != (is_mark && kind != mark::COMPLETE || is_late_job)
            || (kind == HEADER) != (self.seal.number == 0)
        {
            return self.broken("it does not belong there");
        }
        let length = usize::try_from(size).or_else(|_| self.broken("it is too long"))?;
        self.payload.resize(length, 0);
        let mut sum = [0; SUM];
        let mut read = self.file.read_exact(&mut self.payload);
        read = read.and_then(|()| self.file.read_exact(&mut sum));
        read.map_err(JournalError::io("read the journal"))?;
        let mut seal = self.seal.clone();
        if seal.next(&head, &self.payload) != sum {
            return self.broken("its checksum is wrong");
        }
        let content = match kind {
            HEADER => About::read(&self.payload).map(Content::Header),
            JOB => Job::read(self.seal.number, &self.payload).map(Content::Job),
            kind => mark::read(kind, &self.payload).map(Content::Mark),
        };
        let Some(content) = content.filter(|content| self.take(content)) else {
            return self.broken("it makes no sense");
        };
        let start = self.offset + 8;
        self.seal = seal;
        self.offset += whole(size);
        self.left -= whole(size);
        Ok(Some(Frame {
            content,
            start,
            length,
        }))
    }

    /// Takes in what a frame says. False if it completes other jobs than those that were met.
    fn take(&mut self, content: &Content) -> bool {
        match content {
            Content::Header(_) => {}
            Content::Job(job) => self.totals.add(job),
            Content::Mark(mark) => {
                self.state.take(*mark);
                let complete = self.totals.complete(self.state.unplanned);
                return !matches!(mark, Mark::Complete { .. }) || *mark == complete;
            }
        }
        true
    }
}

//! Frames: the lines of a journal, each sealed by a checksum that covers all before it.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use sha2::{Digest, Sha256};

use super::job_index::JobIndex;
use super::journal_error::JournalError;
use super::journal_file::Tail;
use crate::records::{JournalEvent, json_line};

/// The first line, before the version.
const MAGIC: &str = "utf8fs journal ";

/// The version that is written.
pub(super) const VERSION: u32 = 1;

/// Bytes of a line in front of its JSON: a checksum in hex digits, and a space.
const SUM: usize = 33;

/// Bytes that tell the start of a frame: these, and the brace of its JSON.
const START: u64 = 34;

/// Returns the first line of the file.
pub(super) fn preamble() -> Vec<u8> {
    format!("{MAGIC}{VERSION}\n").into_bytes()
}

/// The state of sealing: how many frames there are, where the next one starts, and the checksum of the last.
#[derive(Debug, Clone)]
pub(super) struct Seal {
    pub(super) number: u64,
    pub(super) offset: u64,
    sum: [u8; 32],
}

impl Default for Seal {
    /// Returns the state behind the first line.
    fn default() -> Self {
        Self {
            number: 0,
            offset: length(&preamble()),
            sum: [0; 32],
        }
    }
}

impl Seal {
    /// Seals the next frame, of this JSON. Returns what stands in front of the JSON, and the offset of that.
    fn next(&mut self, json: &[u8]) -> (Vec<u8>, u64) {
        let hash = Sha256::new().chain_update(self.sum).chain_update(json);
        self.sum = hash.finalize().into();
        self.number += 1;
        let shown = self.sum.first_chunk().copied().map(u128::from_be_bytes);
        let sum = format!("{:032x} ", shown.unwrap_or_default()).into_bytes();
        let start = self.offset + length(&sum);
        self.offset = start + length(json) + 1;
        (sum, start)
    }

    /// Appends the frame of an event.
    pub(super) fn push(&mut self, event: &JournalEvent<'_>, out: &mut Vec<u8>) {
        self.push_json(json_line(event).as_bytes(), out);
    }

    /// Appends the frame of an event's JSON. Returns the offset of that.
    pub(super) fn push_json(&mut self, json: &[u8], out: &mut Vec<u8>) -> u64 {
        let (sum, start) = self.next(json);
        out.extend(sum);
        out.extend(json);
        out.push(b'\n');
        start
    }
}

fn length(octets: &[u8]) -> u64 {
    u64::try_from(octets.len()).unwrap_or(u64::MAX)
}

/// Reads an event. Nearly all of a journal are jobs, which are read without looking for the kind among their fields.
fn parse(json: &[u8]) -> serde_json::Result<JournalEvent<'static>> {
    if json.starts_with(br#"{"event":"job","#) {
        let job = serde_json::from_slice(json)?;
        return Ok(JournalEvent::Job(Cow::Owned(job)));
    }
    serde_json::from_slice(json)
}

/// The frames of a file, from its first on.
#[derive(Debug)]
pub(super) struct Frames<'f> {
    file: BufReader<&'f File>,
    line: Vec<u8>,
    /// All jobs so far.
    pub(super) jobs: JobIndex,
    /// Is torn if the file ends in a frame that was being written when the machine or its disk failed. Once the journal is
    /// complete, one without an end is taken for that.
    pub(super) tail: Tail,
}

impl<'f> Frames<'f> {
    /// Starts at the beginning of a file, which has to stand there.
    ///
    /// # Errors
    /// [`JournalError::NotAJournal`], [`JournalError::Version`], [`JournalError::Io`].
    pub(super) fn new(file: &'f File) -> Result<Self, JournalError> {
        let mut file = BufReader::with_capacity(1 << 20, file);
        let mut line = Vec::new();
        let read = file.by_ref().take(64).read_until(b'\n', &mut line);
        read.map_err(JournalError::io("read the journal"))?;
        if line != preamble() {
            let text = str::from_utf8(&line).ok();
            let version = text.and_then(|text| text.strip_prefix(MAGIC)?.strip_suffix('\n'));
            let version = version.and_then(|version| version.parse().ok());
            return Err(version.map_or(JournalError::NotAJournal, JournalError::Version));
        }
        Ok(Self {
            file,
            line,
            jobs: JobIndex::default(),
            tail: Tail::default(),
        })
    }

    /// The frame that was read last, or the next one, is broken.
    pub(super) fn broken<T>(&self, why: &'static str) -> Result<T, JournalError> {
        Err(JournalError::Broken {
            frame: self.tail.seal.number,
            offset: self.tail.seal.offset,
            why,
        })
    }

    /// The event of the next frame; `None` at the end.
    ///
    /// # Errors
    /// [`JournalError::Broken`], [`JournalError::Io`].
    pub(super) fn next(&mut self) -> Result<Option<JournalEvent<'static>>, JournalError> {
        self.line.clear();
        let io = JournalError::io("read the journal");
        // What does not start as a frame is not read to its end, which may be far.
        let mut start = self.file.by_ref().take(START);
        if start.read_until(b'\n', &mut self.line).map_err(&io)? == 0 {
            return Ok(None);
        }
        let is_begun = self.line.iter().enumerate().all(|(at, octet)| match at {
            ..32 => matches!(octet, b'0'..=b'9' | b'a'..=b'f'),
            32 => *octet == b' ',
            _ => *octet == b'{',
        });
        if is_begun {
            let rest = self.file.read_until(b'\n', &mut self.line);
            rest.map_err(&io)?;
        }
        let is_whole = self.line.pop_if(|octet| *octet == b'\n').is_some();
        if !is_whole && !self.tail.state.is_complete {
            return self.broken("it is cut");
        }
        let sealed = |line: &[u8]| {
            let mut seal = self.tail.seal.clone();
            let (sum, json) = line.split_at_checked(SUM).unwrap_or_default();
            let (own, start) = seal.next(json);
            (own == sum).then_some((seal, start))
        };
        // All but the last byte is a whole frame: that byte was its newline.
        let is_altered = || self.line.split_last().and_then(|(_, line)| sealed(line));
        if !is_whole && is_begun && is_altered().is_none() {
            self.tail.is_torn = true;
            return Ok(None);
        }
        let Some((seal, start)) = sealed(&self.line).filter(|_| is_whole) else {
            return self.broken("its checksum is wrong");
        };
        let json = self.line.get(SUM..).unwrap_or_default();
        let Ok(event) = parse(json) else {
            return self.broken("it is of an unknown kind");
        };
        if !self.take(&event, start, json.len()) {
            return self.broken("it does not belong there");
        }
        self.tail.seal = seal;
        Ok(Some(event))
    }

    /// Takes in an event, whose JSON has so many bytes there, unless it does not belong there.
    fn take(&mut self, event: &JournalEvent<'_>, start: u64, length: usize) -> bool {
        let Tail { seal, state, .. } = &mut self.tail;
        let is_complete = state.is_complete;
        let belongs = match event {
            JournalEvent::Journal(_) => seal.number == 0,
            _ if seal.number == 0 => false,
            JournalEvent::Job(job) => {
                self.jobs.add(job, start, length);
                !is_complete || state.is_growing
            }
            JournalEvent::Complete {
                directories, steps, ..
            } => !is_complete && (*directories, *steps) == (self.jobs.jobs(), self.jobs.steps),
            JournalEvent::Status { .. } => false,
            JournalEvent::Progress { .. }
            | JournalEvent::Finished(_)
            | JournalEvent::Undoing
            | JournalEvent::Undone(_)
            | JournalEvent::Linking
            | JournalEvent::Growing => is_complete,
        };
        state.take(event);
        belongs
    }
}

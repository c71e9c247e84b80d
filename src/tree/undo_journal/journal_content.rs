//! The content of a journal's file: its sound part, and what is wrong with the rest.
//!
//! The sound part is the frames from the first on without a gap in their numbers. Frames that were added together later, and are
//! not all there, were being written when the machine failed: nothing of them was done. So they are no damage, and frames with
//! their numbers follow them. A gap before other frames is damage.

use std::borrow::Cow;
use std::fs::File;

use super::frame::Preamble;
use super::frame_reader::{FrameReader, SoundFrame};
use super::job_index::{JobIndex, JobPlace};
use super::journal_error::JournalError;
use super::journal_state::MigrationState;
use crate::records::{JournalEvent, JournalHeader};

/// The part of a damaged journal that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalPart {
    /// The frames before the damage.
    BeforeDamage,
    /// These, and the frames behind it.
    AllSound,
}

/// Damage of a journal: frames that were there once are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// The number of the first frame that is missing, counted from 0.
    pub frame: u64,
    /// The offset behind the frame before it.
    pub offset: u64,
    /// Sound frames behind it.
    pub later_frames: u64,
}

/// What the frames of a file say.
#[derive(Debug)]
pub(super) struct JournalContent {
    pub(super) header: JournalHeader,
    pub(super) jobs: JobIndex,
    pub(super) state: MigrationState,
    pub(super) damage: Option<Damage>,
    /// The offset of what was being written when the machine failed, if anything was.
    pub(super) torn_at: Option<u64>,
    /// The size of the file.
    pub(super) size: u64,
    /// The number of the next frame that is added.
    pub(super) next_frame: u64,
}

/// A frame and its event.
type ReadFrame = (SoundFrame, JournalEvent<'static>);

impl JournalContent {
    /// Reads a file, and reports the events that count in their order.
    ///
    /// # Errors
    /// [`JournalError::NotAJournal`], [`JournalError::Version`], [`JournalError::Headless`], [`JournalError::Io`].
    pub(super) fn read(
        file: &File,
        part: JournalPart,
        report: &mut dyn FnMut(&JournalEvent<'_>),
    ) -> Result<Self, JournalError> {
        let mut reader = open_frames(file)?;
        let mut sequence = FrameSequence::default();
        while let Some(frame) = reader
            .next()
            .map_err(JournalError::io("read the journal"))?
        {
            if let Ok(event) = parse_event(&frame.json) {
                sequence.take((frame, event), &mut reader.rubbish, report);
            } else {
                // The frame is sound, but not of this format.
                reader.rubbish.get_or_insert(frame.offset);
            }
        }
        sequence.finish(part, &reader, report)
    }
}

/// Reads the header of a journal alone.
///
/// # Errors
/// As for [`JournalContent::read`].
pub(super) fn read_header(file: &File) -> Result<JournalHeader, JournalError> {
    let mut reader = open_frames(file)?;
    let first = reader
        .next()
        .map_err(JournalError::io("read the journal"))?;
    let event = first.and_then(|frame| parse_event(&frame.json).ok());
    match event {
        Some(JournalEvent::Journal(header)) => Ok(header),
        _ => Err(JournalError::Headless),
    }
}

fn open_frames(file: &File) -> Result<FrameReader<'_>, JournalError> {
    let opened = FrameReader::new(file).map_err(JournalError::io("read the journal"))?;
    match opened {
        (reader, Preamble::Id(_)) => Ok(reader),
        (_, Preamble::OtherVersion(version)) => Err(JournalError::Version(version)),
        (_, Preamble::None) => Err(JournalError::NotAJournal),
    }
}

/// Reads an event. Nearly all of a journal are jobs, which are read without looking for the kind among their fields.
fn parse_event(json: &[u8]) -> serde_json::Result<JournalEvent<'static>> {
    if json.starts_with(br#"{"event":"job","#) {
        let job = serde_json::from_slice(json)?;
        return Ok(JournalEvent::Job(Cow::Owned(job)));
    }
    serde_json::from_slice(json)
}

/// The frames of a file in the order of their numbers.
#[derive(Debug, Default)]
struct FrameSequence {
    header: Option<JournalHeader>,
    jobs: JobIndex,
    state: MigrationState,
    /// The number of the frame that comes next.
    expected: u64,
    /// The offset behind the frame before that.
    sound_end: u64,
    /// Frames behind a gap.
    beyond: Vec<ReadFrame>,
}

impl FrameSequence {
    /// Takes in the next sound frame of the file, behind the first rubbish since the last one that came next.
    fn take(
        &mut self,
        (frame, event): ReadFrame,
        rubbish: &mut Option<u64>,
        report: &mut dyn FnMut(&JournalEvent<'_>),
    ) {
        if frame.number > self.expected {
            self.beyond.push((frame, event));
        } else if frame.number == self.expected {
            // What had later numbers before it was being written when the machine failed.
            self.beyond.clear();
            *rubbish = None;
            self.expected += 1;
            self.sound_end = frame.end();
            self.count(&frame, event, report);
        }
    }

    /// Takes in the event of a frame that counts.
    fn count(
        &mut self,
        frame: &SoundFrame,
        event: JournalEvent<'static>,
        report: &mut dyn FnMut(&JournalEvent<'_>),
    ) {
        report(&event);
        self.state.take(&event);
        match event {
            JournalEvent::Journal(header) => self.header = Some(header),
            JournalEvent::Job(job) => {
                let place = JobPlace::new(frame.number, frame.json_offset, frame.json.len(), &job);
                self.jobs.add(&job, place);
            }
            JournalEvent::Complete { .. }
            | JournalEvent::Progress { .. }
            | JournalEvent::Finished(_)
            | JournalEvent::Undoing
            | JournalEvent::Undone(_)
            | JournalEvent::Linking
            | JournalEvent::Status { .. } => {}
        }
    }

    /// Judges what is behind the sound part, and takes in what counts of it.
    fn finish(
        mut self,
        part: JournalPart,
        reader: &FrameReader<'_>,
        report: &mut dyn FnMut(&JournalEvent<'_>),
    ) -> Result<JournalContent, JournalError> {
        let damage = self.damage();
        let next_frame = match damage {
            Some(_) => self.beyond.last().map(|(frame, _)| frame.number + 1),
            None => None,
        };
        let next_frame = next_frame.unwrap_or(self.expected);
        let beyond = self.beyond.first().map(|(frame, _)| frame.offset);
        let torn_at = reader.rubbish.into_iter().chain(beyond).min();
        if damage.is_some() && part == JournalPart::AllSound {
            for (frame, event) in std::mem::take(&mut self.beyond) {
                self.count(&frame, event, report);
            }
        }
        if damage.is_some() {
            // The count of jobs that are done is of all of them.
            self.state.progress = 0;
        }
        Ok(JournalContent {
            header: self.header.ok_or(JournalError::Headless)?,
            jobs: self.jobs,
            state: self.state,
            damage,
            torn_at: torn_at.filter(|_| damage.is_none()),
            size: reader.size(),
            next_frame,
        })
    }

    /// Returns the damage, if there is any: the migration is not all there, or a frame is missing before others that were added
    /// after it was on the medium.
    fn damage(&self) -> Option<Damage> {
        let mut beyond = self.beyond.iter();
        let is_torn = beyond.all(|(frame, _)| frame.first <= self.expected);
        if self.state.is_complete && is_torn {
            return None;
        }
        Some(Damage {
            frame: self.expected,
            offset: self.sound_end,
            later_frames: u64::try_from(self.beyond.len()).unwrap_or(u64::MAX),
        })
    }
}

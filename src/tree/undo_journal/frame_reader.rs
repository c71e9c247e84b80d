//! The sound frames of a file, wherever in it they stand.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::frame::{FrameHeader, LONGEST_HEADER, LONGEST_PREAMBLE, PAGE, Preamble, read_preamble};

/// Bytes that are read at a time.
const READ_AHEAD: usize = 1 << 20;

/// A frame that is sound.
#[derive(Debug)]
pub(super) struct SoundFrame {
    /// The number of the frame, and that of the first one that was written together with it.
    pub(super) number: u64,
    pub(super) first: u64,
    /// The offset of the frame, and that of its JSON.
    pub(super) offset: u64,
    pub(super) json_offset: u64,
    /// The JSON.
    pub(super) json: Vec<u8>,
}

impl SoundFrame {
    /// Returns the offset behind its JSON.
    pub(super) fn end(&self) -> u64 {
        self.json_offset + u64::try_from(self.json.len()).unwrap_or_default()
    }
}

/// A reader of the frames of a file.
#[derive(Debug)]
pub(super) struct FrameReader<'f> {
    window: FileWindow<'f>,
    id: String,
    /// The offset behind the last frame or line.
    at: u64,
    /// There is no newline behind the last frame.
    lacks_newline: bool,
    /// The offset of the first byte behind the last sound frame that is neither of a frame nor padding.
    pub(super) rubbish: Option<u64>,
}

impl<'f> FrameReader<'f> {
    /// Reads the first line. Returns what that is, too.
    ///
    /// # Errors
    /// Those of reading the file.
    pub(super) fn new(file: &'f File) -> io::Result<(Self, Preamble)> {
        let mut window = FileWindow::new(file)?;
        let start = window.bytes(0, LONGEST_PREAMBLE)?;
        let end = start.iter().position(|octet| *octet == b'\n');
        let line = end.and_then(|end| start.get(..=end)).unwrap_or_default();
        let (preamble, length) = (read_preamble(line), line.len());
        let id = match &preamble {
            Preamble::Id(id) => id.clone(),
            Preamble::OtherVersion(_) | Preamble::None => String::new(),
        };
        let reader = Self {
            window,
            id,
            at: u64::try_from(length).unwrap_or_default(),
            lacks_newline: false,
            rubbish: None,
        };
        Ok((reader, preamble))
    }

    /// Returns the size of the file.
    pub(super) fn size(&self) -> u64 {
        self.window.size
    }

    /// Returns the next sound frame, and passes over all that is none; `None` at the end.
    ///
    /// # Errors
    /// Those of reading the file.
    pub(super) fn next(&mut self) -> io::Result<Option<SoundFrame>> {
        while self.at < self.window.size {
            if let Some(frame) = self.frame()? {
                self.at = frame.end();
                // The newline may be missing, or be another byte: the frame is sound without.
                self.lacks_newline = self.window.bytes(self.at, 1)? != b"\n";
                if !self.lacks_newline {
                    self.at += 1;
                }
                return Ok(Some(frame));
            }
            if std::mem::take(&mut self.lacks_newline) {
                self.at += 1;
            } else {
                self.pass_line()?;
            }
        }
        Ok(None)
    }

    /// Reads the frame that starts here, if there is one and it is sound.
    fn frame(&mut self) -> io::Result<Option<SoundFrame>> {
        let start = self.window.bytes(self.at, LONGEST_HEADER)?;
        let Some(header) = FrameHeader::parse(start) else {
            return Ok(None);
        };
        let json_offset = self.at + u64::try_from(header.size).unwrap_or_default();
        let end = u64::try_from(header.length).ok();
        let end = end.and_then(|length| json_offset.checked_add(length));
        if end.is_none_or(|end| end > self.window.size) {
            return Ok(None);
        }
        let json = self.window.bytes(json_offset, header.length)?;
        let is_sound = header.is_of(&self.id, json);
        Ok(is_sound.then(|| SoundFrame {
            number: header.number,
            first: header.first,
            offset: self.at,
            json_offset,
            json: json.to_vec(),
        }))
    }

    /// Passes over the rest of a line, but not beyond the next page: a frame can start there.
    fn pass_line(&mut self) -> io::Result<()> {
        let page_end = (self.at + 1).next_multiple_of(PAGE);
        let length = usize::try_from(page_end - self.at).unwrap_or_default();
        let rest = self.window.bytes(self.at, length)?;
        let newline = rest.iter().position(|octet| *octet == b'\n');
        let line = newline.map_or(rest, |newline| rest.get(..=newline).unwrap_or(rest));
        let is_padding = line.iter().all(|octet| matches!(octet, b' ' | b'\n'));
        let passed = u64::try_from(line.len().max(1)).unwrap_or(1);
        if !is_padding {
            self.rubbish.get_or_insert(self.at);
        }
        self.at += passed;
        Ok(())
    }
}

/// A part of a file, in memory.
#[derive(Debug)]
struct FileWindow<'f> {
    file: &'f File,
    size: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl<'f> FileWindow<'f> {
    fn new(file: &'f File) -> io::Result<Self> {
        // A directory or a pipe has no bytes at an offset, and says so.
        file.read_at(&mut [0], 0)?;
        Ok(Self {
            file,
            size: file.metadata()?.len(),
            start: 0,
            bytes: Vec::new(),
        })
    }

    /// Returns the bytes from an offset on; fewer at the end of the file.
    fn bytes(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        let left = self.size.saturating_sub(offset);
        let length = length.min(usize::try_from(left).unwrap_or(usize::MAX));
        if self.held(offset, length).is_none() {
            let wanted = length.max(READ_AHEAD);
            let wanted = wanted.min(usize::try_from(left).unwrap_or(usize::MAX));
            self.bytes.resize(wanted, 0);
            self.start = offset;
            self.file.read_exact_at(&mut self.bytes, offset)?;
        }
        Ok(self.held(offset, length).unwrap_or_default())
    }

    /// Returns bytes that are in memory.
    fn held(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.bytes.get(start..start.checked_add(length)?)
    }
}

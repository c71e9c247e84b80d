//! Destinations of the audit log. Each may be stuck, full or gone. All waits are bounded except on a blocking stderr,
//! and only the writer thread waits.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::datagram::{self, Datagrams};
use super::log_file::open_file;
use super::syslog::SYSLOG;
use super::{journald, syslog};
use crate::os::helper;
use crate::records::AuditRecord;
use log::Level;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Time that one line may wait for a sink that takes nothing. After that the sink is not waited for until it takes a
/// line.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// The destination of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SinkKind {
    /// Standard error, one line each.
    Stderr,
    /// A file, appended to, made with mode 0640 if it is not there; may be a FIFO or a character device. No symlink is
    /// followed to it; it is ours or root's, and has one name.
    File(PathBuf),
    /// The system's log, through `/dev/log`.
    Syslog,
    /// The system's journal, through its socket at this path, with a field for each fact.
    Journal(PathBuf),
}

/// An open sink.
#[derive(Debug)]
pub(super) enum Sink {
    /// A descriptor that lines are written to.
    Stream(Stream),
    /// The system's log.
    Syslog(Datagrams),
    /// The system's journal, which takes fields.
    Journald(Datagrams),
}

impl Sink {
    /// Opens the sink.
    ///
    /// # Errors
    /// Of opening the file or the socket. A missing syslog or journal is none: it may come later.
    pub(super) fn open(kind: SinkKind) -> io::Result<Self> {
        match kind {
            SinkKind::Stderr => {
                // Not through `std::io::stderr`: its lock would be held while the write is stuck.
                let own = io::stderr().as_fd().try_clone_to_owned()?;
                Ok(Self::Stream(Stream::new(own.into(), None)))
            }
            SinkKind::File(path) => {
                let file = open_file(&path)?;
                Ok(Self::Stream(Stream::new(file, Some(path))))
            }
            SinkKind::Syslog => Datagrams::syslog(SYSLOG.into()).map(Self::Syslog),
            SinkKind::Journal(path) => Datagrams::journald(path).map(Self::Journald),
        }
    }

    /// Writes `line`, which has no newline in it; `document` is the same for a sink that takes fields.
    ///
    /// # Errors
    /// The line was not written, or not wholly; the next one is not harmed by that.
    pub(super) fn write_line(
        &mut self,
        line: &str,
        document: &AuditRecord<'_>,
        level: Level,
    ) -> io::Result<()> {
        match self {
            Self::Stream(stream) => stream.write_line(line),
            Self::Syslog(log) => log.send(syslog::message(line, level).as_bytes()),
            Self::Journald(log) => log.send(&journald::message(line, document, level)),
        }
    }

    /// Opens the file at its path again, after it was renamed; does nothing for other sinks.
    ///
    /// # Errors
    /// Of opening; the file that was open stays in use.
    pub(super) fn reopen(&mut self) -> io::Result<()> {
        if let Self::Stream(stream) = self
            && let Some(path) = stream.path.take()
        {
            // From a root of our own the path leads nowhere.
            let opened = helper::open_log().map_or_else(|| open_file(&path), |log| Ok(log?.into()));
            match opened {
                Ok(file) => *stream = Stream::new(file, Some(path)),
                Err(error) => {
                    stream.path = Some(path);
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

impl SinkKind {
    /// Opens the log once more, for a process that has no other way to it: the file, or a socket connected to the
    /// journal.
    ///
    /// # Errors
    /// Of opening; `ENOENT` where the journal does not run, and for other logs.
    pub fn open_log(&self) -> io::Result<OwnedFd> {
        match self {
            Self::File(path) => open_file(path).map(OwnedFd::from),
            Self::Journal(path) => datagram::connect(path),
            Self::Stderr | Self::Syslog => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// A descriptor that lines are written to, each with one call where the system takes it whole.
#[derive(Debug)]
pub(super) struct Stream {
    file: File,
    /// The path of the file; `None` for stderr.
    path: Option<PathBuf>,
    /// Does what was written last end within a line?
    broken: bool,
    /// Did the last line wait in vain?
    stuck: bool,
}

impl Stream {
    /// A stream over an open file.
    pub(super) fn new(file: File, path: Option<PathBuf>) -> Self {
        Self {
            file,
            path,
            broken: false,
            stuck: false,
        }
    }

    fn write_line(&mut self, line: &str) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(line.len() + 2);
        if self.broken {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        let (written, result) = self.write_all(&bytes);
        if let Some(last) = bytes.get(..written).and_then(<[u8]>::last) {
            self.broken = *last != b'\n';
        }
        self.stuck = result
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::TimedOut);
        result
    }

    /// Writes `bytes` as far as possible: how far, and why no further.
    fn write_all(&mut self, bytes: &[u8]) -> (usize, io::Result<()>) {
        let patience = if self.stuck { Duration::ZERO } else { PATIENCE };
        let deadline = Instant::now() + patience;
        let mut written = 0;
        while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
            let step = wait_writable(&self.file, deadline).and_then(|()| self.file.write(rest));
            match step {
                Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error)
                    if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < deadline => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return (written, Err(io::ErrorKind::TimedOut.into()));
                }
                Err(error) => return (written, Err(error)),
            }
        }
        (written, Ok(()))
    }
}

/// Waits until `file` takes bytes, or is broken; `TimedOut` at the deadline.
fn wait_writable(file: &File, deadline: Instant) -> io::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
    let ready = poll(&mut [PollFd::new(file, PollFlags::OUT)], Some(&timeout))?;
    if ready == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;

    use rustix::pipe::{PipeFlags, pipe_with};

    use super::Stream;

    /// A line that could be written in part only ends where the next one starts, and harms no other.
    #[test]
    fn a_broken_line_does_not_garble_the_next() {
        let flags = PipeFlags::NONBLOCK | PipeFlags::CLOEXEC;
        let (read, write) = pipe_with(flags).unwrap();
        let (mut read, mut stream) = (File::from(read), Stream::new(File::from(write), None));
        let long = "x".repeat(1 << 20);
        stream.write_line("one").unwrap();
        assert!(stream.write_line(&long).is_err());
        assert!(stream.broken && stream.stuck);
        assert!(stream.write_line("lost").is_err());
        let mut taken = vec![0; 1 << 20];
        let count = read.read(&mut taken).unwrap();
        assert!(taken[..count].starts_with(b"one\nxxx"));
        assert_eq!(taken[count - 1], b'x');
        stream.write_line("two").unwrap();
        assert!(!stream.broken && !stream.stuck);
        stream.write_line("three").unwrap();
        drop(stream);
        let mut rest = String::new();
        read.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "\ntwo\nthree\n");
    }
}

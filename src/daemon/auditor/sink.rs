//! Destinations of the audit log. Each may be stuck, full or gone. Only the writer thread waits.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use super::datagram::Datagrams;
use super::log_file::open_file;
use super::syslog::SYSLOG;
use super::{journald, syslog};
use crate::os::helper::{self, Errand};
use crate::records::AuditRecord;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Time that a line may wait for a sink that takes nothing, so that a log that was replaced is opened anew.
const PATIENCE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

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
    /// Of opening the file. A missing syslog or journal is none: it may come later.
    pub(super) fn open(kind: SinkKind) -> io::Result<Self> {
        Ok(match kind {
            SinkKind::Stderr | SinkKind::File(_) => {
                Self::Stream(Stream::new(kind.open()?.into(), kind))
            }
            SinkKind::Syslog => Self::Syslog(Datagrams::new(kind)),
            SinkKind::Journal(_) => Self::Journald(Datagrams::new(kind)),
        })
    }

    /// Writes `line`, which has no newline in it; `record` is the same for a sink that takes fields.
    ///
    /// # Errors
    /// The line was not written, or not wholly; the next one is not harmed by that.
    pub(super) fn write_line(&mut self, line: &str, record: &AuditRecord<'_>) -> io::Result<()> {
        match self {
            Self::Stream(stream) => stream.write_line(line),
            Self::Syslog(log) => log.send(syslog::message(line, record.level()).as_bytes()),
            Self::Journald(log) => log.send(&journald::message(line, record)),
        }
    }

    /// Opens the file at its path again, after it was renamed; does nothing for other sinks.
    ///
    /// # Errors
    /// Of opening; the file that was open stays in use.
    pub(super) fn reopen(&mut self) -> io::Result<()> {
        if let Self::Stream(stream) = self
            && let SinkKind::File(_) = stream.kind
        {
            *stream = Stream::new(stream.kind.open()?.into(), stream.kind.clone());
        }
        Ok(())
    }

    /// Has the filesystem of the file a free block? Other sinks are taken to have room.
    pub(super) fn has_room(&self) -> bool {
        match self {
            Self::Stream(stream) => {
                rustix::fs::fstatvfs(&stream.file).map_or(true, |found| found.f_bfree > 0)
            }
            Self::Syslog(_) | Self::Journald(_) => true,
        }
    }
}

impl SinkKind {
    /// Returns the path of the socket that messages go to.
    #[must_use]
    pub fn socket(&self) -> Option<&Path> {
        match self {
            Self::Syslog => Some(SYSLOG.as_ref()),
            Self::Journal(path) => Some(path),
            Self::Stderr | Self::File(_) => None,
        }
    }

    /// Opens the log: the file, or a socket that is connected to it. Where there is a helper process, that does so: from a root of
    /// our own no path leads there.
    ///
    /// # Errors
    /// Of opening; `ENOENT` where nobody listens.
    pub(in crate::daemon) fn open(&self) -> io::Result<OwnedFd> {
        let (errand, path) = match self {
            // Not through `std::io::stderr`: its lock would be held while the write is stuck.
            Self::Stderr => return io::stderr().as_fd().try_clone_to_owned(),
            Self::Syslog => (Errand::ConnectSyslog, Path::new(SYSLOG)),
            Self::File(path) | Self::Journal(path) => (Errand::OpenLog, &**path),
        };
        helper::open(errand).unwrap_or_else(|| match self {
            Self::File(_) => Ok(open_file(path)?.into()),
            Self::Stderr | Self::Syslog | Self::Journal(_) => {
                let socket = UnixDatagram::unbound()?;
                socket.connect(path)?;
                Ok(socket.into())
            }
        })
    }
}

/// A descriptor that lines are written to, each with one call where the system takes it whole.
#[derive(Debug)]
pub(super) struct Stream {
    file: File,
    /// The log that it is of.
    kind: SinkKind,
    /// Does what was written last end within a line?
    broken: bool,
}

impl Stream {
    /// A stream over an open file.
    pub(super) fn new(file: File, kind: SinkKind) -> Self {
        Self {
            file,
            kind,
            broken: false,
        }
    }

    /// Does the file end within a line, whoever wrote that when the disk was full? What cannot be read is taken for whole.
    fn ends_within_line(&self) -> bool {
        let mut last = *b"\n";
        if let Ok(there) = self.file.metadata()
            && there.is_file()
        {
            let at = there.len().saturating_sub(1);
            self.file.read_at(&mut last, at).ok();
        }
        last != *b"\n"
    }

    fn write_line(&mut self, line: &str) -> io::Result<()> {
        let before = match self.broken || self.ends_within_line() {
            true => "\n",
            false => "",
        };
        let bytes = format!("{before}{line}\n");
        let mut rest = bytes.as_bytes();
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    let (written, left) = rest.split_at(count);
                    self.broken = !written.ends_with(b"\n");
                    rest = left;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A FIFO is opened so, and standard error may be set so.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let ready = &mut [PollFd::new(&self.file, PollFlags::OUT)];
                    if poll(ready, Some(&PATIENCE))? == 0 {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Seek};

    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

    use super::{SinkKind, Stream};

    /// A line that could be written in part only ends where the next one starts, and harms no other.
    #[test]
    fn a_broken_line_does_not_garble_the_next() {
        let file = File::from(memfd_create("log", MemfdFlags::ALLOW_SEALING).unwrap());
        file.set_len(8192).unwrap();
        fcntl_add_seals(&file, SealFlags::GROW).unwrap();
        let mut same = file.try_clone().unwrap();
        let mut stream = Stream::new(file, SinkKind::Stderr);
        stream.write_line("one").unwrap();
        assert!(stream.write_line(&"x".repeat(1 << 20)).is_err());
        assert!(stream.broken);
        assert!(stream.write_line("lost").is_err());
        same.rewind().unwrap();
        stream.write_line("two").unwrap();
        assert!(!stream.broken);
        same.rewind().unwrap();
        let mut text = String::new();
        same.read_to_string(&mut text).unwrap();
        assert!(text.contains("\ntwo\n"), "{text:.20}");
    }
}

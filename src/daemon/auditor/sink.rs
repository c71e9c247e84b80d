//! Destinations of the audit log. Each may be stuck, full or gone. Only the writer thread waits.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::journald;
use crate::os::helper::{self, Errand};
use crate::os::log_file::open_file;
use crate::os::syslog::{self, SYSLOG};
use crate::records::{AuditRecord, SinkKind};

/// Time that a message may wait for a sink that takes nothing, so that a log that was replaced is opened anew.
const PATIENCE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// A way to a log.
#[derive(Debug)]
pub struct Sink {
    kind: SinkKind,
    /// `None` for a socket before its first message, and where its log took none.
    pub(super) file: Option<File>,
    /// Did the log let a message pass that waited at its socket? It is not waited for then.
    stuck: bool,
    /// Does what was written last end within a line?
    broken: bool,
}

impl Sink {
    /// Returns a sink that is opened for its first message.
    pub(in crate::daemon) fn of(kind: SinkKind) -> Self {
        Self {
            kind,
            file: None,
            stuck: false,
            broken: false,
        }
    }

    /// Opens the sink, but for a socket: its log may come later.
    ///
    /// # Errors
    /// Of opening the file.
    pub fn open(kind: SinkKind) -> io::Result<Self> {
        let mut sink = Self::of(kind);
        if sink.kind.socket().is_none() {
            sink.file = Some(sink.kind.open()?.into());
        }
        Ok(sink)
    }

    /// Writes `line`, which has no newline in it; `record` is the same for a sink that takes fields.
    ///
    /// # Errors
    /// The line was not written, or not wholly; the next one is not harmed by that.
    pub(super) fn write_line(&mut self, line: &str, record: &AuditRecord) -> io::Result<()> {
        match self.kind {
            SinkKind::Stderr | SinkKind::File(_) if self.ends_within_line() => {
                self.send(format!("\n{line}\n").as_bytes())
            }
            SinkKind::Stderr | SinkKind::File(_) => self.send(format!("{line}\n").as_bytes()),
            SinkKind::Syslog => self.send(syslog::message(line, record.level()).as_bytes()),
            SinkKind::Journal(_) => self.send(&journald::message(line, record)),
        }
    }

    /// Opens the file at its path again, after it was renamed; does nothing for other sinks. Returns whether the filesystem of the file
    /// has a free block; other sinks are taken to have room.
    ///
    /// # Errors
    /// Of opening; the file that was open stays in use.
    pub(super) fn reopen(&mut self) -> io::Result<bool> {
        if let SinkKind::File(_) = self.kind {
            let file = self.kind.open()?;
            let has_room = rustix::fs::fstatvfs(&file).map_or(true, |found| found.f_bfree > 0);
            (self.file, self.broken) = (Some(file.into()), false);
            return Ok(has_room);
        }
        Ok(true)
    }

    /// Does the log end within a line, whoever wrote that when the disk was full? What cannot be read is taken for whole.
    fn ends_within_line(&self) -> bool {
        let mut last = *b"\n";
        if let Some(file) = &self.file
            && let Ok(there) = file.metadata()
            && there.is_file()
        {
            let at = there.len().saturating_sub(1);
            file.read_at(&mut last, at).ok();
        }
        self.broken || last != *b"\n"
    }

    /// Sends `message`, by one call where the system takes it whole. Waits a second at most for a log that takes nothing; at a
    /// socket, not at all for one that let that pass.
    ///
    /// # Errors
    /// It was not taken, or not wholly; `TimedOut` where the log takes nothing.
    pub(in crate::daemon) fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let sent = self.try_send(message);
        let is_socket = self.kind.socket().is_some();
        // A log that was started again is not the one that we are connected to.
        if sent.is_err() && is_socket && !self.stuck && self.file.take().is_some() {
            return self.try_send(message);
        }
        sent
    }

    fn try_send(&mut self, message: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(self.kind.open()?.into()),
        };
        let mut rest = message;
        while !rest.is_empty() {
            match file.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    let (written, left) = rest.split_at(count);
                    self.broken = !written.ends_with(b"\n");
                    rest = left;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A FIFO or socket is opened so, and standard error may be set so.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let ready = &mut [PollFd::new(file, PollFlags::OUT)];
                    if self.stuck || retry_on_intr(|| poll(ready, Some(&PATIENCE)))? == 0 {
                        self.stuck = self.kind.socket().is_some();
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                Err(error) => {
                    self.stuck = false;
                    return Err(error);
                }
            }
        }
        self.stuck = false;
        Ok(())
    }
}

impl SinkKind {
    /// Returns the path of the socket that messages go to.
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
                let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
                let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
                connect(&socket, &SocketAddrUnix::new(path)?)?;
                Ok(socket)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Seek};

    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

    use super::Sink;
    use crate::records::{AuditEvent, AuditRecord, SinkKind};

    /// A line that could be written in part only ends where the next one starts, and harms no other.
    #[test]
    fn a_broken_line_does_not_garble_the_next() {
        let file = File::from(memfd_create("log", MemfdFlags::ALLOW_SEALING).unwrap());
        file.set_len(8192).unwrap();
        fcntl_add_seals(&file, SealFlags::GROW).unwrap();
        let mut same = file.try_clone().unwrap();
        let mut log = Sink {
            file: Some(file),
            ..Sink::of(SinkKind::Stderr)
        };
        let record = AuditRecord::from(AuditEvent::Unknown);
        log.write_line("one", &record).unwrap();
        assert!(log.write_line(&"x".repeat(1 << 20), &record).is_err());
        assert!(log.broken);
        assert!(log.write_line("lost", &record).is_err());
        same.rewind().unwrap();
        log.write_line("two", &record).unwrap();
        assert!(!log.broken);
        same.rewind().unwrap();
        let mut text = String::new();
        same.read_to_string(&mut text).unwrap();
        assert!(text.contains("\ntwo\n"), "{text:.20}");
    }
}

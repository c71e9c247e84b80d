//! The log of the daemon's own messages in the background.

use std::io::{self, Write};

use log::Level;

use super::auditor::{Datagrams, SYSLOG, syslog_message};
use crate::os::helper;

/// Standard error, which somebody reads until the mount answers and which is `/dev/null` then, and the system's log.
#[derive(Debug)]
pub struct DaemonLog(Datagrams);

impl DaemonLog {
    /// Connects to the system's log.
    ///
    /// # Errors
    /// No socket could be made.
    pub fn new() -> io::Result<Self> {
        Datagrams::new(SYSLOG.into(), helper::connect_syslog).map(Self)
    }
}

impl Write for DaemonLog {
    /// Takes one message, ended by a newline. One that nobody takes is lost: there is no third place to say so.
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        let to_stderr = io::stderr().write_all(message);
        // The logger writes text only.
        let line = core::str::from_utf8(message).unwrap_or_default().trim_end();
        let line = line.strip_prefix("utf8fs: ").unwrap_or(line);
        let level = line.split(':').next().and_then(|level| level.parse().ok());
        let level = level.unwrap_or(Level::Warn);
        match self.0.send(syslog_message(line, level).as_bytes()) {
            Ok(()) => Ok(message.len()),
            Err(_nobody) => to_stderr.map(|()| message.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

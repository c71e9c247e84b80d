//! The system's log as a sink.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::datagram::{Datagrams, connect};
use super::sink::Severity;
use crate::os::helper;

/// The socket of the system's log.
const SYSLOG: &str = "/dev/log";

/// The facility "system daemons".
pub(super) const DAEMON: u8 = 3;

/// The system's log: a datagram for each line, in the manner of RFC 3164 with no time of its own (section 4.3.2: the
/// receiver puts its own).
#[derive(Debug)]
pub struct Syslog(Datagrams);

impl Syslog {
    /// A sender to the socket at `path`, which need not be there yet.
    ///
    /// # Errors
    /// No socket could be made.
    pub(super) fn new(path: PathBuf) -> io::Result<Self> {
        Datagrams::new(path, helper::connect_syslog).map(Self)
    }

    /// A socket that is connected to the system's log, for a process that has no other way to it.
    ///
    /// # Errors
    /// The log does not run.
    pub fn connect() -> io::Result<OwnedFd> {
        connect(Path::new(SYSLOG))
    }

    /// A sender to the system's log, which need not run yet.
    ///
    /// # Errors
    /// No socket could be made.
    pub fn system() -> io::Result<Self> {
        Self::new(PathBuf::from(SYSLOG))
    }

    /// Sends `line`; waits for a log that takes nothing a second at most.
    ///
    /// # Errors
    /// Nobody took it.
    pub fn send(&mut self, line: &str, severity: Severity) -> io::Result<()> {
        let priority = DAEMON * 8 + severity.number();
        let message = format!("<{priority}>utf8fs[{}]: {line}", std::process::id());
        self.0.send(message.as_bytes())
    }
}

//! The log of the daemon's own messages in the background.

use std::io;

use log::Level;
use parking_lot::Mutex;

use super::auditor::{Datagrams, SYSLOG, syslog_message};
use crate::os::helper;

/// The system's log, for a daemon whose standard error is `/dev/null` once the mount answers.
#[derive(Debug)]
pub struct DaemonLog(Mutex<Datagrams>);

impl DaemonLog {
    /// Connects to the system's log.
    ///
    /// # Errors
    /// No socket could be made.
    pub fn new() -> io::Result<Self> {
        Datagrams::new(SYSLOG.into(), helper::connect_syslog).map(|log| Self(Mutex::new(log)))
    }

    /// Sends a message. One that nobody takes is lost: there is no third place to say so.
    pub fn send(&self, line: &str, level: Level) {
        let message = syslog_message(line, level);
        self.0.lock().send(message.as_bytes()).ok();
    }
}

//! A socket that takes a datagram for each line: of syslog, or of the systemd journal. The log may come and go.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use super::SinkKind;

/// Time that one message may wait for a log that takes nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// A sender of datagrams to a log.
#[derive(Debug)]
pub(in crate::daemon) struct Datagrams {
    /// Connected to the log; `None` before the first message, and where the log took none.
    socket: Option<UnixDatagram>,
    log: SinkKind,
    stuck: bool,
}

impl Datagrams {
    /// Returns a sender to `log`, which need not be there yet.
    pub(in crate::daemon) fn new(log: SinkKind) -> Self {
        Self {
            socket: None,
            log,
            stuck: false,
        }
    }

    /// Sends `message`; waits a second at most for a log that takes nothing, and not at all for one that let that pass.
    ///
    /// # Errors
    /// Nobody took it.
    pub(in crate::daemon) fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let sent = self.try_send(message);
        // A log that was started again is not the one that we are connected to.
        if sent.is_err() && !self.stuck && self.socket.take().is_some() {
            return self.try_send(message);
        }
        sent
    }

    fn try_send(&mut self, message: &[u8]) -> io::Result<()> {
        let socket = match &self.socket {
            Some(socket) => socket,
            None => {
                let socket = self.socket.insert(self.log.open()?.into());
                socket.set_write_timeout(Some(PATIENCE))?;
                socket
            }
        };
        socket.set_nonblocking(self.stuck)?;
        let sent = socket.send(message);
        self.stuck = matches!(&sent, Err(error) if error.kind() == io::ErrorKind::WouldBlock);
        sent.map(|_length| ())
    }
}

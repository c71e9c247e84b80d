//! A socket that takes a datagram for each line: of syslog, or of the systemd journal. The log may come and go.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time that one message may wait for a log that takes nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// A sender of datagrams to a socket at a path.
#[derive(Debug)]
pub struct Datagrams {
    /// Connected to the log; `None` before the first message, and where the log took none.
    socket: Option<UnixDatagram>,
    path: PathBuf,
    stuck: bool,
    /// Has the helper process connect a socket; `None` without one.
    by_helper: fn() -> Option<io::Result<OwnedFd>>,
}

/// Returns a socket that is connected to the one at `path`.
///
/// # Errors
/// Nobody listens there.
pub fn connect(path: &Path) -> io::Result<OwnedFd> {
    let socket = UnixDatagram::unbound()?;
    socket.connect(path)?;
    Ok(socket.into())
}

impl Datagrams {
    /// Returns a sender to the socket at `path`, which need not be there yet. Where there is a helper process, `by_helper` has it
    /// connect a socket to that.
    pub(in crate::daemon) fn new(
        path: PathBuf,
        by_helper: fn() -> Option<io::Result<OwnedFd>>,
    ) -> Self {
        Self {
            socket: None,
            path,
            stuck: false,
            by_helper,
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
                let socket = (self.by_helper)().unwrap_or_else(|| connect(&self.path))?;
                let socket = self.socket.insert(socket.into());
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

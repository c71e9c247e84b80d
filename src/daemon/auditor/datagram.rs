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
    /// Not connected, so that a log that is started again is found again, but where the helper process has connected it.
    socket: UnixDatagram,
    is_connected: bool,
    path: PathBuf,
    stuck: bool,
    /// Has the helper process connect a socket; `None` without one.
    by_helper: fn() -> Option<io::Result<OwnedFd>>,
}

/// Returns a socket that is connected to the one at `path`, for a process that has no other way to it.
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
    ///
    /// # Errors
    /// No socket could be made.
    pub(in crate::daemon) fn new(
        path: PathBuf,
        by_helper: fn() -> Option<io::Result<OwnedFd>>,
    ) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.set_write_timeout(Some(PATIENCE))?;
        Ok(Self {
            socket,
            is_connected: false,
            path,
            stuck: false,
            by_helper,
        })
    }

    /// Sends `message`; waits a second at most for a log that takes nothing, and not at all for one that let that pass.
    ///
    /// # Errors
    /// Nobody took it.
    pub(in crate::daemon) fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let mut sent = self.try_send(message);
        // A log that was started again is not the one that we are connected to.
        let is_lost = sent.as_ref().is_err_and(|error| {
            matches!(
                error.raw_os_error(),
                Some(libc::ECONNREFUSED | libc::ENOTCONN | libc::EPIPE | libc::ENOENT)
            )
        });
        if is_lost && let Some(socket) = (self.by_helper)() {
            self.socket = socket?.into();
            self.socket.set_write_timeout(Some(PATIENCE))?;
            self.is_connected = true;
            sent = self.try_send(message);
        }
        self.stuck = sent
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        sent.map(|_length| ())
    }

    fn try_send(&self, message: &[u8]) -> io::Result<usize> {
        self.socket.set_nonblocking(self.stuck)?;
        if self.is_connected {
            self.socket.send(message)
        } else {
            self.socket.send_to(message, &self.path)
        }
    }
}

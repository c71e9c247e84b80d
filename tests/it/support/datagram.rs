//! Sockets that a daemon sends datagrams to.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

/// Closes what is bound to `path`, and waits until nobody receives there: what other tests start has a copy for a moment, to which
/// things would be sent that nobody ever sees.
pub(crate) fn close(socket: UnixDatagram, path: &Path) {
    let probe = UnixDatagram::unbound().unwrap();
    probe.connect(path).unwrap();
    probe.set_nonblocking(true).unwrap();
    drop(socket);
    while probe.send(b"").map_err(|error| error.kind()) != Err(ErrorKind::ConnectionRefused) {
        std::thread::yield_now();
    }
}

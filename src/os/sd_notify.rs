//! Telling the service manager how it goes, as `sd_notify(3)` describes it: one datagram, `NAME=value` a line, for what
//! there is to say. For a daemon in the foreground, which is the process that the manager started.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The way to the service manager, if there is one. It is connected from the start: a confined daemon finds no path.
#[derive(Debug, Default)]
pub struct Manager(Option<UnixDatagram>);

impl Manager {
    /// Finds the manager that started this process. Logs that its socket cannot be reached.
    pub fn find() -> Self {
        let name = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty());
        let found = name.map(|name| Self::at(&name)).transpose();
        let warn = |error: &_| log::warn!("cannot notify the service manager: {error}");
        found.inspect_err(warn).ok().flatten().unwrap_or_default()
    }

    /// Connects to the manager's socket: a path, or a name without a file behind `@`.
    fn at(name: &OsStr) -> io::Result<Self> {
        let address = match name.as_bytes().strip_prefix(b"@") {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(name)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address)?;
        // A manager that does not read must not keep the mount from being served or ended.
        socket.set_nonblocking(true)?;
        Ok(Self(Some(socket)))
    }

    /// The mount answers, or the guard hears. `status` is for people, on one line.
    pub fn ready(&self, status: &str) {
        self.say(&format!("READY=1\nSTATUS={status}"));
    }

    /// The end has come.
    pub fn stopping(&self) {
        self.say("STOPPING=1\nSTATUS=ending");
    }

    fn say(&self, message: &str) {
        if let Some(socket) = &self.0
            && let Err(error) = socket.send(message.as_bytes())
        {
            log::warn!("cannot notify the service manager: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    fn heard(socket: &UnixDatagram) -> String {
        let mut buffer = [0; 512];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    #[test]
    fn a_manager_is_reached_by_a_path_of_any_octets() {
        let place = tempfile::tempdir().unwrap();
        let path = place
            .path()
            .join(std::ffi::OsString::from_vec(b"s\xE9".to_vec()));
        let socket = UnixDatagram::bind(&path).unwrap();
        let manager = Manager::at(path.as_os_str()).unwrap();
        manager.ready("\"/a\" is shown at \"/b\"");
        assert_eq!(heard(&socket), "READY=1\nSTATUS=\"/a\" is shown at \"/b\"");
        manager.stopping();
        assert_eq!(heard(&socket), "STOPPING=1\nSTATUS=ending");
    }

    #[test]
    fn a_manager_is_reached_by_a_name_without_a_file() {
        let name = format!("utf8fs-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let socket = UnixDatagram::bind_addr(&address).unwrap();
        Manager::at(format!("@{name}").as_ref()).unwrap().stopping();
        assert_eq!(heard(&socket), "STOPPING=1\nSTATUS=ending");
    }

    #[test]
    fn a_manager_that_does_not_read_delays_nothing() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("socket");
        let socket = UnixDatagram::bind(&path).unwrap();
        let manager = Manager::at(path.as_os_str()).unwrap();
        // More than any queue holds.
        for _ in 0..10_000 {
            manager.stopping();
        }
        drop(socket);
        manager.stopping();
    }

    #[test]
    fn a_manager_that_is_not_there_is_an_error() {
        assert!(Manager::at("/none/such".as_ref()).is_err());
    }
}

//! What unit tests serve.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::{Connection, Handshake, NoRings, Passthrough, Rings, Service};
use crate::backing::Dir;
use crate::coherence::{Coherence, Keeping, Times};
use crate::fs::Utf8Fs;
use crate::fs::samples::{config, map};
use crate::names::Legacy;

/// A filesystem over `directory`, of which the kernel keeps nothing, served by so many threads.
pub(crate) fn service(directory: &Path, threads: usize) -> Service {
    let root = Dir::open_root(directory).unwrap().into_fd();
    let fs = Arc::new(Utf8Fs::new(config(root, map(Legacy::Escape, &[]))).unwrap());
    let keeping = Keeping {
        times: Times {
            heard: Duration::ZERO,
            unheard: Duration::ZERO,
        },
        watcher: Err(String::new()),
        keeps_lists: false,
    };
    Service {
        coherence: Arc::new(Coherence::new(fs, keeping)),
        passthrough: Passthrough::Off,
        threads,
        readers: threads,
        about: Arc::default(),
    }
}

/// Agrees with the kernel at the other end of `fuse_fd` on how to talk.
pub(crate) fn connect(
    service: Service,
    rings: Result<Rings, NoRings>,
    fuse_fd: OwnedFd,
) -> io::Result<Connection> {
    let fs = &service.coherence.fs;
    let handshake = Handshake::agree(fuse_fd, fs, service.passthrough, rings.is_ok())?;
    Ok(Connection::new(handshake, service, rings))
}

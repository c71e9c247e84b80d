//! The connection to the kernel, over which requests come.

use std::fmt;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;

use fuser::{Config, Filesystem, Session, SessionACL};

use super::forget::Forgetting;

/// A connection on which it is agreed how the kernel and a filesystem talk.
pub struct Connection {
    run: Box<dyn FnOnce() -> io::Result<()>>,
    forgetting: Forgetting,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

impl Connection {
    /// Agrees with the kernel at the other end of `fuse_fd` on how to talk. `threads` is how many requests are worked on at a time, at
    /// least 1.
    ///
    /// # Errors
    /// There is no protocol that both know, or the connection failed.
    pub fn open(
        fs: impl Filesystem + 'static,
        fuse_fd: OwnedFd,
        threads: usize,
    ) -> io::Result<Self> {
        let mut config = Config::default();
        config.n_threads = Some(threads.max(1));
        config.clone_fd = threads > 1 && can_clone();
        let other = fuse_fd.try_clone()?;
        // The kernel has let in only those whom `allow_other` lets in, so every request is to be served.
        let session = Session::from_fd(fs, fuse_fd, SessionACL::All, config)?;
        Ok(Self {
            forgetting: Forgetting::new(session.notifier(), other),
            run: Box::new(|| session.run()),
        })
    }

    /// What can tell the kernel to forget what it keeps, and what answers requests until the connection ends.
    pub(crate) fn split(self) -> (Forgetting, impl FnOnce() -> io::Result<()>) {
        (self.forgetting, self.run)
    }
}

/// Whether every thread can have a descriptor of its own, which fuser opens by itself. An ordinary user may have
/// got the first one from fusermount3 only.
fn can_clone() -> bool {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/fuse")
        .is_ok()
}

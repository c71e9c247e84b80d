//! The connection to the kernel, over which requests come.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::adapter::Adapter;
use super::data::Passthrough;
use super::device;
use super::notify::Forgetting;
use super::start::{Agreed, Wishes, agree};
use super::status::About;
#[cfg(test)]
use super::tally::Tally;
use super::turns::Turns;
use crate::coherence::Coherence;

/// How a filesystem is served.
#[derive(Debug)]
pub struct Service {
    /// What the kernel may keep of which filesystem.
    pub coherence: Arc<Coherence>,
    /// May the kernel read and write files by itself?
    pub passthrough: Passthrough,
    /// How many requests are worked on at a time, at least 1.
    pub threads: usize,
    /// How many of these threads read while others are stalled, at most.
    pub readers: usize,
    /// What is told to who asks how the mount does.
    pub about: About,
}

/// A connection on which it is agreed how the kernel and a filesystem talk.
#[derive(Debug)]
pub struct Connection {
    adapter: Adapter,
    turns: Arc<Turns>,
    threads: usize,
}

impl Connection {
    /// Agrees with the kernel at the other end of `fuse_fd` on how to talk.
    ///
    /// # Errors
    /// There is no protocol that both know, the connection failed, or there can be no thread more.
    pub fn open(service: Service, fuse_fd: OwnedFd) -> io::Result<Self> {
        let threads = service.threads.max(1);
        let connection = Arc::new(fuse_fd);
        let can_pass = service.passthrough == Passthrough::Auto;
        let wishes = Wishes::of(service.coherence.fs(), can_pass);
        let Agreed { passthrough } = agree(&connection, wishes)?;
        if passthrough {
            service.coherence.keeps_no_content();
        } else {
            log::debug!("the kernel does not read and write files by itself");
        }
        let turns = Turns::start(threads, service.readers, Arc::clone(&connection))?;
        Ok(Self {
            adapter: Adapter::new(service, passthrough, connection),
            turns,
            threads,
        })
    }

    /// What can tell the kernel to forget what it keeps.
    pub(crate) fn forgetting(&self) -> Forgetting {
        Forgetting::new(Arc::clone(&self.adapter.connection))
    }

    /// What counts the requests.
    #[cfg(test)]
    pub(super) fn tally(&self) -> Arc<Tally> {
        Arc::clone(&self.adapter.tally)
    }

    /// Answers requests until the connection ends.
    ///
    /// # Errors
    /// There can be no thread more, or the connection failed.
    pub(crate) fn run(self) -> io::Result<()> {
        let Self {
            adapter,
            turns,
            threads,
        } = self;
        let adapter = Arc::new(adapter);
        let devices = device::for_threads(&adapter.connection, threads)?;
        let start = |(seat, device)| {
            let (adapter, turns) = (Arc::clone(&adapter), Arc::clone(&turns));
            let thread = thread::Builder::new().name(format!("serve-{seat}"));
            thread.spawn(move || device::serve(&adapter, &turns, seat, &device))
        };
        let threads: Vec<_> = devices
            .into_iter()
            .enumerate()
            .map(start)
            .collect::<io::Result<_>>()?;
        let join = |thread: JoinHandle<io::Result<()>>| {
            let panicked = |_panic| Err(io::Error::other("a thread that serves panicked"));
            thread.join().unwrap_or_else(panicked)
        };
        threads.into_iter().map(join).fold(Ok(()), Result::and)
    }
}

//! The connection to the kernel, over which requests come.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::RecvError;
use std::thread::JoinHandle;

use super::adapter::{Adapter, Service};
use super::device;
#[cfg(test)]
use super::metrics::Metrics;
use super::notify::Forgetting;
use super::ring::{Fault, Rings};
use super::ring_plan::NoRings;
use super::start::Handshake;
use crate::fs::ROOT;

/// A connection on which it is agreed how the kernel and a filesystem talk.
#[derive(Debug)]
pub struct Connection {
    adapter: Adapter,
    threads: usize,
    readers: usize,
    /// With the size of a slot's payload in bytes.
    rings: Option<(Rings, usize)>,
}

impl Connection {
    /// Makes a connection of one that was agreed on. Requests come by `rings` where the kernel waits for them.
    pub fn new(handshake: Handshake, service: Service, rings: Result<Rings, NoRings>) -> Self {
        let threads = service.threads.max(1);
        let passthrough = handshake.passthrough;
        if !passthrough {
            log::debug!("the kernel does not read and write files by itself");
        } else if let Ok(watched) = &service.coherence.watched {
            watched.keeps_no_content();
        }
        let rings = rings.and_then(|rings| {
            let payload = handshake.ring_payload.ok_or(NoRings::Unsupported)?;
            Ok((rings, payload))
        });
        let plan = rings.as_ref().map(|(rings, _)| &rings.plan);
        let plan = plan.map_err(|reason| *reason);
        let readers = service.readers;
        let connection = Arc::new(handshake.connection);
        Self {
            adapter: Adapter::new(service, passthrough, connection, plan),
            threads,
            readers,
            rings: rings.ok(),
        }
    }

    /// Returns the notifier of the kernel's caches.
    pub(crate) fn forgetting(&self) -> Forgetting {
        Forgetting(Arc::clone(&self.adapter.connection))
    }

    /// Returns the counters of requests.
    #[cfg(test)]
    pub(super) fn metrics(&self) -> Arc<Metrics> {
        Arc::clone(&self.adapter.metrics)
    }

    /// Answers requests until the connection ends. `started` is called once they are, with whether the root has attributes.
    ///
    /// Nobody asks through the mount for that: a killed process with a thread that waits for its own answer never
    /// ends, unless somebody cuts the connection.
    ///
    /// # Errors
    /// There can be no thread more, or the connection failed.
    pub(crate) fn run(self, started: impl FnOnce(io::Result<()>)) -> io::Result<()> {
        let adapter = Arc::new(self.adapter);
        let (threads, readers) = (self.threads, self.readers);
        let root = adapter.coherence.attributes(ROOT).map(drop);
        let root = root.map_err(|error| io::Error::from_raw_os_error(error.errno()));
        let Some((rings, payload)) = self.rings else {
            let by_device = device::start(&adapter, 0..threads, readers)?;
            started(root);
            return join(by_device);
        };
        // FORGET and INTERRUPT come by the device still.
        let mut by_device = device::start(&adapter, 0..1, 1)?;
        let by_ring = rings.start(&adapter, threads, payload)?;
        started(root);
        match by_ring.faults.recv() {
            Ok(Fault::Failed(error)) => return Err(error),
            Ok(Fault::Refused(errno)) => {
                log::warn!("requests come by /dev/fuse, since the kernel refuses rings: {errno}");
                *adapter.rings.lock() = Err(NoRings::Refused);
                by_device.extend(device::start(&adapter, 1..threads.max(2), readers)?);
            }
            // All have ended, with the connection.
            Err(RecvError) => {}
        }
        join(by_ring.threads)?;
        join(by_device)
    }
}

/// Waits for the end of threads that serve.
fn join(threads: Vec<JoinHandle<io::Result<()>>>) -> io::Result<()> {
    let join = |thread: JoinHandle<io::Result<()>>| {
        let panicked = |_panic| Err(io::Error::other("a thread that serves panicked"));
        thread.join().unwrap_or_else(panicked)
    };
    threads.into_iter().map(join).fold(Ok(()), Result::and)
}

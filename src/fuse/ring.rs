//! FUSE over io_uring (`fs/fuse/dev_uring.c`). A request goes to the queue of the CPU that it is made on. A thread
//! bound to that CPU answers it and takes the next one with a single system call. Nobody is woken on another CPU.
//!
//! Each thread has a ring of its own with one slot, and only that thread serves it. With two slots, a thread that
//! waits for the backing filesystem would hold up the other request. So each CPU has as many threads as operations on
//! it may wait at a time. All threads and rings exist from the start. The kernel uses the slot that was free last, so
//! that idle threads cost a little memory and no time. A slot that is added later takes no requests that wait
//! already.
//!
//! Every request is answered by the thread that took it, so that nothing that waits for a program, as a lock may, comes by rings.
//!
//! The kernel sends FORGET and INTERRUPT to the device still, and takes notifications there.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::io::Errno;

use super::adapter::{Adapter, Done};
use super::layout::{InHeader, OutHeader, RingEntry};
use super::reply::Reply;
use super::request::{Arguments, Request};
use super::ring_plan::{NoRings, Place, Plan};
use crate::backing::FuseRing;
use crate::os::cpus::run_on;

/// Requests with longer payloads (writes) are read where the kernel put them; others are copied, so that the answer has that room. So much memory is
/// mapped by itself ([`map_large_blocks`](crate::os::map_large_blocks)), of which only what was used takes room.
const COPIED: usize = 128 << 10;

/// Pause before a thread tries its ring once more.
const PAUSE: Duration = Duration::from_millis(10);

/// Offset of the first record of a request in the header of a slot, and of [`RingEntry`] (`struct
/// fuse_uring_req_header`).
const FIRST_RECORD: usize = 128;
const ENTRY: usize = 256;

/// The rings of a mount, which nobody uses yet.
#[derive(Debug)]
pub struct Rings {
    /// The plan by which they were made.
    pub(super) plan: Plan,
    rings: Vec<FuseRing>,
    /// Bytes for the payload of each slot, as the kernel wants it; tests ask for too few.
    payload: Option<usize>,
}

impl Rings {
    /// Makes the rings of the FUSE `connection`. For a process that is not confined yet.
    ///
    /// # Errors
    /// The kernel is too old, rings are forbidden, or there can be no descriptor more.
    pub fn new(connection: &OwnedFd, plan: Plan) -> Result<Self, NoRings> {
        let rings = plan.0.iter().map(|_| FuseRing::new(connection));
        Ok(Self {
            rings: rings.collect::<io::Result<_>>()?,
            plan,
            payload: None,
        })
    }

    /// Asks for slots with so many bytes of payload, whatever the kernel wants.
    #[cfg(test)]
    pub(crate) fn with_payload(mut self, payload: usize) -> Self {
        self.payload = Some(payload);
        self
    }

    /// Starts a thread for each ring, which serve requests until the connection ends. Their counters have the seats from `first_seat` on.
    ///
    /// # Errors
    /// There can be no thread more.
    pub(super) fn start(
        self,
        adapter: &Arc<Adapter>,
        first_seat: usize,
        payload: usize,
    ) -> io::Result<Started> {
        let payload = self.payload.unwrap_or(payload);
        let (sender, faults) = channel();
        let last = self.plan.0.iter().min_by_key(|place| place.is_online);
        let shared = Arc::new(Shared {
            last_queue: last.map_or(0, |place| place.queue),
            steps: Barrier::new(self.plan.threads() + 1),
        });
        let start = |(index, (place, ring)): (usize, (Place, FuseRing))| {
            let server = Server {
                adapter: Arc::clone(adapter),
                shared: Arc::clone(&shared),
                seat: first_seat + index,
                queue: u16::try_from(place.queue).map_err(io::Error::other)?,
                ring,
                payload,
                copied: vec![0; COPIED],
                has_served: false,
            };
            let sender = sender.clone();
            let thread = thread::Builder::new().name(format!("ring-{}-{index}", place.queue));
            thread.spawn(move || {
                // Where that is not for this process, the thread serves unbound, more slowly.
                if place.is_online
                    && let Err(error) = run_on(place.queue)
                {
                    let cpu = place.queue;
                    log::debug!("the requests of CPU {cpu} are served on any CPU: {error}");
                }
                server.run(&sender);
                Ok(())
            })
        };
        let threads = self.plan.0.into_iter().zip(self.rings).enumerate();
        let threads = threads.map(start).collect::<io::Result<_>>()?;
        for _step in 0..2 {
            shared.steps.wait();
        }
        Ok(Started { threads, faults })
    }
}

/// Threads that serve requests by rings.
#[derive(Debug)]
pub(super) struct Started {
    /// The threads, which end with the connection.
    pub(super) threads: Vec<JoinHandle<io::Result<()>>>,
    /// Faults of the start. Disconnected once all threads have ended.
    pub(super) faults: Receiver<Fault>,
}

/// Why requests cannot be had by a ring.
#[derive(Debug)]
pub(super) enum Fault {
    /// The kernel refused a slot: it sends all requests to the device now (`fuse_uring_cmd`).
    Refused(Errno),
    /// The kernel was not asked, so that it waits for rings.
    Failed(io::Error),
}

/// State that the threads of all rings share.
#[derive(Debug)]
struct Shared {
    /// The CPU that gets its slots last: an offline one, if there is one.
    last_queue: usize,
    /// Passed once all have come to it, and whoever starts them: when all other CPUs have their slots, and when all have.
    steps: Barrier,
}

/// A thread, with its ring.
#[derive(Debug)]
struct Server {
    adapter: Arc<Adapter>,
    shared: Arc<Shared>,
    /// The seat of its counters.
    seat: usize,
    queue: u16,
    ring: FuseRing,
    /// Bytes of the slot's payload.
    payload: usize,
    /// Holds arguments while the slot takes the answer.
    copied: Vec<u8>,
    has_served: bool,
}

impl Server {
    /// Serves requests until the connection ends, or the kernel refuses this ring.
    fn run(mut self, faults: &Sender<Fault>) {
        if let Err(error) = self.begin() {
            return faults.send(Fault::Failed(error)).unwrap_or_default();
        }
        loop {
            let served = match self.ring.wait() {
                Ok(0) => self.serve(),
                Ok(result) => match Errno::from_raw_os_error(-result) {
                    Errno::NOTCONN | Errno::CONNABORTED | Errno::NODEV => return,
                    errno if self.has_served => {
                        log::error!("an answer was not taken: {errno}");
                        self.ring.register(self.queue, self.payload)
                    }
                    errno => return faults.send(Fault::Refused(errno)).unwrap_or_default(),
                },
                Err(error) => Err(error),
            };
            if let Err(error) = served {
                // A thread that ends would leave its CPU's requests without an answer.
                log::error!("a ring cannot be used: {error}");
                thread::sleep(PAUSE);
            }
        }
    }

    /// Hands the slot to the kernel, which sends requests to rings once each CPU has a slot. A slot added after
    /// that takes no request that waits for another. So one CPU has its slots last, and nobody is told of the mount before.
    fn begin(&mut self) -> io::Result<()> {
        let own_step = usize::from(usize::from(self.queue) == self.shared.last_queue);
        let mut begun = self.ring.enable();
        for step in 0..2 {
            if step == own_step {
                begun = begun.and_then(|()| self.ring.register(self.queue, self.payload));
            }
            self.shared.steps.wait();
        }
        begun
    }

    /// Serves the request in the slot.
    fn serve(&mut self) -> io::Result<()> {
        self.has_served = true;
        let Some((header, payload)) = self.ring.memory() else {
            return Ok(());
        };
        let responder = Responder {
            adapter: &self.adapter,
            seat: self.seat,
            copied: &mut self.copied,
        };
        let commit_id = responder.respond(header, payload)?;
        self.ring.commit(self.queue, commit_id)
    }
}

/// Puts the answer to one request into its slot.
struct Responder<'a> {
    adapter: &'a Adapter,
    /// The seat of the thread's counters.
    seat: usize,
    /// Holds arguments while the slot takes the answer.
    copied: &'a mut [u8],
}

impl Responder<'_> {
    /// Answers the request in a slot, and returns the id to commit that by. One that is not understood is answered with `EIO`: its
    /// caller would wait for ever, and the slot would be lost.
    fn respond(self, header: &mut [u8], payload: &mut [u8]) -> io::Result<u64> {
        let asked: InHeader = Arguments::new(header).record()?;
        let end = header.get(ENTRY..).unwrap_or_default();
        let taken: RingEntry = Arguments::new(end).record()?;
        let first = header.get(FIRST_RECORD..ENTRY).unwrap_or_default();
        let (error, length) = match usize::try_from(taken.payload_size) {
            Ok(length) if length <= payload.len() => self.serve(asked, first, payload, length),
            _ => {
                log::error!("a request of the kernel is not understood, and answered with EIO");
                (-Errno::IO.raw_os_error(), 0)
            }
        };
        let out = OutHeader::new(asked.unique, error, length);
        let entry = RingEntry {
            commit_id: taken.commit_id,
            payload_size: u32::try_from(length).map_err(io::Error::other)?,
            ..RingEntry::default()
        };
        Reply::new(header).record(&out)?;
        let end = header.get_mut(ENTRY..).unwrap_or_default();
        Reply::new(end).record(&entry)?;
        Ok(taken.commit_id)
    }

    /// Serves a request with its first record and so many bytes of payload, which make way for the answer. Returns the error of
    /// that, and its length.
    fn serve(
        self,
        asked: InHeader,
        first: &[u8],
        payload: &mut [u8],
        length: usize,
    ) -> (i32, usize) {
        let is_copied = length <= COPIED;
        let (rest, room) = match self.copied.get_mut(..length) {
            Some(copied) => {
                copied.copy_from_slice(payload.split_at(length).0);
                (&*copied, &mut *payload)
            }
            None => (payload.split_at(length).0, &mut *self.copied),
        };
        let request = Request::new(asked, Arguments::apart(first, rest), None);
        let mut reply = Reply::new(room);
        let done = self.adapter.serve(self.seat, request, &mut reply).done;
        let length = reply.length;
        if let Some(answer) = self.copied.get(..length).filter(|_| !is_copied) {
            payload.split_at_mut(length).0.copy_from_slice(answer);
        }
        match done {
            Ok(Done::Now | Done::Absent) => (0, length),
            Ok(Done::Later | Done::Never) => (0, 0),
            Err(errno) => (-errno.raw_os_error(), 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use zerocopy::IntoBytes;

    use super::*;
    use crate::fs::ROOT;
    use crate::fuse::layout::EntryOut;
    use crate::fuse::samples::service;

    const LOOKUP: u32 = 1;

    /// The kernel keeps a slot whose answer it does not get, and the program waits.
    #[test]
    fn a_request_that_is_not_understood_is_answered_with_eio() {
        let below = tempfile::tempdir().unwrap();
        std::fs::write(below.path().join("file"), "content").unwrap();
        let (connection, _kernel) = UnixStream::pair().unwrap();
        let connection = Arc::new(OwnedFd::from(connection));
        let adapter = Adapter::new(
            service(below.path(), 1),
            false,
            connection,
            Err(NoRings::Off),
        );
        let mut payload = [0; 4096];
        // The length of the payload; the error and length of the answer.
        for (given, error, length) in [
            (5, 0, size_of::<EntryOut>()),
            (4097, -libc::EIO, 0),
            (u32::MAX, -libc::EIO, 0),
            // The name has no end.
            (0, -libc::EIO, 0),
        ] {
            let mut header = [0; ENTRY + size_of::<RingEntry>()];
            let asked = InHeader {
                opcode: LOOKUP,
                unique: 7,
                node: ROOT,
                ..InHeader::default()
            };
            let taken = RingEntry {
                commit_id: 9,
                payload_size: given,
                ..RingEntry::default()
            };
            header[..size_of::<InHeader>()].copy_from_slice(asked.as_bytes());
            header[ENTRY..].copy_from_slice(taken.as_bytes());
            payload[..5].copy_from_slice(b"file\0");
            let responder = Responder {
                adapter: &adapter,
                seat: 0,
                copied: &mut [0; COPIED],
            };
            assert_eq!(responder.respond(&mut header, &mut payload).unwrap(), 9);
            let out: OutHeader = Arguments::new(&header).record().unwrap();
            let entry: RingEntry = Arguments::new(&header[ENTRY..]).record().unwrap();
            assert_eq!((out.unique, out.error), (7, error), "{given}");
            let size = usize::try_from(entry.payload_size).unwrap();
            assert_eq!((entry.commit_id, size), (9, length), "{given}");
        }
    }
}

//! FUSE over io_uring (`fs/fuse/dev_uring.c`): a request goes to the queue of the CPU that it is made on, and a thread bound to that CPU
//! answers it and takes the next one with a single system call. Nobody is woken on another CPU.
//!
//! Each thread has a ring of its own with one slot. An idle slot is served only by the thread whose ring has it, so that a thread with two
//! slots that waits for the backing filesystem would hold up whoever got the other one. For the same reason there are as many threads for each CPU as
//! operations on it may wait at a time. All threads and rings are there from the start: the kernel uses the slot that was free last, so that idle
//! threads cost a little memory and no time, and a slot that is added later does not take requests that wait already.
//!
//! The kernel sends FORGET and INTERRUPT to the device still, and takes notifications there.

use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::io::Errno;
use zerocopy::{FromBytes, IntoBytes};

use super::adapter::{Adapter, Answered};
use super::layout::{InHeader, OutHeader, RingEntry};
use super::reply::Reply;
use super::request::{Arguments, Request};
use crate::backing::{Completion, FuseRing, RING_HEADER};
use crate::fs::{Answer, FsError};
use crate::os::cpus::{Kind, cpus, run_on};

/// Most threads of all CPUs together, but for [`FEWEST`] for each.
const MOST: usize = 512;
/// Fewest threads for each CPU that is online, unless fewer are asked for.
const FEWEST: usize = 4;

/// Requests with longer payloads (writes) are read where the kernel put them; others are copied, so that the answer has that room. So much memory is
/// mapped by itself ([`map_large_blocks`](crate::os::map_large_blocks)), of which only what was used takes room.
const COPIED: usize = 128 << 10;

/// The error of a request whose outcome will never come.
const LOST: i32 = -libc::EIO;
/// How often a thread that waits for a lock looks whether the connection has ended.
const ROUND: Duration = Duration::from_secs(1);
/// How often a thread that has to serve looks whether it can answer those who wait for a lock.
const LOOK: Duration = Duration::from_millis(10);

/// Where the first record of a request is in the header of a slot, and where [`RingEntry`] is (`struct fuse_uring_req_header`).
const FIRST_RECORD: usize = 128;
const ENTRY: usize = 256;

/// One thread: which CPU's queue it serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    queue: usize,
    /// An offline CPU has one thread, which is bound to no CPU.
    is_online: bool,
}

/// The threads that a machine needs: some for each CPU that it may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan(Vec<Place>);

impl Plan {
    /// Returns the plan of this machine. `threads` is how many operations may wait at a time on each CPU, at least 1; fewer may where there
    /// are very many CPUs, or where the threads would have more than `descriptors`. There is one thread for each CPU at least.
    ///
    /// # Errors
    /// The CPUs cannot be learned.
    pub fn of_machine(threads: usize, descriptors: usize) -> io::Result<Self> {
        Ok(Self::new(
            &cpus(Kind::Possible)?,
            &cpus(Kind::Online)?,
            threads,
            descriptors,
        ))
    }

    fn new(possible: &[usize], online: &[usize], threads: usize, descriptors: usize) -> Self {
        let cpus = online.len().max(1);
        let most = (MOST / cpus).max(FEWEST).min(descriptors / cpus);
        let each = threads.min(most).max(1);
        let places = possible.iter().flat_map(|&queue| {
            let is_online = online.contains(&queue);
            let count = if is_online { each } else { 1 };
            std::iter::repeat_n(Place { queue, is_online }, count)
        });
        Self(places.collect())
    }

    /// How many threads there are.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.0.len()
    }

    /// How many threads serve each CPU that is online.
    #[must_use]
    pub fn threads_per_cpu(&self) -> usize {
        let first = self.0.iter().find(|place| place.is_online);
        let same = |place: &&Place| Some(*place) == first;
        self.0.iter().filter(same).count()
    }
}

/// Why requests do not come by rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRings {
    /// Nobody wants them.
    Off,
    /// The kernel has them (Linux 6.14), but its parameter `fuse.enable_uring` is off.
    Parameter,
    /// The kernel does not have them.
    Unsupported,
    /// This process may open too few files.
    Descriptors,
    /// `io_uring(7)` is forbidden here, or the kernel refused these rings.
    Refused,
}

impl NoRings {
    /// The stable name, as in JSON.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Parameter => "parameter",
            Self::Unsupported => "unsupported",
            Self::Descriptors => "descriptors",
            Self::Refused => "refused",
        }
    }
}

/// The rings of a mount, which nobody uses yet.
#[derive(Debug)]
pub struct Rings {
    plan: Plan,
    rings: Vec<FuseRing>,
    /// Bytes for the payload of each slot, as the kernel wants it; tests ask for too few.
    payload: Option<usize>,
}

impl Rings {
    /// Makes the rings of the FUSE `connection`. For a process that is not confined yet.
    ///
    /// # Errors
    /// The kernel is too old, rings are forbidden, or there can be no descriptor more.
    pub fn new(connection: &OwnedFd, plan: Plan) -> io::Result<Self> {
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

    /// The plan by which they were made.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
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
        let queues = self.plan.0.iter().map(|place| place.queue + 1).max();
        let shared = Arc::new(Shared {
            lock_waiters: std::iter::repeat_with(AtomicUsize::default)
                .take(queues.unwrap_or(0))
                .collect(),
            most_lock_waiters: self.plan.threads_per_cpu() / 2,
            is_over: AtomicBool::new(false),
            last_queue: last.map_or(0, |place| place.queue),
            all_are_there: Barrier::new(self.plan.threads()),
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
                late: Vec::new(),
                has_served: false,
            };
            let sender = sender.clone();
            let thread = thread::Builder::new().name(format!("ring-{}-{index}", place.queue));
            thread.spawn(move || {
                if place.is_online {
                    bind(place.queue);
                }
                server.run(&sender);
                Ok(())
            })
        };
        let threads = self.plan.0.into_iter().zip(self.rings).enumerate();
        Ok(Started {
            threads: threads.map(start).collect::<io::Result<_>>()?,
            faults,
        })
    }
}

/// Threads that serve requests by rings.
#[derive(Debug)]
pub(super) struct Started {
    /// The threads, which end with the connection.
    pub(super) threads: Vec<JoinHandle<io::Result<()>>>,
    /// What went wrong at the start. Disconnected once all threads have ended.
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

/// What the threads of all rings share.
#[derive(Debug)]
struct Shared {
    /// For each CPU, how many of its threads wait until somebody has a lock.
    lock_waiters: Box<[AtomicUsize]>,
    /// How many of them may: the others serve.
    most_lock_waiters: usize,
    /// The connection has ended.
    is_over: AtomicBool,
    /// The CPU that gets its slots last: an offline one, if there is one.
    last_queue: usize,
    all_are_there: Barrier,
}

impl Shared {
    /// Waits on a thread of the CPU `queue` and returns the error of the outcome, 0 for none; `None` where too many wait, or nobody does.
    fn wait(&self, queue: u16, outcome: &Receiver<Outcome>) -> Option<i32> {
        let waiters = self.lock_waiters.get(usize::from(queue))?;
        let mut error = None;
        if waiters.fetch_add(1, Ordering::Relaxed) < self.most_lock_waiters {
            while error.is_none() && !self.is_over.load(Ordering::Relaxed) {
                error = match outcome.recv_timeout(ROUND) {
                    Ok(done) => Some(error_of(done)),
                    Err(RecvTimeoutError::Disconnected) => Some(LOST),
                    Err(RecvTimeoutError::Timeout) => None,
                };
            }
        }
        waiters.fetch_sub(1, Ordering::Relaxed);
        error
    }
}

/// The error of an answer; 0 for none.
fn error_of(done: Outcome) -> i32 {
    done.map_or_else(|error| -error.errno(), |()| 0)
}

fn malformed<T>(_error: T) -> io::Error {
    io::ErrorKind::InvalidData.into()
}

/// Binds this thread to `cpu`. Where that is not for this process, it serves unbound, more slowly.
fn bind(cpu: usize) {
    if let Err(error) = run_on(cpu) {
        log::debug!("the requests of CPU {cpu} are served on any CPU: {error}");
    }
}

/// One thread, with its ring.
#[derive(Debug)]
struct Server {
    adapter: Arc<Adapter>,
    shared: Arc<Shared>,
    /// The seat of its counters.
    seat: usize,
    queue: u16,
    ring: FuseRing,
    /// Bytes of each slot's payload.
    payload: usize,
    /// Holds arguments while their slot takes the answer.
    copied: Vec<u8>,
    late: Vec<Late>,
    has_served: bool,
}

/// How a request went that is answered later.
type Outcome = Result<(), FsError>;

/// A request that is answered once its outcome is there. Another slot was added in place of its own.
#[derive(Debug)]
struct Late {
    pending: Pending,
    outcome: Receiver<Outcome>,
}

/// A request in a slot, without its answer.
#[derive(Debug, Clone, Copy)]
struct Pending {
    slot: usize,
    unique: u64,
    commit_id: u64,
}

/// What the header of a slot says of the request in it.
struct Asked {
    header: InHeader,
    commit_id: u64,
    /// Bytes of the slot's payload.
    payload: usize,
}

impl Asked {
    fn read(header: &[u8; RING_HEADER]) -> io::Result<Self> {
        let (start, _) = InHeader::read_from_prefix(header).map_err(malformed)?;
        let end = header.get(ENTRY..).unwrap_or_default();
        let (entry, _) = RingEntry::read_from_prefix(end).map_err(malformed)?;
        Ok(Self {
            header: start,
            commit_id: entry.commit_id,
            payload: usize::try_from(entry.payload_size).map_err(io::Error::other)?,
        })
    }
}

impl Server {
    /// Serves requests until the connection ends, or the kernel refuses this ring.
    fn run(mut self, faults: &Sender<Fault>) {
        if let Err(error) = self.begin() {
            return faults.send(Fault::Failed(error)).unwrap_or_default();
        }
        loop {
            let timeout = (!self.late.is_empty()).then_some(LOOK);
            let served = match self.ring.wait(timeout) {
                Ok(None) => self.answer_late(),
                Ok(Some(Completion { slot, result: 0 })) => self.serve(slot),
                Ok(Some(Completion { result, .. })) => match Errno::from_raw_os_error(-result) {
                    Errno::NOTCONN | Errno::CONNABORTED | Errno::NODEV => {
                        return self.shared.is_over.store(true, Ordering::Relaxed);
                    }
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
                thread::sleep(LOOK);
            }
        }
    }

    /// Hands the first slot to the kernel. It sends requests to rings once each CPU has a slot, and a slot that is added after that takes no
    /// request that waits for another. So one CPU has its slots last, and all of them together.
    fn begin(&mut self) -> io::Result<()> {
        let is_last = usize::from(self.queue) == self.shared.last_queue;
        let enabled = self.ring.enable();
        if is_last {
            self.shared.all_are_there.wait();
        }
        let registered = enabled.and_then(|()| self.ring.register(self.queue, self.payload));
        if !is_last {
            self.shared.all_are_there.wait();
        }
        registered
    }

    /// Serves the request in `slot`.
    fn serve(&mut self, slot: usize) -> io::Result<()> {
        self.has_served = true;
        let Some((header, payload)) = self.ring.memory(slot) else {
            return Ok(());
        };
        let asked = Asked::read(header)?;
        let given = payload.get(..asked.payload);
        let given = given.ok_or(io::ErrorKind::InvalidData)?;
        let is_copied = asked.payload <= COPIED;
        let (rest, room) = match self.copied.get_mut(..asked.payload) {
            Some(copied) => {
                copied.copy_from_slice(given);
                (&*copied, &mut *payload)
            }
            None => (given, self.copied.as_mut_slice()),
        };
        let late = Cell::new(None);
        let later = || -> Answer {
            let (sender, outcome) = channel();
            late.set(Some(outcome));
            Box::new(move |done| sender.send(done).unwrap_or_default())
        };
        let first = header.get(FIRST_RECORD..ENTRY).unwrap_or_default();
        let request = Request::new(asked.header, Arguments::apart(first, rest), &later);
        let mut reply = Reply::new(room);
        let answered = self.adapter.serve(self.seat, request, &mut reply).answered;
        let length = reply.length();
        if let Some(answer) = self.copied.get(..length).filter(|_| !is_copied) {
            payload.split_at_mut(length).0.copy_from_slice(answer);
        }
        let pending = Pending {
            slot,
            unique: asked.header.unique,
            commit_id: asked.commit_id,
        };
        match (answered, late.take()) {
            (Answered::Later, Some(outcome)) => self.wait_for(pending, outcome),
            (Answered::Error(errno), _) => self.answer(pending, -errno.raw_os_error(), 0),
            (Answered::Reply, _) => self.answer(pending, 0, length),
            (Answered::Later | Answered::Never, _) => self.answer(pending, 0, 0),
        }
    }

    /// Answers with an error, or with so many bytes of the slot's payload.
    fn answer(&mut self, pending: Pending, error: i32, length: usize) -> io::Result<()> {
        let Some((header, _)) = self.ring.memory(pending.slot) else {
            return Ok(());
        };
        let narrow = |length| u32::try_from(length).map_err(io::Error::other);
        let out = OutHeader {
            length: narrow(size_of::<OutHeader>() + length)?,
            error,
            unique: pending.unique,
        };
        let entry = RingEntry {
            commit_id: pending.commit_id,
            payload_size: narrow(length)?,
            ..RingEntry::default()
        };
        out.write_to_prefix(header).map_err(malformed)?;
        let end = header.get_mut(ENTRY..).unwrap_or_default();
        entry.write_to_prefix(end).map_err(malformed)?;
        self.ring
            .commit(pending.slot, self.queue, pending.commit_id)
    }

    /// Answers once `outcome` is there. This thread waits for it, unless too many of its CPU do: then it goes on with another slot.
    fn wait_for(&mut self, pending: Pending, outcome: Receiver<Outcome>) -> io::Result<()> {
        match self.shared.wait(self.queue, &outcome) {
            Some(error) => self.answer(pending, error, 0),
            None => {
                self.late.push(Late { pending, outcome });
                self.ring.register(self.queue, self.payload)
            }
        }
    }

    /// Answers those of [`Self::late`] whose outcome is there.
    fn answer_late(&mut self) -> io::Result<()> {
        for late in std::mem::take(&mut self.late) {
            match late.outcome.try_recv() {
                Ok(done) => self.answer(late.pending, error_of(done), 0)?,
                Err(TryRecvError::Disconnected) => self.answer(late.pending, LOST, 0)?,
                Err(TryRecvError::Empty) => self.late.push(late),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_gets_as_many_threads_as_may_wait_and_few_where_there_are_many() {
        let counts = |possible: usize, online: usize, threads: usize, descriptors: usize| {
            let possible: Vec<usize> = (0..possible).collect();
            let plan = Plan::new(&possible, &possible[..online], threads, descriptors);
            (plan.threads_per_cpu(), plan.threads())
        };
        // possible and online CPUs, threads asked for, descriptors: threads of each that is online, and of all
        let rows = [
            ((2, 2, 32, 2500), (32, 64)),
            ((2, 2, 32, 128), (32, 64)),
            ((2, 2, 32, 12), (6, 12)),
            ((2, 2, 32, 0), (1, 2)),
            ((1, 1, 1, 2500), (1, 1)),
            ((16, 16, 32, 2500), (32, 512)),
            ((64, 64, 32, 2500), (8, 512)),
            ((240, 2, 32, 2500), (32, 302)),
            ((1024, 1024, 32, 65_536), (4, 4096)),
            ((1024, 1024, 2, 65_536), (2, 2048)),
        ];
        for ((possible, online, threads, descriptors), expected) in rows {
            assert_eq!(counts(possible, online, threads, descriptors), expected);
        }
    }
}

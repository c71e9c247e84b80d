//! The device by which the kernel sends requests, one for each read, and takes answers (fuse(4)).

use std::fs::OpenOptions;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::io::Errno;
use zerocopy::IntoBytes;

use super::adapter::{Adapter, Done};
use super::layout::{self, InHeader, OutHeader};
use super::reply::Reply;
use super::request::{Arguments, Request};
use super::start::REQUEST;
use super::worker_pool::{Seated, WorkerPool};
use crate::backing::clone_connection;
use crate::fs::Answer;

const HEADER: usize = size_of::<OutHeader>();

/// Pause after a FORGET where other requests come by rings. The kernel then gives those of the pause at once
/// (`fuse_read_batch_forget`), and each removed file wakes no thread.
const GATHER: Duration = Duration::from_millis(5);

/// Starts a thread for each of `seats`, to serve requests of the device until the connection ends. Up to `readers` of
/// them read where none is stalled.
///
/// # Errors
/// There can be no thread or descriptor more.
pub(super) fn start(
    adapter: &Arc<Adapter>,
    seats: Range<usize>,
    readers: usize,
) -> io::Result<Vec<JoinHandle<io::Result<()>>>> {
    let connection = &adapter.connection;
    let pool = WorkerPool::start(seats.len(), readers)?;
    let devices = for_threads(connection, seats.len())?;
    let start = |(turn, (seat, device)): (usize, (usize, Arc<OwnedFd>))| {
        let (adapter, pool) = (Arc::clone(adapter), Arc::clone(&pool));
        let thread = thread::Builder::new().name(format!("serve-{seat}"));
        thread.spawn(move || serve(&adapter, (&pool, turn), seat, &device))
    };
    seats.zip(devices).enumerate().map(start).collect()
}

/// Serves requests of `connection` on this thread until the connection ends. Its counters have `seat`; it takes the pool of `turn`.
///
/// # Errors
/// The connection failed.
fn serve(
    adapter: &Adapter,
    (pool, turn): (&WorkerPool, usize),
    seat: usize,
    connection: &Arc<OwnedFd>,
) -> io::Result<()> {
    let _seated = Seated(pool);
    let mut asked = vec![0; REQUEST];
    let mut answer = vec![0; HEADER + REQUEST];
    loop {
        let length = match rustix::io::read(connection, &mut asked) {
            Ok(length) => length,
            // Nothing was read: whoever asked waits no more, or a signal came.
            Err(Errno::NOENT | Errno::INTR | Errno::AGAIN) => continue,
            Err(Errno::NODEV) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        };
        let mut arguments = Arguments::new(asked.get(..length).unwrap_or_default());
        let header: InHeader = arguments.record()?;
        let later = || -> Answer {
            let connection = Arc::clone(connection);
            Box::new(move |done| {
                let error = done.map_or_else(|error| -error.errno(), |()| 0);
                let answer = OutHeader::new(header.unique, error, 0);
                send(&connection, answer.as_bytes());
            })
        };
        let request = Request::new(header, arguments, Some(&later));
        let _turn = pool.begin(turn);
        let (head, room) = answer.split_at_mut(HEADER);
        let mut reply = Reply::new(room);
        let served = adapter.serve(seat, request, &mut reply);
        let (error, length) = match served.done {
            Ok(Done::Now | Done::Absent) => (0, reply.length),
            Ok(Done::Later) => continue,
            Ok(Done::Never) => {
                if adapter.rings.lock().is_ok() {
                    thread::sleep(GATHER);
                }
                continue;
            }
            Err(errno) => (-errno.raw_os_error(), 0),
        };
        head.copy_from_slice(OutHeader::new(header.unique, error, length).as_bytes());
        let whole = answer.get(..HEADER + length).unwrap_or_default();
        send(connection, whole);
        if header.opcode == layout::DESTROY {
            return Ok(());
        }
    }
}

fn send(connection: &OwnedFd, answer: &[u8]) {
    match rustix::io::write(connection, answer) {
        // That nobody waits for it any more is no error: a program was interrupted, or the mount is gone.
        Ok(_) | Err(Errno::NOENT | Errno::NODEV) => {}
        Err(errno) => log::error!("an answer cannot be sent: {errno}"),
    }
}

/// Returns a descriptor of the same connection for each of `count` threads, separate where possible: an ordinary user
/// may have only the one from fusermount3.
///
/// # Errors
/// There can be no descriptor more.
fn for_threads(first: &Arc<OwnedFd>, count: usize) -> io::Result<Vec<Arc<OwnedFd>>> {
    let mut all = vec![Arc::clone(first)];
    for _ in 1..count {
        let device = OpenOptions::new().read(true).write(true).open("/dev/fuse");
        all.push(match device {
            Ok(device) => {
                let device = OwnedFd::from(device);
                clone_connection(&device, first)?;
                Arc::new(device)
            }
            Err(_) => Arc::clone(first),
        });
    }
    Ok(all)
}

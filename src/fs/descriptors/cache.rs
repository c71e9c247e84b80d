//! The descriptors of inodes that nobody has open: a cache with second-chance eviction, from which they expire.
//!
//! A descriptor keeps the space of a file or directory after its last name was removed below. So each is closed when
//! it was not used for a while. When the inode is needed it is opened again by its handle; a regular file without
//! one, where it was last seen. A directory without a handle stays open: whoever works in it may have moved it since.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

use super::Descriptors;
use crate::fs::inode::Inode;

/// A descriptor that can be had again is closed after this time without a use at the earliest, after twice this time at the
/// latest.
const IDLE: Duration = Duration::from_millis(500);

/// Upper bound of inodes that are checked for eviction when one is added.
const MOST_TURNS: usize = 256;

/// Inodes and descriptors to drop where no lock is held: close(2) frees the blocks of a removed file, and can wait for its
/// filesystem. Declared before the lock is taken, it is dropped after that.
type Garbage = Vec<(Arc<Inode>, Option<Arc<OwnedFd>>)>;

#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Inodes, once for each time that one got a descriptor and did not lose it since; oldest first. The kernel may have
    /// forgotten some.
    inodes: VecDeque<Weak<Inode>>,
    /// Is a thread running that closes idle descriptors?
    has_sweeper: bool,
}

impl Descriptors {
    /// Returns the number of inodes that have a descriptor.
    pub(super) fn inodes_held(&self) -> usize {
        let queue = self.queue.lock();
        let known = queue.inodes.iter().filter(|inode| inode.strong_count() > 0);
        known.count()
    }

    /// Is there room to hold one more inode without another being let go?
    pub(in crate::fs) fn has_room(&self) -> bool {
        let most = self.most_held();
        let inodes = &mut self.queue.lock().inodes;
        while inodes.len() >= most && inodes.front().is_some_and(|it| it.strong_count() == 0) {
            inodes.pop_front();
        }
        inodes.len() < most
    }

    /// Holds an inode by `fd`, unless it is held already; others are let go for it.
    pub(in crate::fs) fn hold(&self, inode: &Arc<Inode>, fd: OwnedFd) -> Arc<OwnedFd> {
        let (fd, is_new) = inode.hold(fd);
        if !is_new {
            return fd;
        }
        let most = self.most_held();
        let mut garbage = Garbage::new();
        let mut queue = self.queue.lock();
        queue.inodes.push_back(Arc::downgrade(inode));
        // Two rounds: the first takes the second chance of those that were used.
        for _turn in 0..MOST_TURNS.min(2 * queue.inodes.len()) {
            if queue.inodes.len() <= most {
                break;
            }
            if let Some(oldest) = queue.inodes.pop_front()
                && !is_closed(&oldest, &mut garbage)
            {
                queue.inodes.push_back(oldest);
            }
        }
        if is_transient(inode) && !queue.has_sweeper {
            queue.has_sweeper = start_sweeper(&self.queue);
        }
        fd
    }

    /// Closes all descriptors that no operation uses right now.
    pub(in crate::fs) fn close_all(&self) {
        let mut garbage = Garbage::new();
        let inodes = &mut self.queue.lock().inodes;
        let mut is_open = |inode: &Weak<Inode>| !is_closed(inode, &mut garbage);
        // The first attempt takes the second chance of those that were used.
        inodes.retain(|inode| is_open(inode) && is_open(inode));
    }
}

/// Can its descriptor be had again?
fn is_transient(inode: &Inode) -> bool {
    inode.is_regular() || inode.handle().is_some()
}

/// Closes the descriptor of an inode, but for dropping it; returns whether it has none now.
fn is_closed(inode: &Weak<Inode>, garbage: &mut Garbage) -> bool {
    let Some(inode) = inode.upgrade() else {
        return true;
    };
    let Some(closed) = inode.let_go() else {
        garbage.push((inode, None));
        return false;
    };
    garbage.push((inode, closed));
    true
}

/// Starts the thread that closes idle descriptors; it ends when there are none. Returns whether it runs.
fn start_sweeper(queue: &Arc<Mutex<Queue>>) -> bool {
    let queue = Arc::downgrade(queue);
    let sweep = move || {
        loop {
            thread::sleep(IDLE);
            match queue.upgrade() {
                Some(queue) if close_idle(&queue) => {}
                Some(_) | None => return,
            }
        }
    };
    thread::Builder::new()
        .name("idle fds".to_owned())
        .spawn(sweep)
        .inspect_err(|error| log::debug!("idle descriptors stay open: {error}"))
        .is_ok()
}

/// Closes the descriptors that were not used since the last call and can be had again; returns whether there are others of
/// these.
fn close_idle(queue: &Mutex<Queue>) -> bool {
    let mut garbage = Garbage::new();
    let mut has_more = false;
    let mut queue = queue.lock();
    queue.inodes.retain(|inode| {
        let Some(known) = inode.upgrade() else {
            return false;
        };
        let is_transient = is_transient(&known);
        garbage.push((known, None));
        let stays = !is_transient || !is_closed(inode, &mut garbage);
        has_more |= is_transient && stays;
        stays
    });
    queue.has_sweeper = has_more;
    has_more
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::channel;

    use rustix::net::sockopt::set_socket_linger;

    use super::*;
    use crate::backing::Stat;
    use crate::fs::inode::Identity;

    /// Reaching it is a failure, never a result.
    const PATIENCE: Duration = Duration::from_secs(20);

    fn inode(number: u64) -> Arc<Inode> {
        let stat = Stat::of(tempfile::tempfile().unwrap()).unwrap();
        Arc::new(Inode::new(number, Identity::looks(&stat, 0, None), &stat))
    }

    fn null() -> OwnedFd {
        std::fs::File::open("/dev/null").unwrap().into()
    }

    #[test]
    fn a_descriptor_of_a_file_is_closed_when_it_was_not_used_between_two_sweeps() {
        let cache = Descriptors::new(64);
        // This is the sweeper.
        cache.queue.lock().has_sweeper = true;
        let file = inode(2);
        cache.hold(&file, null());
        assert!(close_idle(&cache.queue), "it was just opened");
        drop(file.held().unwrap());
        assert!(close_idle(&cache.queue), "it was used since");
        let in_use = file.held().unwrap();
        assert!(
            close_idle(&cache.queue) && close_idle(&cache.queue),
            "it is in use"
        );
        drop(in_use);
        assert!(!close_idle(&cache.queue));
        assert!(file.held().is_none());
        assert_eq!(cache.inodes_held(), 0);
        assert!(!cache.queue.lock().has_sweeper);
    }

    /// A socket whose close(2) waits until the second is closed, which takes nothing of what was sent.
    fn slow_to_close() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut slow = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (peer, _) = listener.accept().unwrap();
        slow.set_nonblocking(true).unwrap();
        let full = std::iter::repeat_with(|| slow.write(&[0; 65_536])).find_map(Result::err);
        assert_eq!(full.unwrap().kind(), ErrorKind::WouldBlock);
        slow.set_nonblocking(false).unwrap();
        set_socket_linger(&slow, Some(10 * PATIENCE)).unwrap();
        (slow, peer)
    }

    #[test]
    fn a_descriptor_that_is_slow_to_close_keeps_nobody_from_the_others() {
        let cache = Arc::new(Descriptors::new(64));
        let (mut end, begin) = std::io::pipe().unwrap();
        let (slow, peer) = slow_to_close();
        let inodes = [inode(2), inode(3)];
        cache.hold(&inodes[0], begin.into());
        cache.hold(&inodes[1], slow.into());
        let closing = thread::spawn({
            let cache = Arc::clone(&cache);
            move || cache.close_all()
        });
        // The first is closed, so that the second is being closed.
        assert_eq!(end.read(&mut [0]).unwrap(), 0);
        let (sender, receiver) = channel();
        let looking = thread::spawn(move || sender.send(cache.inodes_held()));
        let len = receiver.recv_timeout(PATIENCE);
        drop(peer);
        closing.join().unwrap();
        looking.join().unwrap().unwrap();
        assert_eq!(len, Ok(0), "it waits for close(2)");
    }
}

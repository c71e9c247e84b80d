//! Watches directories for changes, by marks of fanotify(7) on each.
//!
//! A mark reports changes to names in its directory, to attributes of what is reached through them, and to itself. It
//! also reports the close of a file that was open for writing, and each write where our own can be left out. It
//! reports nothing elsewhere on the filesystem, and no write through a mapping. It holds the directory's inode in
//! memory. The kernel reports handles and names, never descriptors. It takes `CAP_SYS_ADMIN` and Linux 5.17.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

use super::fanotify::{self, Event, Taken};
use super::{FileHandle, sys};

/// More than the largest event: a name and two handles.
const BUFFER: usize = 1 << 16;

const NAMES: u64 = libc::FAN_CREATE | libc::FAN_DELETE | libc::FAN_MOVED_FROM | libc::FAN_MOVED_TO;
const CONTENT: u64 = libc::FAN_ATTRIB | libc::FAN_CLOSE_WRITE;
/// Events that make small writes slower for the processes that are watched.
const WRITES: u64 = libc::FAN_MODIFY | libc::FAN_CLOSE_WRITE;

/// The events that a directory is marked for, at most.
pub(crate) const EVENTS: u64 =
    NAMES | CONTENT | WRITES | libc::FAN_ONDIR | libc::FAN_EVENT_ON_CHILD;
/// Flags of `fanotify_mark(2)` that put a mark on a directory, and take it away.
pub(crate) const MARKS: [libc::c_uint; 2] = [ADD, REMOVE];
const ADD: libc::c_uint = libc::FAN_MARK_ADD | libc::FAN_MARK_ONLYDIR;
const REMOVE: libc::c_uint = libc::FAN_MARK_REMOVE | libc::FAN_MARK_ONLYDIR;

/// The marks, and what they report.
#[derive(Debug)]
pub struct Watcher {
    group: OwnedFd,
    /// Can be read when somebody is to be woken who waits.
    waker: OwnedFd,
    /// Is each write reported, or only that the file was closed?
    pub hears_writes: bool,
}

/// Why somebody who waited waits no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// The end has come.
    Ended,
    /// Something happened, or somebody woke him.
    Called,
    /// The time is over.
    Late,
}

/// A change of a name in a marked directory, or of what is reached through one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The directory, where it is told.
    pub directory: Option<FileHandle>,
    /// The name in it, as it lies there; `.` for the directory itself. Empty where it is not told.
    pub name: Vec<u8>,
    /// The inode that has or had the name, if the kernel tells it.
    pub inode: Option<FileHandle>,
    /// Does the name lead elsewhere now, or nowhere, or for the first time somewhere?
    pub is_of_name: bool,
    /// Did it lose the name?
    pub is_gone: bool,
}

impl Watcher {
    /// No marks yet.
    ///
    /// # Errors
    /// `EPERM`, `ENOSYS`, or `EINVAL` from kernels before 5.17.
    pub fn new() -> io::Result<Self> {
        let flags = libc::FAN_CLOEXEC
            | libc::FAN_NONBLOCK
            | libc::FAN_UNLIMITED_MARKS
            | libc::FAN_REPORT_DFID_NAME_TARGET;
        let waker = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        sys::fanotify_init(flags).map(|group| Self {
            group,
            waker,
            hears_writes: false,
        })
    }

    /// Marks a directory; once more is as good as once.
    ///
    /// # Errors
    /// Those of `fanotify_mark(2)`: `ENODEV` and `EXDEV` where the filesystem has no handles to report.
    pub fn add(&self, directory: impl AsFd) -> io::Result<()> {
        self.mark(ADD, directory)
    }

    fn mark(&self, flags: libc::c_uint, directory: impl AsFd) -> io::Result<()> {
        let writes = if self.hears_writes { WRITES } else { 0 };
        let mask = NAMES | CONTENT | writes | libc::FAN_ONDIR | libc::FAN_EVENT_ON_CHILD;
        sys::fanotify_mark(self.group.as_fd(), flags, mask, directory.as_fd())
    }

    /// Leaves out what is written through the mount that `root` lies in, by whomever: for one that nobody else has. All other
    /// writes in directories that are marked from now on are heard of.
    ///
    /// # Errors
    /// Those of `fanotify_mark(2)`.
    pub fn leave_out_writes_through(&mut self, root: impl AsFd) -> io::Result<()> {
        let ignore = libc::FAN_MARK_IGNORED_MASK | libc::FAN_MARK_IGNORED_SURV_MODIFY;
        let flags = libc::FAN_MARK_ADD | libc::FAN_MARK_MOUNT | ignore;
        sys::fanotify_mark(self.group.as_fd(), flags, WRITES, root.as_fd())?;
        self.hears_writes = true;
        Ok(())
    }

    /// Takes the mark of a directory away.
    ///
    /// # Errors
    /// Those of `fanotify_mark(2)`: `ENOENT` where there is none.
    pub fn remove(&self, directory: impl AsFd) -> io::Result<()> {
        self.mark(REMOVE, directory)
    }

    /// Waits until something happened, [`Self::wake`] was called, or `end` can be read or its other side is closed; for no longer
    /// than `patience`.
    ///
    /// # Errors
    /// Those of poll(2).
    pub fn wait(&self, end: impl AsFd, patience: Option<Duration>) -> io::Result<Woken> {
        let fds: [&dyn AsFd; 3] = [&self.group, &self.waker, &end];
        let ready = fanotify::wait_for(fds, patience)?;
        if ready[1] && !ready[2] {
            // It holds a number, which tells nothing.
            match rustix::io::read(&self.waker, &mut [0; 8]) {
                Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(match ready {
            [_, _, true] => Woken::Ended,
            [false, false, false] => Woken::Late,
            _ => Woken::Called,
        })
    }

    /// Has whoever waits, or will wait next, come back.
    pub fn wake(&self) {
        if let Err(errno) = rustix::io::write(&self.waker, &1_u64.to_ne_bytes()) {
            log::debug!("nobody is woken: {errno}");
        }
    }

    /// Passes the changes that others than process `own` made since the last time to `each`, oldest first.
    ///
    /// # Errors
    /// Those of read(2), or `EPROTO` for what cannot be understood.
    pub fn take(&self, own: u32, mut each: impl FnMut(Change)) -> io::Result<Taken> {
        fanotify::take(&self.group, &mut vec![0; BUFFER], |event| {
            if event.pid != own {
                each(change(event)?);
            }
            Some(())
        })
    }
}

/// Reads an event; `None` if it is malformed.
fn change(event: Event<'_>) -> Option<Change> {
    let mut change = Change {
        directory: None,
        name: Vec::new(),
        inode: None,
        is_of_name: event.mask & NAMES != 0,
        is_gone: event.mask & (libc::FAN_DELETE | libc::FAN_MOVED_FROM) != 0,
    };
    event.handles(|kind, handle, name| match kind {
        libc::FAN_EVENT_INFO_TYPE_FID => change.inode = Some(handle),
        _ => (change.directory, change.name) = (Some(handle), name.to_vec()),
    })?;
    Some(change)
}

#[cfg(test)]
mod tests;

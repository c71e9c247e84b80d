//! Watches directories for changes, by marks of fanotify(7) on each.
//!
//! A mark reports changes to names in its directory, to attributes of what is reached through them, and to itself. It
//! also reports the close of a file that was open for writing, and each write where our own can be left out. It
//! reports nothing elsewhere on the filesystem, and no write through a mapping. It holds the directory's inode in
//! memory. The kernel reports handles and names, never descriptors. It takes `CAP_SYS_ADMIN` and Linux 5.17.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use super::{FileHandle, sys};

/// Size of the kernel's metadata before each event, in bytes.
pub(super) const METADATA: usize = 24;
/// Size of the header before each piece of information on an event, in bytes.
pub(super) const HEADER: usize = 4;
/// The number of a filesystem, in bytes.
const FSID: usize = 8;
/// The length and kind of a handle, in bytes.
pub(super) const HANDLE: usize = 8;
/// More than the largest event: a name and two handles.
const BUFFER: usize = 1 << 16;

const NAMES: u64 = libc::FAN_CREATE | libc::FAN_DELETE | libc::FAN_MOVED_FROM | libc::FAN_MOVED_TO;
const CONTENT: u64 = libc::FAN_ATTRIB | libc::FAN_CLOSE_WRITE;
/// Events that make small writes slower for the processes that are watched.
const WRITES: u64 = libc::FAN_MODIFY | libc::FAN_CLOSE_WRITE;

/// The marks, and what they report.
#[derive(Debug)]
pub struct Watcher {
    group: OwnedFd,
    /// Can be read when somebody is to be woken who waits.
    waker: OwnedFd,
    /// Is each write reported, or only that the file was closed?
    hears_writes: bool,
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

/// The kind of event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happened {
    /// Something changed.
    Change(Change),
    /// More happened than the kernel could keep: anything may have changed.
    Overflow,
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
    /// The process that did it; 0 where it cannot be told.
    pub pid: u32,
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
        sys::fanotify_mark(
            self.group.as_fd(),
            libc::FAN_MARK_ADD | libc::FAN_MARK_ONLYDIR,
            self.mask(),
            directory.as_fd(),
        )
    }

    fn mask(&self) -> u64 {
        let writes = if self.hears_writes { WRITES } else { 0 };
        NAMES | CONTENT | writes | libc::FAN_ONDIR | libc::FAN_EVENT_ON_CHILD
    }

    /// Is each write reported? Else only that the file was closed.
    #[must_use]
    pub fn hears_writes(&self) -> bool {
        self.hears_writes
    }

    /// Leaves out what is written through the mount that `root` lies in, by whomever: for one that nobody else has. All other
    /// writes in directories that are marked from now on are heard of.
    ///
    /// # Errors
    /// Those of `fanotify_mark(2)`.
    pub fn leave_out_writes_through(&mut self, root: impl AsFd) -> io::Result<()> {
        let ignore = libc::FAN_MARK_IGNORED_MASK | libc::FAN_MARK_IGNORED_SURV_MODIFY;
        sys::fanotify_mark(
            self.group.as_fd(),
            libc::FAN_MARK_ADD | libc::FAN_MARK_MOUNT | ignore,
            WRITES,
            root.as_fd(),
        )?;
        self.hears_writes = true;
        Ok(())
    }

    /// Takes the mark of a directory away.
    ///
    /// # Errors
    /// Those of `fanotify_mark(2)`: `ENOENT` where there is none.
    pub fn remove(&self, directory: impl AsFd) -> io::Result<()> {
        sys::fanotify_mark(
            self.group.as_fd(),
            libc::FAN_MARK_REMOVE | libc::FAN_MARK_ONLYDIR,
            self.mask(),
            directory.as_fd(),
        )
    }

    /// Waits until something happened, [`Self::wake`] was called, or `end` can be read or its other side is closed; for no longer
    /// than `patience`.
    ///
    /// # Errors
    /// Those of poll(2).
    pub fn wait(&self, end: impl AsFd, patience: Option<Duration>) -> io::Result<Woken> {
        let mut fds = [
            PollFd::new(&self.group, PollFlags::IN),
            PollFd::new(&self.waker, PollFlags::IN),
            PollFd::from_borrowed_fd(end.as_fd(), PollFlags::IN),
        ];
        poll_for(&mut fds, patience)?;
        if !fds[2].revents().is_empty() {
            return Ok(Woken::Ended);
        }
        if !fds[1].revents().is_empty() {
            // It holds a number, which tells nothing.
            match rustix::io::read(&self.waker, &mut [0; 8]) {
                Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        match fds.iter().all(|fd| fd.revents().is_empty()) {
            true => Ok(Woken::Late),
            false => Ok(Woken::Called),
        }
    }

    /// Waits for the end alone, for so long; says whether it has come.
    ///
    /// # Errors
    /// Those of poll(2).
    pub fn pause(&self, end: impl AsFd, patience: Duration) -> io::Result<bool> {
        let mut fds = [PollFd::from_borrowed_fd(end.as_fd(), PollFlags::IN)];
        poll_for(&mut fds, Some(patience))?;
        Ok(!fds[0].revents().is_empty())
    }

    /// Has whoever waits, or will wait next, come back.
    pub fn wake(&self) {
        if let Err(errno) = rustix::io::write(&self.waker, &1_u64.to_ne_bytes()) {
            log::debug!("nobody is woken: {errno}");
        }
    }

    /// Takes what others than process `own` did since the last time, oldest first; `None` where nothing happened.
    ///
    /// # Errors
    /// Those of read(2), or `EPROTO` for what cannot be understood.
    pub fn take(&self, own: u32) -> io::Result<Option<Vec<Happened>>> {
        let mut buffer = vec![0; BUFFER];
        let length = match rustix::io::read(&self.group, buffer.as_mut_slice()) {
            Ok(length) => length,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let mut rest = buffer.get(..length).unwrap_or_default();
        let mut happened = Vec::new();
        while !rest.is_empty() {
            let (event, after) =
                event(rest, own).ok_or_else(|| io::Error::from_raw_os_error(libc::EPROTO))?;
            happened.extend(event);
            rest = after;
        }
        Ok(Some(happened))
    }
}

pub(super) fn poll_for(fds: &mut [PollFd<'_>], patience: Option<Duration>) -> io::Result<()> {
    let time = patience.map(Timespec::try_from).transpose();
    let time = time.map_err(io::Error::other)?;
    loop {
        match poll(fds, time.as_ref()) {
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
            Ok(_) => return Ok(()),
        }
    }
}

pub(super) fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The first event of `bytes`, and what is behind it (struct `fanotify_event_metadata`). Events of process `own` are not read.
fn event(bytes: &[u8], own: u32) -> Option<(Option<Happened>, &[u8])> {
    let length = usize::try_from(u32::from_ne_bytes(number(bytes, 0)?)).ok()?;
    let head = usize::from(u16::from_ne_bytes(number(bytes, 6)?));
    let mask = u64::from_ne_bytes(number(bytes, 8)?);
    let pid = i32::from_ne_bytes(number(bytes, 20)?);
    let whole = bytes
        .get(..length)
        .filter(|_| length >= head && head >= METADATA)?;
    let after = bytes.get(length..)?;
    if mask & libc::FAN_Q_OVERFLOW != 0 {
        return Some((Some(Happened::Overflow), after));
    }
    let pid = u32::try_from(pid).unwrap_or(0);
    if pid == own {
        return Some((None, after));
    }
    let mut change = Change {
        directory: None,
        name: Vec::new(),
        inode: None,
        is_of_name: mask & NAMES != 0,
        is_gone: mask & (libc::FAN_DELETE | libc::FAN_MOVED_FROM) != 0,
        pid,
    };
    let mut rest = whole.get(head..)?;
    while !rest.is_empty() {
        let kind = *rest.first()?;
        let length = usize::from(u16::from_ne_bytes(number(rest, 2)?));
        let piece = rest.get(HEADER..length)?;
        match kind {
            libc::FAN_EVENT_INFO_TYPE_FID => change.inode = Some(handle(piece)?.0),
            libc::FAN_EVENT_INFO_TYPE_DFID => change.directory = Some(handle(piece)?.0),
            libc::FAN_EVENT_INFO_TYPE_DFID_NAME => {
                let (directory, name) = handle(piece)?;
                change.directory = Some(directory);
                let end = name.iter().position(|&octet| octet == 0)?;
                change.name = name.get(..end)?.to_vec();
            }
            // Pieces that kernels to come may add.
            _ => {}
        }
        rest = rest.get(length..)?;
    }
    Some((Some(Happened::Change(change)), after))
}

/// The handle in a piece of information, and what is behind it (struct `fanotify_event_info_fid`).
fn handle(piece: &[u8]) -> Option<(FileHandle, &[u8])> {
    let length = usize::try_from(u32::from_ne_bytes(number(piece, FSID)?)).ok()?;
    let kind = i32::from_ne_bytes(number(piece, FSID + 4)?);
    let start = FSID + HANDLE;
    let bytes = piece.get(start..start.checked_add(length)?)?;
    let handle = FileHandle::from_parts(kind, bytes)?;
    Some((handle, piece.get(start + length..)?))
}

#[cfg(test)]
mod tests;

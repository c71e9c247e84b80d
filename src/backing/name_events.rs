//! New names anywhere on a filesystem: one mark of fanotify(7) on all of it.
//!
//! The kernel reports the handle of the directory, the name, and the process; for a rename also the directory that the entry came
//! from (`FAN_RENAME`). It takes `CAP_SYS_ADMIN`, and Linux 5.17. No descriptor of the process (`FAN_REPORT_PIDFD`) is asked for: the
//! kernel would open one for each event, which costs as much as the event itself.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use super::watch::{HANDLE, HEADER, METADATA, number, poll_for};
use super::{FileHandle, sys};

/// Thousands of events at a time.
const BUFFER: usize = 1 << 18;

/// The number of a filesystem, in bytes.
const FSID: usize = 8;

const MASK: u64 = libc::FAN_CREATE | libc::FAN_RENAME | libc::FAN_ONDIR;

/// The mark, and what was read of its events.
#[derive(Debug)]
pub struct NameEvents {
    group: OwnedFd,
    buffer: Vec<u8>,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameEvent<'b> {
    /// A name was made.
    New(NewName<'b>),
    /// More happened than the kernel could keep: any name may have been made.
    Overflow,
}

/// A name that was made, or that an entry was renamed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewName<'b> {
    /// The directory.
    pub directory: HandleBytes<'b>,
    /// The name.
    pub name: &'b [u8],
    /// Is the entry a directory?
    pub is_dir: bool,
    /// The directory that the entry had a name in before, if it was renamed.
    pub from: Option<HandleBytes<'b>>,
    /// The process; 0 for one of another namespace.
    pub pid: u32,
}

/// A file handle in the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandleBytes<'b> {
    kind: i32,
    bytes: &'b [u8],
}

impl HandleBytes<'_> {
    /// Copies it.
    #[must_use]
    pub fn to_handle(self) -> Option<FileHandle> {
        FileHandle::from_parts(self.kind, self.bytes)
    }
}

impl NameEvents {
    /// Marks the filesystem of `directory`.
    ///
    /// # Errors
    /// Those of `fanotify_init(2)` and `fanotify_mark(2)`. `EPERM` without the capability and `EINVAL` before Linux
    /// 5.17. `ENODEV`, `EXDEV` and `EOPNOTSUPP` where the filesystem has no number or no handles.
    pub fn of(directory: impl AsFd) -> io::Result<Self> {
        let flags = libc::FAN_CLOEXEC
            | libc::FAN_NONBLOCK
            | libc::FAN_REPORT_DIR_FID
            | libc::FAN_REPORT_NAME;
        let group = sys::fanotify_init(flags)?;
        let mark = libc::FAN_MARK_ADD | libc::FAN_MARK_FILESYSTEM;
        sys::fanotify_mark(group.as_fd(), mark, MASK, directory.as_fd())?;
        Ok(Self {
            group,
            buffer: vec![0; BUFFER],
        })
    }

    /// Waits until there are events, or `end` can be read or its other side is closed. Returns whether the end has come.
    ///
    /// # Errors
    /// Those of poll(2).
    pub fn wait(&self, end: impl AsFd) -> io::Result<bool> {
        let mut fds = [
            PollFd::from_borrowed_fd(end.as_fd(), PollFlags::IN),
            PollFd::new(&self.group, PollFlags::IN),
        ];
        poll_for(&mut fds, None)?;
        Ok(!fds[0].revents().is_empty())
    }

    /// Waits for the end alone, for so long. Returns whether it has come.
    ///
    /// # Errors
    /// Those of poll(2).
    pub fn pause(end: impl AsFd, time: Duration) -> io::Result<bool> {
        let mut fds = [PollFd::from_borrowed_fd(end.as_fd(), PollFlags::IN)];
        poll_for(&mut fds, Some(time))?;
        Ok(!fds[0].revents().is_empty())
    }

    /// Passes the events that wait, as many as the buffer holds, to `each`, oldest first. Returns how many there were.
    ///
    /// # Errors
    /// Those of read(2), or `EPROTO` for what cannot be understood.
    pub fn take(&mut self, mut each: impl FnMut(NameEvent<'_>)) -> io::Result<u64> {
        let length = match rustix::io::read(&self.group, self.buffer.as_mut_slice()) {
            Ok(length) => length,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(0),
            Err(errno) => return Err(errno.into()),
        };
        let mut rest = self.buffer.get(..length).unwrap_or_default();
        let mut count = 0;
        while !rest.is_empty() {
            let read = event(rest);
            let (event, after) = read.ok_or_else(|| io::Error::from_raw_os_error(libc::EPROTO))?;
            if let Some(event) = event {
                each(event);
                count += 1;
            }
            rest = after;
        }
        Ok(count)
    }
}

/// The first event of `bytes`, and what is behind it (struct `fanotify_event_metadata`).
fn event(bytes: &[u8]) -> Option<(Option<NameEvent<'_>>, &[u8])> {
    let length = usize::try_from(u32::from_ne_bytes(number(bytes, 0)?)).ok()?;
    let head = usize::from(u16::from_ne_bytes(number(bytes, 6)?));
    let mask = u64::from_ne_bytes(number(bytes, 8)?);
    let pid = i32::from_ne_bytes(number(bytes, 20)?);
    let whole = bytes
        .get(..length)
        .filter(|_| length >= head && head >= METADATA)?;
    let after = bytes.get(length..)?;
    if mask & libc::FAN_Q_OVERFLOW != 0 {
        return Some((Some(NameEvent::Overflow), after));
    }
    let (mut to, mut from) = (None, None);
    let mut rest = whole.get(head..)?;
    while !rest.is_empty() {
        let kind = *rest.first()?;
        let length = usize::from(u16::from_ne_bytes(number(rest, 2)?));
        let piece = rest.get(HEADER..length)?;
        match kind {
            libc::FAN_EVENT_INFO_TYPE_DFID_NAME | libc::FAN_EVENT_INFO_TYPE_NEW_DFID_NAME => {
                to = Some(place(piece)?);
            }
            libc::FAN_EVENT_INFO_TYPE_OLD_DFID_NAME => from = Some(place(piece)?.0),
            // Pieces that kernels to come may add.
            _ => {}
        }
        rest = rest.get(length..)?;
    }
    let new = to.map(|(directory, name)| {
        NameEvent::New(NewName {
            directory,
            name,
            is_dir: mask & libc::FAN_ONDIR != 0,
            from,
            pid: u32::try_from(pid).unwrap_or(0),
        })
    });
    Some((new, after))
}

/// The directory and the name in a piece of information (struct `fanotify_event_info_fid`).
fn place(piece: &[u8]) -> Option<(HandleBytes<'_>, &[u8])> {
    let length = usize::try_from(u32::from_ne_bytes(number(piece, FSID)?)).ok()?;
    let kind = i32::from_ne_bytes(number(piece, FSID + 4)?);
    let start = FSID + HANDLE;
    let end = start.checked_add(length)?;
    let bytes = piece.get(start..end)?;
    let name = piece.get(end..)?;
    let name = name.split(|&byte| byte == 0).next()?;
    Some((HandleBytes { kind, bytes }, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backing::Dir;

    /// The name, whether it is a directory, and whether and from where it was renamed.
    type Heard = (Vec<u8>, bool, Option<bool>);

    #[test]
    fn names_are_heard_with_their_directories_wherever_they_are_made() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let place = tempfile::tempdir_in("/dev/shm").unwrap();
        let (one, other) = (place.path().join("one"), place.path().join("other"));
        std::fs::create_dir(&one).unwrap();
        std::fs::create_dir(&other).unwrap();
        let [one_handle, other_handle] = [&one, &other].map(|path| {
            let dir = Dir::open_root(path).unwrap();
            FileHandle::of(&dir).unwrap().unwrap()
        });
        let mut events = NameEvents::of(Dir::open_root(place.path()).unwrap()).unwrap();
        std::fs::write(one.join("file"), "").unwrap();
        std::fs::create_dir(one.join("directory")).unwrap();
        std::fs::hard_link(one.join("file"), one.join("link")).unwrap();
        let renamed = rustix::fs::renameat(
            rustix::fs::CWD,
            one.join("directory"),
            rustix::fs::CWD,
            other.join("moved"),
        );
        renamed.unwrap();
        std::fs::remove_file(one.join("file")).unwrap();
        let mut heard: Vec<Heard> = Vec::new();
        let own = std::process::id();
        let taken = events.take(|event| {
            let NameEvent::New(new) = event else {
                panic!("an overflow");
            };
            // Other tests work on this filesystem too.
            let directory = new.directory.to_handle().unwrap();
            if [&one_handle, &other_handle].contains(&&directory) {
                assert_eq!(new.pid, own);
                let from = new.from.map(|from| from.to_handle().unwrap() == one_handle);
                assert_eq!(directory == other_handle, from.is_some());
                heard.push((new.name.to_vec(), new.is_dir, from));
            }
        });
        assert!(taken.unwrap() >= 4);
        let row = |name: &str, is_dir, from| (name.as_bytes().to_vec(), is_dir, from);
        assert_eq!(
            heard,
            [
                row("file", false, None),
                row("directory", true, None),
                row("link", false, None),
                row("moved", true, Some(true)),
            ]
        );
    }

    #[test]
    fn what_is_no_event_is_refused() {
        assert_eq!(event(&[0; 24]), None);
        assert_eq!(event(&[24, 0, 0, 0]), None);
    }
}

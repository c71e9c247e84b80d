//! New names anywhere on a filesystem: one mark of fanotify(7) on all of it.
//!
//! The kernel reports the handle of the directory, the name, and the process; for a rename also the directory that the entry came
//! from (`FAN_RENAME`). It takes `CAP_SYS_ADMIN`, and Linux 5.17. No descriptor of the process (`FAN_REPORT_PIDFD`) is asked for: the
//! kernel would open one for each event, which costs as much as the event itself.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use crate::backing::fanotify::{self, Event, Taken};
use crate::backing::{FileHandle, sys};

/// Thousands of events at a time.
const BUFFER: usize = 1 << 18;

const MASK: u64 = libc::FAN_CREATE | libc::FAN_RENAME | libc::FAN_ONDIR;

/// The mark, and what was read of its events.
#[derive(Debug)]
pub(super) struct NameEvents {
    group: OwnedFd,
    buffer: Vec<u8>,
}

/// A name that was made, or that an entry was renamed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewName<'b> {
    /// The directory.
    pub(super) directory: FileHandle,
    /// The name.
    pub(super) name: &'b [u8],
    /// Is the entry a directory?
    pub(super) is_dir: bool,
    /// The directory that the entry had a name in before, if it was renamed.
    pub(super) from: Option<FileHandle>,
    /// The process; 0 for one of another namespace.
    pub(super) pid: u32,
}

impl NameEvents {
    /// Marks the filesystem of `directory`.
    ///
    /// # Errors
    /// Those of `fanotify_init(2)` and `fanotify_mark(2)`. `EPERM` without the capability and `EINVAL` before Linux
    /// 5.17. `ENODEV`, `EXDEV` and `EOPNOTSUPP` where the filesystem has no number or no handles.
    pub(super) fn of(directory: impl AsFd) -> io::Result<Self> {
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

    /// Waits until there are events, or `end` can be read or its other side is closed, for no longer than `patience`. Returns whether
    /// the end has come.
    ///
    /// # Errors
    /// Those of poll(2).
    pub(super) fn wait(&self, end: impl AsFd, patience: Duration) -> io::Result<bool> {
        fanotify::wait_for([&end, &self.group], Some(patience)).map(|[ended, _]| ended)
    }

    /// Passes the names that were made, as many as the buffer holds, to `each`, oldest first.
    ///
    /// # Errors
    /// Those of read(2), or `EPROTO` for what cannot be understood.
    pub(super) fn take(&mut self, mut each: impl FnMut(&NewName<'_>)) -> io::Result<Taken> {
        fanotify::take(&self.group, &mut self.buffer, |event| {
            new_name(event)?.iter().for_each(&mut each);
            Some(())
        })
    }
}

/// Reads an event; `None` if it is malformed, nothing if no name is in it.
fn new_name(event: Event<'_>) -> Option<Option<NewName<'_>>> {
    let (mut to, mut from) = (None, None);
    event.handles(|kind, handle, name| match kind {
        libc::FAN_EVENT_INFO_TYPE_OLD_DFID_NAME => from = Some(handle),
        _ => to = Some((handle, name)),
    })?;
    Some(to.map(|(directory, name)| NewName {
        directory,
        name,
        is_dir: event.mask & libc::FAN_ONDIR != 0,
        from,
        pid: event.pid,
    }))
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
        let taken = events.take(|new| {
            // Other tests work on this filesystem too.
            if [&one_handle, &other_handle].contains(&&new.directory) {
                assert_eq!(new.pid, own);
                let from = new.from.as_ref().map(|from| *from == one_handle);
                assert_eq!(new.directory == other_handle, from.is_some());
                heard.push((new.name.to_vec(), new.is_dir, from));
            }
        });
        let taken = taken.unwrap();
        assert!(taken.count >= 4 && !taken.is_overflow);
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
}

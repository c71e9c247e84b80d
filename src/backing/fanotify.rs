//! The form of events of fanotify(7) that carry handles and names (`include/uapi/linux/fanotify.h`), and waiting for them.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::FileHandle;

/// Size of `struct fanotify_event_metadata`, in bytes.
const METADATA: usize = 24;
/// Size of `struct fanotify_event_info_header`, in bytes.
const HEADER: usize = 4;
/// Size of the number of a filesystem, in bytes.
const FSID: usize = 8;
/// Size of the length and kind of a handle, in bytes.
const HANDLE: usize = 8;

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event<'b> {
    /// The bits `FAN_*` of what happened.
    pub(crate) mask: u64,
    /// The process that did it; 0 for one of another pid namespace.
    pub(crate) pid: u32,
    records: &'b [u8],
}

impl<'b> Event<'b> {
    /// Calls `each` with the type of each information record, its handle, and its name, if it has one. Records without a handle are
    /// left out. Returns `None` for a malformed record.
    pub(crate) fn handles(self, mut each: impl FnMut(u8, FileHandle, &'b [u8])) -> Option<()> {
        let mut rest = self.records;
        while let Some(&kind) = rest.first() {
            let length = usize::from(u16::from_ne_bytes(number(rest, 2)?));
            let record = rest.get(HEADER..length)?;
            if matches!(
                kind,
                libc::FAN_EVENT_INFO_TYPE_FID
                    | libc::FAN_EVENT_INFO_TYPE_DFID
                    | libc::FAN_EVENT_INFO_TYPE_DFID_NAME
                    | libc::FAN_EVENT_INFO_TYPE_OLD_DFID_NAME
                    | libc::FAN_EVENT_INFO_TYPE_NEW_DFID_NAME
            ) {
                let (handle, name) = handle(record)?;
                each(kind, handle, name);
            }
            rest = rest.get(length..)?;
        }
        Some(())
    }

    /// Splits the first event off `bytes`.
    fn split(bytes: &'b [u8]) -> Option<(Self, &'b [u8])> {
        let length = usize::try_from(u32::from_ne_bytes(number(bytes, 0)?)).ok()?;
        let head = usize::from(u16::from_ne_bytes(number(bytes, 6)?));
        let (whole, rest) = bytes.split_at_checked(length)?;
        let event = Self {
            mask: u64::from_ne_bytes(number(bytes, 8)?),
            pid: u32::try_from(i32::from_ne_bytes(number(bytes, 20)?)).unwrap_or(0),
            records: whole.get(head..).filter(|_| head >= METADATA)?,
        };
        Some((event, rest))
    }
}

/// Splits the record of a handle (`struct fanotify_event_info_fid`) into the handle and the name behind it, without the zero bytes
/// that follow.
fn handle(record: &[u8]) -> Option<(FileHandle, &[u8])> {
    let length = usize::try_from(u32::from_ne_bytes(number(record, FSID)?)).ok()?;
    let kind = i32::from_ne_bytes(number(record, FSID + 4)?);
    let (bytes, name) = record.get(FSID + HANDLE..)?.split_at_checked(length)?;
    let name = name.split(|&byte| byte == 0).next()?;
    Some((FileHandle::from_parts(kind, bytes)?, name))
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The events that were read at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// The number of events.
    pub count: u64,
    /// More happened than the kernel could keep: anything may have happened.
    pub is_overflow: bool,
}

/// Reads the waiting events of `group`, as many as `buffer` holds, and passes those of changes to `each`, oldest first.
///
/// # Errors
/// Those of read(2); `EPROTO` for a malformed event, or if `each` returns `None`.
pub(crate) fn take<'b>(
    group: &OwnedFd,
    buffer: &'b mut [u8],
    mut each: impl FnMut(Event<'b>) -> Option<()>,
) -> io::Result<Taken> {
    let mut taken = Taken::default();
    let length = match rustix::io::read(group, &mut *buffer) {
        Ok(length) => length,
        Err(Errno::AGAIN | Errno::INTR) => return Ok(taken),
        Err(errno) => return Err(errno.into()),
    };
    let mut rest = buffer.get(..length).unwrap_or_default();
    while !rest.is_empty() {
        let (event, after) = Event::split(rest).ok_or(Errno::PROTO)?;
        if event.mask & libc::FAN_Q_OVERFLOW != 0 {
            taken.is_overflow = true;
        } else {
            each(event).ok_or(Errno::PROTO)?;
        }
        rest = after;
        taken.count += 1;
    }
    Ok(taken)
}

/// Waits until one of `fds` can be read or its other side is closed, for no longer than `patience`. Returns which of them.
///
/// # Errors
/// Those of poll(2).
pub(crate) fn wait_for<const N: usize>(
    fds: [&dyn AsFd; N],
    patience: Option<Duration>,
) -> io::Result<[bool; N]> {
    let time = patience.map(Timespec::try_from).transpose();
    let time = time.map_err(io::Error::other)?;
    let mut fds = fds.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN));
    rustix::io::retry_on_intr(|| poll(&mut fds, time.as_ref()))?;
    Ok(fds.map(|fd| !fd.revents().is_empty()))
}

/// Waits until `end` can be read or its other side is closed, for no longer than `time`. Returns whether that has come.
///
/// # Errors
/// Those of poll(2).
pub fn pause(end: impl AsFd, time: Duration) -> io::Result<bool> {
    wait_for([&end], Some(time)).map(|[ended]| ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_events_are_refused() {
        assert_eq!(Event::split(b""), None);
        assert_eq!(Event::split(&[0; METADATA]), None);
        assert_eq!(Event::split(&[24, 0, 0, 0]), None);
        let mut bytes = vec![0; METADATA];
        bytes[0] = 24;
        // The head is longer than the whole.
        bytes[6] = 100;
        assert_eq!(Event::split(&bytes), None);
        bytes[6] = 24;
        assert!(Event::split(&bytes).is_some());
        // It says that it is longer than it is.
        bytes[0] = 255;
        assert_eq!(Event::split(&bytes), None);
    }

    #[test]
    fn malformed_records_are_refused() {
        let handles = |records: &[u8]| {
            let event = Event {
                mask: 0,
                pid: 0,
                records,
            };
            event.handles(|_, _, _| {})
        };
        assert_eq!(handles(b""), Some(()));
        // No length; a length of zero; one that is longer than the record.
        assert_eq!(handles(&[libc::FAN_EVENT_INFO_TYPE_FID]), None);
        assert_eq!(handles(&[libc::FAN_EVENT_INFO_TYPE_FID, 0, 0, 0]), None);
        assert_eq!(handles(&[libc::FAN_EVENT_INFO_TYPE_FID, 0, 8, 0]), None);
        let mut record = vec![libc::FAN_EVENT_INFO_TYPE_FID, 0, 24, 0];
        record.resize(24, 0);
        record[12] = 4;
        assert_eq!(handles(&record), Some(()));
        // The handle is longer than the record.
        record[12] = 5;
        assert_eq!(handles(&record), None);
        // A record of a type that kernels to come may add.
        record[0] = 200;
        assert_eq!(handles(&record), Some(()));
    }
}

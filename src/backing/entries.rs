//! A stream of directory entries with the kernel's own cookies.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::SeekFrom;

use super::calls::counted;
use super::{file, sys};
use crate::records::Kind;

/// Bytes to ask the kernel for at once, as glibc's readdir does.
const BUFFER: usize = 32 * 1024;

/// Offsets in `struct linux_dirent64`: `d_ino` (8), `d_off` (8), `d_reclen` (2), `d_type` (1), `d_name`.
const OFFSET: usize = 8;
const LENGTH: usize = 16;
const TYPE: usize = 18;
const NAME: usize = 19;

/// An entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The name, bytes as they lie on disk; `.` and `..` too.
    pub name: &'a [u8],
    /// Inode number in the directory: of what lies under a mount point, not of what is mounted there.
    pub ino: u64,
    /// Its kind; `Unknown` where the filesystem does not say.
    pub kind: Kind,
    /// Position after this entry, for [`Entries::seek`].
    pub cookie: u64,
}

impl Entry<'_> {
    /// Is it `.` or `..`?
    pub fn is_dot(&self) -> bool {
        matches!(self.name, b"." | b"..")
    }
}

/// A directory being read. Cookies are the kernel's, valid for every stream of this directory on most filesystems.
#[derive(Debug)]
pub struct Entries {
    fd: OwnedFd,
    buffer: Box<[u8]>,
    /// Bytes of `buffer` that are filled.
    filled: usize,
    /// Start of the next entry in `buffer`.
    next: usize,
    /// The cookie of the first entry in `buffer`.
    start: u64,
    /// The cookie of the next entry: 0 at the start, else that of the entry given last.
    position: u64,
}

impl Entries {
    /// Opens the directory that `fd` refers to, `O_PATH` or not, for reading from its start. With `O_NOATIME` if `flags` have it:
    /// reading then leaves the access time.
    ///
    /// # Errors
    /// Those of open(2); `ENOTDIR` if it is none; `EPERM` with `O_NOATIME` for who does not own the directory.
    pub fn open(fd: impl AsFd, flags: i32) -> io::Result<Self> {
        let fd = file::reopen_directory(fd, flags & libc::O_NOATIME | libc::O_RDONLY)?;
        Ok(Self::new(fd, vec![0; BUFFER].into()))
    }

    /// Opens as [`Entries::open`], so that reading leaves the access time where that is for us to say.
    ///
    /// # Errors
    /// Those of open(2); `ENOTDIR` if it is none.
    pub fn open_quietly(fd: impl AsFd) -> io::Result<Self> {
        let fd = file::reopen_quietly(fd, libc::O_DIRECTORY)?;
        Ok(Self::new(fd, vec![0; BUFFER].into()))
    }

    /// Takes a directory that is open for reading and stands at its start, and a buffer of 1 KiB or more.
    pub fn new(fd: OwnedFd, buffer: Box<[u8]>) -> Self {
        Self {
            fd,
            buffer,
            filled: 0,
            next: 0,
            start: 0,
            position: 0,
        }
    }

    /// Gives the directory and the buffer back.
    pub fn into_parts(self) -> (OwnedFd, Box<[u8]>) {
        (self.fd, self.buffer)
    }

    /// Goes to `cookie`: 0 for the start, read anew, or that of an entry given before.
    ///
    /// Costs nothing where the stream stands there; within what was read last it goes back without a system call.
    ///
    /// # Errors
    /// Those of lseek(2).
    pub fn seek(&mut self, cookie: u64) -> io::Result<()> {
        if cookie == self.position && cookie != 0 {
            return Ok(());
        }
        if cookie != 0
            && let Some(place) = self.place_of(cookie)
        {
            self.next = place;
            self.position = cookie;
            return Ok(());
        }
        self.seek_anew(cookie)
    }

    /// Goes to `cookie`, behind which the directory is read anew.
    ///
    /// # Errors
    /// Those of lseek(2).
    pub fn seek_anew(&mut self, cookie: u64) -> io::Result<()> {
        counted(rustix::fs::seek(&self.fd, SeekFrom::Start(cookie)))?;
        (self.filled, self.next) = (0, 0);
        (self.start, self.position) = (cookie, cookie);
        Ok(())
    }

    /// The next entry; `None` at the end. After `None`, entries made since may follow.
    ///
    /// # Errors
    /// Those of getdents(2): `ENOENT` once the directory was removed; `EIO` for a record that makes no sense.
    #[expect(
        clippy::should_implement_trait,
        reason = "the entry borrows the buffer, which Iterator cannot say"
    )]
    pub fn next(&mut self) -> io::Result<Option<Entry<'_>>> {
        if self.next >= self.filled {
            let filled = sys::getdents(self.fd.as_fd(), &mut self.buffer)?;
            if filled == 0 {
                // What was read last stays: on tmpfs a stream that is sent back to an entry that is gone repeats others.
                return Ok(None);
            }
            (self.start, self.next, self.filled) = (self.position, 0, filled);
        }
        let (entry, end) = record(&self.buffer, self.next, self.filled)
            .ok_or_else(|| io::Error::from(rustix::io::Errno::IO))?;
        self.next = end;
        self.position = entry.cookie;
        Ok(Some(entry))
    }

    /// Returns the place in the buffer at which the entry with `cookie` starts.
    fn place_of(&self, cookie: u64) -> Option<usize> {
        if cookie == self.start {
            return Some(0);
        }
        let mut place = 0;
        while let Some((entry, end)) = record(&self.buffer, place, self.filled) {
            place = end;
            if entry.cookie == cookie {
                return Some(place);
            }
        }
        None
    }
}

impl AsFd for Entries {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The record at `place` of what the kernel filled in, and where it ends; `None` if there is none or it makes no sense.
fn record(buffer: &[u8], place: usize, filled: usize) -> Option<(Entry<'_>, usize)> {
    let rest = buffer.get(place..filled)?;
    let ino = u64::from_ne_bytes(*rest.first_chunk()?);
    let cookie = u64::from_ne_bytes(*rest.get(OFFSET..)?.first_chunk()?);
    let length = usize::from(u16::from_ne_bytes(*rest.get(LENGTH..)?.first_chunk()?));
    let kind = Kind::from_dirent(*rest.get(TYPE)?);
    let name = rest.get(NAME..length)?;
    let name = name.split(|&byte| byte == 0).next()?;
    let entry = Entry {
        name,
        ino,
        kind,
        cookie,
    };
    Some((entry, place + length))
}

#[cfg(test)]
mod tests;

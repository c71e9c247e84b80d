//! File handles: an inode's name within its filesystem, good without a descriptor and after renames.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::OFlags;

use super::sys::{self, MAX_HANDLE, RawHandle};
use crate::names::BackingName;

/// Handles of most filesystems are no longer than this and live in place: 8 bytes on ext4, 12 on tmpfs.
const INLINE: usize = 22;

/// Number of attempts to open an inode while the kernel reports a lack of memory.
const TRIES: usize = 8;

/// A file handle. It holds the inode's generation: a number used again for another file gives another handle.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileHandle {
    kind: i32,
    bytes: Bytes,
}

/// The handle's bytes; those no longer than `INLINE` are always inline and zero behind their end, so that equal handles
/// compare equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Bytes {
    Inline { length: u8, bytes: [u8; INLINE] },
    Boxed(Box<[u8]>),
}

impl FileHandle {
    /// The handle of the inode that `fd` refers to; `None` where the filesystem has none, or they are forbidden here.
    ///
    /// That a handle is given does not say that it can be opened: try [`FileHandle::open`] once for each filesystem.
    ///
    /// # Errors
    /// Those of `name_to_handle_at(2)`, but for `EOPNOTSUPP`, `EOVERFLOW`, `EPERM` and `ENOSYS`.
    pub fn of(fd: impl AsFd) -> io::Result<Option<Self>> {
        if_supported(sys::name_to_handle(fd.as_fd(), c"").map(|raw| Self::from_raw(&raw)))
    }

    /// The handle of the inode that `name` leads to in the directory `dir`, of the symlink itself if it is one; `None` as
    /// for [`FileHandle::of`].
    ///
    /// # Errors
    /// Those of `name_to_handle_at(2)`, `ENOENT` among them, but for those of [`FileHandle::of`].
    pub fn of_child(dir: impl AsFd, name: &BackingName) -> io::Result<Option<Self>> {
        let given = rustix::path::Arg::into_with_c_str(name.as_bytes(), |name| {
            Ok(sys::name_to_handle(dir.as_fd(), name))
        })?;
        if_supported(given.map(|raw| Self::from_raw(&raw)))
    }

    /// Opens the inode on the filesystem of `mount`, as seen through that mount, with the given open(2) flags and
    /// `O_NOFOLLOW | O_CLOEXEC`; `None` if this process may not (it takes `CAP_DAC_READ_SEARCH`).
    ///
    /// `mount` is a file or directory of that filesystem that is open for reading: the kernel takes no `O_PATH`
    /// descriptor here, and [`super::file::reopen`] makes one readable. Pass `O_PATH` unless the inode is known to be
    /// a regular file or a directory: a pipe or device could wait or act.
    ///
    /// # Errors
    /// `ESTALE` if the inode is gone or going, and `EBADF` for an `O_PATH` descriptor as `mount`. Else those of
    /// `open_by_handle_at(2)`, except `EOPNOTSUPP`, `EOVERFLOW`, `EPERM` and `ENOSYS`.
    pub fn open(&self, mount: impl AsFd, flags: i32) -> io::Result<Option<OwnedFd>> {
        let flags = OFlags::from_bits_retain(flags.cast_unsigned());
        let flags = (flags | OFlags::NOFOLLOW | OFlags::CLOEXEC).bits();
        let raw = self.to_raw();
        let open = || sys::open_by_handle(mount.as_fd(), &raw, flags.cast_signed());
        if_supported(open_living(open))
    }

    /// A number for the file: the same for the same handle, always, and rarely the same for two (FNV-1a).
    pub fn digest(&self) -> u32 {
        let octets = self.kind.to_le_bytes();
        let octets = octets.iter().chain(self.as_bytes());
        let mix = |sum: u32, &octet| (sum ^ u32::from(octet)).wrapping_mul(0x0100_0193);
        octets.fold(0x811C_9DC5, mix)
    }

    /// The filesystem's kind of handle, which is part of its identity.
    pub fn kind(&self) -> i32 {
        self.kind
    }

    /// The handle's bytes, 1 to 128.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Inline { length, bytes } => bytes.get(..usize::from(*length)).unwrap_or(bytes),
            Bytes::Boxed(bytes) => bytes,
        }
    }

    /// Puts a handle together, as [`FileHandle::kind`] and [`FileHandle::as_bytes`] took it apart; `None` if it is
    /// longer than 128 bytes.
    pub fn from_parts(kind: i32, bytes: &[u8]) -> Option<Self> {
        (bytes.len() <= MAX_HANDLE).then(|| Self::pack(kind, bytes))
    }

    fn pack(kind: i32, bytes: &[u8]) -> Self {
        let mut inline = [0; INLINE];
        let bytes = match (inline.get_mut(..bytes.len()), u8::try_from(bytes.len())) {
            (Some(room), Ok(length)) => {
                room.copy_from_slice(bytes);
                Bytes::Inline {
                    length,
                    bytes: inline,
                }
            }
            _ => Bytes::Boxed(bytes.into()),
        };
        Self { kind, bytes }
    }

    fn from_raw(raw: &RawHandle) -> Self {
        let length = usize::try_from(raw.length).unwrap_or(MAX_HANDLE);
        Self::pack(raw.kind, raw.bytes.get(..length).unwrap_or(&raw.bytes))
    }

    pub(crate) fn to_raw(&self) -> RawHandle {
        let from = self.as_bytes();
        let mut bytes = [0; MAX_HANDLE];
        let pairs = bytes.iter_mut().zip(from);
        pairs.for_each(|(to, from)| *to = *from);
        RawHandle {
            length: u32::try_from(from.len()).unwrap_or_default(),
            kind: self.kind,
            bytes,
        }
    }
}

/// Opens an inode by its handle. The kernel answers `ENOMEM` too where the inode is just going away, which is `ESTALE` in the end.
fn open_living<T>(open: impl Fn() -> io::Result<T>) -> io::Result<T> {
    for _ in 0..TRIES {
        match open() {
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => std::thread::yield_now(),
            opened => return opened,
        }
    }
    Err(io::Error::from_raw_os_error(libc::ESTALE))
}

/// Turns the errors that say "not here" into `None`, which a caller answers with a descriptor that it keeps.
fn if_supported<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    use libc::{ENOSYS, EOPNOTSUPP, EOVERFLOW, EPERM};
    match result.as_ref().err().and_then(io::Error::raw_os_error) {
        Some(EOPNOTSUPP | EOVERFLOW | EPERM | ENOSYS) => Ok(None),
        _ => result.map(Some),
    }
}

#[cfg(test)]
mod tests;

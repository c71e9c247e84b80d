//! Answers to the kernel.

use std::time::Duration;

use fuser::FopenFlags;
use rustix::fs::StatVfs;
use rustix::io::Errno;
use zerocopy::{Immutable, IntoBytes};

use super::layout::{
    Attr, AttrOut, Dirent, EntryOut, FileLock, GetxattrOut, LseekOut, OpenOut, StatfsOut, Statx,
    StatxOut, StatxTime, WriteOut,
};
use crate::backing::{LockRange, Stat, Time};
use crate::coherence::Kept;
use crate::fs::{FsError, Listed};

/// An answer, of which nothing is there yet but room.
#[derive(Debug)]
pub(super) struct Reply<'a> {
    room: &'a mut [u8],
    /// The number of bytes that are there.
    pub(super) length: usize,
}

/// An answer has more to it than room was made for.
const NO_ROOM: Errno = Errno::IO;

impl<'a> Reply<'a> {
    /// An answer for which there is so much room.
    pub(super) fn new(room: &'a mut [u8]) -> Self {
        Self { room, length: 0 }
    }

    /// No more of it than `size` bytes is wanted.
    pub(super) fn limit(&mut self, size: u32) {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let room = std::mem::take(&mut self.room);
        let size = size.min(room.len());
        self.room = room.split_at_mut(size).0;
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// `EIO`: there is no room.
    pub(super) fn data(&mut self, octets: &[u8]) -> Result<(), Errno> {
        let room = self.room.get_mut(self.length..).unwrap_or_default();
        let room = room.get_mut(..octets.len()).ok_or(NO_ROOM)?;
        room.copy_from_slice(octets);
        self.length += octets.len();
        Ok(())
    }

    /// Adds a record.
    ///
    /// # Errors
    /// `EIO`: there is no room.
    pub(super) fn record(&mut self, record: &(impl IntoBytes + Immutable)) -> Result<(), Errno> {
        self.data(record.as_bytes())
    }

    /// Adds what `fill` puts into all the room there is; it tells how many bytes that is.
    ///
    /// # Errors
    /// Those of `fill`.
    pub(super) fn filled<E>(
        &mut self,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<(), E> {
        let room = self.room.get_mut(self.length..).unwrap_or_default();
        self.length += fill(room)?;
        Ok(())
    }

    /// Adds that there is no such entry, and that the kernel may keep that for so long: an entry of inode 0.
    ///
    /// # Errors
    /// As for [`record`](Self::record).
    pub(super) fn absence(&mut self, kept: Duration) -> Result<(), Errno> {
        self.record(&EntryOut {
            entry_valid: kept.as_secs(),
            entry_valid_nanos: kept.subsec_nanos(),
            ..EntryOut::default()
        })
    }

    /// Adds attributes of a file whose visible inode number is `number`, and how long the kernel may keep them.
    ///
    /// # Errors
    /// As for [`record`](Self::record).
    pub(super) fn attributes(
        &mut self,
        number: u64,
        (stat, kept): (Stat, Duration),
    ) -> Result<(), Errno> {
        self.record(&AttrOut {
            attr_valid: kept.as_secs(),
            attr_valid_nanos: kept.subsec_nanos(),
            padding: 0,
            attr: attr(number, &stat),
        })
    }

    /// The same, for statx(2).
    ///
    /// # Errors
    /// As for [`record`](Self::record).
    pub(super) fn statx(
        &mut self,
        number: u64,
        (stat, kept): (Stat, Duration),
    ) -> Result<(), Errno> {
        self.record(&StatxOut {
            attr_valid: kept.as_secs(),
            attr_valid_nanos: kept.subsec_nanos(),
            stat: statx(number, &stat),
            ..StatxOut::default()
        })
    }

    /// Adds the handle of what was opened, and how the kernel serves it: by a backing file where `backing_id` is not 0.
    ///
    /// # Errors
    /// As for [`record`](Self::record).
    pub(super) fn opened(
        &mut self,
        handle: u64,
        flags: FopenFlags,
        backing_id: u32,
    ) -> Result<(), Errno> {
        self.record(&OpenOut {
            handle,
            open_flags: flags.bits(),
            backing_id,
        })
    }

    /// Adds that so many bytes were written.
    ///
    /// # Errors
    /// As for [`record`](Self::record).
    pub(super) fn written(&mut self, written: usize) -> Result<(), Errno> {
        let size = u32::try_from(written).unwrap_or(u32::MAX);
        self.record(&WriteOut { size, padding: 0 })
    }

    /// Adds an offset in a file.
    ///
    /// # Errors
    /// As for [`record`](Self::record).
    pub(super) fn offset(&mut self, offset: u64) -> Result<(), Errno> {
        self.record(&LseekOut { offset })
    }

    /// Adds a lock, of `kind` as in fcntl(2).
    ///
    /// # Errors
    /// As for [`record`](Self::record).
    pub(super) fn lock(&mut self, range: LockRange, kind: i32, pid: u32) -> Result<(), Errno> {
        self.record(&FileLock {
            start: range.start,
            end: range.end,
            kind,
            pid,
        })
    }

    /// Adds what `fill` puts into `size` bytes, or the length that it tells where none are wanted.
    ///
    /// # Errors
    /// Those of `fill`; `EIO`: there is no room.
    pub(super) fn sized(
        &mut self,
        size: u32,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, FsError>,
    ) -> Result<(), FsError> {
        if size > 0 {
            self.limit(size);
            return self.filled(fill);
        }
        let length = fill(&mut [])?;
        let size = u32::try_from(length).unwrap_or(u32::MAX);
        Ok(self.record(&GetxattrOut { size, padding: 0 })?)
    }

    /// Adds the size and limits of the filesystem.
    ///
    /// # Errors
    /// As for [`record`](Self::record).
    pub(super) fn statfs(&mut self, stat: &StatVfs) -> Result<(), Errno> {
        let narrow = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        self.record(&StatfsOut {
            blocks: stat.f_blocks,
            bfree: stat.f_bfree,
            bavail: stat.f_bavail,
            files: stat.f_files,
            ffree: stat.f_ffree,
            bsize: narrow(stat.f_bsize),
            namelen: narrow(stat.f_namemax),
            frsize: narrow(stat.f_frsize),
            ..StatfsOut::default()
        })
    }

    /// Adds a name of a directory, after what it stands for where that is asked for: [`EntryOut::default`] tells nothing of it. True, and
    /// nothing is added, where there is no room.
    pub(super) fn listed(&mut self, listed: &Listed<'_>, plus: Option<EntryOut>) -> bool {
        let before = self.length;
        let is_full = self.try_listed(listed, plus).is_err();
        if is_full {
            self.length = before;
        }
        is_full
    }

    fn try_listed(&mut self, listed: &Listed<'_>, plus: Option<EntryOut>) -> Result<(), Errno> {
        if let Some(entry) = plus {
            self.record(&entry)?;
        }
        self.record(&Dirent {
            ino: listed.number,
            cookie: listed.cookie,
            name_length: u32::try_from(listed.name.len()).map_err(|_too_long| NO_ROOM)?,
            kind: listed.kind as u32 >> 12,
        })?;
        self.data(listed.name)?;
        let filling = listed.name.len().wrapping_neg() % 8;
        self.data([0; 8].get(..filling).unwrap_or_default())
    }
}

/// The numbers of an inode.
#[derive(Debug, Clone, Copy)]
pub(super) struct InodeNumbers {
    /// The one by which the kernel asks for it.
    pub(super) node: u64,
    /// Tells it from earlier inodes of that number.
    pub(super) generation: u64,
    /// The one that stat(2) shows.
    pub(super) shown: u64,
}

/// Returns an entry and its timeouts.
pub(super) fn entry_out(numbers: InodeNumbers, stat: &Stat, kept: Kept) -> EntryOut {
    EntryOut {
        node: numbers.node,
        generation: numbers.generation,
        entry_valid: kept.name.as_secs(),
        entry_valid_nanos: kept.name.subsec_nanos(),
        attr_valid: kept.attributes.as_secs(),
        attr_valid_nanos: kept.attributes.subsec_nanos(),
        attr: attr(numbers.shown, stat),
    }
}

/// Returns the attributes of a file; `number` is its visible inode number.
fn attr(number: u64, stat: &Stat) -> Attr {
    Attr {
        ino: number,
        size: stat.size,
        blocks: stat.blocks,
        atime: stat.atime.secs,
        mtime: stat.mtime.secs,
        ctime: stat.ctime.secs,
        atime_nanos: stat.atime.nanos,
        mtime_nanos: stat.mtime.nanos,
        ctime_nanos: stat.ctime.nanos,
        mode: stat.mode,
        nlink: stat.nlink,
        uid: stat.uid,
        gid: stat.gid,
        // As devices are in the protocol (`new_encode_dev` in include/linux/kdev_t.h).
        rdev: u32::try_from(stat.rdev & u64::from(u32::MAX)).unwrap_or(0),
        blksize: stat.blksize,
        flags: 0,
    }
}

fn statx(number: u64, stat: &Stat) -> Statx {
    let time = |time: Time| StatxTime {
        seconds: time.secs,
        nanos: time.nanos,
        padding: 0,
    };
    let birth = stat.btime.map_or(0, |_| libc::STATX_BTIME);
    Statx {
        mask: libc::STATX_BASIC_STATS | birth,
        blksize: stat.blksize,
        nlink: stat.nlink,
        uid: stat.uid,
        gid: stat.gid,
        mode: u16::try_from(stat.mode).unwrap_or(0),
        ino: number,
        size: stat.size,
        blocks: stat.blocks,
        atime: time(stat.atime),
        btime: time(stat.btime.unwrap_or_default()),
        ctime: time(stat.ctime),
        mtime: time(stat.mtime),
        rdev_major: rustix::fs::major(stat.rdev),
        rdev_minor: rustix::fs::minor(stat.rdev),
        ..Statx::default()
    }
}

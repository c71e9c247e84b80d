//! Attributes of inodes and filesystems, as the kernel reports them.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::{
    AtFlags, StatVfs, StatVfsMountFlags, StatxAttributes, StatxFlags, StatxTimestamp,
};
use rustix::path::Arg;

use super::calls::counted;
use crate::records::{FileTime as Time, Kind};

impl Kind {
    /// The kind in the type bits of a mode (`S_IFMT`).
    pub fn from_mode(mode: u32) -> Self {
        Self::from_repr(mode & libc::S_IFMT).unwrap_or(Self::Unknown)
    }

    /// The kind in a directory record (`d_type`), whose values are the type bits of a mode shifted down.
    pub fn from_dirent(d_type: u8) -> Self {
        Self::from_mode(u32::from(d_type) << 12)
    }
}

/// The change to one time of an inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetTime {
    /// Leave it.
    Omit,
    /// Set it to the kernel's clock; needs less permission than `At`.
    Now,
    /// Set it to this.
    At(Time),
}

/// An inode's attributes, from statx(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Device of the filesystem, as `makedev` encodes it.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Type and permission bits.
    pub mode: u32,
    /// Hard links.
    pub nlink: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Device that a device node stands for, as `makedev` encodes it; its low 32 bits are FUSE's own encoding.
    pub rdev: u64,
    /// Size in bytes.
    pub size: u64,
    /// Space used, in units of 512 bytes.
    pub blocks: u64,
    /// Best size of a read or write.
    pub blksize: u32,
    /// Last read.
    pub atime: Time,
    /// Last change of content.
    pub mtime: Time,
    /// Last change of attributes.
    pub ctime: Time,
    /// Birth; `None` where the filesystem does not keep it.
    pub btime: Option<Time>,
    /// Can it only be appended to (chattr +a)? `false` too where the filesystem does not tell.
    pub is_append_only: bool,
    /// The mount through which the inode was reached; 0 before Linux 5.8. Differs on the other side of a mount point.
    pub mnt_id: u64,
}

impl Stat {
    /// Returns true for a file or symlink that has several names: hard links.
    pub fn has_several_names(&self) -> bool {
        !self.is_dir() && self.nlink > 1
    }

    /// Returns the device and the inode number: no other inode has both.
    pub fn identity(&self) -> (u64, u64) {
        (self.dev, self.ino)
    }

    /// Attributes of the inode that `fd` refers to, whatever it is; `O_PATH` will do.
    ///
    /// # Errors
    /// Those of statx(2).
    pub fn of(fd: impl AsFd) -> io::Result<Self> {
        let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
        Self::at(fd, c"", flags)
    }

    /// Attributes of what `path` leads to from the directory `fd`, with these flags of statx(2).
    pub(super) fn at(fd: impl AsFd, path: impl Arg, flags: AtFlags) -> io::Result<Self> {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME | StatxFlags::MNT_ID;
        let raw = counted(rustix::fs::statx(fd, path, flags, wanted))?;
        let has_btime = raw.stx_mask & StatxFlags::BTIME.bits() != 0;
        let time = |raw: StatxTimestamp| Time {
            secs: raw.tv_sec,
            nanos: raw.tv_nsec,
        };
        Ok(Self {
            dev: rustix::fs::makedev(raw.stx_dev_major, raw.stx_dev_minor),
            ino: raw.stx_ino,
            mode: u32::from(raw.stx_mode),
            nlink: raw.stx_nlink,
            uid: raw.stx_uid,
            gid: raw.stx_gid,
            rdev: rustix::fs::makedev(raw.stx_rdev_major, raw.stx_rdev_minor),
            size: raw.stx_size,
            blocks: raw.stx_blocks,
            blksize: raw.stx_blksize,
            atime: time(raw.stx_atime),
            mtime: time(raw.stx_mtime),
            ctime: time(raw.stx_ctime),
            is_append_only: raw.stx_attributes.contains(StatxAttributes::APPEND),
            btime: has_btime.then(|| time(raw.stx_btime)),
            // The kernel fills what it does not have with zeroes (`cp_statx` in `fs/stat.c`).
            mnt_id: raw.stx_mnt_id,
        })
    }

    /// Returns the kind of the inode.
    pub fn kind(&self) -> Kind {
        Kind::from_mode(self.mode)
    }

    /// Is it a directory?
    pub fn is_dir(&self) -> bool {
        self.kind() == Kind::Dir
    }

    /// Is it a regular file?
    pub fn is_file(&self) -> bool {
        self.kind() == Kind::File
    }

    /// Is it a regular file with a set-user-ID or set-group-ID bit?
    pub fn has_set_id(&self) -> bool {
        self.kind() == Kind::File && self.mode & (libc::S_ISUID | libc::S_ISGID) != 0
    }

    /// Is it a symlink?
    pub fn is_symlink(&self) -> bool {
        self.kind() == Kind::Symlink
    }
}

/// The device of the filesystem that `fd` lies in, without asking that filesystem anything.
///
/// # Errors
/// Those of statx(2).
pub fn device_unasked(fd: impl AsFd) -> io::Result<u64> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC;
    let raw = counted(rustix::fs::statx(fd, c"", flags, StatxFlags::empty()))?;
    Ok(rustix::fs::makedev(raw.stx_dev_major, raw.stx_dev_minor))
}

/// The size and limits of the filesystem of the inode that `fd` refers to; `O_PATH` will do.
///
/// # Errors
/// Those of fstatfs(2).
pub fn stat_filesystem(fd: impl AsFd) -> io::Result<StatVfs> {
    counted(rustix::fs::fstatvfs(fd))
}

/// Returns whether the mount that `fd` was reached through is read-only.
///
/// # Errors
/// Those of fstatfs(2).
pub fn is_read_only(fd: impl AsFd) -> io::Result<bool> {
    let flags = stat_filesystem(fd)?.f_flag;
    Ok(flags.contains(StatVfsMountFlags::RDONLY))
}

#[cfg(test)]
mod tests;

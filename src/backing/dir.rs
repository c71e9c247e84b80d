//! A directory: everything that is done to a name in it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::OpenTreeFlags;

use super::calls::{self, counted};
use super::stat::{self, Stat};
use super::{file, sys};
use crate::names::BackingName;

/// Flags to hold a name: neither read nor written, never followed.
const HOLD: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A directory by its descriptor, `O_PATH` or open for reading, owned or borrowed.
#[derive(Debug, Clone)]
pub struct Dir<F = OwnedFd>(F);

impl Dir {
    /// Opens the directory at `path`, following symlinks: the path is the administrator's, not the tree's.
    ///
    /// # Errors
    /// Those of open(2); `ENOTDIR` if it is none.
    pub fn open_root(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        counted(rustix::fs::open(path, flags, Mode::empty())).map(Self)
    }

    /// Gives the descriptor back.
    pub fn into_fd(self) -> OwnedFd {
        self.0
    }
}

impl<F: AsFd> AsFd for Dir<F> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl<F: AsFd> Dir<F> {
    /// Takes a descriptor for a directory. Not checked: that it is one; operations then fail with `ENOTDIR`.
    pub fn new(fd: F) -> Self {
        Self(fd)
    }

    /// Holds the inode of that name: an `O_PATH` descriptor, of the symlink itself if it is one.
    ///
    /// # Errors
    /// Those of openat(2).
    pub fn child(&self, name: &BackingName) -> io::Result<OwnedFd> {
        let name = name.as_bytes();
        counted(rustix::fs::openat(&self.0, name, HOLD, Mode::empty()))
    }

    /// Holds the directory that `names` lead to from this one, which it is itself where there are none. No symlink is followed, and no
    /// mount entered.
    ///
    /// # Errors
    /// Those of openat2(2): `ELOOP` for a symlink, `EXDEV` for a mount, `ENAMETOOLONG` where the names have 4,096 bytes together,
    /// `ENOSYS` before Linux 5.6. Go from name to name then.
    pub fn descend(&self, names: &[BackingName]) -> io::Result<OwnedFd> {
        let mut path: Vec<u8> = Vec::with_capacity(64);
        for name in names {
            path.extend(name.as_bytes());
            path.push(b'/');
        }
        path.push(b'.');
        let (flags, mode) = (HOLD | OFlags::DIRECTORY, Mode::empty());
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        counted(rustix::fs::openat2(&self.0, path, flags, mode, resolve))
    }

    /// Holds what `names` lead to from this directory, a symlink itself if it is one. No symlink is followed on the way, and no mount entered.
    ///
    /// # Errors
    /// Those of openat2(2), as for [`descend`](Self::descend).
    pub fn reach(&self, names: &[&BackingName]) -> io::Result<OwnedFd> {
        let path: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
        let path = path.join(&b'/');
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        counted(rustix::fs::openat2(
            &self.0,
            path,
            HOLD,
            Mode::empty(),
            resolve,
        ))
    }

    /// Holds the directory above; the directory itself where it is the root of all that it sees.
    ///
    /// # Errors
    /// Those of openat(2); `ENOENT` where it lies outside of the mount that this one was reached through.
    pub fn parent(&self) -> io::Result<OwnedFd> {
        let flags = HOLD | OFlags::DIRECTORY;
        counted(rustix::fs::openat(&self.0, c"..", flags, Mode::empty()))
    }

    /// Opens the directory of that name for reading. Where another filesystem or directory is mounted there, what is mounted is
    /// opened if `crosses` is true. Reading it leaves its access time, where that is for us to say.
    ///
    /// # Errors
    /// Those of openat2(2): `ELOOP` for a symlink, `ENOTDIR` for what else is no directory, `EXDEV` for a mount point that is not
    /// crossed.
    pub fn list_child(&self, name: &BackingName, crosses: bool) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        resolve.set(ResolveFlags::NO_XDEV, !crosses);
        let open = |flags| {
            calls::count();
            rustix::fs::openat2(&self.0, name.as_bytes(), flags, Mode::empty(), resolve)
        };
        match open(flags | OFlags::NOATIME) {
            // For the owner and the privileged only.
            Err(Errno::PERM) => Ok(open(flags)?),
            opened => Ok(opened?),
        }
    }

    /// Attributes of the inode of that name, of the symlink itself if it is one.
    ///
    /// # Errors
    /// Those of statx(2).
    pub fn stat_child(&self, name: &BackingName) -> io::Result<Stat> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        Stat::at(&self.0, name.as_bytes(), flags)
    }

    /// Returns the attributes of what a path leads to from here as the kernel resolves it. Follows links, and starts
    /// at the root of the filesystem if the path begins with `/`. For looking only: the result may lie anywhere.
    ///
    /// # Errors
    /// Those of statx(2).
    pub fn stat_path(&self, path: &[u8]) -> io::Result<Stat> {
        Stat::at(&self.0, path, AtFlags::NO_AUTOMOUNT)
    }

    /// Attributes of the directory above; those of the directory itself where it is the root of all that it sees.
    ///
    /// # Errors
    /// Those of statx(2); `ENOENT` where it lies outside of the mount that it was reached through.
    pub fn stat_parent(&self) -> io::Result<Stat> {
        Stat::at(&self.0, c"..", AtFlags::empty())
    }

    /// Is it `root`, or does it lie below it? Costs a few system calls for each directory between them. What is mounted on
    /// `root` is taken for it if it is the filesystem `cover`, which is not asked anything.
    ///
    /// # Errors
    /// Those of openat(2).
    pub fn is_below(&self, root: impl AsFd, cover: Option<u64>) -> io::Result<bool> {
        let root = Stat::of(root)?.identity();
        let mut here = Stat::of(&self.0)?.identity();
        let mut above: Option<OwnedFd> = None;
        while here != root {
            let up = Dir(above.as_ref().map_or(self.0.as_fd(), AsFd::as_fd)).parent()?;
            if let Some(cover) = cover
                && stat::device_unasked(&up)? == cover
            {
                return Ok(true);
            }
            let there = Stat::of(&up)?.identity();
            if there == here {
                return Ok(false);
            }
            here = there;
            above = Some(up);
        }
        Ok(true)
    }

    /// Is there an entry of that name? A name too long for the filesystem is not there.
    ///
    /// # Errors
    /// Those of statx(2), but for `ENOENT` and `ENAMETOOLONG`.
    pub fn exists(&self, name: &BackingName) -> io::Result<bool> {
        Ok(if_there(self.stat_child(name))?.is_some())
    }

    /// Creates and opens a regular file, with `O_CREAT` and the given open(2) flags.
    ///
    /// The thread's umask and the directory's default ACL shape `mode`. Without `O_EXCL` an existing entry is opened,
    /// and a pipe may wait. So pass `O_EXCL`, and on `EEXIST` use [`Dir::child`] and [`file::reopen`].
    ///
    /// # Errors
    /// Those of openat(2); `ELOOP` if the name is a symlink.
    pub fn create(&self, name: &BackingName, flags: i32, mode: u32) -> io::Result<OwnedFd> {
        let flags = file::open_flags(flags) | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode);
        counted(rustix::fs::openat(&self.0, name.as_bytes(), flags, mode))
    }

    /// Makes a regular file without a name in this directory, and opens it with the given open(2) flags, of which `O_TMPFILE` is one.
    ///
    /// # Errors
    /// Those of openat(2); `EOPNOTSUPP` if the filesystem has no such files.
    pub fn tmpfile(&self, flags: i32, mode: u32) -> io::Result<OwnedFd> {
        let flags = file::open_flags(flags) | OFlags::TMPFILE | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode);
        counted(rustix::fs::openat(&self.0, c".", flags, mode))
    }

    /// Makes a node of the type in `mode` (a regular file if it has none) with device `rdev`.
    ///
    /// # Errors
    /// Those of mknodat(2).
    pub fn mknod(&self, name: &BackingName, mode: u32, rdev: u64) -> io::Result<()> {
        let kind = match mode & libc::S_IFMT {
            0 => FileType::RegularFile,
            kind => FileType::from_raw_mode(kind),
        };
        let (name, mode) = (name.as_bytes(), Mode::from_raw_mode(mode));
        counted(rustix::fs::mknodat(&self.0, name, kind, mode, rdev))
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// Those of mkdirat(2).
    pub fn mkdir(&self, name: &BackingName, mode: u32) -> io::Result<()> {
        let mode = Mode::from_raw_mode(mode);
        counted(rustix::fs::mkdirat(&self.0, name.as_bytes(), mode))
    }

    /// Makes a symlink; `target` is stored as it is.
    ///
    /// # Errors
    /// Those of symlinkat(2); `EINVAL` for a NUL in the target.
    pub fn symlink(&self, name: &BackingName, target: &[u8]) -> io::Result<()> {
        counted(rustix::fs::symlinkat(target, &self.0, name.as_bytes()))
    }

    /// Makes another name for the inode that `source` refers to, of the symlink itself if it is one.
    ///
    /// # Errors
    /// Those of linkat(2); `EXDEV` also if `source` was reached through another mount of the same filesystem.
    pub fn link(&self, source: impl AsFd, name: &BackingName) -> io::Result<()> {
        let source = source.as_fd();
        let name = name.as_bytes();
        calls::count();
        match rustix::fs::linkat(source, c"", &self.0, name, AtFlags::EMPTY_PATH) {
            // What the kernel says to those without CAP_DAC_READ_SEARCH, who may take the way through /proc.
            Err(Errno::NOENT) => {
                let path = file::proc_path(source);
                let flags = AtFlags::SYMLINK_FOLLOW;
                counted(rustix::fs::linkat(CWD, path, &self.0, name, flags))
            }
            result => Ok(result?),
        }
    }

    /// Removes a name that is not a directory's.
    ///
    /// # Errors
    /// Those of unlinkat(2).
    pub fn unlink(&self, name: &BackingName) -> io::Result<()> {
        let name = name.as_bytes();
        counted(rustix::fs::unlinkat(&self.0, name, AtFlags::empty()))
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// Those of unlinkat(2).
    pub fn rmdir(&self, name: &BackingName) -> io::Result<()> {
        let name = name.as_bytes();
        counted(rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR))
    }

    /// Renames `name` to `new_name` in `new_dir`; `flags` are those of renameat2(2), passed through.
    ///
    /// # Errors
    /// Those of renameat2(2); `EXDEV` also if the directories were reached through different mounts.
    pub fn rename<G: AsFd>(
        &self,
        name: &BackingName,
        new_dir: &Dir<G>,
        new_name: &BackingName,
        flags: u32,
    ) -> io::Result<()> {
        let (from, to) = (name.as_bytes(), new_name.as_bytes());
        counted(if flags == 0 {
            rustix::fs::renameat(&self.0, from, &new_dir.0, to)
        } else {
            let flags = RenameFlags::from_bits_retain(flags);
            rustix::fs::renameat_with(&self.0, from, &new_dir.0, to, flags)
        })
    }
}

/// Turns the error that an entry is absent into `None`.
pub(crate) fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if is_absent(&error) => Ok(None),
        result => result.map(Some),
    }
}

/// Does an error of a system call say that the entry is absent? No entry has a name that is too long.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOENT | libc::ENAMETOOLONG)
    )
}

/// Makes a mount of what `path` leads to from `fd`, which no directory shows; of `fd` itself for the empty path.
///
/// # Errors
/// Those of `open_tree(2)`.
pub(crate) fn clone_mount(fd: impl AsFd, path: &str) -> io::Result<OwnedFd> {
    use OpenTreeFlags as Open;
    let flags = Open::OPEN_TREE_CLONE | Open::OPEN_TREE_CLOEXEC | Open::AT_EMPTY_PATH;
    Ok(rustix::mount::open_tree(fd, path, flags)?)
}

/// A private view of the directory `fd`: a mount of its own that nobody else sees and that nothing is mounted in.
///
/// The clone has no mounts inside the backing directory (the directories under them are reached instead), and later
/// ones do not appear. Devices cannot be opened through it. It lasts as long as the descriptor and its duplicates;
/// descriptors opened below it stay good after that. It keeps the mount flags that it was made with, also when the
/// original is later made read-only by itself. It keeps the filesystem in use when the original is unmounted. Inodes
/// reached through it and through other mounts cannot be linked or renamed into each other.
///
/// # Errors
/// `EPERM` without `CAP_SYS_ADMIN`, `EINVAL` where the kernel refuses to part the directory from mounts that hide
/// something, `ENOSYS` before Linux 5.2: use `fd` itself then.
pub fn private_clone(fd: impl AsFd) -> io::Result<OwnedFd> {
    let clone = clone_mount(fd, "")?;
    // The clone of a shared mount is a peer of it. Most kernels propagate nothing into detached mounts, 6.15 did;
    // those without mount_setattr(2) never do.
    let nodev = (libc::MOUNT_ATTR_NODEV, 0);
    match sys::set_mount_attributes(clone.as_fd(), nodev, libc::MS_PRIVATE) {
        Err(error) if error.raw_os_error() != Some(libc::ENOSYS) => Err(error),
        _ => Ok(clone),
    }
}

/// Clones a mount as [`private_clone`] does, for reading that leaves access times as they are. It is open for
/// reading, so that inodes can be opened through it by file handle.
///
/// # Errors
/// As [`private_clone`]; `EINVAL` on kernels that clone no mount that is itself a private view.
pub fn quiet_clone(fd: impl AsFd) -> io::Result<OwnedFd> {
    let clone = clone_mount(fd, "")?;
    let quiet = (libc::MOUNT_ATTR_NOATIME, libc::MOUNT_ATTR__ATIME);
    sys::set_mount_attributes(clone.as_fd(), quiet, libc::MS_PRIVATE)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    counted(rustix::fs::openat(&clone, c".", flags, Mode::empty()))
}

/// Changes the attributes (`MOUNT_ATTR_*`) of a view that [`private_clone`] gave: takes those of `clear` away and adds those of
/// `set`. They hold for what is open already too.
///
/// # Errors
/// `ENOSYS` before Linux 5.12; `EPERM` without `CAP_SYS_ADMIN`.
pub fn change_view(view: impl AsFd, set: u64, clear: u64) -> io::Result<()> {
    sys::set_mount_attributes(view.as_fd(), (set, clear), 0)
}

#[cfg(test)]
mod tests;

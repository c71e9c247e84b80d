//! Operations relative to an open directory, by the raw bytes of names.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps,
};
use rustix::io::Errno;

pub(crate) type Result<T> = std::result::Result<T, Errno>;

const FILE: Mode = Mode::from_raw_mode(0o644);
const DIRECTORY: Mode = Mode::from_raw_mode(0o755);
const READ_DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

pub(crate) fn open_dir_path(path: &Path) -> OwnedFd {
    rustix::fs::openat(CWD, path, READ_DIRECTORY, Mode::empty())
        .unwrap_or_else(|error| panic!("open {path:?}: {error}"))
}

pub(crate) fn open_dir(dir: impl AsFd, name: &[u8]) -> Result<OwnedFd> {
    rustix::fs::openat(dir, name, READ_DIRECTORY, Mode::empty())
}

pub(crate) fn open(dir: impl AsFd, name: &[u8], flags: OFlags) -> Result<OwnedFd> {
    rustix::fs::openat(dir, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, FILE)
}

/// A new file, opened for reading and writing.
pub(crate) fn create_new(dir: impl AsFd, name: &[u8]) -> Result<OwnedFd> {
    open(dir, name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
}

pub(crate) fn write_new(dir: impl AsFd, name: &[u8], content: &[u8]) -> Result<()> {
    let file = create_new(dir, name)?;
    write_all(&file, content)
}

pub(crate) fn write_all(file: impl AsFd, mut content: &[u8]) -> Result<()> {
    while !content.is_empty() {
        let written = rustix::io::write(&file, content)?;
        content = &content[written..];
    }
    Ok(())
}

pub(crate) fn read(dir: impl AsFd, name: &[u8]) -> Result<Vec<u8>> {
    read_all(open(dir, name, OFlags::RDONLY)?)
}

pub(crate) fn read_all(file: impl AsFd) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = rustix::io::read(&file, &mut buffer)?;
        if count == 0 {
            return Ok(content);
        }
        content.extend_from_slice(&buffer[..count]);
    }
}

pub(crate) fn mkdir(dir: impl AsFd, name: &[u8]) -> Result<()> {
    rustix::fs::mkdirat(dir, name, DIRECTORY)
}

pub(crate) fn symlink(target: &[u8], dir: impl AsFd, name: &[u8]) -> Result<()> {
    rustix::fs::symlinkat(target, dir, name)
}

pub(crate) fn link(dir: impl AsFd, old: &[u8], new: &[u8]) -> Result<()> {
    rustix::fs::linkat(&dir, old, &dir, new, AtFlags::empty())
}

pub(crate) fn rename(dir: impl AsFd, old: &[u8], new: &[u8]) -> Result<()> {
    rename_with(dir, old, new, RenameFlags::empty())
}

pub(crate) fn rename_with(
    dir: impl AsFd,
    old: &[u8],
    new: &[u8],
    flags: RenameFlags,
) -> Result<()> {
    rustix::fs::renameat_with(&dir, old, &dir, new, flags)
}

pub(crate) fn unlink(dir: impl AsFd, name: &[u8]) -> Result<()> {
    rustix::fs::unlinkat(dir, name, AtFlags::empty())
}

pub(crate) fn rmdir(dir: impl AsFd, name: &[u8]) -> Result<()> {
    rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR)
}

pub(crate) fn stat(dir: impl AsFd, name: &[u8]) -> Result<Stat> {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
}

pub(crate) fn readlink(dir: impl AsFd, name: &[u8]) -> Result<Vec<u8>> {
    Ok(rustix::fs::readlinkat(dir, name, Vec::new())?.into_bytes())
}

/// Sets the time of the last change of content, in seconds.
pub(crate) fn set_mtime(dir: impl AsFd, name: &[u8], seconds: i64) -> Result<()> {
    let time = Timespec {
        tv_sec: seconds,
        tv_nsec: 0,
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    rustix::fs::utimensat(dir, name, &times, AtFlags::SYMLINK_NOFOLLOW)
}

/// The names of a directory in the order in which they come, without `.` and `..`; a repeated one comes twice.
pub(crate) fn list(dir: impl AsFd) -> Vec<Vec<u8>> {
    Dir::read_from(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_bytes().to_vec())
        .filter(|name| name != b"." && name != b"..")
        .collect()
}

/// As [`list`], sorted.
pub(crate) fn sorted(dir: impl AsFd) -> Vec<Vec<u8>> {
    let mut names = list(dir);
    names.sort();
    names
}

/// The ways of making a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Make {
    Create,
    Mkdir,
    Mknod,
    Symlink,
    Link,
    Rename,
}

impl Make {
    pub(crate) const ALL: [Self; 6] = [
        Self::Create,
        Self::Mkdir,
        Self::Mknod,
        Self::Symlink,
        Self::Link,
        Self::Rename,
    ];

    /// The file that `Link` and `Rename` start from.
    pub(crate) const SOURCE: &[u8] = b"source";

    /// The operation's name in the audit record.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Mkdir => "mkdir",
            Self::Mknod => "mknod",
            Self::Symlink => "symlink",
            Self::Link => "link",
            Self::Rename => "rename",
        }
    }

    /// Makes `name` in `dir`, where [`Self::SOURCE`] exists.
    pub(crate) fn run(self, dir: impl AsFd, name: &[u8]) -> Result<()> {
        match self {
            Self::Create => create_new(dir, name).map(drop),
            Self::Mkdir => mkdir(dir, name),
            Self::Mknod => rustix::fs::mknodat(dir, name, FileType::Fifo, FILE, 0),
            Self::Symlink => symlink(b"target", dir, name),
            Self::Link => link(dir, Self::SOURCE, name),
            Self::Rename => rename(dir, Self::SOURCE, name),
        }
    }
}

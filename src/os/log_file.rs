//! Opening the file of the audit log, in a directory to which others may be able to write; and whose files are trusted.
//!
//! Whoever can put a link in the place of the log could have root append to any file. So no symlink is followed, not for
//! a directory on the way either, and what is opened has one name and is ours or root's. A device is let pass whosever it is: a
//! terminal is its user's, and nobody but root can make one.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, statat,
};
use rustix::io::Errno;

/// Our user. Asked first at the start: the helper process, which opens files later, may not ask.
static OURSELVES: LazyLock<u32> = LazyLock::new(|| rustix::process::geteuid().as_raw());

/// Why a symlink is no log.
const SYMLINK: &str = "it is a symbolic link";

/// Was a log refused, not by the system, but since others could have put it there?
pub(crate) fn is_unsafe_log(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidInput && error.raw_os_error().is_none()
}

/// Asks who we are, before there is a helper process.
pub(crate) fn know_ourselves() {
    LazyLock::force(&OURSELVES);
}

/// Returns true if a file of that owner is ours or root's.
pub(crate) fn is_ours(uid: u32) -> bool {
    uid == 0 || uid == *OURSELVES
}

/// Opens the file at `path` for appending; never waits for the reader of a FIFO.
///
/// # Errors
/// Of opening; one that [`is_unsafe_log`] tells.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    know_ourselves();
    let name = path.file_name().ok_or(Errno::ISDIR)?;
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let parent = parent.unwrap_or(Path::new("."));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let along = ResolveFlags::NO_SYMLINKS;
    let directory = openat2(CWD, parent, flags, Mode::empty(), along)?;
    let is_device = match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(there) => {
            check(&there)?;
            FileType::from_raw_mode(there.st_mode) == FileType::CharacterDevice
        }
        Err(Errno::NOENT) => false,
        Err(errno) => return Err(errno.into()),
    };
    let flags =
        OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // Linux opens a FIFO for both ways at once, and then it needs no reader and survives the loss of one (fifo(7)). The end of a
    // file is read.
    let way = match is_device {
        true => OFlags::WRONLY,
        false => OFlags::RDWR | OFlags::CREATE,
    };
    let mode = Mode::from_raw_mode(0o640);
    let log = match openat(&directory, name, flags | way, mode) {
        // It became one just now.
        Err(Errno::LOOP) => return Err(refused(SYMLINK)),
        // Ours, but not to be read.
        Err(Errno::ACCESS) if !is_device => openat(&directory, name, flags | OFlags::WRONLY, mode)?,
        opened => opened?,
    };
    // What was looked at may have been replaced.
    check(&fstat(&log)?)?;
    Ok(log.into())
}

fn check(there: &Stat) -> io::Result<()> {
    let is_ours = is_ours(there.st_uid);
    match FileType::from_raw_mode(there.st_mode) {
        FileType::CharacterDevice => Ok(()),
        FileType::RegularFile | FileType::Fifo if !is_ours => {
            let uid = there.st_uid;
            Err(refused(&format!("it is another user's (uid {uid})")))
        }
        FileType::RegularFile | FileType::Fifo if there.st_nlink != 1 => Err(refused(
            "there is another name of it (a hard link), or none any more",
        )),
        FileType::RegularFile | FileType::Fifo => Ok(()),
        FileType::Symlink => Err(refused(SYMLINK)),
        FileType::Directory => Err(Errno::ISDIR.into()),
        FileType::BlockDevice | FileType::Socket | FileType::Unknown => {
            Err(refused("not a file, FIFO or character device"))
        }
    }
}

/// Returns an error that [`is_unsafe_log`] tells.
fn refused(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

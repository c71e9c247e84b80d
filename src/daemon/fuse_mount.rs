//! Mounting: `/dev/fuse` and mount(2) where we may, the setuid helper fusermount3 where we may not.

mod fusermount;
mod kernel_flags;
mod mount_handle;
mod stuck_threads;

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::Errno;
use rustix::mount as sys;
use rustix::process::{getegid, geteuid};

use crate::backing::{Dir, file};
use crate::daemon::command_error::{CommandError, Doing};
use crate::daemon::status_query::{ask, is_of_dead_mount};
use crate::names::Quoted;
use crate::os::mountinfo::{self, FS_TYPE, MountInfo, mount_of, statx_cached};
use crate::records::NoAnswer;
pub use kernel_flags::MountFlags;
use mount_handle::take_out;
pub use mount_handle::{Attached, MountId, Spot, UnmountOutcome};

/// The part of [`FS_TYPE`] that is ours.
const SUBTYPE: &str = "utf8fs";
/// Number of dead mounts, one upon the other, that are cleared away.
const DEAD_MOUNTS: usize = 64;

/// The parameters of a mount.
#[derive(Debug, Clone)]
pub struct MountSpec {
    /// The source that `/proc/mounts` shows: the backing directory.
    pub source: OsString,
    /// An existing directory. It is resolved once.
    pub mountpoint: PathBuf,
    /// The flags of the mount.
    pub flags: MountFlags,
    /// Whether users other than the one who mounts may use it. The kernel sees to it.
    pub allow_other: bool,
    /// Does the kernel check rights, by modes and ACLs, before it asks the daemon (`default_permissions`)? Else what the daemon
    /// may not do is refused.
    pub checks_rights: bool,
}

impl MountSpec {
    /// Returns the options that the kernel takes besides flags, a comma before each.
    fn words(&self) -> String {
        let rights = self.checks_rights.then_some(",default_permissions");
        let others = self.allow_other.then_some(",allow_other");
        rights.into_iter().chain(others).collect()
    }
}

/// A mount that waits for its daemon: until the descriptor is served, whoever enters it waits.
///
/// Dropped unserved, it is taken away again.
#[derive(Debug)]
pub struct Mounted {
    /// The connection to the kernel.
    pub fuse_fd: OwnedFd,
    /// The mount itself.
    pub attached: Attached,
    /// Was it made by fusermount3, because mount(2) is for the administrator?
    pub is_unprivileged: bool,
}

/// Mounts.
///
/// Dead mounts of ours at the mount point, left behind by killed daemons, are taken away first (law F7).
///
/// # Errors
/// Why nothing is mounted.
pub fn mount(spec: &MountSpec) -> Result<Mounted, CommandError> {
    try_mount(spec).map_err(|error| error.on(&spec.mountpoint))
}

fn try_mount(spec: &MountSpec) -> Result<Mounted, CommandError> {
    clear(&spec.mountpoint)?;
    let target = Dir::open_root(&spec.mountpoint).doing("open the mount point")?;
    let target = target.into_fd();
    let there = mounted_at(&target).doing("read the table of mounts")?;
    if let Some(there) = there.filter(MountInfo::is_ours) {
        let shown = Quoted(&there.source);
        let error = CommandError::usage(format!("already mounted: {shown} is shown there"));
        return Err(error.hint("unmount it first, by utf8fs umount"));
    }
    let path = || {
        let path = file::path_of(&target).doing("find the path of the mount point");
        path.map(|path| PathBuf::from(OsString::from_vec(path)))
    };
    let direct = mount_direct(spec, &target)?;
    let is_unprivileged = direct.is_none();
    let fuse_fd = match direct {
        Some(fuse_fd) => fuse_fd,
        None => fusermount::mount(spec, &path()?)?,
    };
    // The path is asked for again: a directory above may have been renamed meanwhile.
    let attached = Attached::find(&path()?).doing("find the new mount")?;
    Ok(Mounted {
        fuse_fd,
        attached,
        is_unprivileged,
    })
}

/// The mount whose root `path` is, if it is one, with that root. Symlinks are followed; no filesystem is asked, so that a
/// dead or hanging mount does no harm.
///
/// # Errors
/// `path` cannot be opened as a directory.
pub fn already_mounted(path: &Path) -> io::Result<Option<(OwnedFd, MountInfo)>> {
    let root = Dir::open_root(path)?.into_fd();
    let there = mounted_at(&root)?;
    Ok(there.map(|there| (root, there)))
}

/// Takes dead mounts of ours at `path` away, and says whether there was one. For what such a mount hides; [`mount`] does
/// so by itself.
///
/// # Errors
/// As for [`mount`], where there is a dead one.
pub fn clear_dead(path: &Path) -> Result<bool, CommandError> {
    clear(path).map_err(|error| error.on(path))
}

fn clear(path: &Path) -> Result<bool, CommandError> {
    for count in 0..DEAD_MOUNTS {
        let (root, there) = match already_mounted(path) {
            Ok(Some((root, there))) if is_dead_mount(&root, &there) => (root, there),
            _ => return Ok(count > 0),
        };
        log::warn!(
            "the mount of {} at {} is dead: its daemon was killed; taking it away",
            Quoted(&there.source),
            Quoted(&there.mount_point)
        );
        for lost in mountinfo::read_inside(&there.path()).unwrap_or_default() {
            log::warn!(
                "with it goes {}, which is mounted in it: mount that again",
                Quoted(&lost.mount_point)
            );
        }
        take_out(&root, &there.path())
            .doing("take the dead mount away")
            .map_err(|error| error.hint("run as the user who mounted it, or as root"))?;
    }
    Err(CommandError::io(
        "take the dead mounts away",
        &Errno::LOOP.into(),
    ))
}

/// Is the mount `there`, whose root is `root`, one of ours whose daemon was killed? Waits for the daemon where it lives; that of
/// another user's mount is asked as that user, for five seconds. What a dead one has left is cut off.
#[must_use]
pub fn is_dead_mount(root: &OwnedFd, there: &MountInfo) -> bool {
    if !there.is_ours() {
        return false;
    }
    if let Ok(status) = statx_cached(root, StatxFlags::MNT_ID) {
        stuck_threads::cut(status.stx_dev_minor);
    }
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
    match rustix::fs::statx(root, c"", flags, StatxFlags::BASIC_STATS) {
        Ok(_) => false,
        Err(Errno::ACCESS) => ask(&there.path()).is_err_and(|none| none.state == NoAnswer::Dead),
        Err(errno) => is_of_dead_mount(&errno.into()),
    }
}

/// The mount whose root `dir` is, if it is one.
fn mounted_at(dir: &OwnedFd) -> io::Result<Option<MountInfo>> {
    let found = mount_of(dir)?.filter(|(_, is_root)| *is_root);
    Ok(found.map(|(mount, _)| mount))
}

/// Mounts by mount(2); `None` where only the helper process may.
fn mount_direct(spec: &MountSpec, target: &OwnedFd) -> Result<Option<OwnedFd>, CommandError> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let fuse_fd = match rustix::fs::open("/dev/fuse", flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::ACCESS | Errno::PERM) => return Ok(None),
        Err(Errno::NOENT | Errno::NODEV | Errno::NXIO) => return Err(no_device()),
        Err(errno) => return Err(CommandError::io("open /dev/fuse", &errno.into())),
    };
    let data = format!(
        "fd={},rootmode=40000,user_id={},group_id={}{}",
        fuse_fd.as_raw_fd(),
        geteuid().as_raw(),
        getegid().as_raw(),
        spec.words()
    );
    let data = CString::new(data).doing("mount")?;
    let (source, data): (&OsStr, _) = (&spec.source, data.as_c_str());
    match sys::mount(
        source,
        file::proc_path(target.as_fd()),
        FS_TYPE,
        spec.flags.0,
        data,
    ) {
        Ok(()) => Ok(Some(fuse_fd)),
        Err(Errno::PERM) => Ok(None),
        Err(Errno::NODEV) => Err(no_device()),
        Err(errno) => Err(CommandError::io("mount", &errno.into())),
    }
}

fn no_device() -> CommandError {
    CommandError::failure("this kernel offers no FUSE: /dev/fuse is missing")
        .hint("load the kernel's module: modprobe fuse")
}

#[cfg(test)]
pub(super) mod tests;

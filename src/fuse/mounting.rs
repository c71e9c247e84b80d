//! Mounting: `/dev/fuse` and mount(2) where we may, the setuid helper fusermount3 where we may not.

mod fusermount;
mod kernel_flags;
mod mount_handle;

use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};

use crate::backing::{Dir, file};
use crate::os::mountinfo::FS_TYPE;
pub use kernel_flags::MountFlags;
pub use mount_handle::{Attached, MountId, Spot, UnmountOutcome};
pub(crate) use mount_handle::{cut_stuck_threads, take_out};

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
/// # Errors
/// `ENODEV` where the kernel has no FUSE; of the kind `NotFound` without a number where fusermount3 is missing, `Other` where it
/// refuses, in its words; others of the system.
pub fn mount(spec: &MountSpec) -> io::Result<Mounted> {
    let target = Dir::open_root(&spec.mountpoint)?.into_fd();
    let path = || file::path_of(&target).map(|path| PathBuf::from(OsString::from_vec(path)));
    let direct = mount_direct(spec, &target)?;
    let is_unprivileged = direct.is_none();
    let fuse_fd = match direct {
        Some(fuse_fd) => fuse_fd,
        None => fusermount::mount(spec, &path()?)?,
    };
    // The path is asked for again: a directory above may have been renamed meanwhile.
    let attached = Attached::find(&path()?)?;
    Ok(Mounted {
        fuse_fd,
        attached,
        is_unprivileged,
    })
}

/// Mounts by mount(2); `None` where only fusermount3 may.
fn mount_direct(spec: &MountSpec, target: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let fuse_fd = match rustix::fs::open("/dev/fuse", flags, Mode::empty()) {
        Err(Errno::ACCESS | Errno::PERM) => return Ok(None),
        Err(Errno::NOENT | Errno::NXIO) => return Err(Errno::NODEV.into()),
        opened => opened?,
    };
    let data = CString::new(format!(
        "fd={},rootmode=40000,user_id={},group_id={}{}",
        fuse_fd.as_raw_fd(),
        geteuid().as_raw(),
        getegid().as_raw(),
        spec.words()
    ))?;
    let (source, target) = (spec.source.as_os_str(), file::proc_path(target.as_fd()));
    match rustix::mount::mount(source, target, FS_TYPE, spec.flags.0, data.as_c_str()) {
        Err(Errno::PERM) => Ok(None),
        mounted => Ok(mounted.map(|()| Some(fuse_fd))?),
    }
}

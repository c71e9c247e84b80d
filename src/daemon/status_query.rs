//! Asking a mount how it does.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, fstat, stat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::fuse_mount;
use super::mount_flags;
use crate::backing::xattr;
use crate::fuse::status::ATTRIBUTE;
use crate::os::become_user;
use crate::os::mountinfo::MountInfo;
use crate::records::{BackingFault, MountStatus};

/// Why there is no answer.
#[derive(Debug)]
pub enum AskError {
    /// The path leads nowhere, or where we may not look.
    Path(io::Error),
    /// There is another filesystem, of this type.
    Other(Vec<u8>),
    /// The path is inside the mount at this path, not the mount point.
    Inside(Vec<u8>),
    /// The question was refused, or nobody is there.
    Refused(io::Error),
}

/// Asks the mount on `path`, as the user who mounted where only that one gets in: then this thread keeps that user's identity.
///
/// Waits for the daemon, for ever where that is stuck.
///
/// # Errors
/// As [`AskError`] says; `ENOTCONN` where the daemon is gone, `EPERM` or `EACCES` for who may not ask.
pub fn ask(path: &Path) -> Result<Vec<u8>, AskError> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let root = rustix::fs::open(path, flags, Mode::empty())
        .map_err(|errno| AskError::Path(errno.into()))?;
    let mount = mount_of(&root)?;
    become_owner(&mount).map_err(AskError::Refused)?;
    let status = xattr::whole(|status| xattr::get(&root, ATTRIBUTE, status));
    Ok(complete(status.map_err(AskError::Refused)?, root, &mount))
}

/// Adds to an answer what only we see: the path of the backing directory, and the flags that the mount has by now. An
/// answer of another version stays as it is.
fn complete(answer: Vec<u8>, root: OwnedFd, mount: &MountInfo) -> Vec<u8> {
    let Ok(mut status) = serde_json::from_slice::<MountStatus>(&answer) else {
        return answer;
    };
    status.backing_fault = backing_fault(&status, root);
    if let Some(options) = &mut status.options {
        mount_flags::update(&mut options.flags, mount);
    }
    serde_json::to_vec(&status).unwrap_or(answer)
}

/// Compares the mount with what the path of its backing directory leads to: the root shows its inode number.
fn backing_fault(status: &MountStatus, root: OwnedFd) -> Option<BackingFault> {
    // Where the daemon is no process of ours, as in a container, its paths are not ours either.
    let daemon = std::fs::read(format!("/proc/{}/comm", status.pid)).ok()?;
    if !daemon.starts_with(b"utf8fs") {
        return None;
    }
    let shown = fstat(&root).ok()?.st_ino;
    // What is below may hang. That must not keep the mount in use.
    drop(root);
    match stat(status.backing.as_bytes()) {
        Ok(below) => (below.st_ino != shown).then_some(BackingFault::Replaced),
        Err(Errno::NOENT) => Some(BackingFault::Gone),
        // Who may not look does not know.
        Err(_) => None,
    }
}

/// The mount of ours that `root` is the root of.
fn mount_of(root: &OwnedFd) -> Result<MountInfo, AskError> {
    match fuse_mount::mount_of(root).map_err(AskError::Path)? {
        Some((mount, true)) if mount.is_ours() => Ok(mount),
        Some((mount, false)) if mount.is_ours() => Err(AskError::Inside(mount.mount_point)),
        Some((mount, _)) => Err(AskError::Other(mount.fs_type)),
        None => Err(AskError::Other(Vec::new())),
    }
}

/// Root is not let into another user's mount either, unless that has `allow_other`; but it may become that user.
fn become_owner(mount: &MountInfo) -> io::Result<()> {
    match mount.owner() {
        Some((uid, gid))
            if uid != 0 && geteuid().is_root() && mount.option("allow_other").is_none() =>
        {
            Ok(become_user(uid, gid)?)
        }
        _ => Ok(()),
    }
}

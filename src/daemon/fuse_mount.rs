//! Mounting in the place of what killed daemons left behind, and why that fails.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, StatxFlags};
use rustix::io::Errno;

use super::command_error::{CommandError, Doing};
use crate::fuse::mounting::{self, MountSpec, Mounted, cut_stuck_threads, take_out};
use crate::fuse::status_query::{ask, is_of_dead_mount};
use crate::names::Quoted;
use crate::os::mountinfo::{self, MountInfo, already_mounted, statx_cached};
use crate::records::NoAnswer;

/// Mounts.
///
/// Dead mounts of ours at the mount point, left behind by killed daemons, are taken away first (law F7).
///
/// # Errors
/// Why nothing is mounted.
pub fn mount(spec: &MountSpec) -> Result<Mounted, CommandError> {
    let point = &spec.mountpoint;
    clear_dead(point)?;
    let there = already_mounted(point).doing("open the mount point");
    match there.map_err(|error| error.on(point))? {
        Some((_, there)) if there.is_ours() => {
            let shown = Quoted(&there.source);
            let error = CommandError::usage(format!("already mounted: {shown} is shown there"));
            Err(error.hint("unmount it first, by utf8fs umount").on(point))
        }
        _ => mounting::mount(spec).map_err(|error| refusal(&error).on(point)),
    }
}

/// Returns why nothing was mounted, with its remedy.
fn refusal(error: &io::Error) -> CommandError {
    let message = error.to_string();
    if error.raw_os_error() == Some(libc::ENODEV) || message.contains("modprobe fuse") {
        CommandError::failure("this kernel offers no FUSE: /dev/fuse is missing")
            .hint("load the kernel's module: modprobe fuse")
    } else if error.kind() == ErrorKind::NotFound && error.raw_os_error().is_none() {
        CommandError::failure(message).hint("install the package fuse3, or run as root")
    } else if message.contains("user_allow_other") {
        CommandError::usage("ordinary users may not mount with allow_other on this machine")
            .hint("leave allow_other out, or have the administrator write user_allow_other into /etc/fuse.conf")
    } else if message.contains("open /dev/fuse: Permission denied") {
        CommandError::failure("ordinary users may not open /dev/fuse on this machine")
            .hint("run as root, or have the administrator set its mode to 0666, as udev does")
    } else if error.kind() == ErrorKind::Other {
        CommandError::usage(message)
    } else {
        CommandError::io("mount", error)
    }
}

/// Takes dead mounts of ours at `path` away, and says whether there was one. For what such a mount hides; [`mount`] does
/// so by itself.
///
/// # Errors
/// As for [`mount`], where there is a dead one.
pub fn clear_dead(path: &Path) -> Result<bool, CommandError> {
    let mut was_dead = false;
    while let Ok(Some((root, there))) = already_mounted(path)
        && is_dead_mount(&root, &there)
    {
        was_dead = true;
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
        let taken = take_out(&root, &there.path()).doing("take the dead mount away");
        let hint = "run as the user who mounted it, or as root";
        taken.map_err(|error| error.hint(hint).on(path))?;
    }
    Ok(was_dead)
}

/// Is the mount `there`, whose root is `root`, one of ours whose daemon was killed? Waits for the daemon where it lives; that of
/// another user's mount is asked as that user, for five seconds. What a dead one has left is cut off.
pub fn is_dead_mount(root: &OwnedFd, there: &MountInfo) -> bool {
    if !there.is_ours() {
        return false;
    }
    if let Ok(status) = statx_cached(root, StatxFlags::MNT_ID) {
        cut_stuck_threads(status.stx_dev_minor);
    }
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
    match rustix::fs::statx(root, c"", flags, StatxFlags::BASIC_STATS) {
        Ok(_) => false,
        Err(Errno::ACCESS) => ask(&there.path()).is_err_and(|none| none.state == NoAnswer::Dead),
        Err(errno) => is_of_dead_mount(&errno.into()),
    }
}

#[cfg(test)]
pub(super) mod tests;

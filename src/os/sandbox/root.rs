//! A root of its own: a mount namespace with nothing in it but what serving takes.

use std::io;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxAttributes, StatxFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, UnmountFlags,
};
use rustix::thread::LinkNameSpaceType;
use std::os::fd::{AsFd, OwnedFd};

use crate::backing::{clone_mount, sys};

/// The descriptors of this process, by which rights are asked for anew. Nothing else of `/proc`: the root of another
/// process can be reached through its directory there.
const DESCRIPTORS: &str = "proc/self/fd";
/// The device from which each thread gets a connection to the kernel of its own.
const FUSE: &str = "dev/fuse";
/// Nothing is written, run or opened as a device.
const INERT: u64 = libc::MOUNT_ATTR_RDONLY
    | libc::MOUNT_ATTR_NOSUID
    | libc::MOUNT_ATTR_NODEV
    | libc::MOUNT_ATTR_NOEXEC;

/// Moves this process into a namespace of its own whose root is an empty, read-only filesystem in memory, with
/// [`DESCRIPTORS`] and [`FUSE`] in it. What is open stays open, also directories of the namespace that is left.
///
/// # Errors
/// The kernel refuses a piece; this process is where it was then.
pub(super) fn enter() -> io::Result<()> {
    let root = rustix::fs::statx(CWD, "/", AtFlags::empty(), StatxFlags::TYPE)?;
    if !root.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) {
        // A chroot: it cannot be left for another root, and there would be no way back into it.
        return Err(Errno::INVAL.into());
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let before = rustix::fs::open("/proc/self/ns/mnt", flags, Mode::empty())?;
    sys::unshare_mounts()?;
    build().inspect_err(|_refused| {
        // A copy of every mount there is would keep each of them in use.
        let kind = Some(LinkNameSpaceType::Mount);
        let back = rustix::thread::move_into_link_name_space(before.as_fd(), kind);
        if let Err(error) = back {
            log::error!("mounts stay in use as long as this runs: {error}");
        }
    })
}

fn build() -> io::Result<()> {
    let everything = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", everything)?;
    let root = memory()?;
    let descriptors = clone_mount(CWD, &format!("/{DESCRIPTORS}"))?;
    sys::set_mount_attributes(descriptors.as_fd(), (INERT, 0), 0)?;
    let fuse = clone_mount(CWD, &format!("/{FUSE}"))?;
    attach(&root, CWD, "/")?;
    let directory = Mode::from_raw_mode(0o755);
    for name in ["proc", "proc/self", DESCRIPTORS, "dev"] {
        rustix::fs::mkdirat(&root, name, directory)?;
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    drop(rustix::fs::openat(&root, FUSE, flags, Mode::RUSR)?);
    attach(&descriptors, &root, DESCRIPTORS)?;
    attach(&fuse, &root, FUSE)?;
    sys::set_mount_attributes(root.as_fd(), (INERT, 0), 0)?;
    rustix::process::fchdir(&root)?;
    // The old root comes to lie on the new one, and is taken off it, with every mount in it.
    rustix::process::pivot_root(".", ".")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH)?;
    std::env::set_current_dir("/")
}

/// An empty filesystem in memory, for the few entries made here.
fn memory() -> io::Result<OwnedFd> {
    let fs = rustix::mount::fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in [("size", "16k"), ("nr_inodes", "16"), ("mode", "0755")] {
        rustix::mount::fsconfig_set_string(&fs, key, value)?;
    }
    rustix::mount::fsconfig_create(&fs)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let flags = FsMountFlags::FSMOUNT_CLOEXEC;
    Ok(rustix::mount::fsmount(&fs, flags, attributes)?)
}

fn attach(mount: &OwnedFd, directory: impl AsFd, path: &str) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(rustix::mount::move_mount(
        mount, "", directory, path, flags,
    )?)
}

//! The backing directory, opened as it is served: by a view of its own, or as all others see it.

use std::io;
use std::os::fd::OwnedFd;

use super::mount_config::MountConfig;
use super::mount_flags;
use crate::backing::{Dir, Entries, file, private_clone, stat_filesystem};
use crate::os::Privilege;

/// The backing directory, opened.
#[derive(Debug)]
pub(super) struct BackingRoot {
    /// An `O_PATH` descriptor.
    pub(super) root: OwnedFd,
    /// A descriptor by which file handles of its filesystem are opened, for who may.
    pub(super) by_handle: Option<OwnedFd>,
    /// The flags of the mount that it lies on, `ST_RDONLY` and so on; a view has more.
    pub(super) flags: u64,
    /// Are mounts inside it entered?
    pub(super) enters: bool,
    /// Has each file to be opened so that reading it changes no access time?
    pub(super) reads_quietly: bool,
}

/// Opens the backing directory.
///
/// For root it is a clone of the directory's mount alone: mounts inside it are not entered, and later ones over it,
/// ours included, do not appear (law F2). With `--cross-mounts` it is the directory as all others see it, except for
/// mounts over the directory itself.
pub(super) fn open(config: &MountConfig) -> io::Result<BackingRoot> {
    let root = Dir::open_root(&config.checked.backing)?.into_fd();
    // Only who may list it can show it.
    drop(Entries::open(&root, 0)?);
    let flags = stat_filesystem(&root)?.f_flag.bits();
    let is_root = Privilege::of_thread() == Privilege::Root;
    let view = (is_root && !config.cross_mounts).then(|| private_clone(&root));
    let view = view.and_then(|view| {
        let warn = |error: &_| {
            log::warn!(
                "mounts inside the backing directory are entered, since this kernel gives no view without them: {error}"
            );
        };
        view.inspect_err(warn).ok()
    });
    let reads_quietly = mount_flags::set_access_times(config, view.as_ref());
    let enters = view.is_none();
    let root = view.unwrap_or(root);
    let for_handles = libc::O_RDONLY | libc::O_DIRECTORY;
    let by_handle = is_root.then(|| file::reopen(&root, for_handles));
    let by_handle = by_handle.transpose()?;
    Ok(BackingRoot {
        root,
        by_handle,
        flags,
        enters,
        reads_quietly,
    })
}

//! Directories that utf8fs itself shows: their names are those of the view, not those on disk.

use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::CommandError;
use crate::backing::Stat;
use crate::daemon::mountinfo;
use crate::names::{Quoted, ShellWord};

/// Refuses a directory that is a mount of utf8fs, or lies in one: what `command` finds there says nothing of the names on
/// disk.
///
/// # Errors
/// It is one.
pub(super) fn refuse(command: &str, path: &Path, directory: impl AsFd) -> Result<(), CommandError> {
    // Where the system cannot say what is mounted, nothing is known against the directory.
    let mount = Stat::of(&directory).ok().and_then(|stat| {
        let mounts = mountinfo::read().unwrap_or_default();
        mounts.into_iter().find(|mount| mount.id == stat.mnt_id)
    });
    let Some(mount) = mount.filter(|mount| mount.fs_type == b"fuse.utf8fs") else {
        return Ok(());
    };
    let (point, backing) = (path_of(&mount.mount_point), path_of(&mount.source));
    let (path, source) = (Quoted::of(path), Quoted(&mount.source));
    let error = CommandError::usage(format!(
        "{path} is shown by utf8fs: its names are not those on disk, in {source}"
    ));
    let insist = "--view insists on what is shown";
    Err(error.hint(if backing.starts_with(point) {
        let above = ShellWord::of(point.parent().unwrap_or(point));
        let copy = Path::new("/mnt").join(point.file_name().unwrap_or_default());
        let copy = ShellWord::of(&copy);
        format!(
            "what lies below the mount is reached once it is unmounted, or in {copy} by 'mount --rbind --make-rprivate {above} /mnt; umount {copy}'; {insist}"
        )
    } else {
        format!("give that to 'utf8fs {command}'; {insist}")
    }))
}

fn path_of(bytes: &[u8]) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}

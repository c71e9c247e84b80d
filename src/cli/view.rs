//! Directories that utf8fs itself shows: their names are those of the view, not those on disk.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::CommandError;
use crate::backing::Stat;
use crate::names::{Quoted, ShellWord};
use crate::os::mountinfo::{self, MountInfo};
use crate::records::Name;

/// Refuses a directory that is a utf8fs mount, or lies in one, or has one inside that `command` would enter: what it
/// finds there says nothing of the names on disk.
///
/// # Errors
/// It is one.
pub(super) fn refuse(
    command: &str,
    path: &Path,
    directory: impl AsFd,
    enters_mounts: bool,
) -> Result<(), CommandError> {
    // Where the system cannot say what is mounted, nothing is known against the directory.
    let mounts = mountinfo::read().unwrap_or_default();
    let mount_id = Stat::of(&directory).ok().map(|stat| stat.mnt_id);
    let whole = path.canonicalize().ok().filter(|_| enters_mounts);
    let is_entered = |mount: &MountInfo| {
        let has_it = |whole: &PathBuf| mount.path().starts_with(whole);
        mount.is_ours() && (Some(mount.id) == mount_id || whole.as_ref().is_some_and(has_it))
    };
    let Some(mount) = mounts.into_iter().find(is_entered) else {
        return Ok(());
    };
    let (point, backing) = (mount.path(), Name::from(mount.source.as_slice()));
    let shown = if Some(mount.id) == mount_id {
        Quoted::of(path)
    } else {
        Quoted(&mount.mount_point)
    };
    let source = Quoted(&mount.source);
    let error = CommandError::usage(format!(
        "{shown} is shown by utf8fs: its names are not those on disk, in {source}"
    ));
    let insist = "--view insists on what is shown";
    Err(error.hint(if backing.as_path().starts_with(&point) {
        let above = ShellWord::of(point.parent().unwrap_or(&point));
        let copy = Path::new("/mnt").join(point.file_name().unwrap_or_default());
        let copy = ShellWord::of(&copy);
        format!(
            "what lies below the mount is reached once it is unmounted, or in {copy} by 'mount --rbind --make-rprivate {above} /mnt; umount {copy}'; {insist}"
        )
    } else {
        format!("give that to 'utf8fs {command}'; {insist}")
    }))
}

//! Are the directories fit? Asked before anything is mounted, so that the answer is a sentence and not an errno.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf, absolute};

use super::command_error::{CommandError, reason};
use super::fuse_mount::{clear_dead, is_dead_mount};
use crate::fuse::status_query::is_of_dead_mount;
use crate::names::{Quoted, ShellWord};
use crate::os::mountinfo::{FS_TYPE, MountInfo, already_mounted};

/// Checks both directories and gives their absolute paths, without symlinks.
///
/// Not checked: whether the caller may mount there.
///
/// # Errors
/// One of them is missing, no directory or cannot be read; the mount point is taken, or lies inside the backing directory.
pub(super) fn check(backing: &Path, mountpoint: &Path) -> Result<(PathBuf, PathBuf), CommandError> {
    check_proc()?;
    let backing_path = check_backing(backing, mountpoint)?;
    let mountpoint_path = check_mountpoint(mountpoint, &backing_path)?;
    if backing_path != mountpoint_path && is_inside(&mountpoint_path, &backing_path) {
        return Err(CommandError::usage(format!(
            "the mount point {} is inside the backing directory {}",
            Quoted::of(mountpoint),
            Quoted::of(backing)
        ))
        .hint("mount it elsewhere, or over the backing directory itself"));
    }
    Ok((backing_path, mountpoint_path))
}

/// A directory that no file of ours may lie in, where its users could put another in the place of that: its path, absolute and
/// without symlinks, and what it is.
pub type Ruled = (PathBuf, &'static str);

/// Returns both directories of a mount.
pub(super) fn ruled(mountpoint: &Path, backing: &Path) -> [Ruled; 2] {
    [
        (mountpoint.to_owned(), "mount point"),
        (backing.to_owned(), "backing directory"),
    ]
}

/// Returns which of these directories a file lies in. Its path is absolute, without symlinks.
pub(super) fn ruled_by(file: &Path, ruled: &[Ruled]) -> Option<&'static str> {
    let mut ruled = ruled.iter();
    let found = ruled.find(|(directory, _)| is_inside(file, directory));
    found.map(|(_, what)| *what)
}

fn unfit(kind: &str, file: &Path, what: &str) -> CommandError {
    CommandError::usage(format!("the {kind} {} {what}", Quoted::of(file)))
}

/// The directory of such a file, absolute and without symlinks.
///
/// # Errors
/// It is missing.
pub(super) fn directory_of(kind: &str, file: &Path) -> Result<PathBuf, CommandError> {
    let directory = absolute(file).and_then(|file| file.parent().unwrap_or(&file).canonicalize());
    directory.map_err(|error| {
        let what = format!("cannot be written: {}", reason(&error));
        unfit(kind, file, &what).hint("make its directory first")
    })
}

/// Checks such a file and returns its absolute path. It must not lie in `ruled`: each record in the mount point would be an operation on
/// the mount. `remedy` says where to keep it.
///
/// # Errors
/// Its directory is missing, or is one of those or in one.
pub fn check_file(
    kind: &str,
    file: &Path,
    ruled: &[Ruled],
    remedy: &str,
) -> Result<PathBuf, CommandError> {
    let name = file.file_name();
    let name =
        name.ok_or_else(|| unfit(kind, file, "is not a file").hint("give the path of a file"))?;
    let path = directory_of(kind, file)?.join(name);
    match ruled_by(&path, ruled) {
        None => Ok(path),
        Some(what) => Err(unfit(kind, file, &format!("is inside the {what}")).hint(remedy)),
    }
}

fn check_backing(typed: &Path, mountpoint: &Path) -> Result<PathBuf, CommandError> {
    let wrong = |what: &str| unfit("backing directory", typed, what);
    let open = || {
        typed.canonicalize().and_then(|path| {
            // Opening it for reading and looking something up in it are two permissions.
            std::fs::read_dir(&path)?;
            std::fs::symlink_metadata(path.join("."))?;
            Ok(path)
        })
    };
    let opened = match open() {
        // A dead mount of ours may cover it (law F7), which shuts root out where it is another user's.
        Err(error)
            if (is_of_dead_mount(&error) || error.kind() == ErrorKind::PermissionDenied)
                && clear_dead(mountpoint)? =>
        {
            open()
        }
        opened => opened,
    };
    opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ENOENT) if typed == mountpoint => {
            wrong("does not exist").hint("give an existing directory")
        }
        Some(libc::ENOENT) => wrong("does not exist")
            .hint("give an existing directory; in a line of fstab it is the first field"),
        Some(libc::ENOTDIR) => {
            wrong("is not a directory").hint("give the directory whose names are to be shown")
        }
        Some(libc::EACCES | libc::EPERM) if let Some(kind) = fuse_at(typed) => wrong(&format!(
            "cannot be read: the mount on it ({kind}) is another user's"
        ))
        .hint(unmount_hint(typed, &kind)),
        Some(libc::EACCES | libc::EPERM) => wrong("cannot be read: permission denied")
            .hint("run utf8fs as its owner or as root, or make it readable and searchable"),
        _ => wrong(&format!("cannot be read: {}", reason(&error)))
            .hint("look at what is mounted there, and at the system's log"),
    })
}

fn check_mountpoint(typed: &Path, backing: &Path) -> Result<PathBuf, CommandError> {
    let wrong = |what: &str| unfit("mount point", typed, what);
    let told = |error: std::io::Error| {
        match error.raw_os_error() {
        Some(libc::ENOENT) => wrong("does not exist").hint("make the directory first, with mkdir; if it is to be inside another mount, mount that first"),
        Some(libc::ENOTDIR) => {
            wrong("is not a directory").hint("give an existing, best an empty, directory")
        }
        _ if is_of_dead_mount(&error) => {
            wrong("cannot be reached: it is inside a dead mount").hint("mount that again first")
        }
        _ => wrong(&format!("cannot be used: {}", reason(&error)))
            .hint("give a directory that you may enter and write to"),
    }
    };
    // This asks no filesystem, so that a dead mount gives an answer too.
    let Some((root, there)) = already_mounted(typed).map_err(told)? else {
        return typed.canonicalize().map_err(told);
    };
    let path = there.path();
    // The mount replaces a dead one of ours (law F7), and another filesystem can be mounted over itself.
    let is_fit = match there.is_ours() {
        true => is_dead_mount(&root, &there),
        false => !is_fuse(&there) || path == backing,
    };
    if is_fit {
        return Ok(path);
    }
    let kind = String::from_utf8(there.fs_type).unwrap_or_default();
    Err(wrong(&format!("is mounted already ({kind})")).hint(unmount_hint(&path, &kind)))
}

fn is_fuse(mount: &MountInfo) -> bool {
    mount.fs_type == b"fuse" || mount.fs_type.starts_with(b"fuse.")
}

/// The type of the FUSE mount whose root `path` is, if it is one.
fn fuse_at(path: &Path) -> Option<String> {
    let (_, there) = already_mounted(path).ok()??;
    let kind = is_fuse(&there).then_some(there.fs_type)?;
    String::from_utf8(kind).ok()
}

fn unmount_hint(path: &Path, kind: &str) -> String {
    let path = ShellWord::of(path);
    if kind == FS_TYPE {
        return format!("unmount it first: utf8fs umount {path}");
    }
    format!("unmount it first: umount {path}, or fusermount3 -u {path} where you are not root")
}

/// Descriptors are known by their paths in /proc, and mounts by its table.
///
/// # Errors
/// `/proc` is not mounted.
pub fn check_proc() -> Result<(), CommandError> {
    if std::fs::exists("/proc/self/fd").unwrap_or(true) {
        return Ok(());
    }
    Err(CommandError::failure("/proc is not mounted here")
        .hint("mount it: mount -t proc proc /proc"))
}

/// Is `path` below `directory`, by whatever names and bind mounts it got there? Both are absolute, without symlinks.
fn is_inside(path: &Path, directory: &Path) -> bool {
    let identity = |path: &Path| {
        let metadata = std::fs::symlink_metadata(path).ok();
        metadata.map(|metadata| (metadata.dev(), metadata.ino()))
    };
    // A dead mount has none.
    let known = identity(directory);
    let mut above = path.ancestors().skip(1);
    above.any(|above| above == directory || known.is_some() && identity(above) == known)
}

//! Are the directories fit? Asked before anything is mounted, so that the answer is a sentence and not an errno.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::fuse_mount::{FS_TYPE, already_mounted, clear_dead, is_dead_mount, is_of_dead_mount};
use super::mountinfo::MountInfo;
use super::start_error::{StartError, reason};
use crate::names::{Quoted, ShellWord};

/// Checks both directories and gives their absolute paths, without symlinks.
///
/// Not checked: whether the caller may mount there.
///
/// # Errors
/// One of them is missing, no directory or cannot be read; the mount point is taken, or lies inside the backing directory.
pub(super) fn check(backing: &Path, mountpoint: &Path) -> Result<(PathBuf, PathBuf), StartError> {
    check_proc()?;
    let backing_path = check_backing(backing, mountpoint)?;
    let mountpoint_path = check_mountpoint(mountpoint, &backing_path)?;
    if backing_path != mountpoint_path && is_inside(&mountpoint_path, &backing_path) {
        return Err(StartError::usage(format!(
            "the mount point {} is inside the backing directory {}",
            quoted(mountpoint),
            quoted(backing)
        ))
        .hint("mount it elsewhere, or over the backing directory itself"));
    }
    Ok((backing_path, mountpoint_path))
}

fn unfit(log: &Path, what: &str) -> StartError {
    StartError::usage(format!("the audit log {} {what}", quoted(log)))
}

/// The name of the audit log's file.
///
/// # Errors
/// It can be the path of none.
pub(super) fn log_name(log: &Path) -> Result<&OsStr, StartError> {
    let name = log
        .file_name()
        .filter(|_| !log.as_os_str().as_bytes().contains(&0));
    name.ok_or_else(|| unfit(log, "is not a file").hint("give the path of a file"))
}

/// The directory of the audit log, absolute and without symlinks.
///
/// # Errors
/// It is missing.
pub(super) fn log_directory(log: &Path) -> Result<PathBuf, StartError> {
    let directory = match log.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    directory.canonicalize().map_err(|error| {
        let what = format!("cannot be written: {}", reason(&error));
        unfit(log, &what).hint("make its directory first")
    })
}

/// Checks the file of the audit log and gives its absolute path.
///
/// # Errors
/// Its directory is missing. Or it is in the mount point, where each record would be an operation on the mount; or in
/// the backing directory, where users of the mount could put a link in its place.
pub(super) fn check_log(
    log: &Path,
    backing: &Path,
    mountpoint: &Path,
) -> Result<PathBuf, StartError> {
    let name = log_name(log)?;
    let directory = log_directory(log)?;
    for (place, what) in [(mountpoint, "mount point"), (backing, "backing directory")] {
        if directory == place || is_inside(&directory, place) {
            return Err(unfit(log, &format!("is inside the {what}"))
                .hint("keep it outside of what it reports on"));
        }
    }
    Ok(directory.join(name))
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the standard library adds kinds; the rest is told in the system's words"
)]
fn check_backing(typed: &Path, mountpoint: &Path) -> Result<PathBuf, StartError> {
    let wrong =
        |what: &str| StartError::usage(format!("the backing directory {} {what}", quoted(typed)));
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
    opened.map_err(|error| match error.kind() {
        ErrorKind::NotFound if typed == mountpoint => {
            wrong("does not exist").hint("give an existing directory")
        }
        ErrorKind::NotFound => wrong("does not exist")
            .hint("give an existing directory; in a line of fstab it is the first field"),
        ErrorKind::NotADirectory => {
            wrong("is not a directory").hint("give the directory whose names are to be shown")
        }
        ErrorKind::PermissionDenied if let Some(kind) = fuse_at(typed) => wrong(&format!(
            "cannot be read: the mount on it ({kind}) is another user's"
        ))
        .hint(unmount_hint(typed, &kind)),
        ErrorKind::PermissionDenied => wrong("cannot be read: permission denied")
            .hint("run utf8fs as its owner or as root, or make it readable and searchable"),
        _ => wrong(&format!("cannot be read: {}", reason(&error)))
            .hint("look at what is mounted there, and at the system's log"),
    })
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the standard library adds kinds; the rest is told in the system's words"
)]
fn check_mountpoint(typed: &Path, backing: &Path) -> Result<PathBuf, StartError> {
    let wrong = |what: &str| StartError::usage(format!("the mount point {} {what}", quoted(typed)));
    let told = |error: std::io::Error| {
        match error.kind() {
        ErrorKind::NotFound => wrong("does not exist").hint("make the directory first, with mkdir; if it is to be inside another mount, mount that first"),
        ErrorKind::NotADirectory => {
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
    let Some(there) = already_mounted(typed).map_err(told)? else {
        return typed.canonicalize().map_err(told);
    };
    let path = there.path();
    // The mount replaces a dead one of ours (law F7), and another filesystem can be mounted over itself.
    let is_fit = match there.fs_type == FS_TYPE.as_bytes() {
        true => is_dead_mount(typed, &there).map_err(told)?,
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
    let there = already_mounted(path).ok()?.filter(is_fuse)?;
    String::from_utf8(there.fs_type).ok()
}

fn unmount_hint(path: &Path, kind: &str) -> String {
    let path = ShellWord(path.as_os_str().as_bytes());
    if kind == FS_TYPE {
        return format!("unmount it first: utf8fs umount {path}");
    }
    format!("unmount it first: umount {path}, or fusermount3 -u {path} where you are not root")
}

/// Descriptors are known by their paths in /proc, and mounts by its table.
fn check_proc() -> Result<(), StartError> {
    match std::fs::symlink_metadata("/proc/self/fd") {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(StartError::failure("/proc is not mounted here")
                .hint("mount it: mount -t proc proc /proc"))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Is `path` below `directory`, by whatever names and bind mounts it got there? Both are absolute, without symlinks.
#[must_use]
pub fn is_inside(path: &Path, directory: &Path) -> bool {
    let identity = |metadata: Metadata| (metadata.dev(), metadata.ino());
    let Ok(directory) = std::fs::symlink_metadata(directory).map(identity) else {
        return false;
    };
    path.ancestors().skip(1).any(|above| {
        std::fs::symlink_metadata(above)
            .map(identity)
            .is_ok_and(|above| above == directory)
    })
}

fn quoted(path: &Path) -> Quoted<'_> {
    Quoted(path.as_os_str().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f7_a_request_of_a_killed_daemon_is_known_by_each_of_its_errors() {
        for errno in [libc::ENOTCONN, libc::ECONNABORTED, libc::ECANCELED] {
            let error = std::io::Error::from_raw_os_error(errno);
            assert!(is_of_dead_mount(&error), "{error}");
        }
        let denied = std::io::Error::from_raw_os_error(libc::EACCES);
        assert!(!is_of_dead_mount(&denied));
    }

    #[test]
    fn a_symlink_does_not_hide_that_the_mount_point_is_inside() {
        let place = tempfile::tempdir().unwrap();
        let backing = place.path().join("b");
        std::fs::create_dir_all(backing.join("deep/er")).unwrap();
        std::os::unix::fs::symlink(backing.join("deep"), place.path().join("link")).unwrap();
        let check_at = |mountpoint: &str| check(&backing, &place.path().join(mountpoint));
        for inside in ["b/deep", "link", "link/er", "b/deep/../deep/er"] {
            let error = check_at(inside).unwrap_err();
            assert!(
                error.message.contains(" is inside the backing directory "),
                "{error:?}"
            );
        }
        let (from, to) = check_at("link/..").unwrap();
        assert_eq!(from, to);
        // The backing directory may lie inside the mount point: it is reached by descriptor.
        check_at(".").unwrap();
        assert!(check(Path::new("/"), place.path()).is_err());
    }
}

//! Mount flags: inherits `ro`, `nosuid`, `nodev` and `noexec` from the backing mount, and implements access-time and
//! sync options that the kernel ignores for FUSE.

use std::io;
use std::os::fd::OwnedFd;

use super::mount_config::MountConfig;
use crate::backing::change_view;
use crate::fs::Waits;
use crate::fuse::Passthrough;
use crate::os::mountinfo;

/// Flags that forbid something: the flag of statvfs(3), the word that forbids, and the words that allow.
const FORBIDS: [(u64, &str, &[&str]); 4] = [
    (libc::ST_RDONLY, "ro", &["rw"]),
    (libc::ST_NOSUID, "nosuid", &["suid", "allow_suid"]),
    (libc::ST_NODEV, "nodev", &["dev", "allow_dev"]),
    (libc::ST_NOEXEC, "noexec", &["exec"]),
];

/// Adds the flags of the mount that the backing directory lies on, which are `below`, to those of ours. Where mounts
/// inside are entered, what one of them forbids to run or to open is forbidden everywhere: the kernel knows one set
/// of flags for all of ours. A read-only one sees to that by itself. Warns of what was asked for and is not done.
///
/// # Errors
/// The table of mounts cannot be read.
pub(super) fn follow(config: &mut MountConfig, below: u64, enters: bool) -> io::Result<()> {
    let inside = match enters {
        true => mountinfo::read_inside(&config.checked.backing)?,
        false => Vec::new(),
    };
    for (flag, forbids, allows) in FORBIDS {
        let is_inside = || inside.iter().any(|mount| mount.has_flag(forbids));
        if below & flag == 0 && (flag == libc::ST_RDONLY || !is_inside()) {
            continue;
        }
        let is_set = config.flags().has(forbids);
        config.words.push(forbids);
        let mut words = config.words.iter();
        if let Some(allow) = words.find(|word| allows.contains(word)) {
            log::warn!("-o {allow} has no effect: a mount below has {forbids}");
        } else if !is_set {
            log::info!("the mount has {forbids}, as a mount below has");
        }
    }
    Ok(())
}

/// Has reading through `view` change access times as the mount's flags say, and never where it is read-only (law F8).
/// The kernel leaves those of FUSE to us. Warns where there is no view, as for unprivileged users. Returns whether
/// each file has to be opened without access times, since the view does not see to that.
pub(super) fn set_access_times(config: &MountConfig, view: Option<&OwnedFd>) -> bool {
    let has = |word| config.flags().has(word);
    let (of_all, clear) = match () {
        () if has("ro") || has("noatime") => (libc::MOUNT_ATTR_NOATIME, libc::MOUNT_ATTR__ATIME),
        () if has("relatime") => (libc::MOUNT_ATTR_RELATIME, libc::MOUNT_ATTR__ATIME),
        () if has("strictatime") => (libc::MOUNT_ATTR_STRICTATIME, libc::MOUNT_ATTR__ATIME),
        () => (0, 0),
    };
    let of_directories = has("nodiratime").then_some(libc::MOUNT_ATTR_NODIRATIME);
    let set = of_all | of_directories.unwrap_or(0);
    let done = match view {
        Some(view) => change_view(view, set, clear).map_err(|error| error.to_string()),
        None => Err("mounts inside the backing directory are entered".to_owned()),
    };
    let Err(reason) = done else {
        return false;
    };
    if ["noatime", "nodiratime", "relatime", "strictatime"]
        .into_iter()
        .any(has)
    {
        log::warn!("access times are those of the mount below, whatever -o says: {reason}");
    }
    has("ro")
}

/// Which changes wait for the disk. Where all do, each write has to come to us: the kernel would not wait.
pub(super) fn wait(config: &mut MountConfig) -> Waits {
    if config.flags().has("sync") {
        config.passthrough = Passthrough::Off;
        Waits::All
    } else if config.flags().has("dirsync") {
        Waits::Names
    } else {
        Waits::None
    }
}

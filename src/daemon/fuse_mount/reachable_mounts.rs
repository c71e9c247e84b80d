//! Taking mounts away that another process serves, or nobody any more.

use std::io;
use std::path::Path;

use super::{Spot, already_mounted};
use crate::daemon::mountinfo::{self, MountInfo};

/// The mount found at a path where one of ours was expected.
#[derive(Debug)]
pub enum Found {
    /// The root of a mount of ours.
    Ours(Spot),
    /// The root of another filesystem, of this type.
    Other(Vec<u8>),
    /// No root of any mount.
    Nothing,
}

/// Looks for a mount of ours at `path`, and asks no filesystem anything. Symlinks are followed.
///
/// # Errors
/// `path` cannot be opened as a directory, or the table of mounts not be read.
pub fn find(path: &Path) -> io::Result<Found> {
    Ok(match already_mounted(path)? {
        None => Found::Nothing,
        Some((root, mount)) if mount.is_ours() => Found::Ours(Spot::of(&root, mount)?),
        Some((_, mount)) => Found::Other(mount.fs_type),
    })
}

/// The mounts of ours that this process can reach, oldest first; of several on one path the topmost.
///
/// # Errors
/// The table of mounts cannot be read.
pub fn ours() -> io::Result<Vec<MountInfo>> {
    let mut mounts = mountinfo::read()?;
    mounts.retain(MountInfo::is_ours);
    let mut ours: Vec<MountInfo> = Vec::new();
    for mount in mounts {
        ours.retain(|other| other.mount_point != mount.mount_point);
        ours.push(mount);
    }
    Ok(ours)
}

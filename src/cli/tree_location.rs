//! Where a tree is now: at its path, or on a mount elsewhere.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::backing::Dir;
use crate::os::mountinfo;
use crate::records::{JournalHeader, TreeIdentity};
use crate::tree::tree_identity::identity_of;

/// Filesystems without a device that are asked, besides all with one: others may wait for a server.
const WITHOUT_DEVICE: [&[u8]; 4] = [b"tmpfs", b"overlay", b"zfs", b"bcachefs"];

/// Returns the path of the tree that a journal is of, if it is found.
pub(super) fn find_tree(header: &JournalHeader) -> Option<PathBuf> {
    let recorded = header.root.as_path();
    if is_tree(recorded, &header.tree) {
        return Some(recorded.to_owned());
    }
    let mut mounts = mountinfo::read().ok()?;
    mounts.retain(|mount| {
        mount.source.starts_with(b"/dev/") || WITHOUT_DEVICE.contains(&mount.fs_type.as_slice())
    });
    let mut candidates = mounts
        .iter()
        .flat_map(|mount| paths_on(&mount.path(), recorded));
    candidates.find(|path| is_tree(path, &header.tree))
}

/// Returns the paths that a tree may have on a mount: the mount point with each end of the recorded path, the longest first.
fn paths_on(mount_point: &Path, recorded: &Path) -> Vec<PathBuf> {
    let names: Vec<&OsStr> = recorded.iter().skip(1).collect();
    let ends = (0..=names.len()).map(|first| names.iter().skip(first));
    let paths = ends.map(|end| end.fold(mount_point.to_owned(), |path, name| path.join(name)));
    paths.collect()
}

/// Returns true if the tree of that identity is at a path.
fn is_tree(path: &Path, tree: &TreeIdentity) -> bool {
    let opened = Dir::open_root(path).and_then(|root| identity_of(&root.into_fd()));
    opened.is_ok_and(|found| tree.is_same_tree(&found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_looked_for_by_each_end_of_its_path() {
        let rows: [(&str, &[&str]); 3] = [
            (
                "/media/usb/photos",
                &["/m/media/usb/photos", "/m/usb/photos", "/m/photos", "/m"],
            ),
            ("/a", &["/m/a", "/m"]),
            ("/", &["/m"]),
        ];
        for (recorded, expected) in rows {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(paths_on(Path::new("/m"), Path::new(recorded)), expected);
        }
    }
}

//! Where things lie on their filesystems, whatever these are bound to: by the table of mounts and the kernel's paths of
//! descriptors. Nothing is looked up for that, and no filesystem is asked anything.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::{CWD, readlinkat};

use crate::daemon::mountinfo::MountInfo;

/// A place on a filesystem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OnFilesystem {
    /// Its device in the table of mounts.
    device: Vec<u8>,
    /// The components of the path from its root.
    path: Vec<Vec<u8>>,
}

impl OnFilesystem {
    /// Where the file or directory `fd` lies, which is on the mount of that number; `None` where the table has no such mount.
    pub(super) fn of(fd: BorrowedFd<'_>, mount: u64, table: &[MountInfo]) -> Option<Self> {
        let info = find(mount, table)?;
        let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
        let path = readlinkat(CWD, link, Vec::new()).ok()?.into_bytes();
        Self::through(info, &path)
    }

    /// The root of what is mounted.
    pub(super) fn root_of(mount: &MountInfo) -> Self {
        Self {
            device: mount.device.clone(),
            path: components(&mount.root).collect(),
        }
    }

    /// What is at `path`, which leads there by `mount`.
    fn through(mount: &MountInfo, path: &[u8]) -> Option<Self> {
        let rest = path.strip_prefix(mount.mount_point.as_slice())?;
        let mut place = Self::root_of(mount);
        place.path.extend(components(rest));
        Some(place)
    }

    /// Is it `other`, or in that?
    pub(super) fn is_in(&self, other: &Self) -> bool {
        self.device == other.device && self.path.starts_with(&other.path)
    }
}

fn components(path: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let parts = path.split(|&octet| octet == b'/');
    parts.filter(|part| !part.is_empty()).map(<[u8]>::to_vec)
}

/// The mount of that number.
pub(super) fn find(mount: u64, table: &[MountInfo]) -> Option<&MountInfo> {
    table.iter().find(|info| info.id == mount)
}

/// The roots of all that is mounted inside the directory at `place` on the mount `home`, and inside of that in turn. What is
/// mounted over the directory itself is not.
pub(super) fn inside(place: &OnFilesystem, home: u64, table: &[MountInfo]) -> Vec<OnFilesystem> {
    let Some(home) = find(home, table) else {
        return Vec::new();
    };
    let is_inside = |mount: &&MountInfo| {
        let on = OnFilesystem::through(home, &mount.mount_point);
        mount.parent == home.id && on.is_some_and(|on| on != *place && on.is_in(place))
    };
    // The first mount of a namespace is on itself.
    let others = || table.iter().filter(|mount| mount.id != home.id);
    let mut found: Vec<&MountInfo> = others().filter(is_inside).collect();
    let mut next = 0;
    while let Some(parent) = found.get(next).map(|mount| mount.id) {
        found.extend(others().filter(|mount| mount.parent == parent && mount.id != parent));
        next += 1;
    }
    found.into_iter().map(OnFilesystem::root_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mount: number, parent, device, root, mount point.
    type Row = (u64, u64, &'static str, &'static str, &'static str);

    fn table(rows: &[Row]) -> Vec<MountInfo> {
        let mount = |&(id, parent, device, root, mount_point): &Row| MountInfo {
            id,
            parent,
            device: device.into(),
            root: root.into(),
            mount_point: mount_point.into(),
            flags: Vec::new(),
            fs_type: Vec::new(),
            source: Vec::new(),
            options: Vec::new(),
        };
        rows.iter().map(mount).collect()
    }

    fn at(device: &str, path: &str) -> OnFilesystem {
        OnFilesystem {
            device: device.into(),
            path: components(path.as_bytes()).collect(),
        }
    }

    #[test]
    fn what_is_mounted_inside_is_found_through_the_mounts_that_it_is_on() {
        let table = table(&[
            (1, 1, "8:1", "/", "/"),
            (2, 1, "8:2", "/top", "/srv"),
            // Over the backing directory /srv/b itself, and on that.
            (3, 2, "0:50", "/", "/srv/b"),
            (4, 3, "0:51", "/", "/srv/b/sub"),
            // Deeper than its parent, which comes later.
            (5, 6, "0:52", "/", "/srv/b/sub/deep"),
            (6, 2, "8:1", "/data", "/srv/b/sub"),
            (7, 2, "0:53", "/", "/srv/beside"),
            (8, 1, "0:54", "/", "/srv"),
        ]);
        let found = inside(&at("8:2", "/top/b"), 2, &table);
        assert_eq!(found, [at("8:1", "/data"), at("0:52", "/")]);
        let of_all = inside(&at("8:1", "/"), 1, &table);
        assert_eq!(of_all.len(), 7);
        assert_eq!(inside(&at("8:2", "/top/b"), 99, &table), []);
    }

    #[test]
    fn a_place_is_in_another_by_whole_components_on_one_device() {
        let rows = [
            ("8:1", "/a", "/a", true),
            ("8:1", "/a/b", "/a", true),
            ("8:1", "/ab", "/a", false),
            ("8:1", "/a", "/a/b", false),
            ("8:1", "/a", "/", true),
            ("8:2", "/a", "/a", false),
        ];
        for (device, path, other, expected) in rows {
            let found = at(device, path).is_in(&at("8:1", other));
            assert_eq!(found, expected, "{device} {path} {other}");
        }
    }
}

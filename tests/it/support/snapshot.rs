//! A whole tree as a value: everything that a faithful copy keeps, and nothing else.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{FileType, OFlags, Stat};

use super::at;

/// What a copy of one file has to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) mode: u32,
    owner: (u32, u32),
    /// Seconds and nanoseconds of the last change; not of symlinks and where it was not asked for.
    time: Option<(i64, i64)>,
    /// Path of the first name of the same file, for files of more than one name.
    link_to: Option<Vec<u8>>,
    pub(crate) content: Content,
    attributes: BTreeMap<Vec<u8>, Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    File(Vec<u8>),
    Directory,
    Symlink(Vec<u8>),
    Device(u64),
    Other,
}

/// A tree by relative path.
pub(crate) type Snapshot = BTreeMap<Vec<u8>, Entry>;

/// Which times are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    Kept,
    Ignored,
}

/// Takes a snapshot of what is below `root`, the root itself excluded.
pub(crate) fn take(root: &Path, times: Times) -> Snapshot {
    let mut snapshot = Snapshot::new();
    let mut first_names = BTreeMap::new();
    let dir = at::open_dir_path(root);
    walk(root, &dir, b"", times, &mut first_names, &mut snapshot);
    snapshot
}

fn walk(
    root: &Path,
    dir: impl AsFd,
    prefix: &[u8],
    times: Times,
    first_names: &mut BTreeMap<(u64, u64), Vec<u8>>,
    snapshot: &mut Snapshot,
) {
    for name in at::sorted(&dir) {
        let path = [prefix, &name].concat();
        let stat = at::stat(&dir, &name)
            .unwrap_or_else(|error| panic!("stat {}: {error}", super::show(&path)));
        let kind = FileType::from_raw_mode(stat.st_mode);
        let mut link_to = None;
        if kind != FileType::Directory && stat.st_nlink > 1 {
            let first = first_names
                .entry((stat.st_dev, stat.st_ino))
                .or_insert_with(|| path.clone());
            link_to = Some(first.clone());
        }
        let content = content(&dir, &name, kind, &stat);
        let time = (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap());
        let entry = Entry {
            mode: stat.st_mode,
            owner: (stat.st_uid, stat.st_gid),
            time: (times == Times::Kept && kind != FileType::Symlink).then_some(time),
            link_to,
            content,
            attributes: attributes(&root.join(std::ffi::OsStr::from_bytes(&path))),
        };
        snapshot.insert(path.clone(), entry);
        if kind == FileType::Directory {
            let below = at::open_dir(&dir, &name).unwrap();
            let prefix = [&path[..], b"/"].concat();
            walk(root, &below, &prefix, times, first_names, snapshot);
        }
    }
}

fn content(dir: impl AsFd, name: &[u8], kind: FileType, stat: &Stat) -> Content {
    match kind {
        FileType::RegularFile => {
            let file = at::open(&dir, name, OFlags::RDONLY)
                .unwrap_or_else(|error| panic!("open {}: {error}", super::show(name)));
            let content = at::read_all(&file).unwrap();
            assert_eq!(u64::try_from(stat.st_size).unwrap(), content.len() as u64);
            Content::File(content)
        }
        FileType::Directory => Content::Directory,
        FileType::Symlink => Content::Symlink(at::readlink(dir, name).unwrap()),
        FileType::CharacterDevice | FileType::BlockDevice => Content::Device(stat.st_rdev),
        FileType::Fifo | FileType::Socket | FileType::Unknown => Content::Other,
    }
}

fn attributes(path: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut names = vec![0; 65_536];
    let Ok(length) = rustix::fs::llistxattr(path, &mut names) else {
        return BTreeMap::new();
    };
    names[..length]
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| {
            let mut value = vec![0; 65_536];
            let length = rustix::fs::lgetxattr(path, name, &mut value).unwrap();
            value.truncate(length);
            (name.to_vec(), value)
        })
        .collect()
}

/// Fails with the first difference in words.
pub(crate) fn assert_same(expected: &Snapshot, got: &Snapshot) {
    for (path, entry) in expected {
        let shown = super::show(path);
        let other = got
            .get(path)
            .unwrap_or_else(|| panic!("{shown} is missing"));
        assert!(entry == other, "{shown} differs:\n{entry:?}\n{other:?}");
    }
    for path in got.keys() {
        let shown = super::show(path);
        assert!(expected.contains_key(path), "{shown} was not there before");
    }
}

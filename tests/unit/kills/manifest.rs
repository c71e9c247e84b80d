//! What a tree is, to the last byte.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use crate::backing::{Dir, Entries, Kind, Stat, Time, file, xattr};
use crate::names::BackingName;

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tree) struct Entry {
    kind: Kind,
    /// Not of links that get other targets, which are made anew, nor is their birth.
    ino: Option<(u64, Option<Time>)>,
    mode: u32,
    owner: (u32, u32),
    names: u32,
    mtime: Time,
    atime: Option<Time>,
    xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    content: Vec<u8>,
}

impl Entry {
    pub(in crate::tree) fn mtime(&self) -> Time {
        self.mtime
    }
}

pub(in crate::tree) type Manifest = BTreeMap<Vec<u8>, Entry>;

/// All of a tree, by path. Of what was put aside, the name of the directory and the names in it are left out.
pub(in crate::tree) fn manifest(root: &Path) -> Manifest {
    let mut all = Manifest::new();
    let root = Dir::open_root(root).unwrap();
    record(&root, &[], &mut all);
    all
}

fn record(dir: &Dir, path: &[u8], all: &mut Manifest) {
    let stat = Stat::of(dir).unwrap();
    let is_aside = path.starts_with(b".utf8fs-aside-") && !path.contains(&b'/');
    let shown = if is_aside { b".aside" } else { path };
    let mut entry = describe(dir, &stat, false);
    if is_aside {
        entry.ino = None;
        (entry.mtime, entry.atime, entry.names) = (Time::default(), None, 0);
    }
    assert_eq!(all.insert(shown.to_vec(), entry), None);
    let mut entries = Entries::open(dir, libc::O_NOATIME).unwrap();
    let mut names = Vec::new();
    while let Some(entry) = entries.next().unwrap() {
        names.extend(BackingName::parse(entry.name));
    }
    for name in names {
        let child = dir.child(&name).unwrap();
        let stat = Stat::of(&child).unwrap();
        let below = if path.is_empty() {
            name.as_bytes().to_vec()
        } else {
            [path, name.as_bytes()].join(&b'/')
        };
        if stat.is_dir() {
            record(&Dir::new(child), &below, all);
            continue;
        }
        let shown = if is_aside {
            format!(".aside/{}", stat.ino).into_bytes()
        } else {
            below
        };
        let entry = describe(&child, &stat, true);
        assert_eq!(all.insert(shown, entry), None);
    }
}

fn describe(fd: impl AsFd, stat: &Stat, is_file: bool) -> Entry {
    let mut xattrs = BTreeMap::new();
    let names = xattr::whole(|names| xattr::list(&fd, names)).unwrap_or_default();
    let names = names.split(|&octet| octet == 0);
    for name in names.filter(|name| !name.is_empty()) {
        if let Ok(value) = xattr::whole(|value| xattr::get(&fd, name, value)) {
            xattrs.insert(name.to_vec(), value);
        }
    }
    let content = match (stat.is_symlink(), is_file && stat.is_file()) {
        (true, _) => file::readlink(&fd).unwrap(),
        (_, true) => {
            let open = file::reopen(&fd, libc::O_RDONLY | libc::O_NOATIME).unwrap();
            io::read_to_string(File::from(open))
                .unwrap_or_default()
                .into_bytes()
        }
        _ => Vec::new(),
    };
    let is_made_anew = stat.is_symlink() && !content.is_ascii();
    Entry {
        kind: stat.kind(),
        ino: (!is_made_anew).then_some((stat.ino, stat.btime)),
        mode: stat.mode,
        owner: (stat.uid, stat.gid),
        names: stat.nlink,
        mtime: stat.mtime,
        // Reading a link changes it.
        atime: (!stat.is_symlink()).then_some(stat.atime),
        xattrs,
        content,
    }
}

/// Says where two manifests differ.
pub(in crate::tree) fn assert_same(got: &Manifest, wanted: &Manifest, when: &str) {
    for (path, entry) in wanted {
        let other = got.get(path);
        assert!(
            other == Some(entry),
            "{when}: {} was\n{entry:?}\nand is\n{other:?}",
            path.escape_ascii()
        );
    }
    for path in got.keys() {
        assert!(
            wanted.contains_key(path),
            "{when}: {} is new",
            path.escape_ascii()
        );
    }
}

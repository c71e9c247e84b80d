//! Symlinks among directories with legacy names, and what paths lead to.

use std::collections::VecDeque;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::programs::errno;
use super::{CALLER, ROOT, Scratch};
use crate::at::{self, Result};

/// Symlinks that the kernel follows in one path (`MAXSYMLINKS`).
const MOST_LINKS: usize = 40;

fn parts(path: &[u8]) -> impl DoubleEndedIterator<Item = Vec<u8>> {
    path.split(|&octet| octet == b'/').map(<[u8]>::to_vec)
}

impl Scratch {
    /// Makes a symlink below.
    pub(super) fn symlink_below(&self, target: &[u8], link: &[u8]) {
        at::symlink(target, self.below_dir(), link).unwrap();
    }

    /// The target of a symlink as it lies below.
    pub(super) fn readlink_below(&self, link: &[u8]) -> Result<Vec<u8>> {
        at::readlink(self.below_dir(), link)
    }

    /// Adds directories and files with legacy names, and symlinks that lead through symlinks.
    pub(super) fn with_legacy_tree(self) -> Self {
        let below = self.below_dir();
        for dir in [&b"d\xE9"[..], b"d\xE9/sub", b"d\xE9/s\xE9b", b"plain"] {
            at::mkdir(&below, dir).unwrap();
        }
        for (file, content) in [
            (&b"caf\xE9"[..], &b"root"[..]),
            (b"d\xE9/f\xE9", b"inner"),
            ("plain/é".as_bytes(), b"conforming"),
        ] {
            at::write_new(&below, file, content).unwrap();
        }
        for (link, target) in [
            (&b"hop"[..], &b"d\xE9"[..]),
            (b"hop2", b"plain/../hop"),
            (b"d\xE9/back", b".."),
            (b"d\xE9/h\xE9p", b"s\xE9b/.././../hop2"),
        ] {
            self.symlink_below(target, link);
        }
        self
    }

    /// The inode number of what a path leads to below.
    pub(super) fn follow_below(&self, path: &[u8]) -> Result<u64> {
        Ok(rustix::fs::statat(self.below_dir(), path, AtFlags::empty())?.st_ino)
    }

    /// The inode number of what a visible path leads to, symlinks followed as by `path_resolution(7)`.
    pub(super) fn follow(&self, path: &[u8]) -> Result<u64> {
        let mut left: VecDeque<Vec<u8>> = parts(path).collect();
        let root = self.fs.getattr(ROOT).map_err(errno)?.1;
        let mut way = vec![(ROOT, root)];
        let mut links = 0;
        while let Some(name) = left.pop_front() {
            let (parent, stat) = way[way.len() - 1];
            if !stat.is_dir() {
                return Err(Errno::NOTDIR);
            }
            match name.as_slice() {
                b"" | b"." => {}
                b".." => {
                    way.pop();
                    if way.is_empty() {
                        let rest = left.make_contiguous().join(&b'/');
                        return self.follow_below(&[&b"../"[..], &rest].concat());
                    }
                }
                name => {
                    let entry = self.fs.lookup(CALLER, parent, name).map_err(errno)?;
                    if !entry.stat.is_symlink() {
                        way.push((entry.inode.number, entry.stat));
                        continue;
                    }
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(Errno::LOOP);
                    }
                    let target = self
                        .fs
                        .readlink(CALLER, entry.inode.number)
                        .map_err(errno)?;
                    for part in parts(&target).rev() {
                        left.push_front(part);
                    }
                    if target.starts_with(b"/") {
                        let path = left.make_contiguous().join(&b'/');
                        return self.follow_below(&path);
                    }
                }
            }
        }
        Ok(way[way.len() - 1].1.ino)
    }
}

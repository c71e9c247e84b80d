//! Law F4: a directory stream neither skips nor repeats, whatever is removed or renamed meanwhile.

use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::RawDir;

use crate::support::{Tree, at, show};

/// A directory of many names, every third in Latin-1.
fn filled(tree: &Tree, count: usize) -> BTreeSet<Vec<u8>> {
    let below = tree.directory(b"d");
    let mut visible = BTreeSet::new();
    for number in 0..count {
        let (name, shown) = if number.is_multiple_of(3) {
            let name = [format!("{number}-caf").as_bytes(), b"\xE9"].concat();
            (name, format!("{number}-café"))
        } else {
            let name = format!("{number}-plain");
            (name.clone().into_bytes(), name)
        };
        at::write_new(&below, &name, b"").unwrap();
        visible.insert(shown.into_bytes());
    }
    visible
}

/// Calls `each` with the name of each entry and the place of the next one. Reads few entries at a time.
pub(super) fn walk(dir: impl AsFd, mut each: impl FnMut(&[u8], u64)) {
    let mut buffer = [MaybeUninit::uninit(); 512];
    let mut entries = RawDir::new(dir, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            each(name, entry.next_entry_cookie());
        }
    }
}

/// What rm -rf does: each entry goes as soon as it is read.
#[test]
fn entries_removed_while_the_directory_is_read_are_each_read_once() {
    let tree = Tree::new();
    let mut expected = filled(&tree, 3000);
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let dir = mount.sub("d");
    let stream = mount.sub("d");
    walk(&stream, |name, _| {
        assert!(expected.remove(name), "{} comes twice", show(name));
        at::unlink(&dir, name).unwrap();
    });
    assert!(expected.is_empty(), "{} are skipped", expected.len());
    assert!(at::list(&dir).is_empty());
    drop((dir, stream));
    mount.stop();
}

/// One of those who read: no more when it is dropped, also by a test that fails.
struct Reading<'a>(&'a AtomicUsize);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Readers of one directory do not get in each other's way, nor do those who change it.
#[test]
fn many_readers_see_each_entry_once_while_others_come_and_go() {
    let tree = Tree::new();
    let expected = filled(&tree, 1500);
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let dir = mount.sub("d");
    let readers = AtomicUsize::new(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let _reading = Reading(&readers);
                for _round in 0..3 {
                    let mut left = expected.clone();
                    walk(mount.sub("d"), |name, _| {
                        if !name.starts_with(b"passing") {
                            assert!(left.remove(name), "{} comes twice", show(name));
                        }
                    });
                    assert!(left.is_empty(), "{} are skipped", left.len());
                }
            });
        }
        scope.spawn(|| {
            let mut number = 0;
            while readers.load(Ordering::Relaxed) > 0 && !std::thread::panicking() {
                let name = format!("passing{number}-th\u{e9}");
                at::write_new(&dir, name.as_bytes(), b"").unwrap();
                let next = format!("passing{number}");
                at::rename(&dir, name.as_bytes(), next.as_bytes()).unwrap();
                at::unlink(&dir, next.as_bytes()).unwrap();
                number += 1;
            }
        });
    });
    drop(dir);
    mount.stop();
}

/// Readers who share one open directory share its place: each entry goes to one of them.
#[test]
fn readers_of_one_open_directory_share_its_entries() {
    let tree = Tree::new();
    let expected = filled(&tree, 1500);
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let stream = mount.sub("d");
    let read = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| walk(&stream, |name, _| read.lock().unwrap().push(name.to_vec())));
        }
    });
    let read = read.into_inner().unwrap();
    assert_eq!(read.len(), expected.len());
    assert_eq!(read.into_iter().collect::<BTreeSet<_>>(), expected);
    drop(stream);
    mount.stop();
}

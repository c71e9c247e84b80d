//! Law F4: a directory stream neither skips nor repeats, whatever is hidden, removed or renamed meanwhile.

use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{RawDir, SeekFrom, renameat, seek};

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

/// Entries that stay are read once each, though others come, go and change their names.
#[test]
fn entries_that_stay_are_read_once_whatever_becomes_of_others() {
    let tree = Tree::new();
    let mut expected = filled(&tree, 3000);
    let below = at::open_dir(tree.below_dir(), b"d").unwrap();
    for number in 0..500 {
        at::write_new(&below, format!("passing{number}").as_bytes(), b"").unwrap();
    }
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let dir = mount.sub("d");
    let stream = mount.sub("d");
    let mut read = 0;
    walk(&stream, |name, _| {
        if name.starts_with(b"passing") || name.starts_with(b"new") {
            return;
        }
        assert!(expected.remove(name), "{} comes twice", show(name));
        if read % 5 == 0 && read / 5 < 500 {
            let passing = format!("passing{}", read / 5);
            match read % 3 {
                0 => at::unlink(&dir, passing.as_bytes()).unwrap(),
                1 => at::rename(&dir, passing.as_bytes(), format!("new{read}").as_bytes()).unwrap(),
                _ => at::write_new(&dir, format!("new{read}").as_bytes(), b"").unwrap(),
            }
        }
        read += 1;
    });
    assert!(expected.is_empty(), "{} are skipped", expected.len());
    drop((dir, stream));
    mount.stop();
}

/// Hidden names leave no gap in the stream, also where a whole buffer of them is hidden.
#[test]
fn hidden_entries_do_not_end_the_stream() {
    let tree = Tree::new();
    let visible = filled(&tree, 3000);
    let below = at::open_dir(tree.below_dir(), b"d").unwrap();
    for number in 0..3000 {
        at::write_new(
            &below,
            &[b"\xFFhidden", number.to_string().as_bytes()].concat(),
            b"",
        )
        .unwrap();
    }
    let mount = tree.mount(&["--legacy", "hide"]);
    let expected: Vec<Vec<u8>> = visible.into_iter().filter(|name| name.is_ascii()).collect();
    assert_eq!(at::sorted(mount.sub("d")), expected);
    mount.stop();
}

/// seekdir: from each place that was told, the stream goes on with the same entry.
#[test]
fn a_stream_goes_on_from_every_place_that_was_told() {
    let tree = Tree::new();
    filled(&tree, 600);
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let stream = mount.sub("d");
    let mut told = Vec::new();
    walk(&stream, |name, next| told.push((name.to_vec(), next)));
    assert_eq!(told.len(), 600);
    for place in (0..599).rev().step_by(7) {
        seek(&stream, SeekFrom::Start(told[place].1)).unwrap();
        let mut rest = Vec::new();
        walk(&stream, |name, _| rest.push(name.to_vec()));
        let expected: Vec<Vec<u8>> = told[place + 1..]
            .iter()
            .map(|(name, _)| name.clone())
            .collect();
        assert_eq!(rest, expected, "from place {place}");
    }
    drop(stream);
    mount.stop();
}

/// A conforming name and a legacy one that is visible under it when the first is gone: what the stream gave for one entry it gave
/// for the other too, and a program that moved each name as it read it lost files.
#[test]
fn a_stream_gives_no_name_for_two_entries_while_they_are_renamed() {
    for (options, shown) in [(&["--from=iso-8859-1"][..], "é"), (&[], "%E9")] {
        let tree = Tree::new();
        let (below, target) = (tree.directory(b"from"), tree.directory(b"to"));
        for number in 0..500 {
            let tail = format!(" {number}");
            for start in [shown.as_bytes(), b"\xE9"] {
                let name = [start, tail.as_bytes()].concat();
                at::write_new(&below, &name, &name).unwrap();
            }
        }
        let mount = tree.mount(options);
        let (from, to) = (mount.sub("from"), mount.sub("to"));
        let mut given = BTreeSet::new();
        for entry in rustix::fs::Dir::read_from(&from).unwrap() {
            let name = entry.unwrap().file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                renameat(&from, name.as_slice(), &to, name.as_slice()).unwrap();
                assert!(
                    given.insert(name.clone()),
                    "{} was given twice",
                    show(&name)
                );
            }
        }
        drop((from, to));
        assert_eq!(given.len(), 1000);
        // Those that were renamed by a spelling lie there as that.
        let contents: BTreeSet<Vec<u8>> = at::list(&target)
            .iter()
            .map(|name| at::read(&target, name).unwrap())
            .collect();
        assert_eq!(contents.len(), 1000);
        mount.stop();
    }
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

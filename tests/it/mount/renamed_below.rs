//! Law T7, the mount's part: while others give legacy names their UTF-8 ones below, as a migration does, nobody above sees a
//! name come or go.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use rustix::fs::{OFlags, RenameFlags, SeekFrom, seek};
use rustix::io::Errno;

use super::streams::walk;
use crate::support::{Mount, Tree, at, needs};

/// More than one reading of a directory gives.
const MANY: usize = 2500;

const SOME: usize = 200;

fn old(number: usize) -> Vec<u8> {
    [format!("{number}-caf").as_bytes(), b"\xE9"].concat()
}

fn new(number: usize) -> Vec<u8> {
    format!("{number}-café").into_bytes()
}

/// Runs `check` with each cache that is to be right while others rename: on a disk, where a renamed entry comes anywhere in
/// the list, and in memory, where it comes behind its end.
fn each(files: usize, check: impl Fn(&Tree, &Mount<'_>, &str)) {
    needs::fuse();
    let watch = needs::root("fanotify").then_some("--cache=watch");
    for cache in ["--cache=none", "--cache=1"].into_iter().chain(watch) {
        for tree in [Tree::new(), Tree::in_memory()] {
            for number in 0..files {
                tree.file(&old(number), b"old");
            }
            if Some(cache) == watch {
                tree.until_idle();
            }
            check(&tree, &tree.mount(&[cache, "--from=iso-8859-1"]), cache);
        }
    }
}

/// Renames each file below, never over another.
fn migrate(tree: &Tree, files: usize) {
    let below = tree.below_dir();
    for number in 0..files {
        match at::rename_with(&below, &old(number), &new(number), RenameFlags::NOREPLACE) {
            // Somebody above was first.
            Ok(()) | Err(Errno::NOENT | Errno::EXIST) => {}
            Err(errno) => panic!("{number}: {errno}"),
        }
    }
}

/// Runs `act` again and again, while the files are renamed below, and once more after that.
fn meanwhile(tree: &Tree, files: usize, act: impl Fn() + Sync) {
    let is_over = AtomicBool::new(false);
    let (acted, has_acted) = channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            act();
            acted.send(()).unwrap();
            while !is_over.load(Ordering::Acquire) {
                act();
            }
            act();
        });
        has_acted.recv().unwrap();
        migrate(tree, files);
        is_over.store(true, Ordering::Release);
    });
}

#[test]
fn t7_a_name_is_found_at_any_moment_of_its_migration() {
    each(MANY, |tree, mount, cache| {
        // The name that is renamed next.
        let next = AtomicUsize::new(0);
        meanwhile(tree, MANY, || {
            let number = next.load(Ordering::Acquire);
            let found = at::stat(mount.dir(), &new(number));
            assert!(found.is_ok(), "{cache}: {number}: {found:?}");
            let is_renamed = at::stat(tree.below_dir(), &old(number)).is_err();
            if is_renamed && number + 1 < MANY {
                next.store(number + 1, Ordering::Release);
            }
        });
    });
}

#[test]
fn t7_a_list_is_complete_at_any_moment_of_a_migration() {
    let expected: BTreeSet<Vec<u8>> = (0..MANY).map(new).collect();
    each(MANY, |tree, mount, cache| {
        meanwhile(tree, MANY, || {
            let listed = at::list(mount.dir());
            let count = listed.len();
            let names: BTreeSet<Vec<u8>> = listed.into_iter().collect();
            let lost: Vec<_> = expected.difference(&names).collect();
            assert!(lost.is_empty(), "{cache}: {} lost: {lost:?}", lost.len());
            assert_eq!(names, expected, "{cache}: others");
            assert_eq!(count, MANY, "{cache}: twice in a list");
        });
    });
}

/// Sought back, a stream gives what was renamed since from its new place, as the directory below does.
#[test]
fn f4_a_list_that_is_sought_back_has_what_was_renamed_since() {
    each(SOME, |tree, mount, cache| {
        if cache == "--cache=watch" {
            // The kernel may give the list that it kept, in its order.
            return;
        }
        let below = at::open_dir(tree.below_dir(), b".").unwrap();
        let above = at::open_dir(mount.dir(), b".").unwrap();
        let mut told = Vec::new();
        walk(&above, |_, next| told.push(next));
        assert_eq!(told.len(), SOME);
        migrate(tree, SOME);
        let mut count = 0;
        for place in told {
            let rest = [&above, &below].map(|stream| {
                seek(stream, SeekFrom::Start(place)).unwrap();
                let mut names = BTreeSet::new();
                walk(stream, |name, _| {
                    names.insert(name.to_vec());
                });
                names
            });
            assert_eq!(rest[0], rest[1], "{cache}");
            count += rest[0].len();
        }
        assert!(count > 0, "{cache}: nothing comes after any place");
    });
}

#[test]
fn n11_what_is_replaced_above_while_it_is_renamed_below_is_there_once() {
    each(SOME, |tree, mount, cache| {
        let above = mount.dir();
        thread::scope(|scope| {
            scope.spawn(|| migrate(tree, SOME));
            for number in 0..SOME {
                let file = at::open(above, b"new", OFlags::CREATE | OFlags::WRONLY).unwrap();
                at::write_all(&file, b"new").unwrap();
                drop(file);
                at::rename(above, b"new", &new(number)).unwrap();
                let made = at::create_new(above, &new(number));
                assert_eq!(made.err(), Some(Errno::EXIST), "{cache}: {number}");
            }
        });
        let below = tree.below_dir();
        for number in 0..SOME {
            let old = at::read(&below, &old(number));
            let new = at::read(&below, &new(number));
            assert!(old.is_err() || new.is_err(), "{cache}: {number}: twice");
            assert_eq!(old.or(new).unwrap(), b"new", "{cache}: {number}");
        }
    });
}

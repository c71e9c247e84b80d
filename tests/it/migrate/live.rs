//! Law T7: a mount over the tree, with a reader and a writer at work, while the tree below is migrated and taken back.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::{migrate, utf8fs};
use crate::support::random::Random;
use crate::support::wait::until;
use crate::support::{Mount, Tree, at, show};

const DIRECTORIES: usize = 40;
const FILES: usize = 60;

fn directory(index: usize) -> (String, Vec<u8>) {
    (
        format!("dépôt {index}"),
        [b"d\xE9p\xF4t ", index.to_string().as_bytes()].concat(),
    )
}

fn file(index: usize) -> (String, Vec<u8>) {
    (
        format!("été à {index}.txt"),
        [b"\xE9t\xE9 \xE0 ", index.to_string().as_bytes(), b".txt"].concat(),
    )
}

/// A link in each directory that leads into the next one.
fn link(place: usize) -> (String, Vec<u8>) {
    let (place, file) = (directory((place + 1) % DIRECTORIES), file(0));
    (
        format!("../{}/{}", place.0, file.0),
        [b"../", &*place.1, b"/", &*file.1].concat(),
    )
}
const LINK: (&str, &[u8]) = ("là", b"l\xE0");

/// What stands beside a link while it gets another target.
const BESIDE: &[u8] = b".utf8fs-";

fn plant(tree: &Tree) {
    for place in 0..DIRECTORIES {
        let dir = tree.directory(&directory(place).1);
        at::symlink(&link(place).1, &dir, LINK.1).unwrap();
        for index in 0..FILES {
            at::write_new(&dir, &file(index).1, format!("{place} {index}").as_bytes()).unwrap();
        }
    }
}

/// Lists directories, and opens what is in them by visible names, until it is over; how often it did.
fn read(mount: &Mount<'_>, seed: u64, is_over: &AtomicBool, rounds: &AtomicUsize) {
    let mut random = Random::new(seed);
    let mut pick = |end: usize| usize::try_from(random.below(u64::try_from(end).unwrap())).unwrap();
    let files = (0..FILES).map(|index| file(index).0);
    let expected: BTreeSet<Vec<u8>> = files
        .chain([LINK.0.to_owned()])
        .map(String::into_bytes)
        .collect();
    while !is_over.load(Ordering::Relaxed) {
        let place = pick(DIRECTORIES);
        let name = directory(place).0;
        let dir = at::open_dir(mount.dir(), name.as_bytes())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let listed: BTreeSet<Vec<u8>> = at::list(&dir).into_iter().collect();
        if let Some(missing) = expected.difference(&listed).next() {
            panic!("{} of {name} is not listed", show(missing));
        }
        let others = listed
            .difference(&expected)
            .filter(|other| !other.starts_with("neu ü".as_bytes()) && !other.starts_with(BESIDE));
        assert_eq!(
            others.map(|name| show(name)).collect::<Vec<_>>(),
            Vec::<String>::new()
        );
        let target = at::readlink(&dir, LINK.0.as_bytes()).unwrap();
        assert_eq!(show(&target), show(link(place).0.as_bytes()));
        let content = std::fs::read(mount.point().join(&name).join(LINK.0))
            .unwrap_or_else(|error| panic!("{place} {}: {error}", LINK.0));
        assert_eq!(
            content,
            format!("{} 0", (place + 1) % DIRECTORIES).as_bytes()
        );
        for _ in 0..8 {
            let index = pick(FILES);
            let name = file(index).0;
            let content = at::read(&dir, name.as_bytes())
                .unwrap_or_else(|error| panic!("{place} {name}: {error}"));
            assert_eq!(content, format!("{place} {index}").as_bytes());
            // By its whole path as well, from the root of the mount.
            let path = format!("{}/{name}", directory(place).0);
            at::stat(mount.dir(), path.as_bytes())
                .unwrap_or_else(|error| panic!("{path}: {error}"));
        }
        rounds.fetch_add(1, Ordering::Relaxed);
    }
}

/// Makes, renames, links, writes and removes files of its own beside those that are migrated.
fn write(mount: &Mount<'_>, seed: u64, is_over: &AtomicBool, rounds: &AtomicUsize) {
    let mut random = Random::new(seed);
    let mut pick = |end: usize| usize::try_from(random.below(u64::try_from(end).unwrap())).unwrap();
    let mut number = 0;
    while !is_over.load(Ordering::Relaxed) {
        number += 1;
        let place = directory(pick(DIRECTORIES)).0;
        let dir = at::open_dir(mount.dir(), place.as_bytes()).unwrap();
        let (one, other) = (format!("neu ü {number}"), format!("neu ü {number} b"));
        at::write_new(&dir, one.as_bytes(), b"new").unwrap();
        at::rename(&dir, one.as_bytes(), other.as_bytes()).unwrap();
        at::link(&dir, other.as_bytes(), one.as_bytes()).unwrap();
        assert_eq!(at::read(&dir, one.as_bytes()).unwrap(), b"new");
        at::unlink(&dir, other.as_bytes()).unwrap();
        at::unlink(&dir, one.as_bytes()).unwrap();
        // An old file is written to in place, with the content that it has.
        let index = pick(FILES);
        let name = file(index).0;
        let open = at::open(&dir, name.as_bytes(), rustix::fs::OFlags::WRONLY);
        let open = open.unwrap_or_else(|error| panic!("{place} {name}: {error}"));
        let content = std::fs::read_to_string(mount.point().join(&place).join(&name)).unwrap();
        at::write_all(&open, content.as_bytes()).unwrap();
        rounds.fetch_add(1, Ordering::Relaxed);
    }
}

fn hammer(options: &[&str]) {
    let tree = Tree::new();
    plant(&tree);
    let mount = tree.mount(&[&["--from", "iso-8859-1"], options].concat());
    let is_over = AtomicBool::new(false);
    let rounds = [
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    ];
    std::thread::scope(|scope| {
        let workers = [
            scope.spawn(|| read(&mount, 1, &is_over, &rounds[0])),
            scope.spawn(|| read(&mount, 2, &is_over, &rounds[1])),
            scope.spawn(|| write(&mount, 3, &is_over, &rounds[2])),
        ];
        // All of them are at work before it starts, and after it ended.
        let turn = || {
            let before: Vec<usize> = rounds
                .iter()
                .map(|count| count.load(Ordering::Relaxed))
                .collect();
            let has_turned = || {
                rounds
                    .iter()
                    .zip(&before)
                    .all(|(count, before)| count.load(Ordering::Relaxed) > *before)
            };
            let has_failed = || {
                workers
                    .iter()
                    .any(std::thread::ScopedJoinHandle::is_finished)
            };
            until(|| has_turned() || has_failed());
        };
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            turn();
            for round in 0..3 {
                let journal = format!("journal {round}");
                let arguments = [
                    "--from",
                    "iso-8859-1",
                    "--apply",
                    "--journal",
                    &journal,
                    "backing",
                ];
                let run = migrate(tree.parent(), &arguments);
                let names = DIRECTORIES * (FILES + 2);
                let (thousands, rest) = (names / 1000, names % 1000);
                let words = format!(
                    "{thousands},{rest:03} names changed, {DIRECTORIES} links led to new names"
                );
                assert!(run.stderr.contains(&words), "{run:?}");
                assert_eq!(run.code, Some(0), "{run:?}");
                turn();
                utf8fs(tree.parent(), &[b"undo", b"--apply", journal.as_bytes()]).expect(0);
                turn();
            }
        }));
        is_over.store(true, Ordering::Relaxed);
        if let Err(panic) = result {
            std::panic::resume_unwind(panic);
        }
    });
    let names = at::sorted(mount.dir());
    assert_eq!(names.len(), DIRECTORIES);
    mount.stop();
}

#[test]
fn t7_no_operation_fails_and_no_name_blinks_while_the_tree_below_is_migrated() {
    hammer(&[]);
}

#[test]
fn t7_so_it_is_where_nothing_is_kept() {
    hammer(&["--cache", "none"]);
}

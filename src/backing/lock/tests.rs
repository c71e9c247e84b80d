//! Two descriptors of one file, one opened like a program's below.

use std::fs::{File, OpenOptions};
use std::path::Path;

use super::{Holder, LockKind, LockRange, access, flock, set, test};

const SOME: LockRange = LockRange { start: 10, end: 19 };

fn open(path: &Path) -> File {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .unwrap()
}

#[test]
fn ranges_are_locked_by_descriptor_and_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let (one, other) = (open(&path), open(&path));
    let write = Some(LockKind::Write);
    assert!(set(&one, write, SOME).unwrap());
    assert!(set(&one, write, SOME).unwrap(), "its own");
    let beside = LockRange { start: 20, end: 29 };
    assert!(set(&other, write, beside).unwrap());
    let over = LockRange { start: 0, end: 10 };
    assert!(!set(&other, write, over).unwrap());
    let holder = Holder {
        range: SOME,
        kind: LockKind::Write,
        pid: None,
    };
    assert_eq!(test(&other, LockKind::Read, over).unwrap(), Some(holder));
    assert!(set(&one, None, LockRange::WHOLE).unwrap());
    assert_eq!(test(&other, LockKind::Read, over).unwrap(), None);
    assert!(set(&other, Some(LockKind::Read), LockRange::WHOLE).unwrap());
    let holder = test(&one, LockKind::Write, SOME).unwrap().unwrap();
    assert_eq!(
        (holder.range, holder.kind),
        (LockRange::WHOLE, LockKind::Read)
    );
}

#[test]
fn ranges_at_the_edges_are_taken_or_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = open(&dir.path().join("file"));
    let most = LockRange::WHOLE.end;
    let rows = [
        (0, most, true),
        (0, u64::MAX, true),
        (most, most, true),
        (most - 1, most - 1, true),
        (0, 0, true),
        (most + 1, u64::MAX, false),
        (5, 4, false),
    ];
    for (start, end, is_fit) in rows {
        let range = LockRange { start, end };
        let done = set(&file, Some(LockKind::Read), range);
        assert_eq!(done.is_ok(), is_fit, "{range:?}: {done:?}");
    }
}

#[test]
fn flocks_are_apart_from_ranges() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let (one, other) = (open(&path), open(&path));
    assert!(flock(&one, Some(LockKind::Write)).unwrap());
    assert!(!flock(&other, Some(LockKind::Read)).unwrap());
    assert!(set(&other, Some(LockKind::Write), LockRange::WHOLE).unwrap());
    assert!(flock(&one, Some(LockKind::Read)).unwrap());
    assert!(flock(&other, Some(LockKind::Read)).unwrap());
    assert!(!flock(&other, Some(LockKind::Write)).unwrap());
    assert!(flock(&one, None).unwrap());
    assert!(flock(&other, Some(LockKind::Write)).unwrap());
}

#[test]
fn access_is_what_a_file_was_opened_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    assert_eq!(access(open(&path)).unwrap(), libc::O_RDWR);
    assert_eq!(access(File::open(&path).unwrap()).unwrap(), libc::O_RDONLY);
    let written = OpenOptions::new().append(true).open(&path).unwrap();
    assert_eq!(access(written).unwrap(), libc::O_WRONLY);
}

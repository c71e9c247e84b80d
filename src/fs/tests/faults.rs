//! Backing directories that go away.

use rustix::io::Errno;

use super::{CALLER, ROOT, Scratch, map};
use crate::at;
use crate::names::Legacy;

#[test]
fn a_backing_directory_that_is_removed_is_empty_above_and_takes_nothing_new() {
    let scratch = Scratch::new(map(Legacy::Escape, &[]), &[b"file"]);
    let dir = scratch.root();
    let file = scratch.fs.lookup(CALLER, ROOT, b"file").unwrap().inode;
    let opened = scratch.fs.open(CALLER, file.number, libc::O_RDONLY);
    let handle = opened.unwrap().handle;
    std::fs::remove_dir_all(scratch.below.path()).unwrap();
    assert_eq!(dir.stat(b"file"), Err(Errno::NOENT));
    assert_eq!(dir.mkdir(b"new"), Err(Errno::NOENT));
    assert_eq!(dir.write_new(b"new", b""), Err(Errno::NOENT));
    // As a directory below that was removed while it was open.
    let listed = dir.list_numbers();
    assert!(
        matches!(&listed, Ok(entries) if entries.is_empty()) || listed == Err(Errno::NOENT),
        "{listed:?}"
    );
    let mut content = [0; 10];
    let read = scratch.fs.read(handle, 0, &mut content).unwrap();
    assert_eq!(&content[..read], b"file");
    scratch.fs.release(handle);
}

#[test]
fn a_backing_directory_that_is_replaced_is_shown_as_the_one_it_was() {
    let scratch = Scratch::new(map(Legacy::Escape, &[]), &[b"file"]);
    let elsewhere = tempfile::tempdir().unwrap();
    rustix::fs::rename(scratch.below.path(), elsewhere.path()).unwrap();
    std::fs::create_dir(scratch.below.path()).unwrap();
    for name in [&b"file"[..], b"another"] {
        std::fs::write(scratch.path(name), "new").unwrap();
    }
    let dir = scratch.root();
    assert_eq!(dir.read(b"file").unwrap(), b"file");
    assert_eq!(dir.stat(b"another"), Err(Errno::NOENT));
    dir.write_new(b"made", b"").unwrap();
    let below = at::open_dir_path(elsewhere.path());
    assert_eq!(at::sorted(&below), [b"file", b"made"]);
}

//! What a rename leaves under the old name, and replaces under the new one.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};

use super::{Caller, Config, Legacy, NameMap, OnViolation, ROOT, Scratch, Utf8Fs, config, map};
use crate::at;
use crate::backing::{Dir, Kind};
use crate::fs::FsError;
use crate::os::Privilege;
use crate::os::credentials::keep_capabilities;

/// The names of the directory were kept as if the old name were gone, and the whiteout under it was not found.
#[test]
fn a_whiteout_is_seen_under_the_name_that_it_took() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let scratch = Scratch::new(map(Legacy::Decode, &["iso-8859-1"]), &[b"caf\xE9"]);
    let (dir, café) = (scratch.root(), "café".as_bytes());
    dir.stat(café).unwrap();
    dir.rename_with(café, b"gone", libc::RENAME_WHITEOUT)
        .unwrap();
    assert_eq!(dir.stat(café).unwrap().kind(), Kind::CharDevice);
    assert_eq!(dir.read(b"gone").unwrap(), b"caf\xE9");
}

/// A rename onto a listed raw name made a second entry, by the name that `normalize` makes of it.
#[test]
fn a_rename_onto_a_raw_name_replaces_it_under_normalize() {
    let raw = NameMap {
        on_violation: OnViolation::Normalize,
        ..map(Legacy::Raw, &["iso-8859-1"])
    };
    let scratch = Scratch::new(raw, &[b"caf\xE9", b"new"]);
    let dir = scratch.root();
    dir.rename(b"new", b"caf\xE9").unwrap();
    assert_eq!(dir.sorted(), [b"caf\xE9"]);
    assert_eq!(dir.read(b"caf\xE9").unwrap(), b"new");
    assert_eq!(at::list(scratch.below_dir()), [b"caf\xE9"]);
}

/// Law F1: whatever the kernel knew by the name when it judged.
#[test]
fn f1_in_a_sticky_directory_a_file_of_another_is_neither_removed_nor_renamed_nor_replaced() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    keep_capabilities().unwrap();
    let below = tempfile::tempdir().unwrap();
    let path = |name: &str| below.path().join(name);
    std::fs::set_permissions(below.path(), Permissions::from_mode(0o1777)).unwrap();
    for (name, owner) in [("other", 0), ("own", 1000), ("own2", 1000)] {
        std::fs::write(path(name), "").unwrap();
        chown(path(name), Some(owner), None).unwrap();
    }
    let root = Dir::open_root(below.path()).unwrap().into_fd();
    let fs = Utf8Fs::new(Config {
        privilege: Privilege::Root,
        ..config(root, map(Legacy::Escape, &[]))
    });
    let fs = fs.unwrap();
    let user = |pid| Caller {
        pid,
        uid: 1000,
        gid: 1000,
    };
    let rename = |pid, old: &[u8], new: &[u8]| {
        fs.rename(user(pid), (ROOT, old), (ROOT, new), 0, || Ok(()))
            .map(drop)
    };
    let unlink = |pid, name: &[u8]| fs.unlink(user(pid), ROOT, name);
    let perm = |done: Result<(), FsError>| assert_eq!(done.unwrap_err().errno(), libc::EPERM);
    perm(unlink(0, b"other"));
    perm(rename(0, b"other", b"new"));
    perm(rename(0, b"own", b"other"));
    unlink(0, b"own2").unwrap();
    rename(0, b"own", b"new").unwrap();
    // One who has `CAP_FOWNER` may.
    unlink(std::process::id(), b"other").unwrap();
    assert_eq!(
        at::list(std::fs::File::open(below.path()).unwrap()),
        [b"new"]
    );
}

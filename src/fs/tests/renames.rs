//! What a rename leaves under the old name, and replaces under the new one.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::{Child, Command, Stdio};

use super::{Caller, Legacy, NameMap, OnViolation, ROOT, Scratch, Utf8Fs, config, map};
use crate::at;
use crate::backing::{Dir, Kind};
use crate::fs::audit::Operation;
use crate::fs::resolve::Resolved;
use crate::fs::{FsError, NewEntry};
use crate::names::{BackingName, VisibleName};
use crate::os::credentials::keep_capabilities;
use crate::os::{Privilege, status_field};

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

/// A sticky directory and root's mount of it.
fn sticky() -> (tempfile::TempDir, Utf8Fs) {
    keep_capabilities().unwrap();
    let below = tempfile::tempdir().unwrap();
    std::fs::set_permissions(below.path(), Permissions::from_mode(0o1777)).unwrap();
    chown(below.path(), Some(3000), None).unwrap();
    let root = Dir::open_root(below.path()).unwrap().into_fd();
    let mut config = config(root, map(Legacy::Escape, &["iso-8859-1"]));
    config.settings.privilege = Privilege::Root;
    (below, Utf8Fs::new(config).unwrap())
}

fn caller(uid: u32, pid: u32) -> Caller {
    Caller { pid, uid, gid: uid }
}

/// Starts a shell by `command` that waits, and returns its number.
fn waiting(command: &[&str]) -> (Child, u32) {
    let mut child = Command::new(command[0])
        .args(&command[1..])
        .args(["sh", "-c", "echo; read line"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let read = child.stdout.as_mut().unwrap().read(&mut [0]).unwrap();
    assert_eq!(read, 1, "{command:?}");
    let pid = child.id();
    (child, pid)
}

/// Law F1: whatever the kernel knew by the name when it judged.
#[test]
fn f1_in_a_sticky_directory_a_file_of_another_is_neither_removed_nor_renamed_nor_replaced() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (below, fs) = sticky();
    let path = |name: &str| below.path().join(name);
    for (name, owner) in [
        ("other", 0),
        ("own", 1000),
        ("own2", 1000),
        ("third", 2000),
        ("fourth", 2000),
    ] {
        std::fs::write(path(name), "").unwrap();
        chown(path(name), Some(owner), None).unwrap();
    }
    let unlink = |caller, name: &[u8]| fs.unlink(caller, ROOT, name);
    let perm = |done: Result<(), FsError>| assert_eq!(done.unwrap_err().errno(), libc::EPERM);
    let without = ["setpriv", "--bounding-set=-fowner", "--inh-caps=-fowner"];
    let (weak, weak_pid) = waiting(&without);
    // Whoever has a namespace of his own has all capabilities in it.
    let (inside, inside_pid) = waiting(&["unshare", "--user", "--map-root-user"]);
    for user in [
        caller(1000, 0),
        caller(1000, inside_pid),
        caller(0, weak_pid),
    ] {
        let rename = |old: &[u8], new: &[u8]| fs.rename_at_once(user, (ROOT, old), (ROOT, new), 0);
        perm(unlink(user, b"third"));
        perm(rename(b"third", b"new").map(drop));
        perm(rename(if user.uid == 0 { b"other" } else { b"own" }, b"third").map(drop));
    }
    let strong = [
        "setpriv",
        "--reuid=1000",
        "--inh-caps=+fowner",
        "--ambient-caps=+fowner",
    ];
    let (strong, strong_pid) = waiting(&strong);
    // One who has it may, and root where that cannot be told, or a filesystem acts as root for a user.
    unlink(caller(1000, strong_pid), b"other").unwrap();
    unlink(caller(0, 0), b"third").unwrap();
    unlink(caller(0, strong_pid), b"fourth").unwrap();
    for mut child in [weak, inside, strong] {
        drop(child.stdin.take());
        child.wait().unwrap();
    }
    unlink(caller(1000, 0), b"own2").unwrap();
    let own = (ROOT, &b"own"[..]);
    fs.rename_at_once(caller(1000, 0), own, (ROOT, b"new"), 0)
        .unwrap();
    assert_eq!(
        at::list(std::fs::File::open(below.path()).unwrap()),
        [b"new"]
    );
}

/// Law F1: the conforming name that others gave a file of theirs in that moment.
#[test]
fn f1_in_a_sticky_directory_a_rename_overtakes_no_file_of_another() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    for (uid, is_replaced) in [(1000, false), (0, true)] {
        let (below, fs) = sticky();
        let visible = VisibleName::parse("café".as_bytes()).unwrap();
        let legacy = BackingName::parse(b"caf\xE9").unwrap();
        for (name, owner) in [(visible.as_bytes(), 2000), (legacy.as_bytes(), uid)] {
            let path = below.path().join(OsStr::from_bytes(name));
            std::fs::write(&path, "").unwrap();
            chown(&path, Some(owner), None).unwrap();
        }
        let mut entry = Resolved {
            backing: legacy.clone(),
            visible,
            alias: false,
        };
        let asked = entry.visible.clone();
        let new = NewEntry {
            caller: caller(uid, 0),
            parent: ROOT,
            name: asked.as_bytes(),
            mode: 0,
            umask: 0,
        };
        let making = fs.making(Operation::Rename, &new).unwrap();
        fs.overtake(&making, &mut entry).unwrap();
        assert_eq!(entry.backing != legacy, is_replaced);
        let names = at::list(std::fs::File::open(below.path()).unwrap());
        assert_eq!(names.len(), 2 - usize::from(is_replaced));
    }
}

/// Law F1: the kernel goes by them where it keeps space for root, and counts what a user has.
#[test]
fn f1_names_and_attributes_are_changed_with_the_credentials_of_the_caller() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (below, fs) = sticky();
    let acts_as = |uid: u32, done: Result<(), FsError>| {
        done.unwrap();
        let status = std::fs::read("/proc/thread-self/status").unwrap();
        let ids = status_field(&status, "Uid:");
        assert_eq!(ids.rsplit('\t').next().unwrap(), uid.to_string(), "{ids}");
    };
    for uid in [1000, 0, 1000] {
        for name in ["a", "b"] {
            std::fs::write(below.path().join(name), "").unwrap();
            chown(below.path().join(name), Some(uid), None).unwrap();
        }
        let (user, other) = (caller(uid, 0), caller(1000 - uid, 0));
        let number = fs.lookup(user, ROOT, b"a").unwrap().inode.number;
        let turn = || fs.become_caller(other, 0).unwrap();
        turn();
        let value = Some((&b"value"[..], 0));
        acts_as(uid, fs.change_xattr(user, number, b"user.x", value));
        turn();
        let rename = fs.rename_at_once(user, (ROOT, b"a"), (ROOT, b"b"), 0);
        acts_as(uid, rename.map(drop));
        turn();
        acts_as(uid, fs.unlink(user, ROOT, b"b"));
    }
}

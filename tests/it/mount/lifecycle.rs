//! Law F7: how a mount begins and ends.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use rustix::process::Signal;

use super::nested::umount;
use crate::support::mount::{binary, detach, means_dead, mounted, wait_until_unmounted};
use crate::support::{Tree, at, needs};

/// SIGTERM and SIGINT unmount what can be found by a type of its own, and the daemon ends with success.
#[test]
fn signals_unmount() {
    for signal in [Signal::TERM, Signal::INT] {
        let tree = Tree::new();
        tree.file(b"file", b"content");
        let mount = tree.mount(&[]);
        assert_eq!(mounted(&mount.point()).as_deref(), Some("fuse.utf8fs"));
        assert_eq!(at::read(mount.dir(), b"file").unwrap(), b"content");
        mount.signal(signal);
        mount.finish();
        assert!(at::list(at::open_dir_path(&tree.point())).is_empty());
    }
}

/// umount(8) ends the daemon.
#[test]
fn unmounting_from_outside_ends_the_daemon() {
    let tree = Tree::new();
    let mut mount = tree.mount(&[]);
    mount.close();
    umount(&mount.point());
    mount.finish();
}

/// SIGTERM unmounts though a file is open; the file is lost to its user no later than the daemon ends.
#[test]
fn a_signal_unmounts_a_busy_mount() {
    let tree = Tree::new();
    tree.file(b"file", b"content");
    let mut mount = tree.mount(&[]);
    mount.close();
    mount.allow_warning("is still in use");
    let file = at::open(mount.dir(), b"file", OFlags::RDONLY).unwrap();
    mount.signal(Signal::TERM);
    wait_until_unmounted(&mount.point());
    drop(file);
    mount.finish();
}

/// What was written before a kill is there, and the same place can be mounted again at once.
#[test]
fn a_killed_daemon_loses_nothing_and_is_mounted_again_at_once() {
    if !needs::root("mounting over a dead mount") {
        return;
    }
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"old");
    let options = ["--from", "iso-8859-1"];
    let mount = tree.mount(&options);
    let dir = at::open_dir_path(&mount.point());
    at::write_new(&dir, "neu-é".as_bytes(), b"written").unwrap();
    at::rename(&dir, "café".as_bytes(), b"coffee").unwrap();
    let before = at::sorted(&dir);
    mount.kill();
    // The kernel may still know what it has asked before.
    let after = at::mkdir(&dir, b"after").unwrap_err();
    assert!(means_dead(after), "{after}");
    drop(dir);
    let below = tree.below_dir();
    assert_eq!(
        at::sorted(&below),
        ["coffee".as_bytes(), "neu-é".as_bytes()]
    );
    assert_eq!(at::read(&below, "neu-é".as_bytes()).unwrap(), b"written");
    let mut mount = tree.mount(&options);
    mount.allow_warning("is dead: its daemon was killed");
    assert_eq!(at::sorted(mount.dir()), before, "N4");
    mount.stop();
    detach(&tree.point());
}

/// --background returns only when the mount answers.
#[test]
fn in_the_background_the_command_returns_when_the_mount_answers() {
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"content");
    let status = Command::new(binary())
        .args(["mount", "--background", "--from", "iso-8859-1"])
        .arg(tree.backing())
        .arg(tree.point())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    // At once, with nothing to wait for.
    let kind = mounted(&tree.point());
    let listed = at::list(at::open_dir_path(&tree.point()));
    assert!(status.success());
    assert_eq!(kind.as_deref(), Some("fuse.utf8fs"));
    assert_eq!(listed, ["café".as_bytes()]);
    umount(&tree.point());
}

/// The daemon lets go of its root before it logs that the mount is shown: whoever reads that can unmount at once.
#[test]
fn a_mount_can_be_unmounted_as_soon_as_it_is_said_to_be_shown() {
    if !needs::root("umount(2)") {
        return;
    }
    for sandbox in ["full", "none"].repeat(10) {
        let tree = Tree::new();
        let mut daemon = Command::new(binary())
            .args(["mount", "--sandbox", sandbox])
            .args([tree.backing(), tree.point()])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(daemon.stderr.take().unwrap()).lines();
        let is_shown = log.any(|line| line.unwrap().contains("is shown at"));
        let unmounted = rustix::mount::unmount(tree.point(), UnmountFlags::empty());
        detach(&tree.point());
        log.for_each(drop);
        let status = daemon.wait().unwrap();
        assert_eq!((is_shown, unmounted), (true, Ok(())), "{sandbox}");
        assert!(status.success(), "{sandbox}: {status}");
    }
}

/// --background says so when nothing can be mounted.
#[test]
fn in_the_background_the_command_fails_when_nothing_is_mounted() {
    let tree = Tree::new();
    let output = Command::new(binary())
        .args(["mount", "--background"])
        .arg(tree.parent().join("missing"))
        .arg(tree.point())
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(!output.stderr.is_empty());
    assert_eq!(mounted(&tree.point()), None);
}

/// Law F2: mounting over the backing directory itself works.
#[test]
fn the_backing_directory_can_be_covered_by_its_own_mount() {
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"content");
    let held = tree.below_dir();
    let point = tree.point();
    std::fs::remove_dir(&point).unwrap();
    std::os::unix::fs::symlink("backing", &point).unwrap();
    let real = tree.backing();
    let status = Command::new(binary())
        .args(["mount", "--background", "--from", "iso-8859-1"])
        .args([&real, &real])
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let above = at::open_dir_path(&real);
    let listed = at::list(&above);
    let made = at::write_new(&above, "é".as_bytes(), b"new");
    let content = at::read(&above, "café".as_bytes());
    drop(above);
    detach(&real);
    assert!(status.success());
    assert_eq!(listed, ["café".as_bytes()]);
    assert_eq!(made, Ok(()));
    assert_eq!(content.unwrap(), b"content");
    assert_eq!(at::sorted(&held), [&b"caf\xE9"[..], "é".as_bytes()]);
}

/// -o ro: nothing can be changed.
#[test]
fn a_read_only_mount_changes_nothing() {
    let tree = Tree::new();
    tree.file(b"file", b"content");
    let mount = tree.mount(&["-o", "ro"]);
    let dir = mount.dir();
    assert_eq!(at::mkdir(dir, b"new"), Err(Errno::ROFS));
    assert_eq!(at::unlink(dir, b"file"), Err(Errno::ROFS));
    assert_eq!(at::read(dir, b"file").unwrap(), b"content");
    mount.stop();
}

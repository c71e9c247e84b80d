//! Laws F2, F7: mounts on mounts, over directories in use, and twice.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::support::mount::{binary, detach, mounted};
use crate::support::wait::PATIENCE;
use crate::support::{Tree, at, needs, status};

/// Mounts in the background.
fn background(backing: &Path, point: &Path, options: &[&str]) -> Output {
    Command::new(binary())
        .args([
            "mount",
            "--background",
            "--quiet",
            "--audit-log",
            "/dev/null",
        ])
        .args(options)
        .args([backing, point])
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Has umount(8) take a mount away that nobody uses.
pub(super) fn umount(point: &Path) {
    let (program, option) = if needs::is_root() {
        ("umount", "--")
    } else {
        ("fusermount3", "-u")
    };
    let mut command = Command::new(program);
    let output = command.arg(option).arg(point).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A mount in the background that goes with the test.
pub(super) struct Beside {
    point: PathBuf,
    daemon: Option<OwnedFd>,
}

impl Beside {
    pub(super) fn start(backing: &Path, point: &Path, options: &[&str]) -> Self {
        let mut beside = Self {
            point: point.to_owned(),
            daemon: None,
        };
        let output = background(backing, point, options);
        assert!(output.status.success(), "{output:?}");
        let pid = status::of(point)["pid"].as_i64().unwrap();
        let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
        beside.daemon = Some(pidfd_open(pid, PidfdFlags::empty()).unwrap());
        beside
    }

    /// Unmounts it and waits for the end of its daemon, which has in use until then what it shows.
    pub(super) fn stop(mut self) {
        umount(&self.point);
        let daemon = self.daemon.take().unwrap();
        let patience = Timespec::try_from(PATIENCE).unwrap();
        let mut fds = [PollFd::new(&daemon, PollFlags::IN)];
        let ended = poll(&mut fds, Some(&patience)).unwrap();
        assert_eq!(ended, 1, "its daemon does not end");
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        detach(&self.point);
    }
}

/// A place is taken by one mount of ours at a time, also where it covers its own backing directory.
#[test]
fn a_mount_point_in_use_is_refused() {
    let tree = Tree::new();
    tree.file(b"file", b"content");
    let mount = tree.mount(&[]);
    for backing in [tree.backing(), mount.point()] {
        let output = background(&backing, &mount.point(), &[]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("is mounted already"), "{said}");
    }
    assert_eq!(at::read(mount.dir(), b"file").unwrap(), b"content");
    mount.stop();
    let over = Beside::start(&tree.backing(), &tree.backing(), &[]);
    let output = background(&tree.backing(), &tree.backing(), &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    over.stop();
    assert_eq!(at::read(tree.below_dir(), b"file").unwrap(), b"content");
}

/// A mount point may be in use: who has it open sees what is below the mount, as with any filesystem.
#[test]
fn a_directory_in_use_is_mounted_over() {
    let tree = Tree::new();
    tree.file(b"shown", b"");
    std::fs::write(tree.point().join("covered"), "covered").unwrap();
    let held = at::open_dir_path(&tree.point());
    let mut inside = Command::new("cat")
        .current_dir(tree.point())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mount = tree.mount(&[]);
    assert_eq!(at::list(mount.dir()), [b"shown"]);
    assert_eq!(at::list(&held), [b"covered"]);
    assert_eq!(at::read(&held, b"covered").unwrap(), b"covered");
    mount.stop();
    drop(inside.stdin.take());
    assert!(inside.wait().unwrap().success());
    assert_eq!(at::list(at::open_dir_path(&tree.point())), [b"covered"]);
}

/// One backing directory at two places with two mappings: what is made at one is at the other, and names of the same
/// file differ.
#[test]
fn one_directory_is_mounted_at_two_places() {
    let (tree, other) = (Tree::new(), Tree::new());
    tree.file(b"caf\xE9", b"content");
    let mount = tree.mount(&["--from", "iso-8859-1", "--cache", "none"]);
    let beside = Beside::start(&tree.backing(), &other.point(), &["--cache", "none"]);
    let second = at::open_dir_path(&other.point());
    assert_eq!(at::list(mount.dir()), ["café".as_bytes()]);
    assert_eq!(at::list(&second), [b"caf%E9"]);
    at::write_new(mount.dir(), b"new", b"1").unwrap();
    assert_eq!(at::read(&second, b"new").unwrap(), b"1");
    at::rename(&second, b"new", b"renamed").unwrap();
    assert_eq!(at::stat(mount.dir(), b"new").err(), Some(Errno::NOENT));
    at::unlink(mount.dir(), b"renamed").unwrap();
    assert_eq!(at::read(&second, b"renamed").err(), Some(Errno::NOENT));
    let numbers = [
        at::stat(mount.dir(), "café".as_bytes()).unwrap().st_ino,
        at::stat(&second, b"caf%E9").unwrap().st_ino,
    ];
    assert_eq!(numbers[0], numbers[1]);
    drop(second);
    beside.stop();
    mount.stop();
}

/// A utf8fs over a utf8fs: the second sees the visible names of the first, and a policy of its own.
#[test]
fn a_mount_is_mounted_again() {
    let (tree, other) = (Tree::new(), Tree::new());
    tree.file(b"caf\xE9", b"content");
    drop(tree.directory(b"d"));
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let options = ["--profile", "portable", "--cache", "none"];
    let beside = Beside::start(&mount.point(), &other.point(), &options);
    let second = at::open_dir_path(&other.point());
    assert_eq!(at::sorted(&second), ["café".as_bytes(), b"d"]);
    assert_eq!(at::read(&second, "café".as_bytes()).unwrap(), b"content");
    at::rename(&second, "café".as_bytes(), "d/thé".as_bytes()).unwrap();
    assert_eq!(at::mkdir(&second, b"con:"), Err(Errno::ILSEQ));
    assert_eq!(at::mkdir(mount.dir(), b"con:"), Ok(()));
    let d = at::open_dir(tree.below_dir(), b"d").unwrap();
    assert_eq!(at::list(&d), ["thé".as_bytes()]);
    at::unlink(&second, "d/thé".as_bytes()).unwrap();
    at::rmdir(&second, b"d").unwrap();
    assert_eq!(at::list(tree.below_dir()), [b"con:"]);
    drop(second);
    beside.stop();
    mount.stop();
}

/// A mount point that lies in another utf8fs mount, whose directory is busy then.
#[test]
fn a_mount_point_lies_in_another_mount() {
    let (tree, other) = (Tree::new(), Tree::new());
    drop(tree.directory(b"place"));
    other.file(b"caf\xE9", b"content");
    let mount = tree.mount(&[]);
    let point = mount.point().join("place");
    let beside = Beside::start(&other.backing(), &point, &["--from", "iso-8859-1"]);
    assert_eq!(mounted(&point).as_deref(), Some("fuse.utf8fs"));
    assert_eq!(
        at::read(mount.dir(), "place/café".as_bytes()).unwrap(),
        b"content"
    );
    assert_eq!(at::rmdir(mount.dir(), b"place"), Err(Errno::BUSY));
    assert_eq!(
        at::rename(mount.dir(), b"place", b"other"),
        Err(Errno::BUSY)
    );
    let across = at::rename(mount.dir(), "place/café".as_bytes(), b"here");
    assert_eq!(across, Err(Errno::XDEV));
    assert!(at::list(at::open_dir(tree.below_dir(), b"place").unwrap()).is_empty());
    beside.stop();
    assert_eq!(at::rmdir(mount.dir(), b"place"), Ok(()));
    mount.stop();
}

/// A mount has one list of charsets, and guesses none.
#[test]
fn directories_of_another_charset_are_shown_by_a_mount_inside() {
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"");
    let below = tree.directory(b"ru");
    at::write_new(&below, b"\xD0\xC9\xD3\xD8\xCD\xCF", b"").unwrap();
    let refused = background(&tree.backing(), &tree.point(), &["--from", "auto"]);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{told}");
    assert!(
        told.contains("utf8fs scan --propose-map charsets.toml"),
        "{told}"
    );
    let mount = tree.mount(&["--from", "windows-1252"]);
    let (source, point) = (tree.backing().join("ru"), mount.point().join("ru"));
    let beside = Beside::start(&source, &point, &["--from", "koi8-r"]);
    assert_eq!(at::sorted(mount.dir()), ["café".as_bytes(), b"ru"]);
    let inside = at::open_dir_path(&point);
    assert_eq!(at::list(&inside), ["письмо".as_bytes()]);
    drop(inside);
    beside.stop();
    mount.stop();
}

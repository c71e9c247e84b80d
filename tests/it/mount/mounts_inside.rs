//! Law F2: mounts inside the backing directory are not entered, and with `--cross-mounts` they are.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, mount_remount, unmount,
};

use crate::support::mount::{binary, detach};
use crate::support::wait::{until, within};
use crate::support::{Mount, Tree, at, needs};

/// A mount of the test's own, away with it.
pub(crate) struct Inner(pub(super) PathBuf);

impl Inner {
    pub(crate) fn memory(at: PathBuf) -> Self {
        mount("none", &at, "tmpfs", MountFlags::empty(), c"size=2m").unwrap();
        Self(at)
    }

    fn bind(from: &Path, at: PathBuf) -> Self {
        mount_bind(from, &at).unwrap();
        Self(at)
    }

    /// Takes it away; nobody may hold it any more.
    fn gone(self) {
        unmount(&self.0, UnmountFlags::empty()).unwrap();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}

/// A mount that enters those inside; it says that it is less confined.
pub(super) fn crossing<'t>(tree: &'t Tree, options: &[&str]) -> Mount<'t> {
    let mut mount = tree.mount(&[&["--cross-mounts"], options].concat());
    mount.allow_warning("the sandbox is weaker with --cross-mounts");
    mount
}

fn content(path: PathBuf) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Law F5: nobody hears of it, so that the name is not kept for long.
#[test]
fn f5_a_filesystem_that_is_mounted_later_is_entered_soon() {
    if !needs::root("mounts inside the backing directory") {
        return;
    }
    let tree = Tree::new();
    at::write_new(tree.directory(b"in"), b"covered", b"").unwrap();
    tree.until_idle();
    let mount = crossing(&tree, &[]);
    assert_eq!(at::list(mount.sub("in")), [b"covered"]);
    at::stat(mount.dir(), b"in").unwrap();
    let inner = Inner::memory(tree.backing().join("in"));
    std::fs::write(tree.backing().join("in/over"), "").unwrap();
    within(Duration::from_secs(10), || {
        at::stat(mount.sub("in"), b"over").is_ok()
    });
    mount.stop();
    inner.gone();
}

/// By default what a mount covers is shown, and the mount is not reached, which one warning says.
#[test]
fn a_mount_inside_is_not_entered() {
    if !needs::root("mounts inside the backing directory") {
        return;
    }
    let tree = Tree::new();
    drop(tree.directory(b"in"));
    std::fs::write(tree.backing().join("in/covered"), "covered").unwrap();
    let inner = Inner::memory(tree.backing().join("in"));
    std::fs::write(tree.backing().join("in/over"), "over").unwrap();
    let mut mount = tree.mount(&[]);
    mount.allow_warning("is mounted inside the backing directory");
    let said = std::fs::read_to_string(tree.parent().join("stderr")).unwrap();
    let warnings: Vec<&str> = said.lines().filter(|line| line.contains("warn:")).collect();
    let named = format!("{:?} is mounted inside", tree.backing().join("in"));
    assert!(
        warnings.len() == 1 && warnings[0].contains(&named),
        "{said}"
    );
    let dir = mount.sub("in");
    assert_eq!(at::list(&dir), [b"covered"]);
    drop(dir);
    mount.stop();
    inner.gone();
}

/// With --cross-mounts, as root and with one thread: what is mounted is shown with its names, its size and its limits;
/// its mount point is busy, and nothing is renamed or linked across it.
#[test]
fn a_mount_inside_is_entered_where_that_is_asked_for() {
    if !needs::root("mounts inside the backing directory") {
        return;
    }
    let tree = Tree::new();
    drop(tree.directory(b"in"));
    drop(tree.directory(b"plain"));
    std::fs::write(tree.backing().join("plain/file"), "outer").unwrap();
    let inner = Inner::memory(tree.backing().join("in"));
    std::fs::write(tree.backing().join("in/file"), "inner").unwrap();
    at::write_new(
        at::open_dir_path(&tree.backing().join("in")),
        b"caf\xE9",
        b"legacy",
    )
    .unwrap();
    std::fs::create_dir(tree.backing().join("in/deep")).unwrap();
    let deep = Inner::memory(tree.backing().join("in/deep"));
    std::fs::write(tree.backing().join("in/deep/file"), "deeper").unwrap();
    let mount = crossing(&tree, &["--from", "iso-8859-1", "--threads", "1"]);
    let (above, below) = (mount.point(), tree.backing());
    assert_eq!(content(above.join("in/file")), "inner");
    assert_eq!(content(above.join("in/café")), "legacy");
    assert_eq!(content(above.join("in/deep/file")), "deeper");
    for path in ["in", "in/deep", "plain"] {
        let size = |root: &Path| rustix::fs::statvfs(root.join(path)).unwrap();
        assert_eq!(size(&above).f_blocks, size(&below).f_blocks, "{path}");
        // The others' filesystem has files made and removed by others meanwhile.
        if path != "plain" {
            assert_eq!(size(&above).f_ffree, size(&below).f_ffree, "{path}");
        }
    }
    let number = |path: &str| std::fs::metadata(above.join(path)).unwrap().ino();
    let numbers = ["plain/file", "in/file", "in/deep/file"].map(number);
    assert!(
        numbers[0] != numbers[1] && numbers[1] != numbers[2],
        "{numbers:?}"
    );
    assert_eq!(
        numbers,
        ["plain/file", "in/file", "in/deep/file"].map(number)
    );
    for root in [&above, &below] {
        let dir = at::open_dir_path(root);
        assert_eq!(at::rmdir(&dir, b"in"), Err(Errno::BUSY), "{root:?}");
        assert_eq!(
            at::rename(&dir, b"in", b"out"),
            Err(Errno::BUSY),
            "{root:?}"
        );
        assert_eq!(at::rename(&dir, b"plain/file", b"in/new"), Err(Errno::XDEV));
        assert_eq!(at::link(&dir, b"plain/file", b"in/new"), Err(Errno::XDEV));
        assert_eq!(
            at::rename(&dir, b"in/file", b"in/deep/file"),
            Err(Errno::XDEV)
        );
    }
    // Work inside, as anywhere.
    let dir = mount.sub("in");
    at::write_new(&dir, b"new", b"1").unwrap();
    at::link(&dir, b"new", b"linked").unwrap();
    assert_eq!(
        at::stat(&dir, b"new").unwrap().st_ino,
        at::stat(&dir, b"linked").unwrap().st_ino
    );
    at::rename(&dir, b"new", b"renamed").unwrap();
    at::mkdir(&dir, b"sub").unwrap();
    let sub = at::open_dir(&dir, b"sub").unwrap();
    at::write_new(&sub, "é".as_bytes(), b"2").unwrap();
    at::rename(&dir, b"sub", b"moved").unwrap();
    assert_eq!(
        at::read(&sub, "é".as_bytes()).unwrap(),
        b"2",
        "in a directory that moved"
    );
    assert_eq!(at::write_new(&dir, b"bad\xFF", b""), Err(Errno::ILSEQ));
    drop((sub, dir));
    assert_eq!(mount.stop().len(), 1);
    deep.gone();
    inner.gone();
}

/// What is mounted while utf8fs runs is seen, and can be unmounted though it was: nothing is kept in use but by users.
#[test]
fn mounts_inside_come_and_go() {
    if !needs::root("mounts inside the backing directory") {
        return;
    }
    let tree = Tree::new();
    drop(tree.directory(b"in"));
    std::fs::write(tree.backing().join("in/covered"), "covered").unwrap();
    let mount = crossing(&tree, &["--cache", "none"]);
    let above = mount.point();
    for round in 0..3 {
        assert_eq!(content(above.join("in/covered")), "covered", "{round}");
        let inner = Inner::memory(tree.backing().join("in"));
        std::fs::create_dir(tree.backing().join("in/sub")).unwrap();
        assert_eq!(at::list(at::open_dir_path(&above.join("in"))), [b"sub"]);
        std::fs::write(above.join("in/sub/new"), "new").unwrap();
        assert_eq!(content(above.join("in/sub/new")), "new");
        assert!(!above.join("in/covered").try_exists().unwrap());
        let held = File::open(above.join("in/sub/new")).unwrap();
        assert_eq!(unmount(&inner.0, UnmountFlags::empty()), Err(Errno::BUSY));
        drop(held);
        // RELEASE is not waited for: a closed file is let go of a moment after close(2) returns.
        until(|| match unmount(&inner.0, UnmountFlags::empty()) {
            Err(error) => {
                assert_eq!(error, Errno::BUSY);
                false
            }
            Ok(()) => true,
        });
    }
    assert_eq!(content(above.join("in/covered")), "covered");
    mount.stop();
}

/// A part of the same filesystem that is mounted read-only inside is read-only there and nowhere else.
#[test]
fn a_read_only_view_inside_is_read_only() {
    if !needs::root("mounts inside the backing directory") {
        return;
    }
    let tree = Tree::new();
    drop(tree.directory(b"real"));
    drop(tree.directory(b"view"));
    std::fs::write(tree.backing().join("real/file"), "content").unwrap();
    let view = Inner::bind(&tree.backing().join("real"), tree.backing().join("view"));
    mount_remount(&view.0, MountFlags::BIND | MountFlags::RDONLY, c"").unwrap();
    let mount = crossing(&tree, &[]);
    for _ in 0..2 {
        for root in [mount.point(), tree.backing()] {
            let write = |path: &str| {
                let dir = at::open_dir_path(&root);
                at::open(&dir, path.as_bytes(), OFlags::WRONLY).map(drop)
            };
            assert_eq!(write("view/file"), Err(Errno::ROFS), "{root:?}");
            assert_eq!(write("real/file"), Ok(()), "{root:?}");
            let dir = at::open_dir_path(&root.join("view"));
            assert_eq!(at::mkdir(&dir, b"new"), Err(Errno::ROFS));
            assert_eq!(at::unlink(&dir, b"file"), Err(Errno::ROFS));
            let chmod = rustix::fs::chmodat(
                dir.as_fd(),
                "file",
                0o600.into(),
                rustix::fs::AtFlags::empty(),
            );
            assert_eq!(chmod, Err(Errno::ROFS), "{root:?}");
        }
    }
    mount.stop();
    view.gone();
}

/// A mount that leads back into utf8fs is not there: one thread does not wait for itself.
#[test]
fn a_mount_that_leads_back_is_not_entered() {
    if !needs::root("mounts inside the backing directory") {
        return;
    }
    let tree = Tree::new();
    drop(tree.directory(b"loop"));
    tree.file(b"file", b"content");
    at::symlink(b"loop/mnt/\xE9", tree.below_dir(), b"link").unwrap();
    let mut mount = crossing(
        &tree,
        &["--threads", "1", "--cache", "none", "--from", "iso-8859-1"],
    );
    mount.dir();
    let at_loop = tree.backing().join("loop");
    mount_bind_recursive(tree.parent(), &at_loop).unwrap();
    let inner = Inner(at_loop);
    let found = Command::new("find")
        .arg(".")
        .current_dir(mount.point())
        .output()
        .unwrap();
    let listed = String::from_utf8(found.stdout).unwrap();
    // The backing directory has one inode number by both ways, so that find(1) does not go down it twice.
    assert_eq!(
        at::read(mount.dir(), b"loop/backing/file").unwrap(),
        b"content"
    );
    assert!(!listed.contains("./loop/mnt/"), "{listed}");
    assert_eq!(at::stat(mount.dir(), b"loop/mnt").err(), Some(Errno::NOENT));
    assert_eq!(
        at::readlink(mount.dir(), b"link").unwrap(),
        "loop/mnt/é".as_bytes()
    );
    mount.close();
    drop(inner);
    mount.stop();
}

/// A directory with a mount in it is moved out of the backing directory while both are held: neither is worked in, and
/// back in, both are.
#[test]
fn f2_what_is_mounted_in_a_directory_that_is_moved_out_is_not_followed() {
    if !needs::root("mounts inside the backing directory") {
        return;
    }
    let tree = Tree::new();
    let sub = tree.directory(b"dir");
    at::mkdir(&sub, b"in").unwrap();
    drop(sub);
    let _inner = Inner::memory(tree.backing().join("dir/in"));
    let mount = crossing(&tree, &["--cache", "none"]);
    let held = [mount.sub("dir"), mount.sub("dir/in")];
    let parent = at::open_dir_path(tree.parent());
    for round in 0..2 {
        let name = format!("made {round}");
        for dir in &held {
            assert_eq!(at::mkdir(dir, name.as_bytes()), Ok(()), "{round}");
        }
        at::rename(&parent, b"backing/dir", b"moved").unwrap();
        for dir in &held {
            assert_eq!(at::mkdir(dir, b"new"), Err(Errno::STALE), "{round}");
            assert_eq!(at::rmdir(dir, name.as_bytes()), Err(Errno::STALE));
            assert_eq!(at::stat(dir, b"made 0").err(), Some(Errno::STALE));
        }
        at::rename(&parent, b"moved", b"backing/dir").unwrap();
    }
    let below = at::open_dir_path(&tree.backing().join("dir"));
    assert_eq!(at::sorted(&below), [&b"in"[..], b"made 0", b"made 1"]);
    drop(held);
    drop(below);
    // To be away before its directory is.
    detach(&tree.backing().join("dir/in"));
    mount.stop();
}

/// What is mounted over the backing directory itself while it is shown is not seen, and hides nothing of it.
#[test]
fn what_covers_the_backing_directory_is_not_seen() {
    if !needs::root("mounts inside the backing directory") {
        return;
    }
    let tree = Tree::new();
    at::mkdir(tree.directory(b"dir"), b"deep").unwrap();
    let mount = crossing(&tree, &["--cache", "none"]);
    at::mkdir(mount.dir(), b"dir/deep/1").unwrap();
    let cover = Inner::memory(tree.backing());
    at::mkdir(mount.dir(), b"dir/deep/2").unwrap();
    assert_eq!(at::list(mount.dir()), [b"dir"]);
    let deep = mount.sub("dir/deep");
    assert_eq!(at::sorted(&deep), [b"1", b"2"]);
    drop(deep);
    cover.gone();
    mount.stop();
}

/// The mount covers its own backing directory, and enters what is mounted inside; one thread does not wait for itself.
#[test]
fn a_mount_over_its_own_backing_directory_enters_those_inside() {
    if !needs::root("mounts inside the backing directory") {
        return;
    }
    let tree = Tree::new();
    at::mkdir(tree.directory(b"dir"), b"in").unwrap();
    let held = tree.below_dir();
    let inner = Inner::memory(tree.backing().join("dir/in"));
    let real = tree.backing();
    let status = Command::new(binary())
        .args(["mount", "--background", "--cross-mounts", "--threads", "1"])
        .args([&real, &real])
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let above = at::open_dir_path(&real);
    let made = [&b"dir/new"[..], b"dir/in/new"].map(|name| at::mkdir(&above, name));
    drop(above);
    detach(&real);
    drop(inner);
    assert!(status.success());
    assert_eq!(made, [Ok(()), Ok(())]);
    assert_eq!(
        at::sorted(at::open_dir(&held, b"dir").unwrap()),
        [&b"in"[..], b"new"]
    );
}

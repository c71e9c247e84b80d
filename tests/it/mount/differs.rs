//! Law F3: what differs from below, as the documents say.

use std::fs::File;
use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use rustix::io::Errno;

use super::mounts_inside::Inner;
use crate::support::mount::detach;
use crate::support::{Tree, at, needs, user};

/// Listens by fanotify(7), runs a script of sh, and prints how many of its events each mark hears.
const MARKS: &str = include_str!("differs/marks.py");

#[test]
fn f3_work_above_is_heard_by_marks_of_the_filesystem_below_and_not_of_the_mount_below() {
    if !needs::root("marks of mounts") {
        return;
    }
    let tree = Tree::new();
    let _disk = Inner::memory(tree.backing());
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    tree.file(b"caf\xE9", b"content");
    let output = Command::new("python3")
        .args(["-c", MARKS])
        .args([tree.backing(), tree.point()])
        .arg("cat \"$MOUNT/café\" && echo new >\"$MOUNT/new\"")
        .env("MOUNT", tree.point())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let heard = |mark: &str| {
        let lines = said.lines();
        let count = lines.filter_map(|line| line.strip_prefix(mark)).next();
        count.unwrap().trim().parse::<usize>().unwrap() > 0
    };
    assert!(!heard("mount below"), "{said}");
    for mark in [
        "filesystem below",
        "directory below",
        "mount above",
        "filesystem above",
        "directory above",
    ] {
        assert!(heard(mark), "{mark}: {said}");
    }
    mount.stop();
}

#[test]
fn f3_the_two_ends_of_a_socket_or_fifo_meet_above_or_below_and_not_across() {
    let tree = Tree::new();
    let mount = tree.mount(&[]);
    for (listens, connects) in [
        (tree.backing(), tree.point()),
        (tree.point(), tree.backing()),
    ] {
        let listener = UnixListener::bind(listens.join("socket")).unwrap();
        drop(UnixStream::connect(listens.join("socket")).unwrap());
        let refused = UnixStream::connect(connects.join("socket")).unwrap_err();
        assert_eq!(
            refused.raw_os_error(),
            Some(Errno::CONNREFUSED.raw_os_error())
        );
        drop(listener);
        std::fs::remove_file(listens.join("socket")).unwrap();
        let fifo = listens.join("fifo");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let flags = OFlags::NONBLOCK | OFlags::CLOEXEC;
        let _reader = open(&fifo, flags | OFlags::RDONLY, Mode::empty()).unwrap();
        drop(open(&fifo, flags | OFlags::WRONLY, Mode::empty()).unwrap());
        let across = open(connects.join("fifo"), flags | OFlags::WRONLY, Mode::empty());
        assert_eq!(across.err(), Some(Errno::NXIO));
        std::fs::remove_file(&fifo).unwrap();
    }
    mount.stop();
}

#[test]
fn f3_inotify_above_hears_what_is_done_above_alone() {
    let tree = Tree::new();
    let mount = tree.mount(&[]);
    let flags =
        rustix::fs::inotify::CreateFlags::NONBLOCK | rustix::fs::inotify::CreateFlags::CLOEXEC;
    let watch = rustix::fs::inotify::init(flags).unwrap();
    rustix::fs::inotify::add_watch(
        &watch,
        tree.point(),
        rustix::fs::inotify::WatchFlags::CREATE,
    )
    .unwrap();
    tree.file(b"below", b"");
    at::write_new(mount.dir(), b"above", b"").unwrap();
    let mut buffer = [0; 4096];
    let length = rustix::io::read(&watch, &mut buffer).unwrap();
    let has = |name: &[u8]| {
        buffer[..length]
            .windows(name.len())
            .any(|part| part == name)
    };
    assert!(has(b"above") && !has(b"below"));
    mount.stop();
}

#[test]
fn f3_filefrag_finds_no_extents_and_clones_are_refused_while_copies_work() {
    if !needs::program("filefrag", "extents of a file") {
        return;
    }
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"content");
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let file = mount.point().join("café");
    let output = user::command(user::NOBODY, Path::new("filefrag"))
        .arg(&file)
        .output();
    let as_user = output.unwrap();
    assert!(!as_user.stdout.starts_with(b"0 extents"), "{as_user:?}");
    if needs::root("FIBMAP") {
        let output = Command::new("filefrag").arg(&file).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.ends_with(": 0 extents found\n"), "{said}");
    }
    let copy = |how: &str| {
        let mut command = Command::new("cp");
        command.arg(how).arg(&file).arg(mount.point().join("copy"));
        command.env("LC_ALL", "C").output().unwrap()
    };
    let refused = String::from_utf8(copy("--reflink=always").stderr).unwrap();
    assert!(refused.ends_with("Operation not supported\n"), "{refused}");
    assert!(copy("--reflink=auto").status.success());
    assert_eq!(at::read(tree.below_dir(), b"copy").unwrap(), b"content");
    mount.stop();
}

/// As `sed -i` and editors replace it.
#[test]
fn f3_a_file_bound_by_itself_is_stale_when_it_was_replaced_and_a_bound_directory_is_not() {
    if !needs::root("bind mounts") {
        return;
    }
    let tree = Tree::new();
    let mount = tree.mount(&[]);
    let target = tree.parent().join("target");
    let directory = tree.parent().join("directory");
    std::fs::create_dir(&directory).unwrap();
    at::mkdir(mount.dir(), b"inside").unwrap();
    let inside = mount.point().join("inside");
    std::fs::write(inside.join("file"), "old").unwrap();
    File::create(&target).unwrap();
    rustix::mount::mount_bind(inside.join("file"), &target).unwrap();
    rustix::mount::mount_bind(&inside, &directory).unwrap();
    let mut new = File::create(inside.join("new")).unwrap();
    new.write_all(b"new").unwrap();
    drop(new);
    at::rename(at::open_dir_path(&inside), b"new", b"file").unwrap();
    let stale = std::fs::read(&target).unwrap_err();
    assert_eq!(stale.raw_os_error(), Some(Errno::STALE.raw_os_error()));
    assert_eq!(std::fs::read(directory.join("file")).unwrap(), b"new");
    detach(&target);
    detach(&directory);
    mount.stop();
}

//! What fails below fails above with the same error; descriptors that run out, and backing directories that go away.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::{
    FallocateFlags, FileType, Mode, OFlags, RawDir, RenameFlags, Timespec, Timestamps,
};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

use super::mounts_inside::{Inner, crossing};

use crate::support::strace::Strace;
use crate::support::wait::until;
use crate::support::{Mount, Tree, at, needs, status, user};

/// A filesystem in memory, mounted on the backing directory, which the tree takes away at its end.
fn mount_memory(tree: &Tree, options: &str) {
    let status = Command::new("mount")
        .args(["-t", "tmpfs", "-o", options, "tmpfs"])
        .arg(tree.backing())
        .status();
    assert!(status.unwrap().success());
}

type Act = fn(&Mount<'_>, &OwnedFd) -> at::Result<()>;

/// A system call of the daemon that is made to fail, the error, and the operation that makes it. Calls that the daemon
/// may leave to the kernel (read, write) are not among them.
const FAULTS: &[(&str, Errno, &str, Act)] = &[
    ("mkdirat", Errno::DQUOT, "mkdir", |mount, _| {
        at::mkdir(mount.dir(), b"new")
    }),
    ("mkdirat", Errno::NOSPC, "mkdir", |mount, _| {
        at::mkdir(mount.dir(), b"new")
    }),
    ("mknodat", Errno::IO, "mknod", |mount, _| {
        let mode = Mode::from_raw_mode(0o644);
        rustix::fs::mknodat(mount.dir(), b"new".as_slice(), FileType::Fifo, mode, 0)
    }),
    ("symlinkat", Errno::DQUOT, "symlink", |mount, _| {
        at::symlink(b"x", mount.dir(), b"new")
    }),
    ("linkat", Errno::IO, "link", |mount, _| {
        at::link(mount.dir(), b"file", b"new")
    }),
    ("unlinkat", Errno::IO, "unlink", |mount, _| {
        at::unlink(mount.dir(), b"file")
    }),
    ("unlinkat", Errno::INTR, "rmdir", |mount, _| {
        at::rmdir(mount.dir(), b"dir")
    }),
    ("renameat,renameat2", Errno::IO, "rename", |mount, _| {
        at::rename(mount.dir(), b"file", b"new")
    }),
    (
        "renameat2",
        Errno::DQUOT,
        "rename without replacing",
        |mount, _| at::rename_with(mount.dir(), b"file", b"new", RenameFlags::NOREPLACE),
    ),
    ("statx", Errno::IO, "stat", |mount, _| {
        at::stat(mount.dir(), b"file").map(drop)
    }),
    ("fstatfs", Errno::IO, "statfs", |_, file| {
        rustix::fs::fstatfs(file).map(drop)
    }),
    ("fsync", Errno::IO, "fsync", |_, file| {
        rustix::fs::fsync(file)
    }),
    ("fsync", Errno::DQUOT, "fsync", |_, file| {
        rustix::fs::fsync(file)
    }),
    ("fdatasync", Errno::NOSPC, "fdatasync", |_, file| {
        rustix::fs::fdatasync(file)
    }),
    ("fallocate", Errno::NOSPC, "fallocate", |_, file| {
        rustix::fs::fallocate(file, FallocateFlags::empty(), 0, 4096)
    }),
    ("ftruncate", Errno::IO, "ftruncate", |_, file| {
        rustix::fs::ftruncate(file, 1)
    }),
    ("utimensat", Errno::ROFS, "futimens", |_, file| {
        let time = Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        let times = Timestamps {
            last_access: time,
            last_modification: time,
        };
        rustix::fs::futimens(file, &times)
    }),
    ("getdents64", Errno::IO, "readdir", |mount, _| {
        let dir = at::open_dir(mount.dir(), b"dir")?;
        let mut buffer = Vec::with_capacity(1024);
        let mut entries = RawDir::new(dir, buffer.spare_capacity_mut());
        entries.next().unwrap().map(drop)
    }),
    ("readlinkat", Errno::IO, "readlink", |mount, _| {
        at::readlink(mount.dir(), b"link").map(drop)
    }),
];

#[test]
fn errors_from_below_reach_the_caller_unchanged() {
    let tree = Tree::new();
    tree.file(b"file", b"content");
    at::mkdir(tree.below_dir(), b"dir").unwrap();
    at::symlink(b"nowhere", tree.below_dir(), b"link").unwrap();
    let mount = tree.mount(&["--cache", "0"]);
    let file = at::open(mount.dir(), b"file", OFlags::RDWR).unwrap();
    for (call, errno, operation, act) in FAULTS {
        // The name of an errno is what strace calls it too.
        let name = format!("{errno:?}");
        let code = errno.raw_os_error();
        let inject = format!("inject={call}:error={code}");
        let fault = Strace::attach(&mount, &["-o", "/dev/null", "-e", &inject]);
        let result = act(&mount, &file);
        fault.detach();
        assert_eq!(result, Err(*errno), "{operation} with {name} of {call}");
    }
    // What failed did nothing.
    let left = at::sorted(mount.dir());
    assert_eq!(left, [b"dir".to_vec(), b"file".to_vec(), b"link".to_vec()]);
    drop(file);
    mount.stop();
}

#[test]
fn a_full_filesystem_is_full_above_and_goes_on_when_there_is_room_again() {
    if !needs::root("a small filesystem below") {
        return;
    }
    let tree = Tree::new();
    mount_memory(&tree, "size=64k,nr_inodes=8");
    let mount = tree.mount(&["--cache", "0"]);
    let file = at::create_new(mount.dir(), b"file").unwrap();
    let written = (0..64).find_map(|_| at::write_all(&file, &[b'x'; 4096]).err());
    assert_eq!(written, Some(Errno::NOSPC));
    let size = rustix::fs::fstat(&file).unwrap().st_size;
    assert_eq!(size, at::stat(tree.below_dir(), b"file").unwrap().st_size);
    let full = (0..16).find_map(|n| at::mkdir(mount.dir(), format!("d{n}").as_bytes()).err());
    assert_eq!(full, Some(Errno::NOSPC));
    assert_eq!(
        at::create_new(mount.dir(), b"one more").map(drop),
        Err(Errno::NOSPC)
    );
    assert_eq!(
        at::symlink(b"x", mount.dir(), b"one more"),
        Err(Errno::NOSPC)
    );
    at::rmdir(mount.dir(), b"d0").unwrap();
    rustix::fs::ftruncate(&file, 0).unwrap();
    // The daemon lets go of a removed file a moment after, when the kernel has told it to forget it.
    let mut tries = std::iter::repeat_with(|| at::write_new(mount.dir(), b"one more", b"content"));
    assert!(tries.by_ref().take(10_000).any(|made| made.is_ok()));
    drop(file);
    mount.stop();
}

#[test]
fn a_filesystem_that_becomes_read_only_is_so_above() {
    if !needs::root("a filesystem below that is made read-only") {
        return;
    }
    let tree = Tree::new();
    mount_memory(&tree, "size=64k");
    tree.file(b"file", b"content");
    let mount = tree.mount(&["--cache", "0"]);
    let status = Command::new("mount")
        .args(["-o", "remount,ro"])
        .arg(tree.backing())
        .status();
    assert!(status.unwrap().success());
    let refused = Err(Errno::ROFS);
    let dir = mount.dir();
    assert_eq!(at::mkdir(dir, b"new"), refused);
    assert_eq!(at::write_new(dir, b"new", b""), refused);
    assert_eq!(at::symlink(b"x", dir, b"new"), refused);
    assert_eq!(at::link(dir, b"file", b"new"), refused);
    assert_eq!(at::unlink(dir, b"file"), refused);
    assert_eq!(at::rename(dir, b"file", b"new"), refused);
    assert_eq!(at::set_mtime(dir, b"file", 1), refused);
    assert_eq!(at::open(dir, b"file", OFlags::WRONLY).map(drop), refused);
    assert_eq!(at::read(dir, b"file").unwrap(), b"content");
    mount.stop();
}

/// All that a program needs to get out of it goes on when programs have as many files open as they can.
#[test]
fn names_are_looked_at_made_and_removed_when_no_more_files_can_be_opened() {
    const FILES: usize = 300;
    let tree = Tree::in_memory();
    for n in 0..FILES {
        tree.file(format!("n{n}").as_bytes(), b"content");
    }
    for n in 0..40 {
        at::mkdir(tree.below_dir(), format!("d{n}").as_bytes()).unwrap();
    }
    let mount = Mount::start_limited(&tree, 192, &["--cache", "0"]);
    let dir = mount.dir();
    // RELEASEDIR is not waited for: there would be room for one more all of a sudden. The root stays.
    let wait_for_closes = || until(|| status::of(&mount.point())["open"]["directories"] == 1);
    wait_for_closes();
    let open_one = |n: usize| at::open(dir, format!("n{n}").as_bytes(), OFlags::RDWR);
    let mut open: Vec<OwnedFd> = (0..FILES).map_while(|n| open_one(n).ok()).collect();
    // The root of the mount is open too.
    assert!(open.len() >= 60, "{}", open.len());
    assert_eq!(open_one(FILES - 1).map(drop), Err(Errno::MFILE));
    let go_on = || {
        for n in 0..FILES {
            at::stat(dir, format!("n{n}").as_bytes()).unwrap();
        }
        // A file that can't be opened is not made either.
        assert_eq!(at::create_new(dir, b"new").map(drop), Err(Errno::MFILE));
        assert_eq!(at::stat(dir, b"new").map(drop), Err(Errno::NOENT));
        at::mkdir(dir, b"new").unwrap();
        at::rename(dir, b"new", b"newer").unwrap();
        at::rmdir(dir, b"newer").unwrap();
        at::symlink(b"n1", dir, b"new").unwrap();
        assert_eq!(at::readlink(dir, b"new").unwrap(), b"n1");
        at::unlink(dir, b"new").unwrap();
        at::link(dir, b"n1", b"new").unwrap();
        at::unlink(dir, b"new").unwrap();
    };
    go_on();
    assert_eq!(at::list(mount.sub(".")).len(), FILES + 40);
    wait_for_closes();
    // Directories too can be held open until there are too many, and the rest goes on still.
    let open_dir = |n: usize| at::open_dir(dir, format!("d{n}").as_bytes());
    let dirs: Vec<OwnedFd> = (0..40).map_while(|n| open_dir(n).ok()).collect();
    assert!(dirs.len() < 40 && dirs.len() >= 3, "{}", dirs.len());
    assert_eq!(open_dir(39).map(drop), Err(Errno::MFILE));
    go_on();
    // What is open works.
    for file in &open {
        assert_eq!(at::read_all(file).unwrap(), b"content");
        at::write_all(file, b" and more").unwrap();
        rustix::fs::fsync(file).unwrap();
    }
    drop(dirs);
    // Closing one makes room for one.
    drop(open.pop());
    let again = std::iter::repeat_with(|| open_one(FILES - 1));
    // The kernel tells the daemon of it a moment after close(2) has returned.
    assert!(again.take(10_000).any(|opened| opened.is_ok()));
    drop(open);
    mount.stop();
}

/// A limit such that the daemon can open nothing until it closes what it has open.
fn allow_nothing_more(mount: &Mount<'_>) {
    let open = std::fs::read_dir(format!("/proc/{}/fd", mount.id())).unwrap();
    let open: BTreeSet<u64> = open
        .map(|entry| {
            entry
                .unwrap()
                .file_name()
                .to_str()
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect();
    let current = (0..).find(|number| !open.contains(number));
    let pid = Pid::from_raw(mount.id().try_into().unwrap());
    // We have the same one.
    let maximum = getrlimit(Resource::Nofile).maximum;
    prlimit(pid, Resource::Nofile, Rlimit { current, maximum }).unwrap();
}

/// What the daemon keeps open for later goes, so that a directory of legacy names can be read.
#[test]
fn a_directory_of_legacy_names_is_listed_when_no_more_descriptors_are_free() {
    if !needs::root("another limit for the daemon") {
        return;
    }
    let tree = Tree::in_memory();
    drop(tree.directory(b"dir"));
    tree.file(b"dir/caf\xE9", b"content");
    for n in 0..40 {
        drop(tree.directory(format!("d{n}").as_bytes()));
    }
    let mount = tree.mount(&["--cache", "none", "--from", "iso-8859-1"]);
    let dir = mount.sub("dir");
    for n in 0..40 {
        at::stat(mount.dir(), format!("d{n}").as_bytes()).unwrap();
    }
    allow_nothing_more(&mount);
    let mut buffer = [MaybeUninit::uninit(); 1024];
    let mut entries = RawDir::new(&dir, &mut buffer);
    let mut names = Vec::new();
    while let Some(entry) = entries.next() {
        names.push(entry.unwrap().file_name().to_owned());
    }
    names.retain(|name| !name.to_bytes().starts_with(b"."));
    assert_eq!(names, [c"café".to_owned()]);
    drop(dir);
    mount.stop();
}

/// A user holds open what can be had, and so does another, half as much; root has some left.
#[test]
fn one_user_cannot_take_all_descriptors() {
    const FILES: usize = 200;
    if !needs::root("files of several users") {
        return;
    }
    let tree = Tree::in_memory();
    for n in 0..FILES {
        tree.file(format!("n{n}").as_bytes(), b"content");
    }
    // How many descriptors rings take depends on the machine.
    let mount = Mount::start_limited(&tree, 196, &["--uring", "off"]);
    // Holds the files until its standard input ends.
    let hoard = |uid| -> (Child, usize) {
        let script = "for (0..199) { open my $f, '<', qq{n$_} or last; push @held, $f } \
            $| = 1; print scalar(@held), qq{ $!\n}; <STDIN>";
        let mut command = user::command(uid, Path::new("perl"));
        command.args(["-e", script]).current_dir(mount.point());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.env("LC_ALL", "C").spawn().unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        let (count, error) = line.split_once(' ').unwrap();
        assert_eq!(error, "Too many open files\n");
        (child, count.parse().unwrap())
    };
    let (first, of_first) = hoard(user::NOBODY);
    let (second, of_second) = hoard(user::NOBODY - 1);
    let open_one = |n: usize| at::open(mount.dir(), format!("n{n}").as_bytes(), OFlags::RDONLY);
    let of_root: Vec<OwnedFd> = (0..FILES).map_while(|n| open_one(n).ok()).collect();
    let counts = (of_first, of_second, of_root.len());
    drop(of_root);
    for mut child in [first, second] {
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
    assert_eq!((counts.0, counts.1), (24, 12), "{counts:?}");
    assert!(counts.2 >= 8, "{counts:?}");
    mount.stop();
}

#[test]
fn a_filesystem_that_is_unmounted_below_is_shown_until_the_mount_ends() {
    if !needs::root("a filesystem below that is unmounted") {
        return;
    }
    let tree = Tree::new();
    mount_memory(&tree, "size=64k");
    tree.file(b"file", b"content");
    let mount = tree.mount(&["--cache", "0"]);
    unmount(tree.backing(), UnmountFlags::empty()).unwrap();
    assert!(at::list(tree.below_dir()).is_empty());
    assert_eq!(at::read(mount.dir(), b"file").unwrap(), b"content");
    at::write_new(mount.dir(), b"new", b"content").unwrap();
    assert_eq!(at::read(mount.dir(), b"new").unwrap(), b"content");
    mount.stop();
}

/// Takes a filesystem's place whose server is gone.
fn dead(at: PathBuf) -> Inner {
    let connection = File::options()
        .read(true)
        .write(true)
        .open("/dev/fuse")
        .unwrap();
    let options = format!(
        "fd={},rootmode=40000,user_id=0,group_id=0",
        connection.as_raw_fd()
    );
    let options = CString::new(options).unwrap();
    mount("dead", &at, "fuse", MountFlags::NODEV, options.as_c_str()).unwrap();
    drop(connection);
    Inner(at)
}

/// A name that cannot be looked at is listed like the others, by who looks at them meanwhile too.
#[test]
fn f4_an_entry_that_fails_is_listed_and_fails_when_it_is_asked_for() {
    if !needs::root("mounts inside the backing directory") {
        return;
    }
    let tree = Tree::in_memory();
    let mut all = Vec::new();
    for number in 0..60 {
        let name = format!("dir{number:02}");
        drop(tree.directory(name.as_bytes()));
        all.push(name.into_bytes());
    }
    let failing = [0, 1, 20, 21, 22, 40, 59];
    let _inner = failing.map(|number| dead(tree.backing().join(format!("dir{number:02}"))));
    let fails = |name: &[u8]| failing.iter().any(|&number| name == all[number]);
    let settings = ["none", "1", "watch"].map(|cache| [80, 1000, 10_000].map(|size| (cache, size)));
    for (cache, size) in settings.into_iter().flatten() {
        let mount = crossing(&tree, &["--cache", cache]);
        let listing = at::open_dir(mount.dir(), b".").unwrap();
        let mut buffer = vec![MaybeUninit::uninit(); size];
        let mut entries = RawDir::new(&listing, &mut buffer);
        let mut listed = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry.unwrap();
            let name = entry.file_name().to_bytes();
            let expected = fails(name).then_some(Errno::NOTCONN);
            assert_eq!(at::stat(mount.dir(), name).err(), expected, "{name:?}");
            assert_eq!(entry.file_type(), FileType::Directory, "{name:?}");
            assert_ne!(entry.ino(), 0, "{name:?}");
            if !name.starts_with(b".") {
                listed.push(name.to_owned());
            }
        }
        listed.sort();
        assert_eq!(listed, all, "{cache} {size}");
        drop(listing);
        mount.stop();
    }
}

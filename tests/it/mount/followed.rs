//! Law F5 with `--cache watch`: what hearing of changes must not cost.

use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, XattrFlags, chmodat, fsetxattr, mknodat};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use utf8fs::backing::FileHandle;

use super::coherence::{HEARD, SLOW};
use super::nested::Beside;
use crate::support::mount::{binary, mounted};
use crate::support::wait::{until, within};
use crate::support::{Mount, Tree, at, memory, needs, status};

/// A mount of the test's own, away with it.
struct Inner(PathBuf);

impl Inner {
    fn memory(at: PathBuf) -> Self {
        mount("none", &at, "tmpfs", MountFlags::empty(), c"size=1m").unwrap();
        Self(at)
    }

    fn is_there(&self) -> bool {
        mounted(&self.0).as_deref() == Some("tmpfs")
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}

/// The kernel takes a directory from where it knew it only if nobody works there, and that is where it is told of the move.
#[test]
fn f5_a_directory_that_is_moved_below_is_never_stale_to_who_looks_it_up() {
    const MOVES: usize = 3000;
    const LOOKERS: usize = 3;
    if !needs::root("fanotify") {
        return;
    }
    let tree = Tree::in_memory();
    tree.directory(b"from");
    tree.directory(b"to");
    tree.directory(b"from/moved");
    for number in 0..100 {
        tree.file(format!("from/moved/file{number}").as_bytes(), b"");
    }
    tree.until_idle();
    let mount = tree.mount(&["--cache=watch"]);
    let (above, below) = (mount.dir(), tree.below_dir());
    let is_over = AtomicBool::new(false);
    let looked = AtomicUsize::new(0);
    let look = || {
        while !is_over.load(Ordering::Acquire) {
            for name in [
                "from/moved/file7",
                "to/moved/file7",
                "from/moved",
                "to/moved",
            ] {
                match at::stat(above, name.as_bytes()) {
                    Ok(_) | Err(Errno::NOENT) => {}
                    Err(errno) => panic!("{name}: {errno}"),
                }
                looked.fetch_add(1, Ordering::AcqRel);
            }
        }
    };
    thread::scope(|scope| {
        let lookers: Vec<_> = (0..LOOKERS).map(|_| scope.spawn(look)).collect();
        for number in 0..MOVES {
            let names = [&b"from/moved"[..], b"to/moved"];
            at::rename(&below, names[number % 2], names[(number + 1) % 2]).unwrap();
            // Each time at another moment of theirs.
            let seen = looked.load(Ordering::Acquire) + number % 17;
            until(|| {
                looked.load(Ordering::Acquire) >= seen
                    || lookers.iter().any(|looker| looker.is_finished())
            });
        }
        is_over.store(true, Ordering::Release);
    });
    // An even number of them.
    within(SLOW, || {
        at::stat(above, b"to/moved").err() == Some(Errno::NOENT)
    });
    within(SLOW, || at::stat(above, b"from/moved/file7").is_ok());
    mount.stop();
}

/// Whoever finds a directory before the news of it came works in it as in any other.
#[test]
fn f5_a_directory_made_below_is_not_removed_for_who_works_in_it_already() {
    const MADE: usize = 3000;
    const LOOKERS: usize = 2;
    if !needs::root("fanotify") {
        return;
    }
    let tree = Tree::in_memory();
    tree.until_idle();
    let mount = tree.mount(&["--cache=watch"]);
    let (above, below) = (mount.dir(), tree.below_dir());
    at::list(at::open_dir(above, b".").unwrap());
    let (made, found) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut places = Vec::new();
        for number in 0..MADE {
            until(|| made.load(Ordering::Acquire) > number);
            let name = format!("made{number}");
            places.push(at::open_dir(above, name.as_bytes()).unwrap());
            found.fetch_add(1, Ordering::AcqRel);
        }
        within(SLOW, || at::stat(above, b"last").is_ok());
        for (number, place) in places.iter().enumerate() {
            let link = format!("/proc/self/fd/{}", place.as_raw_fd());
            let seen = std::fs::read_link(link).unwrap();
            assert_eq!(seen.file_name().unwrap(), format!("made{number}").as_str());
        }
    };
    thread::scope(|scope| {
        let lookers: Vec<_> = (0..LOOKERS).map(|_| scope.spawn(work)).collect();
        for number in 0..MADE {
            at::mkdir(&below, format!("made{number}").as_bytes()).unwrap();
            made.store(number + 1, Ordering::Release);
            let ahead = number.saturating_sub(number % 50) * LOOKERS;
            until(|| {
                found.load(Ordering::Acquire) >= ahead
                    || lookers.iter().any(|looker| looker.is_finished())
            });
        }
        // Heard of after all the others.
        assert_eq!(at::stat(above, b"last").err(), Some(Errno::NOENT));
        at::write_new(&below, b"last", b"").unwrap();
    });
    mount.stop();
}

/// Only what leads elsewhere by now takes what is mounted there with it.
#[test]
fn f5_what_is_mounted_inside_outlives_changes_below_and_their_overflow() {
    if !needs::root("mounts, fanotify") {
        return;
    }
    let most = std::fs::read_to_string("/proc/sys/fs/fanotify/max_queued_events").unwrap();
    let most: usize = most.trim().parse().unwrap();
    let tree = Tree::in_memory();
    tree.directory(b"a");
    tree.directory(b"a/in");
    tree.directory(b"many");
    tree.until_idle();
    let mut mount = tree.mount(&["--cache=watch"]);
    mount.allow_warning("more changes in the backing directory than can be followed");
    let (above, below) = (mount.dir(), tree.below_dir());
    at::list(at::open_dir(above, b"many").unwrap());
    let inner = Inner::memory(mount.point().join("a/in"));
    let held = at::open_dir(above, b"a").unwrap();

    // Away and back, before anybody looks.
    at::rename(&below, b"a", b"b").unwrap();
    at::rename(&below, b"b", b"a").unwrap();
    assert_eq!(at::stat(above, b"seen").err(), Some(Errno::NOENT));
    at::write_new(&below, b"seen", b"").unwrap();
    within(SLOW, || at::stat(above, b"seen").is_ok());
    assert!(inner.is_there());
    at::write_new(above, b"a/in/mine", b"").unwrap();

    if most <= 100_000 {
        assert_eq!(at::stat(above, b"late").err(), Some(Errno::NOENT));
        mount.pause();
        for number in 0..=most {
            at::mkdir(&below, format!("many/{number}").as_bytes()).unwrap();
        }
        at::write_new(&below, b"late", b"").unwrap();
        mount.go_on();
        within(SLOW, || at::stat(above, b"late").is_ok());
        assert!(inner.is_there());
        assert!(at::stat(above, b"a/in/mine").is_ok());
    }

    // The directory is another: what was mounted there is gone, as it is where the kernel finds that out by itself.
    at::rename(&below, b"a", b"c").unwrap();
    at::mkdir(&below, b"a").unwrap();
    within(SLOW, || {
        at::stat(above, b"a/in").err() == Some(Errno::NOENT)
    });
    assert!(!inner.is_there());
    assert!(at::stat(&held, b"in").is_ok());
    drop(held);
    mount.stop();
}

/// A hundred thousand changes in a row, in the directory that is looked at.
#[test]
fn f5_changes_without_a_pause_leave_nothing_stale() {
    if !needs::root("fanotify") {
        return;
    }
    let tree = Tree::in_memory();
    tree.directory(b"d");
    tree.file(b"d/removed", b"");
    tree.until_idle();
    let mut mount = tree.mount(&["--cache=watch"]);
    mount.allow_warning("more changes in the backing directory than can be followed");
    let (above, below) = (mount.dir(), tree.below_dir());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                for name in [&b"d/0"[..], b"d/1", b"d/last", b"d/removed"] {
                    _ = at::stat(above, name);
                }
            }
        });
        for number in 0..50_000 {
            let name = format!("d/{}", number % 100);
            at::mkdir(&below, name.as_bytes()).unwrap();
            at::rmdir(&below, name.as_bytes()).unwrap();
        }
        is_over.store(true, Ordering::Release);
    });
    at::write_new(&below, b"d/last", b"content").unwrap();
    at::unlink(&below, b"d/removed").unwrap();
    at::mkdir(&below, b"d/1").unwrap();
    within(SLOW, || {
        at::stat(above, b"d/last").is_ok_and(|stat| stat.st_size == 7)
    });
    within(SLOW, || {
        at::stat(above, b"d/removed").err() == Some(Errno::NOENT)
    });
    within(SLOW, || at::stat(above, b"d/1").is_ok());
    within(SLOW, || at::stat(above, b"d/0").err() == Some(Errno::NOENT));
    let dir = at::open_dir(above, b"d").unwrap();
    within(SLOW, || at::sorted(&dir) == [&b"1"[..], b"last"]);
    drop(dir);
    mount.stop();
}

/// What may change unheard is asked for again, the later the longer it is as it is.
#[test]
fn attributes_of_a_file_at_rest_are_asked_for_ever_more_seldom() {
    if !needs::root("fanotify") {
        return;
    }
    let _kept = memory::kept();
    let tree = Tree::in_memory();
    tree.file(b"file", b"content");
    tree.until_idle();
    let mount = tree.mount(&["--cache=watch"]);
    let above = mount.dir();
    let asked = || {
        let requests = status::requests(&mount.point());
        let of = |kind: &str| requests.get(kind).copied().unwrap_or(0);
        of("lookup") + of("getattr")
    };
    let changed = at::stat(above, b"file").unwrap();
    let age = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        now.as_secs().cast_signed() - changed.st_ctime
    };
    // With a second's patience it would be asked for about eight times, and by its age when it is 1, 2, 4 and 8 seconds old.
    let before = asked();
    until(|| {
        assert_eq!(at::stat(above, b"file").unwrap().st_size, 7);
        age() >= 9
    });
    // Once more for the root, which `status` asks for.
    let count = asked() - before;
    assert!(count <= 6, "{count}");

    // And still it is heard of when it changes.
    let file = at::open(tree.below_dir(), b"file", OFlags::WRONLY | OFlags::APPEND).unwrap();
    at::write_all(&file, b"more").unwrap();
    within(SLOW, || at::stat(above, b"file").unwrap().st_size == 11);
    drop(file);
    // What is written by a mapping through the mount is told to nobody, and changes the time of a file that was at rest.
    let script = r"
import mmap, os, sys
path = sys.argv[1]
fd = os.open(path, os.O_RDWR)
before = os.stat(path).st_mtime_ns
with mmap.mmap(fd, 11) as mapped:
    mapped[0] = 67
    while os.stat(path).st_mtime_ns == before:
        pass
";
    let mut run = Command::new("python3");
    let run = run.args(["-c", script]).arg(mount.point().join("file"));
    assert!(run.status().unwrap().success());
    mount.stop();
}

/// Writers that the kernel serves alone act in their own names; nobody is told of what they do.
#[test]
fn what_is_written_through_the_mount_is_not_heard_of() {
    if !needs::root("fanotify") {
        return;
    }
    let _kept = memory::kept();
    let tree = Tree::in_memory();
    tree.until_idle();
    let mount = tree.mount(&["--cache=watch"]);
    let above = mount.dir();
    at::list(above);
    // The kernel asks for attributes after a write, once; told of a change, it would ask once more.
    let round = |name: &[u8]| {
        let file = at::open(above, name, OFlags::RDWR | OFlags::CREATE).unwrap();
        at::write_all(&file, &[1; 4096]).unwrap();
        drop(file);
    };
    for number in 0..1000 {
        round(format!("file{}", number % 10).as_bytes());
    }
    // Once the last of it would have been told.
    let file = at::open(tree.below_dir(), b"file0", OFlags::WRONLY).unwrap();
    assert_eq!(told(&mount), 0);
    at::write_all(&file, b"more").unwrap();
    within(SLOW, || told(&mount) > 0);
    mount.stop();
}

/// It is reported in the name of that directory, which has no mark.
#[test]
fn f5_attributes_of_a_directory_that_nobody_looked_into_are_heard_of() {
    if !needs::root("fanotify") {
        return;
    }
    let _kept = memory::kept();
    let changes: [fn(&OwnedFd); 2] = [
        |below| {
            let mode = Mode::from_raw_mode(0o711);
            chmodat(below, c"d", mode, AtFlags::empty()).unwrap();
        },
        |below| {
            fsetxattr(
                at::open_dir(below, b"d").unwrap(),
                c"user.x",
                b"y",
                XattrFlags::empty(),
            )
            .unwrap();
        },
    ];
    for change in changes {
        let tree = Tree::new();
        tree.directory(b"d");
        tree.until_idle();
        let mount = tree.mount(&["--cache=watch"]);
        let seen = at::stat(mount.dir(), b"d").unwrap();
        assert_eq!(told(&mount), 0);
        change(&tree.below_dir());
        within(SLOW, || told(&mount) > 0);
        within(SLOW, || {
            at::stat(mount.dir(), b"d").unwrap().st_ctime_nsec != seen.st_ctime_nsec
        });
        mount.stop();
    }
}

/// What has another name where nobody looks is changed by that unheard of, whatever it is but a directory.
#[test]
fn f5_attributes_of_what_has_names_elsewhere_are_not_kept_for_ever() {
    if !needs::root("fanotify") {
        return;
    }
    let tree = Tree::new();
    let below = tree.below_dir();
    let elsewhere = tree.parent().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let elsewhere = std::fs::File::open(elsewhere).unwrap();
    let fifo = FileType::Fifo;
    mknodat(&below, "fifo", fifo, Mode::from_raw_mode(0o666), 0).unwrap();
    at::symlink(b"target", &below, b"link").unwrap();
    tree.until_idle();
    let mount = tree.mount(&["--cache=watch"]);
    for name in [&b"fifo"[..], b"link"] {
        at::stat(mount.dir(), name).unwrap();
        rustix::fs::linkat(&below, name, &elsewhere, name, AtFlags::empty()).unwrap();
        let owner = Some(rustix::fs::Uid::from_raw(1));
        rustix::fs::chownat(&elsewhere, name, owner, None, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        within(SLOW, || {
            let seen = at::stat(mount.dir(), name).unwrap();
            (seen.st_uid, seen.st_nlink) == (1, 2)
        });
    }
    mount.stop();
}

/// Opened by its handle a file need not have a name then, and nobody hears of it.
#[test]
fn f5_a_change_through_another_mount_is_heard_of_though_the_kernel_had_dropped_the_name() {
    if !needs::root("fanotify") {
        return;
    }
    let changes: [fn(&Path); 6] = [
        |file| {
            let mut file = std::fs::OpenOptions::new().append(true).open(file).unwrap();
            file.write_all(b"more").unwrap();
        },
        |file| {
            let mut python = Command::new("python3");
            let python = python.args(["-c", "import os, sys; os.truncate(sys.argv[1], 3)"]);
            assert!(python.arg(file).status().unwrap().success());
        },
        |file| rustix::fs::chmod(file, Mode::from_raw_mode(0o600)).unwrap(),
        |file| {
            let file = std::fs::File::open(file).unwrap();
            file.set_modified(UNIX_EPOCH).unwrap();
        },
        |file| rustix::fs::setxattr(file, c"user.a", b"b", XattrFlags::empty()).unwrap(),
        |fifo| rustix::fs::chmod(fifo, Mode::from_raw_mode(0o600)).unwrap(),
    ];
    let tree = Tree::new();
    let names: Vec<_> = (0..changes.len()).map(|n| format!("file{n}")).collect();
    for name in &names[..changes.len() - 1] {
        tree.file(name.as_bytes(), b"content");
    }
    let mode = Mode::from_raw_mode(0o644);
    mknodat(tree.below_dir(), &names[5], FileType::Fifo, mode, 0).unwrap();
    tree.until_idle();
    let mount = tree.mount(&["--cache=watch"]);
    let other = tempfile::tempdir().unwrap();
    let second = Beside::start(&tree.backing(), other.path(), &["--cache=watch"]);
    let other = at::open(CWD, other.path().as_os_str().as_bytes(), OFlags::PATH).unwrap();
    let open = |dir: BorrowedFd<'_>, name: &String| at::open(dir, name.as_bytes(), OFlags::PATH);
    // The first mount keeps attributes for as long as the file was not changed.
    let made = std::fs::metadata(tree.backing().join(&names[0])).unwrap();
    until(|| made.modified().unwrap().elapsed().unwrap().as_secs() >= 6);
    for (name, change) in names.iter().zip(changes) {
        // Of dentries that nobody uses: not that of the mounts.
        let held = open(other.as_fd(), name).unwrap();
        let first = open(mount.dir(), name).unwrap();
        let times = || {
            let stat = rustix::fs::fstat(&first).unwrap();
            (stat.st_ctime, stat.st_ctime_nsec)
        };
        let before = times();
        memory::drop_unused();
        let path = format!("/proc/{}/fd/{}", std::process::id(), held.as_raw_fd());
        change(Path::new(&path));
        within(HEARD, || times() != before);
    }
    drop(other);
    second.stop();
    mount.stop();
}

/// The NFS server opens files by their handles.
#[test]
fn f5_a_change_by_a_handle_is_seen_after_a_second_where_the_nfs_server_runs() {
    if !needs::root("fanotify") {
        return;
    }
    let _inner = Inner::memory("/proc/fs".into());
    std::fs::create_dir("/proc/fs/nfsd").unwrap();
    std::fs::write("/proc/fs/nfsd/threads", "8").unwrap();
    let tree = Tree::new();
    tree.file(b"file", b"content");
    let below = std::fs::File::open(tree.backing()).unwrap();
    let path = tree.backing().join("file");
    let handle = FileHandle::of(std::fs::File::open(&path).unwrap());
    let handle = handle.unwrap().unwrap();
    // Else the attributes would be kept for as long as that.
    let made = std::fs::metadata(&path).unwrap().modified().unwrap();
    until(|| made.elapsed().unwrap() > SLOW * 3 / 2);
    let mount = tree.mount(&["--cache=watch"]);
    // Else the kernel forgets it above too.
    let held = at::open(mount.dir(), b"file", OFlags::PATH).unwrap();
    let size = || rustix::fs::fstat(&held).unwrap().st_size;
    assert_eq!(size(), 7);
    memory::drop_unused();
    let file = handle.open(&below, libc::O_WRONLY | libc::O_APPEND);
    std::fs::File::from(file.unwrap().unwrap())
        .write_all(b"more")
        .unwrap();
    within(SLOW, || size() == 11);
    drop(held);
    mount.stop();
}

/// So often the kernel was told to forget something.
fn told(mount: &Mount<'_>) -> u64 {
    let workers = mount.threads().into_iter();
    let workers = workers.filter(|(comm, _)| comm == b"notify");
    // That is all that they write.
    workers
        .map(|(_, task)| {
            let io = std::fs::read_to_string(task.join("io")).unwrap();
            let count = io.lines().find_map(|line| line.strip_prefix("syscw: "));
            count.unwrap().parse::<u64>().unwrap()
        })
        .sum()
}

/// Two mounts may lie over one directory, and the kernel serves both alone.
#[test]
fn what_is_written_through_another_mount_is_heard_of_before_it_is_closed() {
    if !needs::root("fanotify") {
        return;
    }
    let _kept = memory::kept();
    let tree = Tree::in_memory();
    tree.file(b"file", b"content");
    tree.until_idle();
    let mount = tree.mount(&["--cache=watch"]);
    let other = tempfile::tempdir().unwrap();
    let second = Beside::start(&tree.backing(), other.path(), &["--cache=watch"]);
    at::stat(mount.dir(), b"file").unwrap();
    let other = at::open(CWD, other.path().as_os_str().as_bytes(), OFlags::PATH).unwrap();
    let file = at::open(&other, b"file", OFlags::WRONLY).unwrap();
    assert_eq!(told(&mount), 0);
    at::write_all(&file, b"more of it").unwrap();
    within(SLOW, || told(&mount) > 0);
    within(SLOW, || {
        at::stat(mount.dir(), b"file").unwrap().st_size == 10
    });
    drop((file, other));
    second.stop();
    mount.stop();
}

/// Most inodes that the kernel knows once what was looked at is gone: the root, and the directory that they were in.
const FEW: u64 = 20;

fn inodes(mount: &Mount<'_>) -> u64 {
    status::of(&mount.point())["inodes"].as_u64().unwrap()
}

/// Makes directories and files in `many`, half of them with legacy names, and has the kernel look at each.
fn fill_and_look(tree: &Tree, mount: &Mount<'_>, count: usize) -> Vec<Vec<u8>> {
    let below = tree.below_dir();
    let name = |number: usize| {
        let name = format!(
            "many/caf{}{number}",
            if number.is_multiple_of(2) {
                "e"
            } else {
                "\u{e9}"
            }
        );
        let octets = name.chars().map(|c| u8::try_from(u32::from(c)).unwrap());
        octets.collect::<Vec<u8>>()
    };
    let names: Vec<Vec<u8>> = (0..count).map(name).collect();
    for (number, name) in names.iter().enumerate() {
        match number % 4 {
            0 | 1 => at::mkdir(&below, name).unwrap(),
            _ => at::write_new(&below, name, b"").unwrap(),
        }
    }
    tree.until_idle();
    for entry in std::fs::read_dir(mount.point().join("many")).unwrap() {
        entry.unwrap().metadata().unwrap();
    }
    assert!(inodes(mount) >= count as u64);
    names
}

fn remove_all(tree: &Tree, names: &[Vec<u8>]) {
    let below = tree.below_dir();
    for (number, name) in names.iter().enumerate() {
        match number % 4 {
            0 | 1 => at::rmdir(&below, name).unwrap(),
            _ => at::unlink(&below, name).unwrap(),
        }
    }
}

/// The kernel keeps what it looked at until it is told that it is gone, though it would look it up anew before it used it.
#[test]
fn what_is_removed_below_is_forgotten_whatever_its_name() {
    if !needs::root("fanotify") {
        return;
    }
    let tree = Tree::in_memory();
    tree.directory(b"many");
    let mount = tree.mount(&["--cache=watch", "--from", "iso-8859-1"]);
    let names = fill_and_look(&tree, &mount, 200);
    remove_all(&tree, &names);
    within(10 * SLOW, || inodes(&mount) <= FEW);
    mount.stop();
}

/// Where events were lost, nobody says what was removed: each inode is looked at.
#[test]
fn what_is_removed_below_is_forgotten_also_where_events_are_lost() {
    if !needs::root("fanotify") {
        return;
    }
    let most = std::fs::read_to_string("/proc/sys/fs/fanotify/max_queued_events").unwrap();
    let most: usize = most.trim().parse().unwrap();
    if most > 100_000 {
        return;
    }
    let tree = Tree::in_memory();
    tree.directory(b"many");
    let mut mount = tree.mount(&["--cache=watch", "--from", "iso-8859-1"]);
    mount.allow_warning("more changes in the backing directory than can be followed");
    let names = fill_and_look(&tree, &mount, 2000);
    mount.pause();
    let below = tree.below_dir();
    for number in 0..=most {
        at::mkdir(&below, format!("many/{number}").as_bytes()).unwrap();
    }
    remove_all(&tree, &names);
    mount.go_on();
    within(10 * SLOW, || inodes(&mount) <= FEW);
    assert_eq!(status::of(&mount.point())["watch"]["overflows"], 1);
    mount.stop();
}

/// The first request of a kernel (`FUSE_INIT`) that has every feature but `FUSE_HAS_EXPIRE_ONLY`, in hexadecimal digits.
fn init_without_expiry() -> String {
    const WITHOUT_EXPIRY: u32 = !(1 << (35 - 32));
    // Length, operation, the id of the first request (two halves), and six fields of nobody; then the versions, the read-ahead,
    // and all flags.
    let fields = [
        104,
        26,
        2,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        7,
        45,
        131_072,
        u32::MAX,
        WITHOUT_EXPIRY,
    ];
    let octets = fields.iter().flat_map(|field| field.to_ne_bytes());
    octets.map(|octet| format!("{octet:02x}")).collect()
}

/// An older kernel would drop names that it is to look up anew, with all that is mounted on them. Vendors give theirs features of
/// later ones: the version does not tell.
#[test]
fn f5_changes_are_followed_only_where_the_kernel_says_that_it_expires_names() {
    if !needs::root("fanotify") || !needs::program("strace", "another kernel") {
        return;
    }
    let inject = format!(
        "inject=read:when=1:poke_exit=@arg2={}",
        init_without_expiry()
    );
    // Not with -f: the first read of each thread that serves the device would be altered too.
    let strace = [
        "strace",
        "-D",
        "-o",
        "/dev/null",
        "-P",
        "/dev/fuse",
        "-e",
        "trace=read",
        "-e",
        &inject,
    ];
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"content");
    let mount = Mount::start_under(&tree, &strace, &["--from", "iso-8859-1"]);
    assert_eq!(
        at::read(mount.dir(), "café".as_bytes()).unwrap(),
        b"content"
    );
    let status = status::of(&mount.point());
    assert_eq!(status["watch"], serde_json::Value::Null);
    let reason = status["unwatched"].as_str().unwrap().to_owned();
    assert!(reason.contains("FUSE_HAS_EXPIRE_ONLY"), "{reason}");
    mount.stop();

    let output = Command::new(strace[0])
        .args(&strace[1..])
        .args([
            binary(),
            "mount",
            "--cache",
            "watch",
            "--audit-log",
            "/dev/null",
        ])
        .args([tree.backing(), tree.point()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    let refusal = format!("error: --cache watch is not possible: {reason}\n");
    assert!(said.contains(&refusal), "{said}");
    assert_eq!(mounted(&tree.point()), None);
}

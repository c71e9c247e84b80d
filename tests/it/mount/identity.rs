//! What a file is known by: its number, its descriptor or its handle (issue of identity; laws F2, F3).

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Mode, OFlags, RawDir, StatxFlags};
use rustix::io::Errno;
use utf8fs::backing::FileHandle;

use crate::support::wait::until;
use crate::support::{Mount, Tree, at, needs, show};

/// The numbers that a listing of the directory gives.
fn listed(dir: impl AsFd) -> BTreeMap<Vec<u8>, u64> {
    let mut buffer = Vec::with_capacity(8192);
    let mut entries = RawDir::new(dir, buffer.spare_capacity_mut());
    let mut numbers = BTreeMap::new();
    while let Some(entry) = entries.next() {
        let entry = entry.unwrap();
        numbers.insert(entry.file_name().to_bytes().to_vec(), entry.ino());
    }
    numbers.remove(b"..".as_slice());
    numbers
}

#[test]
fn numbers_are_those_below_whichever_call_tells_them_and_whichever_daemon() {
    let tree = Tree::new();
    tree.file(b"file", b"");
    at::mkdir(tree.below_dir(), b"dir").unwrap();
    at::symlink(b"file", tree.below_dir(), b"symlink").unwrap();
    at::link(tree.below_dir(), b"file", b"link").unwrap();
    let below = listed(tree.below_dir());
    for round in 0..2 {
        let mount = tree.mount(&["--cache", "0"]);
        assert_eq!(listed(mount.dir()), below, "{round}");
        for (name, &number) in &below {
            let stat = at::stat(mount.dir(), name).unwrap();
            assert_eq!(stat.st_ino, number, "{}", show(name));
            assert_eq!(
                stat.st_nlink,
                at::stat(tree.below_dir(), name).unwrap().st_nlink
            );
        }
        // A listing that looks entries up gives the same numbers.
        assert_eq!(listed(mount.sub(".")), below, "{round}");
        let file = std::fs::File::open(mount.point().join("link")).unwrap();
        assert_eq!(file.metadata().unwrap().ino(), below[b"file".as_slice()]);
        drop(file);
        mount.stop();
    }
}

/// Law F10. A filesystem gives the number of a removed file to the next one that is made, often before the kernel has forgotten the old
/// file.
#[test]
fn f10_numbers_are_those_below_whatever_was_removed_before() {
    let tree = Tree::new();
    for number in 0..20 {
        tree.file(format!("alt{number} caf\u{e9}").as_bytes(), b"");
        tree.file(
            &[format!("alt{number} caf").as_bytes(), b"\xE9"].concat(),
            b"",
        );
    }
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let above = at::open_dir(mount.dir(), b".").unwrap();
    for number in 0..600 {
        let name = format!("file{number}");
        match number % 2 {
            0 => at::write_new(&above, name.as_bytes(), b"").unwrap(),
            _ => at::mkdir(&above, name.as_bytes()).unwrap(),
        }
        if number % 3 == 0 && number > 0 {
            let before = format!("file{}", number - 1);
            match number % 2 {
                0 => at::rmdir(&above, before.as_bytes()).unwrap(),
                _ => at::unlink(&above, before.as_bytes()).unwrap(),
            }
        }
    }
    let below = listed(tree.below_dir());
    let numbers_above = |name: &[u8]| {
        let stat = at::stat(mount.dir(), name).unwrap().st_ino;
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_FORCE_SYNC;
        let asked = rustix::fs::statx(mount.dir(), name, flags, StatxFlags::INO).unwrap();
        [stat, asked.stx_ino]
    };
    // Two decoded siblings have a name each, of which one is an escape: those are known by their numbers alone.
    let listing = listed(mount.sub("."));
    let values =
        |numbers: &BTreeMap<Vec<u8>, u64>| -> BTreeSet<u64> { numbers.values().copied().collect() };
    assert_eq!(values(&listing), values(&below));
    for (name, number) in &listing {
        assert_eq!(numbers_above(name), [*number; 2], "{}", show(name));
        if name.starts_with(b"file") {
            assert_eq!(below[name], *number, "{}", show(name));
        }
    }
    assert_eq!(listed(mount.sub(".")), listing, "read once more");
    drop(above);
    mount.stop();
}

/// Looks at so many files that the daemon has given up every descriptor that it does not need.
fn look_at_many(mount: &Mount<'_>, count: usize) {
    for number in 0..count {
        at::stat(mount.dir(), format!("other{number}").as_bytes()).unwrap();
    }
}

fn fill(tree: &Tree, count: usize) {
    for number in 0..count {
        tree.file(format!("other{number}").as_bytes(), b"");
    }
}

#[test]
fn a_number_that_is_used_again_is_never_taken_for_the_old_file() {
    if !needs::root("files that are known by their handles") {
        return;
    }
    let tree = Tree::new();
    fill(&tree, 200);
    tree.file(b"old", b"old content");
    let mount = Mount::start_limited(&tree, 128, &["--cache", "0"]);
    let old = at::open(mount.dir(), b"old", OFlags::PATH).unwrap();
    let number = rustix::fs::fstat(&old).unwrap().st_ino;
    look_at_many(&mount, 200);
    at::unlink(tree.below_dir(), b"old").unwrap();
    // ext4 gives a number to the next file that is made; tmpfs never gives one twice.
    let mut name = None;
    for n in 0..200 {
        let new = format!("new{n}").into_bytes();
        tree.file(&new, b"new");
        if at::stat(tree.below_dir(), &new).unwrap().st_ino == number {
            name = Some(new);
            break;
        }
    }
    assert_eq!(rustix::fs::fstat(&old).map(drop), Err(Errno::STALE));
    match name {
        Some(name) => {
            assert_eq!(at::read(mount.dir(), &name).unwrap(), b"new");
            assert_eq!(at::stat(mount.dir(), &name).unwrap().st_size, 3);
            // The kernel still knows the old file by that number, and nobody sees it.
            assert_eq!(at::stat(mount.dir(), &name).unwrap().st_ino, number);
            assert_eq!(rustix::fs::fstat(&old).map(drop), Err(Errno::STALE));
        }
        None => eprintln!("NOT TESTED: no number was used again"),
    }
    drop(old);
    mount.stop();
}

/// Waits until the thread of ours that sends its number waits for the daemon.
fn wait_for_question(thread: &std::sync::mpsc::Receiver<rustix::process::Pid>) {
    let thread = thread.recv().unwrap().as_raw_nonzero();
    let place = format!("/proc/self/task/{thread}/wchan");
    until(|| std::fs::read(&place).is_ok_and(|name| name == b"request_wait_answer"));
}

/// Law F1: the kernel checks the rights to the file that it knows by a number, and asks to open the number. Meanwhile the file can be
/// gone, and another one with its inode number be looked up.
#[test]
fn f1_whoever_opens_a_file_gets_no_other_that_has_its_number_by_then() {
    if !needs::root("files that are known by their handles") {
        return;
    }
    let tree = Tree::new();
    tree.file(b"old", b"old content");
    // What was just made is held by a descriptor.
    let made = std::fs::metadata(tree.backing().join("old")).unwrap();
    until(|| {
        made.modified()
            .unwrap()
            .elapsed()
            .is_ok_and(|age| age > Duration::from_millis(100))
    });
    // What is asked first is answered first.
    let options = ["--cache", "60", "--threads", "1"];
    let mount = tree.mount(&options);
    let number = at::stat(mount.dir(), b"old").unwrap().st_ino;
    mount.pause();
    at::unlink(tree.below_dir(), b"old").unwrap();
    // ext4 gives a number to the next file that is made; tmpfs never gives one twice.
    let new = (0..200)
        .map(|n| format!("new{n}").into_bytes())
        .find(|new| {
            tree.file(new, b"secret");
            at::stat(tree.below_dir(), new).unwrap().st_ino == number
        });
    let Some(new) = new else {
        eprintln!("NOT TESTED: no number was used again");
        mount.go_on();
        return mount.stop().clear();
    };
    let (say, said) = std::sync::mpsc::channel();
    let opened = std::thread::scope(|scope| {
        let looked = scope.spawn(|| {
            say.send(rustix::thread::gettid()).unwrap();
            at::stat(mount.dir(), &new)
        });
        wait_for_question(&said);
        let opened = scope.spawn(|| {
            say.send(rustix::thread::gettid()).unwrap();
            at::read(mount.dir(), b"old")
        });
        wait_for_question(&said);
        mount.go_on();
        assert_eq!(looked.join().unwrap().unwrap().st_size, 6);
        opened.join().unwrap()
    });
    assert_eq!(opened, Err(Errno::NOENT));
    assert_eq!(at::read(mount.dir(), &new).unwrap(), b"secret");
    mount.stop();
}

#[test]
fn an_open_file_without_a_name_is_all_that_it_was() {
    let tree = Tree::new();
    fill(&tree, 200);
    tree.file(b"file", b"content");
    for below in [false, true] {
        let mount = Mount::start_limited(&tree, 128, &["--cache", "0"]);
        let open = at::open(mount.dir(), b"file", OFlags::RDWR).unwrap();
        match below {
            true => at::unlink(tree.below_dir(), b"file").unwrap(),
            false => at::unlink(mount.dir(), b"file").unwrap(),
        }
        look_at_many(&mount, 200);
        assert_eq!(rustix::fs::fstat(&open).unwrap().st_nlink, 0);
        assert_eq!(at::read_all(&open).unwrap(), b"content");
        at::write_all(&open, b" and more").unwrap();
        rustix::fs::fchmod(&open, Mode::from_raw_mode(0o600)).unwrap();
        rustix::fs::ftruncate(&open, 9).unwrap();
        rustix::fs::fsync(&open).unwrap();
        let stat = rustix::fs::fstat(&open).unwrap();
        assert_eq!((stat.st_size, stat.st_mode & 0o777), (9, 0o600));
        drop(open);
        mount.stop();
        tree.file(b"file", b"content");
        at::unlink(tree.below_dir(), b"file").unwrap();
        tree.file(b"file", b"content");
    }
}

/// A directory that is held stays the same one, whatever it is called, though its descriptor was given up meanwhile.
#[test]
fn a_directory_that_is_renamed_below_is_reached_by_who_holds_it() {
    if !needs::root("directories that are known by their handles") {
        return;
    }
    let tree = Tree::new();
    fill(&tree, 200);
    at::mkdir(tree.below_dir(), b"dir").unwrap();
    let mount = Mount::start_limited(&tree, 128, &["--cache", "0"]);
    let held = at::open(mount.dir(), b"dir", OFlags::PATH | OFlags::DIRECTORY).unwrap();
    look_at_many(&mount, 200);
    at::rename(tree.below_dir(), b"dir", b"moved").unwrap();
    look_at_many(&mount, 200);
    at::write_new(&held, b"file", b"content").unwrap();
    assert_eq!(at::read(mount.sub("moved"), b"file").unwrap(), b"content");
    drop(held);
    mount.stop();
}

/// A backing filesystem without file handles: an overlay that cannot be exported.
fn without_handles(tree: &Tree) {
    for layer in ["low", "up", "work"] {
        std::fs::create_dir(tree.parent().join(layer)).unwrap();
    }
    let place = |layer: &str| tree.parent().join(layer).to_str().unwrap().to_owned();
    let layers = ["low", "up", "work"].map(place);
    let options = format!(
        "lowerdir={},upperdir={},workdir={},index=off,nfs_export=off",
        layers[0], layers[1], layers[2]
    );
    let status = std::process::Command::new("mount")
        .args(["-t", "overlay", "-o", &options, "overlay"])
        .arg(tree.backing())
        .status();
    assert!(status.unwrap().success());
    assert_eq!(FileHandle::of(tree.below_dir()).unwrap(), None);
}

#[test]
fn what_has_no_handle_is_opened_again_where_it_was_seen_last() {
    if !needs::root("an overlay below") {
        return;
    }
    let tree = Tree::new();
    without_handles(&tree);
    fill(&tree, 200);
    at::mkdir(tree.below_dir(), b"dir").unwrap();
    tree.file(b"file", b"content");
    let mount = Mount::start_limited(&tree, 128, &["--cache", "0"]);
    let size = |held: &_| rustix::fs::fstat(held).map(|stat| stat.st_size);
    let dir = at::open(mount.dir(), b"dir", OFlags::PATH | OFlags::DIRECTORY).unwrap();
    let file = at::open(mount.dir(), b"file", OFlags::PATH).unwrap();
    look_at_many(&mount, 200);
    assert_eq!(size(&file), Ok(7));
    // Moved through the mount, both are found again; also the one below the other.
    at::rename(mount.dir(), b"dir", b"moved").unwrap();
    let into = |name: &[u8]| rustix::fs::renameat(mount.dir(), b"file".as_slice(), &dir, name);
    into(b"inside").unwrap();
    look_at_many(&mount, 200);
    assert_eq!(size(&file), Ok(7));
    at::write_new(&dir, b"new", b"").unwrap();
    // Moved below, what is there by the old name is never taken for it; by its new name it is found.
    let below = at::open_dir(tree.below_dir(), b"moved").unwrap();
    at::rename(&below, b"inside", b"elsewhere").unwrap();
    at::write_new(&below, b"inside", b"another").unwrap();
    look_at_many(&mount, 200);
    assert_eq!(size(&file), Err(Errno::STALE));
    assert_eq!(at::read(&dir, b"elsewhere").unwrap(), b"content");
    assert_eq!(at::read(&dir, b"inside").unwrap(), b"another");
    assert_eq!(at::sorted(mount.sub("moved")).len(), 3);
    drop((dir, file, below));
    mount.stop();
}

/// Decided in docs/internals/semantics.md: no handles of the mount's own, rather than some that go stale by themselves.
#[test]
fn the_mount_gives_no_handles_rather_than_ones_that_go_stale() {
    let tree = Tree::new();
    tree.file(b"file", b"");
    let mount = tree.mount(&[]);
    // `None` is EOPNOTSUPP, which NFS servers take for "cannot be exported".
    assert_eq!(FileHandle::of(mount.dir()).unwrap(), None);
    let file = at::open(mount.dir(), b"file", OFlags::RDONLY).unwrap();
    assert_eq!(FileHandle::of(&file).unwrap(), None);
    drop(file);
    mount.stop();
}

/// Private memory of the daemon, in bytes.
fn memory(mount: &Mount<'_>) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", mount.id())).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
    kilobytes.parse::<usize>().unwrap() * 1024
}

/// `scripts/long million` does so with ten times as many, and measures that it is given back.
#[test]
fn a_hundred_thousand_inodes_take_at_most_220_bytes_each() {
    const EACH: usize = 1000;
    if !needs::root("inodes that are known by their handles") {
        return;
    }
    let tree = Tree::in_memory();
    for d in 0..100 {
        let below = tree.directory(format!("directory{d}").as_bytes());
        for n in 0..EACH {
            at::create_new(&below, format!("a-file-of-{n}.dat").as_bytes()).unwrap();
        }
    }
    let mount = Mount::start_limited(&tree, 1024, &[]);
    let walk = |directories: std::ops::Range<usize>| {
        for d in directories {
            let dir = mount.sub(&format!("directory{d}"));
            assert_eq!(at::list(&dir).len(), EACH);
            for n in 0..EACH {
                at::stat(&dir, format!("a-file-of-{n}.dat").as_bytes()).unwrap();
            }
        }
    };
    // What is needed once is there after some.
    walk(0..10);
    let before = memory(&mount);
    walk(10..100);
    let each = memory(&mount).saturating_sub(before) / (90 * EACH);
    assert!(each <= 220, "{each} bytes for each inode");
    mount.stop();
}

/// F2: who holds a directory that somebody moves out of the backing directory is not led out by it.
/// However long `--cache` is.
#[test]
fn f2_a_directory_that_is_moved_out_is_looked_into_for_a_second_at_most() {
    let tree = Tree::new();
    let below = tree.directory(b"dir");
    at::write_new(&below, b"file", b"content").unwrap();
    let parent = at::open_dir_path(tree.parent());
    let mount = tree.mount(&["--cache", "3600"]);
    let dir = mount.sub("dir");
    assert_eq!(at::stat(&dir, b"none").err(), Some(Errno::NOENT));
    let (from, to) = (b"dir".as_slice(), b"outside".as_slice());
    rustix::fs::renameat(tree.below_dir(), from, &parent, to).unwrap();
    let moved = Instant::now();
    until(|| moved.elapsed() > Duration::from_secs(1));
    // The kernel knows neither yet.
    assert_eq!(at::stat(&dir, b"file").err(), Some(Errno::STALE));
    let mut buffer = Vec::with_capacity(8192);
    let mut entries = RawDir::new(&dir, buffer.spare_capacity_mut());
    assert!(matches!(entries.next(), Some(Err(Errno::STALE))));
    drop(dir);
    mount.stop();
}

/// Nor by a name that a program has open, which the kernel therefore keeps when the directory's own is invalidated.
#[test]
fn f2_a_name_that_is_open_leads_into_a_directory_that_is_moved_out_for_two_seconds_at_most() {
    if !needs::root("fanotify") {
        return;
    }
    let tree = Tree::new();
    let below = tree.directory(b"dir");
    at::mkdir(&below, b"sub").unwrap();
    for name in [&b"file"[..], b"sub/file"] {
        at::write_new(&below, name, b"content").unwrap();
    }
    tree.until_idle();
    let parent = at::open_dir_path(tree.parent());
    let mount = tree.mount(&["--cache=watch"]);
    let dir = mount.sub("dir");
    let open = |name: &[u8]| at::open(&dir, name, OFlags::RDONLY);
    let held = [&b"file"[..], b"sub/file"].map(|name| open(name).unwrap());
    let (from, to) = (b"dir".as_slice(), b"outside".as_slice());
    rustix::fs::renameat(tree.below_dir(), from, &parent, to).unwrap();
    let moved = Instant::now();
    until(|| open(b"file").err() == Some(Errno::STALE) && open(b"sub/file").is_err());
    assert!(
        moved.elapsed() < Duration::from_secs(4),
        "{:?}",
        moved.elapsed()
    );
    drop((held, dir));
    mount.stop();
}

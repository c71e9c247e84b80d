//! What the kernel is told, and what it may keep, where changes are followed.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;
use crate::backing::{Dir, private_clone};
use crate::fs::Config;
use crate::fs::samples::{CALLER, config, map};
use crate::names::Legacy;

/// Says which inodes it is told of.
struct Listener(Mutex<Sender<u64>>);

impl Kernel for Listener {
    fn invalidate_name(&self, _directory: u64, _name: &[u8]) {}
    fn expire_name(&self, _directory: u64, _name: &[u8]) {}
    fn invalidate_inode(&self, number: u64) {
        // Who listens may have gone.
        _ = lock(&self.0).send(number);
    }
}

/// A filesystem that follows changes, or none where this process may not.
fn following(below: &Path) -> Option<Arc<Utf8Fs>> {
    let mut watcher = match Watcher::new() {
        Ok(watcher) => watcher,
        Err(error) => {
            assert_eq!(error.raw_os_error(), Some(libc::EPERM), "{error}");
            return None;
        }
    };
    let root = Dir::open_root(below).unwrap().into_fd();
    let own = private_clone(&root).unwrap();
    watcher.leave_out_writes_through(&own).unwrap();
    watcher.add(&root).unwrap();
    let fs = Utf8Fs::new(Config {
        by_handle: Some(std::fs::File::open(below).unwrap().into()),
        watcher: Some(watcher),
        keeps_lists: true,
        ..config(root, map(Legacy::Escape, &[]))
    });
    Some(Arc::new(fs.unwrap()))
}

/// Law F5.
#[test]
fn what_others_write_is_told_before_they_close_the_file_and_once_more() {
    let below = tempfile::tempdir().unwrap();
    let file = below.path().join("file");
    std::fs::write(&file, "").unwrap();
    let Some(fs) = following(below.path()) else {
        return;
    };
    let number = fs.lookup(CALLER, ROOT, b"file").unwrap().number;
    let (told, hears): (_, Receiver<u64>) = channel();
    let (ends, end) = std::io::pipe().unwrap();
    let listener: Arc<dyn Kernel> = Arc::new(Listener(Mutex::new(told)));
    std::thread::scope(|scope| {
        scope.spawn(|| fs.follow(&listener, &ends));
        // Changes of this process are the kernel's own.
        let mut other = Command::new("sh")
            .args(["-c", r#"exec 3>>"$0"; printf more >&3; read -r _"#])
            .arg(&file)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let until_told = || while hears.recv().unwrap() != number {};
        until_told();
        // Somebody may have been answering with what was before.
        until_told();
        assert_eq!(std::fs::metadata(&file).unwrap().size(), 4);
        other.stdin.take().unwrap().write_all(b"\n").unwrap();
        assert!(other.wait().unwrap().success());
        drop(end);
    });
}

#[test]
fn attributes_are_kept_for_as_long_as_their_changes_are_heard_of() {
    let below = tempfile::tempdir().unwrap();
    for name in ["file", "linked", "open"] {
        std::fs::write(below.path().join(name), "content").unwrap();
    }
    std::fs::hard_link(below.path().join("linked"), below.path().join("other")).unwrap();
    std::fs::create_dir(below.path().join("dir")).unwrap();
    std::os::unix::fs::symlink("file", below.path().join("link")).unwrap();
    let Some(fs) = following(below.path()) else {
        return;
    };
    let last = |name: &[u8]| fs.lookup(CALLER, ROOT, name).unwrap().attributes;
    // It may get another name where nobody looks, and be changed by that.
    assert!(matches!(last(b"link"), Lasts::For(_)));
    // The kernel would keep its content for as long.
    assert_eq!(last(b"file"), Lasts::Briefly);
    fs.keeps_no_pages();
    assert!(matches!(last(b"file"), Lasts::For(_)));
    // Nobody hears of what is done to it by its other name, if that is in a directory that nobody looked at.
    assert_eq!(last(b"linked"), Lasts::Briefly);
    // Who has it open can write to it by a mapping.
    let number = fs.lookup(CALLER, ROOT, b"open").unwrap().number;
    let opened = fs.open(CALLER, number, libc::O_RDWR).unwrap();
    assert_eq!(last(b"open"), Lasts::Not);
    fs.release(opened.handle);
    // A mapping may outlive the open file.
    assert_eq!(last(b"open"), Lasts::Open);
    // What is made in it changes it; it is marked when somebody looks at its attributes, or into it.
    assert_eq!(last(b"dir"), Lasts::Briefly);
    let number = fs.lookup(CALLER, ROOT, b"dir").unwrap().number;
    assert_eq!(fs.getattr(number).unwrap().attributes, Lasts::Long);
    fs.follow_no_more();
    for name in [&b"file"[..], b"link", b"dir"] {
        assert_eq!(last(name), Lasts::Briefly);
    }
}

/// Its handle is reported no more; the table would grow with each directory that others make and remove.
#[test]
fn a_directory_whose_number_is_anothers_is_marked_no_more() {
    // Filesystems on a disk use the numbers of removed directories again at once.
    let below = tempfile::tempdir_in(".").unwrap();
    let Some(fs) = following(below.path()) else {
        return;
    };
    let path = below.path().join("d");
    let mut numbers = std::collections::HashSet::new();
    for _ in 0..50 {
        std::fs::create_dir(&path).unwrap();
        let number = fs.lookup(CALLER, ROOT, b"d").unwrap().number;
        fs.getattr(number).unwrap();
        numbers.insert(number);
        std::fs::remove_dir(&path).unwrap();
    }
    // The kernel has forgotten none of them.
    assert!(numbers.len() < 50, "no number was used again");
    // And the root.
    assert_eq!(fs.following().unwrap().directories, numbers.len() + 1);
}

/// Only what others may make is to be expired where it is not heard of.
#[test]
fn what_the_mount_makes_is_absent_no_more() {
    let below = tempfile::tempdir().unwrap();
    let Some(fs) = following(below.path()) else {
        return;
    };
    let absent = |name: &[u8]| {
        assert!(fs.lookup(CALLER, ROOT, name).is_err());
        fs.mark(&fs.inodes.root, &fs.inodes.fd(&fs.inodes.root).unwrap());
        assert_eq!(fs.keep_absence(ROOT, name), Lasts::Long);
    };
    for name in [&b"dir"[..], b"file", b"renamed", b"other"] {
        absent(name);
    }
    fs.mkdir(CALLER, ROOT, b"dir", 0o755, 0).unwrap();
    fs.mknod(CALLER, ROOT, b"file", libc::S_IFREG | 0o644, 0, 0)
        .unwrap();
    fs.rename(CALLER, (ROOT, b"file"), (ROOT, b"renamed"), 0)
        .unwrap();
    let absent = fs.watch.as_ref().unwrap().absent.all();
    assert_eq!(
        absent,
        std::collections::HashSet::from([(ROOT, b"other"[..].into())])
    );
}

#[test]
fn a_file_is_at_rest_for_as_long_as_it_was_not_changed() {
    let now = UNIX_EPOCH + Duration::new(1_000_000, 500_000_000);
    for (secs, nanos, rest) in [
        (1_000_000, 500_000_000, Duration::ZERO),
        (1_000_000, 400_000_000, Duration::from_millis(100)),
        (999_990, 500_000_000, Duration::from_secs(10)),
        (999_900, 0, LONGEST),
        // By another clock, or by one that was set back.
        (1_000_001, 0, Duration::ZERO),
        (i64::MAX, 999_999_999, Duration::ZERO),
        // Before 1970: nobody's clock says when that was.
        (-1, 0, Duration::ZERO),
        (i64::MIN, 0, Duration::ZERO),
    ] {
        assert_eq!(at_rest(Time { secs, nanos }, now), rest, "{secs}");
    }
}

//! What the way along a symlink's target costs those who have nothing to do with it (law N13).

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use super::{CALLER, Plus, ROOT, Scratch, map};
use crate::at;
use crate::names::Legacy;

/// A directory of an entry whose name is that of another by another spelling, and a link that goes through it so often.
fn contested(times: usize) -> Scratch {
    let scratch = Scratch::new(map(Legacy::Decode, &["iso-8859-1"]), &[]);
    let (_, way) = scratch.directory(b"way");
    at::mkdir(&way, "é".as_bytes()).unwrap();
    at::mkdir(&way, b"\xE9").unwrap();
    let target = [&b"way/"[..], &b"\xE9/../".repeat(times), b"\xE9"].concat();
    at::symlink(&target, scratch.below_dir(), b"link").unwrap();
    scratch
}

/// While a name is looked up or listed, the kernel lets nobody change the directory.
#[test]
fn n13_a_link_is_looked_up_and_listed_without_a_look_at_its_way() {
    let scratch = contested(2);
    let fs = &scratch.fs;
    let way = fs.lookup(CALLER, ROOT, b"way").unwrap().inode;
    let reading = way.as_directory().unwrap().index.lock();
    let (told, hears) = channel();
    let number = std::thread::scope(|scope| {
        scope.spawn(move || {
            let handle = fs.opendir(CALLER, ROOT, 0).unwrap();
            fs.readdir(handle, 0, Plus::Yes, |_listed| false).unwrap();
            let entry = fs.lookup(CALLER, ROOT, b"link").unwrap();
            told.send(entry.inode.number)
        });
        let told = hears.recv_timeout(Duration::from_secs(10));
        drop(reading);
        told.unwrap()
    });
    let shown = fs.getattr(number).unwrap().1.size;
    assert_eq!(shown, b"way/%E9/../%E9/../%E9".len() as u64);
}

/// The kernel holds a directory while a link is made in it.
#[test]
fn n13_each_directory_on_a_way_is_read_once_whoever_changes_it() {
    let scratch = contested(50);
    let fs = &scratch.fs;
    let link = fs.lookup(CALLER, ROOT, b"link").unwrap().inode.number;
    let is_over = AtomicBool::new(false);
    let (changed, is_changed) = channel();
    let read = std::thread::scope(|scope| {
        scope.spawn(|| {
            for mode in [0o700, 0o755].into_iter().cycle() {
                let mode = PermissionsExt::from_mode(mode);
                std::fs::set_permissions(scratch.path(b"way"), mode).unwrap();
                changed.send(()).unwrap();
                if is_over.load(Ordering::Acquire) {
                    break;
                }
            }
        });
        is_changed.recv().unwrap();
        let before = fs.indexed.readings.load(Ordering::Relaxed);
        let shown = fs.readlink(CALLER, link).unwrap();
        assert_eq!(
            shown,
            [&b"way/"[..], &b"%E9/../".repeat(50), b"%E9"].concat()
        );
        let read = fs.indexed.readings.load(Ordering::Relaxed) - before;
        is_over.store(true, Ordering::Release);
        read
    });
    assert_eq!(read, 1);
}

/// Each directory on a way may be large, and the kernel holds the one where the link is made until all are read.
#[test]
fn n13_a_target_of_too_many_other_spellings_is_left_alone() {
    let scratch = contested(64);
    let link = scratch.fs.lookup(CALLER, ROOT, b"link").unwrap();
    let shown = scratch.fs.readlink(CALLER, link.inode.number).unwrap();
    assert_eq!(
        shown,
        [&b"way/"[..], &b"\xE9/../".repeat(64), b"\xE9"].concat()
    );
}

use std::fs;
use std::io::Write;
use std::path::Path;

use super::*;
use crate::backing::{Dir, private_clone};

fn open(path: &Path) -> OwnedFd {
    Dir::open_root(path).unwrap().into_fd()
}

fn handle_of(path: &Path) -> FileHandle {
    FileHandle::of(
        rustix::fs::open(
            path,
            rustix::fs::OFlags::PATH | rustix::fs::OFlags::NOFOLLOW,
            rustix::fs::Mode::empty(),
        )
        .unwrap(),
    )
    .unwrap()
    .unwrap()
}

/// A watcher, or none where this process may not have one.
fn watcher() -> Option<Watcher> {
    match Watcher::new() {
        Ok(watcher) => Some(watcher),
        Err(error) => {
            assert_eq!(error.raw_os_error(), Some(libc::EPERM), "{error}");
            None
        }
    }
}

fn changes(watcher: &Watcher) -> Vec<Change> {
    let mut changes = Vec::new();
    let taken = watcher.take(0, |change| changes.push(change)).unwrap();
    assert!(!taken.is_overflow);
    changes
}

#[test]
fn names_and_contents_in_a_marked_directory_are_told_and_no_others() {
    let Some(mut watcher) = watcher() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let alone = private_clone(open(scratch.path())).unwrap();
    watcher.leave_out_writes_through(&alone).unwrap();
    let (inside, outside) = (scratch.path().join("in"), scratch.path().join("out"));
    fs::create_dir(&inside).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(inside.join("old"), "").unwrap();
    let directory = open(&inside);
    watcher.add(&directory).unwrap();
    assert_eq!(changes(&watcher), []);

    fs::write(outside.join("new"), "").unwrap();
    fs::create_dir(inside.join("sub")).unwrap();
    let told = changes(&watcher);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(
        told[0],
        Change {
            directory: Some(handle_of(&inside)),
            name: b"sub".to_vec(),
            inode: Some(handle_of(&inside.join("sub"))),
            is_of_name: true,
            is_gone: false,
        }
    );

    let file = fs::OpenOptions::new()
        .write(true)
        .open(inside.join("old"))
        .unwrap();
    assert_eq!(changes(&watcher), []);
    let is_told = || {
        let told = changes(&watcher);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!((&*told[0].name, told[0].is_of_name), (&b"old"[..], false));
        assert_eq!(told[0].inode, Some(handle_of(&inside.join("old"))));
    };
    (&file).write_all(b"content").unwrap();
    is_told();
    // Several that nobody took yet are one.
    file.set_len(1).unwrap();
    (&file).write_all(b"more").unwrap();
    is_told();
    drop(file);
    is_told();

    let old = handle_of(&inside.join("old"));
    let cwd = rustix::fs::CWD;
    rustix::fs::renameat(cwd, inside.join("old"), cwd, outside.join("old")).unwrap();
    let told = changes(&watcher);
    let gone = told.iter().find(|change| change.is_gone).unwrap();
    assert_eq!((&*gone.name, &gone.inode), (&b"old"[..], &Some(old)));

    watcher.remove(&directory).unwrap();
    fs::write(inside.join("unseen"), "").unwrap();
    assert_eq!(changes(&watcher), []);
}

#[test]
fn a_directory_tells_of_itself() {
    let Some(watcher) = watcher() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let directory = open(scratch.path());
    watcher.add(&directory).unwrap();
    let permissions = fs::metadata(scratch.path()).unwrap().permissions();
    fs::set_permissions(scratch.path(), permissions).unwrap();
    let told = changes(&watcher);
    assert!(told.iter().any(|change| change.name == b"."), "{told:?}");
}

#[test]
fn too_many_changes_are_told_as_such() {
    let Some(watcher) = watcher() else { return };
    let most: usize = fs::read_to_string("/proc/sys/fs/fanotify/max_queued_events")
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    if most > 100_000 {
        return;
    }
    let scratch = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = open(scratch.path());
    watcher.add(&directory).unwrap();
    for number in 0..=most {
        fs::create_dir(scratch.path().join(number.to_string())).unwrap();
    }
    let (mut all, mut is_overflow) = (0, false);
    loop {
        let taken = watcher.take(0, |_| all += 1).unwrap();
        if taken.count == 0 {
            break;
        }
        assert!(!is_overflow, "it is the last event");
        is_overflow = taken.is_overflow;
    }
    assert!(is_overflow);
    assert!(all <= most);
}

#[test]
fn what_a_process_does_itself_is_not_reported_to_it() {
    let Some(watcher) = watcher() else { return };
    let scratch = tempfile::tempdir().unwrap();
    watcher.add(open(scratch.path())).unwrap();
    fs::create_dir(scratch.path().join("own")).unwrap();
    let taken = watcher.take(std::process::id(), |change| panic!("{change:?}"));
    assert!(taken.unwrap().count > 0);
}

#[test]
fn it_waits_for_a_change_or_for_the_end() {
    let Some(watcher) = watcher() else { return };
    let scratch = tempfile::tempdir().unwrap();
    watcher.add(open(scratch.path())).unwrap();
    let (end, other) = io::pipe().unwrap();
    fs::create_dir(scratch.path().join("a")).unwrap();
    assert_eq!(watcher.wait(&end, None).unwrap(), Woken::Called);
    drop(other);
    assert_eq!(watcher.wait(&end, None).unwrap(), Woken::Ended);
}

#[test]
fn what_is_written_through_a_mount_that_is_left_out_is_not_told() {
    let Some(mut watcher) = watcher() else { return };
    let scratch = tempfile::tempdir().unwrap();
    fs::write(scratch.path().join("file"), "").unwrap();
    let directory = open(scratch.path());
    let Ok(alone) = private_clone(&directory) else {
        return;
    };
    // How often something is told of the file: when it was written to, and when it was closed.
    let write = |watcher: &Watcher, directory: &OwnedFd, expected: (usize, usize)| {
        let flags = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::CLOEXEC;
        let file = rustix::fs::openat(directory, "file", flags, rustix::fs::Mode::empty()).unwrap();
        rustix::io::write(&file, b"more").unwrap();
        let written = changes(watcher);
        drop(file);
        let closed = changes(watcher);
        for change in written.iter().chain(&closed) {
            assert_eq!(change.name, b"file");
        }
        assert_eq!((written.len(), closed.len()), expected);
    };
    // Who cannot leave our own writes out does not ask to be told of each.
    watcher.add(&alone).unwrap();
    assert!(!watcher.hears_writes);
    write(&watcher, &alone, (0, 1));
    write(&watcher, &directory, (0, 1));

    watcher.leave_out_writes_through(&alone).unwrap();
    watcher.add(&alone).unwrap();
    assert!(watcher.hears_writes);
    write(&watcher, &alone, (0, 0));
    // A write below is told, before and after.
    write(&watcher, &directory, (1, 1));
    write(&watcher, &alone, (0, 0));
}

//! One file's locks, with owners and open files by number.

use std::fs::OpenOptions;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use super::super::descriptors::{Descriptors, Pool};
use super::super::samples::{CALLER, config, map};
use super::super::{ROOT, Utf8Fs};
use super::table::FileLocks;
use super::{LockCall, LockRequest, Locks, LocksAt};
use crate::backing::{Dir, LockKind, LockRange};
use crate::names::Legacy;

const WRITE: Option<LockKind> = Some(LockKind::Write);
const READ: Option<LockKind> = Some(LockKind::Read);

struct Bench {
    path: tempfile::TempPath,
    pool: Arc<Pool>,
    locks: FileLocks,
}

impl Bench {
    fn new() -> Self {
        Self {
            path: tempfile::NamedTempFile::new().unwrap().into_temp_path(),
            pool: Descriptors::new(64).pool,
            locks: FileLocks::default(),
        }
    }

    fn open(&self) -> OwnedFd {
        OpenOptions::new()
            .read(true)
            .write(true)
            .open(&self.path)
            .unwrap()
            .into()
    }

    fn set(&mut self, handle: u64, owner: u64, kind: Option<LockKind>, range: (u64, u64)) -> bool {
        self.ask(LockCall::Fcntl, (handle, owner), kind, range)
    }

    fn flock(&mut self, handle: u64, kind: Option<LockKind>) -> bool {
        self.ask(LockCall::Flock, (handle, handle), kind, ALL)
    }

    fn ask(
        &mut self,
        call: LockCall,
        (handle, owner): (u64, u64),
        kind: Option<LockKind>,
        range: (u64, u64),
    ) -> bool {
        let base = self.open();
        let request = LockRequest {
            call,
            owner,
            pid: u32::try_from(owner).unwrap(),
            caller: CALLER,
            range: LockRange {
                start: range.0,
                end: range.1,
            },
            kind,
        };
        let refused = &mut None;
        let set = self.locks.set(&self.pool, &base, handle, request, refused);
        set.unwrap()
    }
}

const ALL: (u64, u64) = (0, LockRange::WHOLE.end);

#[test]
fn what_is_held_is_let_go_by_closing_and_by_release() {
    let mut bench = Bench::new();
    assert!(bench.set(1, 100, WRITE, (0, 9)));
    assert!(bench.set(2, 100, WRITE, (20, 29)));
    assert!(!bench.set(3, 101, READ, (0, 0)));
    assert!(!bench.set(3, 101, WRITE, ALL));
    // By any descriptor: what the owner holds by all of them goes.
    bench.locks.close(100);
    assert!(bench.set(3, 101, WRITE, ALL));
    assert!(!bench.set(1, 100, READ, (5, 5)));
    bench.locks.release(3);
    assert!(bench.set(1, 100, READ, (5, 5)));
    bench.locks.release(1);
    assert!(bench.locks.is_empty());
}

#[test]
fn a_lock_that_is_refused_leaves_what_was_held() {
    let mut bench = Bench::new();
    assert!(bench.set(1, 100, READ, ALL));
    assert!(bench.set(2, 101, READ, ALL));
    assert!(!bench.set(1, 100, WRITE, ALL));
    assert!(!bench.set(2, 101, WRITE, ALL), "still held by 100");
    assert!(bench.set(1, 100, None, ALL));
    assert!(bench.set(2, 101, WRITE, ALL));
}

#[test]
fn each_call_shuts_out_its_like_alone() {
    let mut bench = Bench::new();
    assert!(bench.set(1, 100, WRITE, ALL));
    assert!(bench.flock(2, WRITE));
    assert!(!bench.flock(3, READ));
    assert!(!bench.set(3, 101, READ, (0, 0)));
    assert!(bench.flock(2, READ));
    assert!(bench.flock(3, READ));
    assert!(bench.flock(2, None));
    assert!(bench.flock(3, WRITE));
    bench.locks.release(3);
    assert!(bench.flock(2, WRITE));
    bench.locks.release(2);
    assert!(!bench.locks.is_empty(), "100 has one");
    bench.locks.close(100);
    assert!(bench.locks.is_empty());
}

#[test]
fn locks_leave_the_reserve_of_descriptors_alone() {
    let mut bench = Bench::new();
    let pool = Descriptors::new(16).pool;
    let base = bench.open();
    let ask = |owner: u64| LockRequest {
        call: LockCall::Fcntl,
        owner,
        pid: 1,
        caller: CALLER,
        range: LockRange {
            start: owner,
            end: owner,
        },
        kind: WRITE,
    };
    // Half of so few is the reserve, and root may take three eighths of that.
    const MOST: u64 = 11;
    let set = |locks: &mut FileLocks, owner| locks.set(&pool, &base, owner, ask(owner), &mut None);
    for owner in 0..MOST {
        assert!(set(&mut bench.locks, owner).unwrap());
    }
    let refused = set(&mut bench.locks, MOST).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::EMFILE));
    bench.locks.release(0);
    assert!(set(&mut bench.locks, MOST).unwrap());
}

/// Closing a descriptor waits for the filesystem of its file, where that is NFS or FUSE.
#[test]
fn a_file_whose_locks_are_slow_to_go_keeps_nobody_from_those_of_others() {
    let locks = Arc::new(Locks::default());
    let (slow, other) = ((2, 0), (3, 0));
    drop(locks.of(slow));
    let (has_begun, begins) = channel();
    let (end, ends) = channel::<()>();
    let closing = thread::spawn({
        let locks = Arc::clone(&locks);
        move || {
            locks.let_go(slow, |_| {
                has_begun.send(()).unwrap();
                assert!(ends.recv().is_err());
            });
        }
    });
    begins.recv().unwrap();
    let (done, is_done) = channel();
    let asking = thread::spawn({
        let locks = Arc::clone(&locks);
        move || {
            drop(locks.of(other));
            locks.let_go(other, |_| {});
            done.send(()).unwrap();
        }
    });
    let asked = is_done.recv_timeout(Duration::from_secs(20));
    drop(end);
    closing.join().unwrap();
    asking.join().unwrap();
    assert_eq!(asked, Ok(()), "it waits for the locks of another file");
    assert!(locks.files.lock().is_empty(), "no file has locks");
}

/// A file without a name is locked by those who have it open.
#[test]
fn a_file_that_was_removed_is_locked_by_those_who_have_it_open() {
    let below = tempfile::tempdir().unwrap();
    std::fs::write(below.path().join("file"), "content").unwrap();
    let root = Dir::open_root(below.path()).unwrap().into_fd();
    let mut config = config(root, map(Legacy::Escape, &[]));
    config.settings.locks = LocksAt::Backing;
    let fs = Utf8Fs::new(config).unwrap();
    let number = fs.lookup(CALLER, ROOT, b"file").unwrap().inode.number;
    let open = || fs.open(CALLER, number, libc::O_RDWR).unwrap().handle;
    let (one, other) = (open(), open());
    fs.unlink(CALLER, ROOT, b"file").unwrap();
    let lock = |handle, owner| {
        let request = LockRequest {
            call: LockCall::Fcntl,
            owner,
            pid: 0,
            caller: CALLER,
            range: LockRange { start: 0, end: 4 },
            kind: WRITE,
        };
        fs.set_lock(handle, request).unwrap()
    };
    assert!(lock(one, 1));
    assert!(!lock(other, 2));
    fs.close_locks(one, 1);
    fs.release(one);
    assert!(lock(other, 2));
}

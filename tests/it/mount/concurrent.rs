//! Law N11: at every instant exactly one entry has a visible name, also when many want it at once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::support::{Tree, at};

const THREADS: usize = 8;

/// Says that the work is done, also when it ended in a panic.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// While a name is replaced again and again, with a legacy file below that has it, it is never absent and never
/// doubled.
#[test]
fn a_name_that_is_replaced_is_never_absent_and_never_doubled() {
    let tree = Tree::new();
    tree.file(b"\xE9", b"0");
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let dir = mount.dir();
    let visible = "é".as_bytes();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _done = Done(&done);
            for round in 1..=500 {
                at::write_new(dir, b"new", round.to_string().as_bytes()).unwrap();
                at::rename(dir, b"new", visible).unwrap();
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    let content = at::read(dir, visible).unwrap();
                    assert!(!content.is_empty());
                    let listed = at::list(mount.dir());
                    let count = listed.iter().filter(|name| *name == visible).count();
                    assert_eq!(count, 1, "{listed:?}");
                }
            });
        }
    });
    assert_eq!(at::list(tree.below_dir()), [b"\xE9"]);
    assert_eq!(at::read(tree.below_dir(), b"\xE9").unwrap(), b"500");
    mount.stop();
}

/// Two files change names below all the time. Whoever opens one by its name has one of them whole: its number, its content
/// and its mode, and keeps it.
#[test]
fn two_files_that_change_names_below_are_never_mixed_up() {
    let tree = Tree::new();
    tree.file(b"one", b"first");
    tree.file(b"two", b"the second");
    let below = tree.below_dir();
    rustix::fs::chmodat(&below, &b"two"[..], Mode::from(0o600), AtFlags::empty()).unwrap();
    let wanted = [b"one", b"two"].map(|name| {
        let stat = at::stat(&below, name).unwrap();
        (stat.st_ino, stat.st_mode, at::read(&below, name).unwrap())
    });
    for options in [&["--cache", "none"][..], &[], &["--passthrough", "off"]] {
        let mount = tree.mount(options);
        let dir = mount.dir();
        let kept = [b"one", b"two"].map(|name| at::open(dir, name, OFlags::RDONLY).unwrap());
        let numbers = kept
            .each_ref()
            .map(|fd| rustix::fs::fstat(fd).unwrap().st_ino);
        let done = AtomicBool::new(false);
        let surprises = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    let (one, two) = (&b"one"[..], &b"two"[..]);
                    rustix::fs::renameat_with(&below, one, &below, two, RenameFlags::EXCHANGE)
                        .unwrap();
                }
            });
            let _done = Done(&done);
            for _ in 0..2000 {
                for name in [b"one", b"two"] {
                    let seen = at::open(dir, name, OFlags::RDONLY).and_then(|fd| {
                        let stat = rustix::fs::fstat(&fd)?;
                        let mut content = [0; 32];
                        let length = rustix::io::pread(&fd, &mut content, 0)?;
                        Ok((stat.st_ino, stat.st_mode, content[..length].to_vec()))
                    });
                    match seen {
                        Ok(seen) if wanted.contains(&seen) => {}
                        other => surprises.lock().unwrap().push(other),
                    }
                }
            }
        });
        assert_eq!(surprises.into_inner().unwrap(), []);
        for (fd, number) in kept.iter().zip(numbers) {
            assert_eq!(rustix::fs::fstat(fd).unwrap().st_ino, number);
        }
        drop(kept);
        mount.stop();
    }
}

/// Law N10: a rename to a name with other spellings is asked for twice, and the second time it is done, also where others
/// rename that entry, and give another its name, in between.
#[test]
fn workers_that_claim_jobs_by_renaming_them_meet_no_stale_name() {
    const ROUNDS: usize = 400;
    const JOBS: usize = 2;
    let tree = Tree::new();
    tree.directory(b"new");
    tree.directory(b"cur");
    for job in 0..JOBS {
        tree.file(format!("new/{job}").as_bytes(), b"");
    }
    let options = "--on-violation normalize --normalization nfc";
    let mount = tree.mount(&options.split(' ').collect::<Vec<_>>());
    let dir = mount.dir();
    let surprises = Mutex::new(Vec::new());
    let claims = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for worker in 0..THREADS {
            let (dir, surprises, claims) = (&dir, &surprises, &claims);
            scope.spawn(move || {
                let mine = format!("cur/é-{worker}").into_bytes();
                for round in 0..ROUNDS {
                    let job = format!("new/{}", round % JOBS).into_bytes();
                    match at::rename(dir, &job, &mine) {
                        Ok(()) => {
                            claims.fetch_add(1, Ordering::Relaxed);
                            at::unlink(dir, &mine).unwrap();
                            at::write_new(dir, &job, b"").unwrap();
                        }
                        Err(Errno::NOENT) => {}
                        Err(error) => surprises.lock().unwrap().push(error),
                    }
                }
            });
        }
    });
    assert_eq!(surprises.into_inner().unwrap(), []);
    assert!(claims.into_inner() > 0);
    mount.stop();
}

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::*;
use crate::backing::Dir;
use crate::coherence::{Coherence, Keeping, Times};
use crate::fs::samples::{CALLER, config, map};
use crate::fs::{Listed, NewEntry, Plus, ROOT, Utf8Fs};
use crate::names::Legacy;

const A: Caller = Caller { pid: 1, ..CALLER };
const B: Caller = Caller { pid: 2, ..CALLER };
const C: Caller = Caller { pid: 3, ..CALLER };

#[test]
fn a_rename_is_let_through_when_its_own_caller_has_looked_the_name_up() {
    let renames = Renames::default();
    assert!(!renames.is_forgotten(A, (7, b"a")));
    assert!(!renames.allows((7, b"a")) && renames.allows((7, b"b")) && renames.allows((8, b"a")));
    renames.looked_up(B, (7, b"a"), Target::Inode(9));
    assert!(!renames.is_forgotten(A, (7, b"a")) && !renames.is_forgotten(B, (7, b"a")));
    renames.looked_up(A, (7, b"a"), Target::Inode(9));
    // Another rename of the same name comes first, and ends.
    renames.ended(B, (7, b"a"), &Ok(()));
    assert!(!renames.allows((7, b"a")));
    assert!(renames.is_forgotten(A, (7, b"a")));
    renames.ended(A, (7, b"a"), &Ok(()));
    assert!(renames.allows((7, b"a")));
    assert_eq!(renames.count(), 0);
}

/// Law N10: whose process is of another pid namespace has no number, and is told from nobody else of the same user.
#[test]
fn n10_each_rename_of_callers_who_are_not_told_apart_is_answered_with_estale_once_at_most() {
    const UNKNOWN: Caller = Caller { pid: 0, ..CALLER };
    let renames = Renames::default();
    assert!(!renames.is_forgotten(UNKNOWN, (7, b"a")), "one");
    assert!(!renames.is_forgotten(UNKNOWN, (7, b"a")), "another");
    // The kernel lets nobody in between this lookup and this rename.
    renames.looked_up(UNKNOWN, (7, b"a"), Target::Inode(9));
    assert!(renames.is_forgotten(UNKNOWN, (7, b"a")), "one, again");
    renames.ended(UNKNOWN, (7, b"a"), &Ok(()));
    assert!(!renames.allows((7, b"a")), "the other is to come");
    // He renames it back, and misses another name: neither is of the other's doing.
    renames.replaced((7, b"a"));
    renames.ended(UNKNOWN, (7, b"a"), &Ok(()));
    assert!(
        !renames.is_forgotten(UNKNOWN, (7, b"a")),
        "it is a new dentry"
    );
    renames.looked_up(UNKNOWN, (7, b"a"), Target::Inode(9));
    assert!(renames.is_forgotten(UNKNOWN, (7, b"a")), "another, again");
    assert!(
        !renames.is_forgotten(UNKNOWN, (7, b"a")),
        "a lookup for each"
    );
}

/// Law N10: its dentry has the timeout that it had under the other name.
#[test]
fn a_name_that_another_dentry_was_moved_to_is_looked_up_anew() {
    let renames = Renames::default();
    assert!(!renames.is_forgotten(A, (7, b"a")));
    renames.looked_up(A, (7, b"a"), Target::Inode(9));
    renames.replaced((7, b"a"));
    assert!(!renames.is_forgotten(A, (7, b"a")));
}

/// Somebody may hold the lock of the directory meanwhile.
#[test]
fn a_mark_lasts_until_there_are_too_many_and_goes_by_those_of_its_own_user_first() {
    const OTHER: Caller = Caller {
        uid: CALLER.uid + 1,
        ..B
    };
    let renames = Renames::default();
    let is_marked = |number| !renames.allows((number, b"a"));
    let most = u64::try_from(MOST).unwrap();
    assert!(!renames.is_forgotten(OTHER, (0, b"a")));
    for number in 1..=most {
        assert!(!renames.is_forgotten(A, (number, b"a")));
    }
    assert!((MOST / 2..=MOST).contains(&renames.count()));
    assert!(is_marked(0), "of a user with one");
    assert!(!is_marked(1) && is_marked(most / 2 + 9) && is_marked(most));
    renames.looked_up(OTHER, (0, b"a"), Target::Inode(9));
    assert!(renames.is_forgotten(OTHER, (0, b"a")));
}

fn coherence(below: &Path) -> Coherence {
    let root = Dir::open_root(below).unwrap().into_fd();
    let fs = Utf8Fs::new(config(root, map(Legacy::Escape, &[]))).unwrap();
    let times = Times {
        heard: Duration::from_secs(1),
        unheard: Duration::from_secs(1),
    };
    let keeping = Keeping {
        times,
        watcher: Err(String::new()),
        keeps_lists: false,
    };
    Coherence::new(Arc::new(fs), keeping)
}

/// What has the bytes of a new name below, and is shown by another name, is not what the new name means.
#[test]
fn an_ill_formed_name_is_not_compared_with_the_entry_that_has_its_bytes() {
    let below = tempfile::tempdir().unwrap();
    for name in [&b"\xEA"[..], b"conforming"] {
        std::fs::create_dir(below.path().join(OsStr::from_bytes(name))).unwrap();
    }
    let coherence = coherence(below.path());
    coherence.lookup(A, ROOT, b"\xEA").unwrap_err();
    let known = |name| coherence.known(A, (ROOT, name));
    assert_eq!(
        (known(b"\xEA"), known(b"conforming")),
        (Some(Target::Absent), None)
    );
}

/// Law N10: which of the two names has several spellings may be another one when the kernel asks again.
#[test]
fn an_exchange_is_let_through_the_second_time_whatever_became_of_the_names() {
    let below = tempfile::tempdir().unwrap();
    let name =
        |directory: &str, file: &[u8]| below.path().join(directory).join(OsStr::from_bytes(file));
    // With two signs it is a spelling of the second, which is listed with one.
    let (whole, mapped) = (&b"caf%%E9"[..], &b"caf\xE9"[..]);
    for (directory, file) in [("a", whole), ("b", mapped)] {
        std::fs::create_dir(below.path().join(directory)).unwrap();
        std::fs::write(name(directory, file), "").unwrap();
    }
    let coherence = coherence(below.path());
    let number = |parent, name: &[u8]| coherence.lookup(A, parent, name).unwrap().0.inode.number;
    let (a, b) = (number(ROOT, b"a"), number(ROOT, b"b"));
    let exchange = || {
        number(a, whole);
        number(b, whole);
        coherence.rename(A, (a, whole), (b, whole), libc::RENAME_EXCHANGE)
    };
    assert!(matches!(exchange(), Err(FsError::Stale)));
    for (directory, gone, new) in [("a", whole, mapped), ("b", mapped, whole)] {
        std::fs::remove_file(name(directory, gone)).unwrap();
        std::fs::write(name(directory, new), "").unwrap();
    }
    exchange().unwrap();
}

/// The kernel goes by what it was told: others may have taken the directory away, or put another in its place.
#[test]
fn a_directory_that_is_not_there_any_more_or_not_known_to_the_kernel_is_looked_up_again() {
    let below = tempfile::tempdir().unwrap();
    let coherence = coherence(below.path());
    let path = |name: &str| below.path().join(name);
    let lookup = |name: &[u8]| coherence.lookup(A, ROOT, name).map(drop);
    let is_stale = |done: Result<(), FsError>| matches!(done, Err(FsError::Stale));
    let replace = || coherence.rename(A, (ROOT, b"z"), (ROOT, b"x"), 0);
    let remove = || coherence.remove(A, (ROOT, b"x"), true);
    for name in ["x", "z"] {
        std::fs::create_dir(path(name)).unwrap();
        lookup(name.as_bytes()).unwrap();
    }
    renameat_with(CWD, path("x"), CWD, path("y"), RenameFlags::empty()).unwrap();
    assert!(is_stale(replace()) && is_stale(remove()));
    lookup(b"x").unwrap_err();
    replace().unwrap();
    // What was told is forgotten, and where it was seen last says nothing of the kernel.
    let mut others = 0_u64..;
    let is_told = || coherence.dentries.target((ROOT, b"x")).is_some();
    while is_told() {
        let name = others.next().unwrap().to_ne_bytes();
        coherence
            .dentries
            .set((1, &name), Target::Inode(1), Duration::ZERO);
    }
    assert!(is_stale(remove()));
    lookup(b"x").unwrap();
    remove().unwrap();
}

/// Another process may look a name up while the kernel removes what it knows by that already: the kernel renews names without the lock
/// of the directory.
#[test]
fn a_directory_is_not_removed_for_another_that_somebody_else_was_told_of_meanwhile() {
    let below = tempfile::tempdir().unwrap();
    let coherence = coherence(below.path());
    let path = |name: &str| below.path().join(name);
    let exchange = || renameat_with(CWD, path("x"), CWD, path("y"), RenameFlags::EXCHANGE).unwrap();
    let number = |caller, name: &[u8]| coherence.lookup(caller, ROOT, name).unwrap().0.inode.number;
    let is_stale = |done: Result<(), FsError>| matches!(done, Err(FsError::Stale));
    for is_rename in [false, true] {
        for name in ["x", "y", "z"] {
            drop(std::fs::create_dir(path(name)));
        }
        let remove = || match is_rename {
            true => coherence.rename(A, (ROOT, b"z"), (ROOT, b"x"), 0),
            false => coherence.remove(A, (ROOT, b"x"), true),
        };
        let (x, _) = (number(A, b"x"), number(A, b"z"));
        exchange();
        assert_ne!(number(B, b"x"), x);
        assert_eq!(number(C, b"x"), number(B, b"x"));
        assert!(is_stale(remove()), "the kernel may know the former one");
        assert_ne!(number(A, b"x"), x);
        exchange();
        assert!(is_stale(remove()), "it is another again");
        assert!(is_stale(remove()), "what was told before that says nothing");
        assert_eq!(number(A, b"x"), x);
        number(B, b"x");
        remove().unwrap();
        let is_there = |name| std::fs::symlink_metadata(path(name)).is_ok();
        assert_eq!((is_there("x"), is_there("y")), (is_rename, true));
        assert_ne!(number(A, b"y"), x);
        assert!(coherence.renames.allows((ROOT, b"x")));
    }
}

/// Overlayfs above passes `ESTALE` on.
#[test]
fn a_name_whose_entry_was_removed_here_is_replaced_at_once() {
    let below = tempfile::tempdir().unwrap();
    let coherence = coherence(below.path());
    let is_looked_up = |name: &[u8]| coherence.lookup(A, ROOT, name).is_ok();
    std::os::unix::fs::symlink("t", below.path().join("x")).unwrap();
    std::fs::create_dir(below.path().join("d")).unwrap();
    for is_directory in [false, true] {
        // The kernel knows it for as long as somebody holds it.
        assert!(is_looked_up(b"x") && is_looked_up(b"d"));
        coherence.remove(A, (ROOT, b"x"), is_directory).unwrap();
        assert!(!is_looked_up(b"x"));
        coherence.rename(A, (ROOT, b"d"), (ROOT, b"x"), 0).unwrap();
        std::fs::create_dir(below.path().join("d")).unwrap();
    }
    // Others replace a link.
    std::os::unix::fs::symlink("t", below.path().join("l")).unwrap();
    assert!(is_looked_up(b"l"));
    std::fs::remove_file(below.path().join("l")).unwrap();
    assert!(!is_looked_up(b"l"));
    coherence.rename(A, (ROOT, b"d"), (ROOT, b"l"), 0).unwrap();
}

/// Law F1: a directory keeps its number whatever is done by names that it had, or that led to what had its number.
#[test]
fn a_directory_that_is_not_removed_keeps_its_number() {
    let below = tempfile::tempdir().unwrap();
    let coherence = coherence(below.path());
    let new = |name: &'static [u8]| NewEntry {
        caller: A,
        parent: ROOT,
        name,
        mode: 0o755,
        umask: 0,
    };
    let mkdir = |name| {
        drop(coherence.lookup(A, ROOT, name));
        let made = coherence.make(&new(name), |fs| fs.mkdir(&new(name)));
        made.unwrap().0.inode.number
    };
    let rmdir = |name: &[u8]| coherence.remove(A, (ROOT, name), true).unwrap();
    let forget = |number| coherence.forget(number, 9);
    for _ in 0..50 {
        let gone = mkdir(b"f");
        rmdir(b"f");
        forget(gone);
        // On many filesystems it has the number of the one before.
        let lives = mkdir(b"e");
        mkdir(b"f");
        rmdir(b"f");
        drop(coherence.lookup(A, ROOT, b"z"));
        coherence.rename(A, (ROOT, b"e"), (ROOT, b"z"), 0).unwrap();
        mkdir(b"e");
        rmdir(b"e");
        let now = coherence.lookup(A, ROOT, b"z").unwrap().0.inode.number;
        assert_eq!(now, lives);
        rmdir(b"z");
        forget(lives);
    }
}

/// An entry for which there was no room is not told.
#[test]
fn what_is_listed_is_known_to_the_kernel_once_it_is_given() {
    let below = tempfile::tempdir().unwrap();
    std::fs::create_dir(below.path().join("x")).unwrap();
    let coherence = coherence(below.path());
    coherence.fs.lookup(A, ROOT, b"x").unwrap();
    let handle = coherence.fs.opendir(A, ROOT, 0).unwrap();
    let list = |has_room: bool| {
        let give = |listed: &Listed<'_>, _kept| listed.name == b"x" && !has_room;
        coherence
            .readdir(ROOT, (handle, 0), Plus::Yes, give)
            .unwrap();
    };
    let remove = || coherence.remove(A, (ROOT, b"x"), true);
    list(false);
    assert!(matches!(remove(), Err(FsError::Stale)));
    list(true);
    remove().unwrap();
}

/// Law F1: who moves a directory to another is asked whether he may write to it. That holds for the one that the kernel knows.
#[test]
fn a_directory_that_a_user_moves_to_another_is_the_one_that_the_kernel_knows() {
    let below = tempfile::tempdir().unwrap();
    let path = |name: &str| below.path().join(name);
    for name in ["to", "x", "theirs"] {
        std::fs::create_dir(path(name)).unwrap();
    }
    let coherence = coherence(below.path());
    let user = Caller { uid: 1000, ..A };
    let to = coherence.lookup(user, ROOT, b"to").unwrap().0.inode.number;
    let rename = || {
        drop(coherence.lookup(user, to, b"x"));
        coherence.rename(user, (ROOT, b"x"), (to, b"x"), 0)
    };
    coherence.lookup(user, ROOT, b"x").unwrap();
    renameat_with(CWD, path("x"), CWD, path("theirs"), RenameFlags::EXCHANGE).unwrap();
    assert!(matches!(rename(), Err(FsError::Stale)));
    coherence.lookup(user, ROOT, b"x").unwrap();
    rename().unwrap();
}

/// The kernel has marked as removed for good what it knew by the name of a directory that was removed or replaced. Others may have put
/// another directory there at that moment.
#[test]
fn a_directory_that_the_kernel_takes_for_removed_has_another_number_if_it_is_there() {
    let below = tempfile::tempdir().unwrap();
    let coherence = coherence(below.path());
    let lookup = |name: &[u8]| coherence.lookup(A, ROOT, name).unwrap().0;
    for (shown, stored) in [(&b"x"[..], &b"x"[..]), (b"%E9", b"\xE9")] {
        let [x, y, z] = [stored, b"y", b"z"].map(|name| below.path().join(OsStr::from_bytes(name)));
        let mut moved = [0; 2];
        for round in 0.. {
            let is_replaced = round % 2 == 1;
            for path in [&x, &y, &z] {
                drop(std::fs::create_dir(path));
            }
            let is_over = AtomicBool::new(false);
            let meant = thread::scope(|scope| {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        let _gone = renameat_with(CWD, &x, CWD, &y, RenameFlags::EXCHANGE);
                    }
                });
                loop {
                    lookup(b"z");
                    let meant = lookup(shown);
                    let answer = match is_replaced {
                        true => coherence.rename(A, (ROOT, b"z"), (ROOT, shown), 0),
                        false => coherence.remove(A, (ROOT, shown), true),
                    };
                    if !matches!(answer, Err(FsError::Stale)) {
                        is_over.store(true, Ordering::Relaxed);
                        answer.unwrap();
                        break meant;
                    }
                }
            });
            for (path, name) in [(&x, shown), (&y, b"y")] {
                let there = std::fs::metadata(path).map(|there| there.ino());
                if there.is_ok_and(|there| there == meant.stat.ino) {
                    assert_ne!(lookup(name).inode.number, meant.inode.number);
                    moved[usize::from(is_replaced)] += 1;
                }
            }
            if moved.iter().all(|&moved| moved > 9) {
                break;
            }
            assert!(round < 100_000, "{moved:?}");
        }
    }
}

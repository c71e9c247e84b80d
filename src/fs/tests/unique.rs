//! `--unique` without FUSE: how often a directory is read for it, and many threads at once, whom no kernel holds back.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{CALLER, Scratch, map, new_entry};
use crate::fs::{FsError, ROOT};
use crate::names::Legacy;
use crate::policy::Alike;

fn scratch(legacy: Legacy, from: &[&str], names: &[&[u8]]) -> Scratch {
    Scratch::over(map(legacy, from), Some(Alike::Casefold), names)
}

fn mkdir(scratch: &Scratch, parent: u64, name: &[u8]) -> Result<u64, i32> {
    let made = scratch.fs.mkdir(&new_entry(parent, name, 0o700));
    made.map(|entry| entry.inode.number).map_err(|e| errno(&e))
}

fn errno(error: &FsError) -> i32 {
    error.errno()
}

fn rename(scratch: &Scratch, from: (u64, &[u8]), to: (u64, &[u8])) -> Result<(), i32> {
    scratch
        .fs
        .rename_at_once(CALLER, from, to, 0)
        .map(drop)
        .map_err(|e| errno(&e))
}

/// A directory is read again when it was changed below, or once in a while, but not for each name made through the mount.
#[test]
fn ten_thousand_names_are_made_without_as_many_readings() {
    let scratch = scratch(Legacy::Escape, &[], &[]);
    let names: Vec<Vec<u8>> = (0..10_000).map(|n| format!("Name{n}").into()).collect();
    for name in &names {
        let new = new_entry(ROOT, name, libc::S_IFREG | 0o600);
        let made = scratch.fs.mknod(&new, 0);
        scratch.fs.inodes.forget(made.unwrap().inode.number, 1);
        assert_eq!(
            mkdir(&scratch, ROOT, &name.to_ascii_uppercase()),
            Err(libc::EEXIST)
        );
    }
    let readings = scratch.fs.indexed.counts().readings;
    assert!((1..200).contains(&readings), "{readings} readings");
    let least: usize = names.iter().map(|name| 2 * name.len()).sum();
    let bytes = scratch.fs.indexed.counts().bytes;
    assert!(bytes > least, "{bytes} bytes are counted for {least}");
    for name in &names {
        scratch.fs.unlink(CALLER, ROOT, name).unwrap();
    }
    let more = scratch.fs.indexed.counts().readings - readings;
    assert!(more < 200, "{more} readings");
    mkdir(&scratch, ROOT, b"name7").unwrap();
}

/// Without the option nothing is read.
#[test]
fn names_that_are_not_compared_cost_no_reading() {
    let scratch = Scratch::new(map(Legacy::Escape, &[]), &[b"a"]);
    mkdir(&scratch, ROOT, b"A").unwrap();
    rename(&scratch, (ROOT, b"A"), (ROOT, b"B")).unwrap();
    assert_eq!(scratch.fs.indexed.counts().readings, 0);
}

/// Law N8: names that are there are found as ever, by one lookup and without a reading.
#[test]
fn lookups_cost_no_more_where_siblings_are_compared() {
    for legacy in [Legacy::Escape, Legacy::Raw, Legacy::Hide] {
        let scratch = scratch(legacy, &[], &[b"plain", "é".as_bytes(), b"caf\xE9"]);
        for (name, is_there) in [
            (&b"plain"[..], true),
            (b"PLAIN", false),
            ("é".as_bytes(), true),
        ] {
            let (found, asked) = scratch.find(name);
            assert_eq!((found.is_some(), asked), (is_there, 1), "{name:02X?}");
        }
        assert_eq!(scratch.fs.indexed.counts().readings, 0);
        // One that is made costs a reading, and none that is found after it.
        mkdir(&scratch, ROOT, b"new").unwrap();
        scratch.leads_to(b"new", Some(b"new"));
        assert_eq!(scratch.fs.indexed.counts().readings, 1);
    }
}

/// Law F5: what came or went below counts at once.
#[test]
fn siblings_that_come_and_go_below_are_seen() {
    let scratch = scratch(Legacy::Decode, &["iso-8859-1"], &[b"a"]);
    assert_eq!(mkdir(&scratch, ROOT, b"A"), Err(libc::EEXIST));
    for round in 0..100 {
        let (small, large) = (format!("b{round}"), format!("B{round}"));
        // Time for the clock to tick, without which old kernels' ctime does not tell the change from the one before.
        std::thread::sleep(std::time::Duration::from_millis(11));
        std::fs::write(scratch.path(small.as_bytes()), "").unwrap();
        if round % 2 == 0 {
            let made = mkdir(&scratch, ROOT, large.as_bytes());
            assert_eq!(made, Err(libc::EEXIST), "{large}");
        }
        std::fs::remove_file(scratch.path(small.as_bytes())).unwrap();
        mkdir(&scratch, ROOT, large.as_bytes()).unwrap();
    }
}

/// An entry may be renamed to another case of its own name, and nothing else to that of another.
#[test]
fn renames_are_compared_with_all_but_what_is_renamed() {
    let scratch = scratch(Legacy::Decode, &["iso-8859-1"], &[b"a", b"b", b"caf\xE9"]);
    let sub = mkdir(&scratch, ROOT, b"sub").unwrap();
    rename(&scratch, (ROOT, b"a"), (ROOT, b"A")).unwrap();
    rename(&scratch, (ROOT, b"A"), (ROOT, b"A")).unwrap();
    assert_eq!(
        rename(&scratch, (ROOT, b"b"), (ROOT, b"a")),
        Err(libc::EEXIST)
    );
    rename(&scratch, (ROOT, b"b"), (sub, b"a")).unwrap();
    assert_eq!(
        rename(&scratch, (sub, b"a"), (ROOT, b"a")),
        Err(libc::EEXIST)
    );
    // The name itself: replaced, as ever.
    rename(&scratch, (sub, b"a"), (ROOT, b"A")).unwrap();
    mkdir(&scratch, sub, b"A").unwrap();
    // A legacy name is compared as it is visible, also with its own.
    assert_eq!(mkdir(&scratch, ROOT, "CAFÉ".as_bytes()), Err(libc::EEXIST));
    rename(
        &scratch,
        (ROOT, "café".as_bytes()),
        (ROOT, "CAFÉ".as_bytes()),
    )
    .unwrap();
    assert_eq!(mkdir(&scratch, ROOT, "café".as_bytes()), Err(libc::EEXIST));
    scratch.fs.unlink(CALLER, ROOT, "CAFÉ".as_bytes()).unwrap();
    mkdir(&scratch, ROOT, "café".as_bytes()).unwrap();
    assert_eq!(
        rename(&scratch, (ROOT, b"absent"), (ROOT, b"a")),
        Err(libc::ENOENT)
    );
}

/// Of many that make names that are alike, at once, one succeeds, be it by making or by renaming.
#[test]
fn of_many_that_make_names_that_are_alike_one_succeeds() {
    const THREADS: usize = 8;
    const ROUNDS: usize = 200;
    let spellings = ["aaa", "AAA", "aAa", "AaA"];
    let scratch = scratch(Legacy::Escape, &[], &[]);
    let made: Vec<AtomicUsize> = (0..ROUNDS).map(|_| AtomicUsize::new(0)).collect();
    let directories: Vec<u64> = (0..THREADS)
        .map(|thread| mkdir(&scratch, ROOT, format!("dir{thread}").as_bytes()).unwrap())
        .collect();
    let barrier = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for (thread, &directory) in directories.iter().enumerate() {
            let (scratch, made, barrier) = (&scratch, &made, &barrier);
            scope.spawn(move || {
                for (round, made) in made.iter().enumerate() {
                    let spelling = spellings[(thread + round) % spellings.len()];
                    let name = format!("{spelling}{round}").into_bytes();
                    let is_rename = thread % 2 == 0;
                    if is_rename {
                        mkdir(scratch, directory, b"x").unwrap();
                    }
                    barrier.wait();
                    let result = if is_rename {
                        rename(scratch, (directory, b"x"), (ROOT, &name))
                    } else {
                        mkdir(scratch, ROOT, &name).map(drop)
                    };
                    match result {
                        Ok(()) => _ = made.fetch_add(1, Ordering::Relaxed),
                        Err(libc::EEXIST | libc::ENOTEMPTY) => {}
                        // A panic would leave the others at the barrier.
                        Err(_) => _ = made.fetch_add(1000, Ordering::Relaxed),
                    }
                    if is_rename {
                        drop(scratch.fs.rmdir(CALLER, directory, b"x"));
                    }
                }
            });
        }
    });
    // A rename onto the very name of an empty directory replaces it, so that more than one may succeed by one name.
    let mut seen = std::collections::BTreeSet::new();
    for name in scratch.list() {
        assert!(
            seen.insert(name.to_ascii_lowercase()),
            "{name:?} is there twice"
        );
    }
    assert_eq!(seen.len(), ROUNDS + THREADS);
    for (round, made) in made.iter().enumerate() {
        let made = made.load(Ordering::Relaxed);
        assert!((1..1000).contains(&made), "round {round}: {made}");
    }
}

/// A directory made by an enemy, where all names are alike: each comparison takes no longer than among others.
#[test]
fn names_that_are_all_alike_are_compared_in_bounded_time() {
    let variants = |count: u32| {
        (0..count).map(|bits| -> Vec<u8> {
            let letter = |place: u32| if bits >> place & 1 == 1 { b'Q' } else { b'q' };
            (0..16).map(letter).collect()
        })
    };
    let scratch = scratch(Legacy::Escape, &[], &[]);
    for name in variants(20_000) {
        std::fs::write(scratch.path(&name), "").unwrap();
    }
    for name in variants(21_000).skip(20_000) {
        assert_eq!(mkdir(&scratch, ROOT, &name), Err(libc::EEXIST));
    }
    let readings = scratch.fs.indexed.counts().readings;
    assert!(readings < 100, "{readings} readings");
}

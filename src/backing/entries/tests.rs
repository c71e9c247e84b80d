use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::backing::scratch::{Scratch, errno, name, odd_names, scratch};
use crate::backing::{Dir, Stat};
use crate::names::BackingName;

/// An entry as it was read, of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Read {
    name: Vec<u8>,
    ino: u64,
    kind: Kind,
    cookie: u64,
}

fn next(entries: &mut Entries) -> Option<Read> {
    entries.next().unwrap().map(|entry| Read {
        name: entry.name.to_vec(),
        ino: entry.ino,
        kind: entry.kind,
        cookie: entry.cookie,
    })
}

fn rest(entries: &mut Entries) -> Vec<Read> {
    std::iter::from_fn(|| next(entries)).collect()
}

fn fill(dir: &Dir, count: usize) {
    for number in 0..count {
        let mut bytes = format!("{number:05}-{}", "x".repeat(number % 200)).into_bytes();
        bytes.push(0xE9);
        dir.mknod(&name(&bytes), libc::S_IFREG | 0o600, 0).unwrap();
    }
}

#[test]
fn every_entry_is_given_with_its_inode_and_kind() {
    let Scratch { dir, temp: _temp } = scratch();
    for odd in odd_names() {
        dir.mknod(&odd, libc::S_IFREG | 0o600, 0).unwrap();
    }
    dir.mkdir(&name(b"dir"), 0o700).unwrap();
    dir.symlink(&name(b"link"), b"nowhere").unwrap();
    dir.mknod(&name(b"pipe"), libc::S_IFIFO | 0o600, 0).unwrap();
    let mut entries = Entries::open(&dir, 0).unwrap();
    let mut seen = BTreeMap::new();
    while let Some(entry) = entries.next().unwrap() {
        assert_eq!(entry.is_dot(), BackingName::parse(entry.name).is_err());
        seen.insert(entry.name.to_vec(), (entry.ino, entry.kind));
    }
    assert_eq!(
        seen.remove(&b"."[..]).unwrap().0,
        Stat::of(&dir).unwrap().ino
    );
    assert!(seen.remove(&b".."[..]).is_some());
    assert_eq!(seen.len(), odd_names().len() + 3);
    for (bytes, (ino, kind)) in seen {
        let stat = dir.stat_child(&name(&bytes)).unwrap();
        assert_eq!(ino, stat.ino);
        assert!(kind == stat.kind() || kind == Kind::Unknown);
    }
}

/// Law F4.
#[test]
fn every_cookie_leads_to_the_rest_of_the_stream() {
    let Scratch { dir, temp: _temp } = scratch();
    fill(&dir, 1500);
    let mut entries = Entries::open(&dir, 0).unwrap();
    assert_eq!(entries.position, 0);
    let all = rest(&mut entries);
    assert_eq!(all.len(), 1502);
    let names: BTreeSet<_> = all.iter().map(|entry| &entry.name).collect();
    assert_eq!(names.len(), all.len());
    assert_eq!(entries.position, all[all.len() - 1].cookie);

    let mut fresh = Entries::open(&dir, 0).unwrap();
    for place in (0..all.len()).rev().step_by(97) {
        for stream in [&mut entries, &mut fresh] {
            stream.seek(all[place].cookie).unwrap();
            assert_eq!(stream.position, all[place].cookie);
            assert_eq!(rest(stream), &all[place + 1..]);
        }
    }
    entries.seek(0).unwrap();
    assert_eq!(rest(&mut entries), all);
}

/// Law F4: a reply that is full takes back what it had no room for.
#[test]
fn going_back_some_entries_repeats_just_these() {
    let Scratch { dir, temp: _temp } = scratch();
    fill(&dir, 1000);
    let all = rest(&mut Entries::open(&dir, 0).unwrap());
    let mut entries = Entries::open(&dir, 0).unwrap();
    let mut given = Vec::new();
    loop {
        let mut batch: Vec<_> = std::iter::from_fn(|| next(&mut entries)).take(7).collect();
        if batch.is_empty() {
            break;
        }
        if batch.len() == 7 {
            batch.truncate(4);
            entries.seek(batch[3].cookie).unwrap();
        }
        given.append(&mut batch);
    }
    assert_eq!(given, all);
}

/// Law F4.
#[test]
fn removing_and_renaming_while_reading_loses_no_other_entry() {
    let Scratch { dir, temp: _temp } = scratch();
    fill(&dir, 1200);
    let all = rest(&mut Entries::open(&dir, 0).unwrap());
    let mut entries = Entries::open(&dir, 0).unwrap();
    let mut given = BTreeSet::new();
    let mut number = 0;
    while let Some(entry) = next(&mut entries) {
        assert!(given.insert(entry.name.clone()), "given twice");
        number += 1;
        if number % 3 == 0 && !entry.name.starts_with(b".") {
            dir.unlink(&name(&entry.name)).unwrap();
            entries.seek(entry.cookie).unwrap();
        }
    }
    assert_eq!(given.len(), all.len());
}

#[test]
fn going_to_the_start_reads_anew() {
    let Scratch { dir, temp: _temp } = scratch();
    let mut entries = Entries::open(&dir, 0).unwrap();
    assert_eq!(rest(&mut entries).len(), 2);
    fill(&dir, 1);
    entries.seek(0).unwrap();
    assert_eq!(rest(&mut entries).len(), 3);
    entries.seek(0).unwrap();
    assert!(next(&mut entries).is_some());
    fill(&Dir::new(&dir).to_sub(), 1);
    entries.seek(0).unwrap();
    assert_eq!(rest(&mut entries).len(), 4);
}

impl Dir<&Dir> {
    fn to_sub(&self) -> Dir {
        self.mkdir(&name(b"sub"), 0o700).unwrap();
        Dir::new(self.child(&name(b"sub")).unwrap())
    }
}

#[test]
fn a_removed_directory_says_so_and_a_file_is_none() {
    let Scratch { dir, temp: _temp } = scratch();
    dir.mkdir(&name(b"d"), 0o700).unwrap();
    let mut entries = Entries::open(dir.child(&name(b"d")).unwrap(), 0).unwrap();
    dir.rmdir(&name(b"d")).unwrap();
    assert_eq!(errno(entries.next().map(|_| ())), libc::ENOENT);
    let file = dir.create(&name(b"f"), libc::O_RDWR, 0o600).unwrap();
    assert_eq!(errno(Entries::open(&file, 0)), libc::ENOTDIR);
}

#[test]
fn a_record_that_makes_no_sense_is_none() {
    let mut whole = vec![0; 24];
    whole[..8].copy_from_slice(&7_u64.to_ne_bytes());
    whole[8..16].copy_from_slice(&9_u64.to_ne_bytes());
    whole[16..18].copy_from_slice(&24_u16.to_ne_bytes());
    whole[18] = libc::DT_DIR;
    whole[19..21].copy_from_slice(b"\xE9\0");
    let (entry, end) = record(&whole, 0, 24).unwrap();
    assert_eq!((entry.ino, entry.cookie, end), (7, 9, 24));
    assert_eq!((entry.name, entry.kind), (&b"\xE9"[..], Kind::Dir));
    for filled in 0..24 {
        assert_eq!(record(&whole, 0, filled), None);
    }
    assert_eq!(record(&whole, 25, 24), None);
    for length in [0_u16, 18, 25, u16::MAX] {
        whole[16..18].copy_from_slice(&length.to_ne_bytes());
        assert_eq!(record(&whole, 0, 24), None, "{length}");
    }
}

/// tmpfs goes on at another entry where the one that a stream is sent back to is gone.
#[test]
fn f4_what_was_read_last_is_given_again_as_it_was_also_after_the_end() {
    let temp = tempfile::tempdir_in("/dev/shm").unwrap();
    for number in 0..6 {
        std::fs::write(temp.path().join(format!("{number}")), "").unwrap();
    }
    let fd = std::fs::File::open(temp.path()).unwrap();
    let mut entries = Entries::open(&fd, 0).unwrap();
    let all = rest(&mut entries);
    let (before, after) = all.split_at(4);
    for gone in after {
        std::fs::remove_file(temp.path().join(std::str::from_utf8(&gone.name).unwrap())).unwrap();
    }
    entries.seek(before[3].cookie).unwrap();
    assert_eq!(rest(&mut entries), after);
}

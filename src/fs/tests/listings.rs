//! What directories list, also while others change them.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::Duration;

use super::programs::VisibleDirectory;
use super::{CALLER, Legacy, Plus, ROOT, Scratch, map};
use crate::at;
use crate::fs::listed_names::ListedNames;
use crate::names::Quoted;
use crate::names::rules::Exemptions;

/// Two names of one text: in IBM850, and in windows-1252, which is tried first but comes later in the order of bytes.
const IN_IBM850: &[u8] = b"c\x81\xE9";
const IN_WINDOWS: &[u8] = b"c\xFC\xDA";

/// The same text in UTF-8.
const CONFORMING: &str = "c\u{FC}\u{DA}";

fn scratch(names: &[&[u8]]) -> Scratch {
    Scratch::new(map(Legacy::Decode, &["windows-1252", "ibm850"]), names)
}

/// What a listing gave: the cookie after an entry, its number, its name.
type Given = (u64, u64, Vec<u8>);

impl Scratch {
    /// Lists `most` entries of an open directory from a cookie on, without `.` and `..`.
    fn list_from(&self, handle: u64, cookie: u64, most: usize) -> Vec<Given> {
        let mut given = Vec::new();
        let give = |listed: super::super::Listed<'_>| {
            let is_full = given.len() == most;
            if !is_full && !matches!(listed.name, b"." | b"..") {
                given.push((listed.cookie, listed.number, listed.name.to_vec()));
            }
            is_full
        };
        self.fs.readdir(handle, cookie, Plus::No, give).unwrap();
        given
    }

    /// Lists a directory, `most` names in each request, and calls `act` for each after it; returns the names by inode.
    fn list_slowly(
        &self,
        directory: VisibleDirectory<'_>,
        most: usize,
        mut act: impl FnMut(&[u8]),
    ) -> BTreeMap<u64, Vec<Vec<u8>>> {
        let handle = self.fs.opendir(CALLER, directory.number, 0).unwrap();
        let mut all: BTreeMap<u64, Vec<Vec<u8>>> = BTreeMap::new();
        let mut cookie = 0;
        loop {
            let given = self.list_from(handle, cookie, most);
            let Some((last, ..)) = given.last() else {
                break;
            };
            cookie = *last;
            for (_, number, name) in given {
                act(&name);
                all.entry(number).or_default().push(name);
            }
        }
        self.fs.releasedir(handle);
        all
    }
}

/// Law F4: an entry is listed once, also if a sibling takes the name that it was listed by, or leaves a better one to it.
#[test]
fn f4_an_entry_is_listed_once_though_siblings_take_and_leave_its_name() {
    let conforming = CONFORMING.as_bytes();
    for sibling in [IN_IBM850, conforming] {
        for is_there in [false, true] {
            let names: &[&[u8]] = match is_there {
                true => &[IN_WINDOWS, sibling],
                false => &[IN_WINDOWS],
            };
            let scratch = scratch(names);
            for n in 0..20 {
                std::fs::write(scratch.path(format!("other{n}").as_bytes()), "").unwrap();
            }
            let change = || match is_there {
                true => std::fs::remove_file(scratch.path(sibling)),
                false => std::fs::write(scratch.path(sibling), ""),
            };
            let lost = |name: &[u8]| name == conforming && !is_there || name == b"c%FC%DA";
            let listed = scratch.list_slowly(scratch.root(), 1, |name| {
                if lost(name) {
                    std::thread::sleep(Duration::from_millis(10));
                    change().unwrap();
                }
            });
            let entry = std::fs::metadata(scratch.path(IN_WINDOWS)).unwrap().ino();
            assert_eq!(listed[&entry].len(), 1, "{:?}", listed[&entry]);
            let names: Vec<_> = listed.into_values().flatten().collect();
            assert!(names.len() >= 21, "{names:?}");
        }
    }
}

/// Law F4: an entry that gets the backing name of one that was listed before is another one. Without that it was missed, wherever
/// it was renamed while the directory was listed.
#[test]
fn f4_an_entry_that_takes_over_a_backing_name_was_not_listed() {
    let mut listed = ListedNames::default();
    listed.start(None);
    let note = listed.note("c\u{FC}".as_bytes(), b"c\x81", 5);
    listed.gave(1, Some(note), false);
    assert!(listed.has_entry(b"c\x81", 5));
    assert!(!listed.has_entry(b"c\x81", 6));
}

/// Hostile directories: names that give way to each other cost no reading of the directory each while others change it.
#[test]
fn names_that_want_the_same_text_do_not_cost_a_reading_each() {
    let names: Vec<Vec<u8>> = (0..40)
        .flat_map(|n| {
            [IN_IBM850, IN_WINDOWS].map(|name| [name, format!("{n}").as_bytes()].concat())
        })
        .collect();
    let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    let scratch = scratch(&names);
    let handle = scratch.fs.opendir(CALLER, ROOT, 0).unwrap();
    let change = |_: super::super::Listed<'_>| {
        std::thread::sleep(Duration::from_millis(10));
        rustix::fs::rename(scratch.path(names[0]), scratch.path(b"moved")).unwrap();
        rustix::fs::rename(scratch.path(b"moved"), scratch.path(names[0])).unwrap();
        false
    };
    scratch.fs.readdir(handle, 0, Plus::No, change).unwrap();
    scratch.fs.releasedir(handle);
    let readings = scratch.fs.indexed.counts().readings;
    assert!(readings <= 4, "{readings} readings");
}

/// An index counts for its memory once, however often its directory is read.
#[test]
fn a_directory_counts_once_however_often_it_is_read() {
    let scratch = scratch(&[IN_WINDOWS]);
    assert_eq!(scratch.list(), [CONFORMING.as_bytes()]);
    let once = scratch.fs.indexed.counts();
    for n in 0..5_u8 {
        std::thread::sleep(Duration::from_millis(10));
        std::fs::write(scratch.path(&[b'a' + n, 0xFC]), "").unwrap();
        assert_eq!(scratch.list().len(), usize::from(n) + 2);
    }
    let after = scratch.fs.indexed.counts();
    assert!(after.readings >= 4, "{after:?}");
    assert_eq!((once.directories, after.directories), (1, 1));
    assert!(after.bytes < 8 * once.bytes, "{once:?} {after:?}");
    assert!(after.bytes > once.bytes, "{once:?} {after:?}");
}

/// Law N4: the same names are shown after a restart, and by another filesystem over the directory at the same time.
#[test]
fn n4_two_filesystems_show_the_same_names() {
    let names: [&[u8]; 8] = [
        b"\xE9",
        "é".as_bytes(),
        b"%E9",
        b"\xE8",
        b"a\xE8",
        b"%%E9",
        b"\xC3",
        b"%C3%A9",
    ];
    let map = map(Legacy::Decode, &["iso-8859-1"]);
    let first = Scratch::new(map.clone(), &names);
    let expected = first.list();
    assert_eq!(expected.len(), names.len());
    let below = Arc::clone(&first.below);
    let other = Scratch::of(below, Exemptions::default(), map, None);
    assert_eq!(other.list(), expected);
    for (name, number) in other.root().list_numbers().unwrap() {
        assert_eq!(first.root().stat(&name).unwrap().ino, number);
    }
}

/// The number in a directory's list is the one that stat shows.
#[test]
fn a_directory_lists_the_numbers_that_its_files_have() {
    let names = [&b"plain"[..], b"caf\xE9", "é".as_bytes()];
    let scratch = Scratch::new(map(Legacy::Decode, &["iso-8859-1"]), &names);
    let dir = scratch.root();
    let listed = dir.list_numbers().unwrap();
    assert_eq!(listed.len(), 3);
    for (name, number) in listed {
        let attributes = dir.stat(&name).unwrap();
        assert_eq!(attributes.ino, number, "{name:02X?}");
    }
    let root = scratch.fs.getattr(ROOT).unwrap().1;
    let below = std::fs::metadata(scratch.below.path()).unwrap();
    assert_eq!(root.ino, below.ino());
}

/// Makes `count` files below, every third with a name in Latin-1, and returns their visible names.
fn filled(scratch: &Scratch, count: usize) -> BTreeSet<Vec<u8>> {
    let visible = (0..count).map(|number| {
        let (name, visible) = if number.is_multiple_of(3) {
            let name = [format!("{number}-caf").as_bytes(), b"\xE9"].concat();
            (name, format!("{number}-café"))
        } else {
            let name = format!("{number}-plain");
            (name.clone().into_bytes(), name)
        };
        std::fs::write(scratch.path(&name), "").unwrap();
        visible.into_bytes()
    });
    visible.collect()
}

fn latin() -> Scratch {
    Scratch::new(map(Legacy::Decode, &["iso-8859-1"]), &[])
}

/// Law F4: entries that stay are read once each, though others come, go and change their names.
#[test]
fn entries_that_stay_are_read_once_whatever_becomes_of_others() {
    let scratch = latin();
    let mut expected = filled(&scratch, 3000);
    for number in 0..500 {
        std::fs::write(scratch.path(format!("passing{number}").as_bytes()), "").unwrap();
    }
    let dir = scratch.root();
    let mut read = 0;
    scratch.list_slowly(scratch.root(), 20, |name| {
        if name.starts_with(b"passing") || name.starts_with(b"new") {
            return;
        }
        assert!(expected.remove(name), "{} comes twice", Quoted(name));
        if read % 5 == 0 && read / 5 < 500 {
            let passing = format!("passing{}", read / 5).into_bytes();
            let new = format!("new{read}").into_bytes();
            let changed = match read % 3 {
                0 => dir.unlink(&passing),
                1 => dir.rename(&passing, &new),
                _ => dir.create_new(&new),
            };
            changed.unwrap();
        }
        read += 1;
    });
    assert!(expected.is_empty(), "{} are skipped", expected.len());
}

/// Law F4: hidden names leave no gap in the stream, also where a whole buffer of them is hidden.
#[test]
fn hidden_entries_do_not_end_the_stream() {
    let scratch = Scratch::new(map(Legacy::Hide, &[]), &[]);
    let visible = filled(&scratch, 3000);
    for number in 0..3000 {
        let name = [b"\xFFhidden", number.to_string().as_bytes()].concat();
        std::fs::write(scratch.path(&name), "").unwrap();
    }
    let expected: Vec<Vec<u8>> = visible.into_iter().filter(|name| name.is_ascii()).collect();
    assert_eq!(scratch.list(), expected);
}

/// Law F4, seekdir(3): from each place that was told, the stream goes on with the same entry.
#[test]
fn a_stream_goes_on_from_every_place_that_was_told() {
    let scratch = latin();
    filled(&scratch, 600);
    let handle = scratch.fs.opendir(CALLER, ROOT, 0).unwrap();
    let told = scratch.list_from(handle, 0, usize::MAX);
    assert_eq!(told.len(), 600);
    for place in (0..599).rev().step_by(7) {
        let rest = scratch.list_from(handle, told[place].0, usize::MAX);
        assert_eq!(rest, told[place + 1..], "from place {place}");
    }
    scratch.fs.releasedir(handle);
}

/// Law F4. A conforming name and a legacy one that is visible under it when the first is gone: what the stream gave for one entry it
/// gave for the other too, and a program that moved each name as it read it lost files.
#[test]
fn a_stream_gives_no_name_for_two_entries_while_they_are_renamed() {
    for (map, shown) in [
        (map(Legacy::Decode, &["iso-8859-1"]), "é"),
        (map(Legacy::Escape, &[]), "%E9"),
    ] {
        for most in [1, 100] {
            let scratch = Scratch::new(map.clone(), &[]);
            let (from, from_below) = scratch.directory(b"from");
            let (to, to_below) = scratch.directory(b"to");
            for number in 0..500 {
                for start in [shown.as_bytes(), b"\xE9"] {
                    let name = [start, format!(" {number}").as_bytes()].concat();
                    at::write_new(&from_below, &name, &name).unwrap();
                }
            }
            let mut given = BTreeSet::new();
            scratch.list_slowly(from, most, |name| {
                from.rename_into(name, to, name, 0).unwrap();
                let is_new = given.insert(name.to_vec());
                assert!(is_new, "{} was given twice", Quoted(name));
            });
            assert_eq!(given.len(), 1000);
            // Those that were renamed by a spelling lie there as that.
            let moved = at::list(&to_below);
            let content = |name: &Vec<u8>| at::read(&to_below, name).unwrap();
            let contents: BTreeSet<Vec<u8>> = moved.iter().map(content).collect();
            assert_eq!(contents.len(), 1000);
        }
    }
}

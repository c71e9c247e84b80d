//! The filesystem without FUSE, over temporary directories.

mod concurrent;
mod confinement;
mod encodings;
mod faults;
mod forms;
mod lengths;
mod link_tree;
mod links;
mod links_made;
mod listings;
mod lookups;
mod names;
mod new_names;
mod offences;
mod peers;
mod places;
mod programs;
mod renames;
mod storing;
mod unique;
mod unique_names;
mod ways;

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use programs::VisibleDirectory;

use super::audit::{AuditLog, Counts, Operation};
use super::samples::{CALLER, config, map, new_entry};
use super::{Caller, Config, Entry, Plus, ROOT, Utf8Fs};
use crate::at;
use crate::backing::ticks::is_before_this_tick;
use crate::backing::{Dir, Kind, Stat, calls};
use crate::codec::Form;
use crate::names::rules::{Exemptions, Rules, Terms};
use crate::names::{BackingName, Legacy, NameMap, OnViolation};
use crate::policy::{Alike, Policy};
use crate::records::{OffenceRecord, Time};
use crate::wait::until;

/// A log that keeps its records.
#[derive(Debug, Default)]
struct KeptLog(Mutex<Vec<OffenceRecord>>);

impl AuditLog for KeptLog {
    fn offence(&self, _time: Time, record: OffenceRecord, _directory: u64) {
        self.0.lock().push(record);
    }

    fn counts(&self) -> Counts {
        Counts::default()
    }
}

/// A filesystem over a temporary directory.
struct Scratch {
    below: Arc<tempfile::TempDir>,
    fs: Utf8Fs,
    log: Arc<KeptLog>,
}

impl Scratch {
    fn new(map: NameMap, names: &[&[u8]]) -> Self {
        Self::over(map, None, names)
    }

    fn over(map: NameMap, unique: Option<Alike>, names: &[&[u8]]) -> Self {
        let below = tempfile::tempdir().unwrap();
        for name in names {
            std::fs::write(below.path().join(std::ffi::OsStr::from_bytes(name)), name).unwrap();
        }
        Self::of(Arc::new(below), Exemptions::default(), map, unique)
    }

    /// Another filesystem over a directory that is there.
    fn of(
        below: Arc<tempfile::TempDir>,
        exempt: Exemptions,
        map: NameMap,
        unique: Option<Alike>,
    ) -> Self {
        let root = Dir::open_root(below.path()).unwrap().into_fd();
        let terms = Terms {
            mode: map.on_violation.into(),
            map: map.clone(),
            unique,
            section: None,
        };
        let log = Arc::new(KeptLog::default());
        let mut config = config(root, map);
        config.settings.unique = unique;
        config.settings.auditor = Arc::clone(&log) as Arc<dyn AuditLog>;
        let fs = Utf8Fs::new(Config {
            rules: Rules::new(terms, Vec::new(), exempt),
            most_descriptors: 16,
            ..config
        })
        .unwrap();
        Self { below, fs, log }
    }

    /// The root, as programs see it.
    fn root(&self) -> VisibleDirectory<'_> {
        VisibleDirectory::root(&self.fs)
    }

    /// The backing directory.
    fn below_dir(&self) -> OwnedFd {
        at::open_dir_path(self.below.path())
    }

    /// Makes a directory below; returns it as programs see it, and as it lies below.
    fn directory(&self, name: &[u8]) -> (VisibleDirectory<'_>, OwnedFd) {
        at::mkdir(self.below_dir(), name).unwrap();
        let below = at::open_dir(self.below_dir(), name).unwrap();
        (self.root().sub(name), below)
    }

    /// The records since the last call.
    fn records(&self) -> Vec<OffenceRecord> {
        std::mem::take(&mut *self.log.0.lock())
    }

    fn path(&self, name: &[u8]) -> PathBuf {
        self.below.path().join(std::ffi::OsStr::from_bytes(name))
    }

    /// The backing name that `name` leads to, and how often the backing directory was asked for a name.
    fn find(&self, name: &[u8]) -> (Option<Vec<u8>>, usize) {
        let mut asked = 0;
        let root = self.fs.open_inode(ROOT).unwrap();
        let found = self.fs.resolve(&root, name, |found| {
            asked += 1;
            let is_there = root.dir().exists(&found.backing)?;
            Ok(is_there.then(|| found.backing.as_bytes().to_vec()))
        });
        (found.unwrap(), asked)
    }

    fn leads_to(&self, name: &[u8], backing: Option<&[u8]>) {
        assert_eq!(self.find(name).0.as_deref(), backing, "{name:02X?}");
    }

    fn was_read(&self) -> bool {
        let root = self.fs.inodes.get(ROOT).unwrap();
        root.as_directory().unwrap().index.lock().is_some()
    }

    fn list(&self) -> Vec<Vec<u8>> {
        self.root().sorted()
    }
}

/// The same map with a normalization form.
fn in_form(form: Form, map: NameMap) -> NameMap {
    let policy = Policy {
        form: Some(form),
        ..map.policy
    };
    NameMap { policy, ..map }
}

/// The same map with another `--on-violation`.
fn in_mode(on_violation: OnViolation, map: NameMap) -> NameMap {
    NameMap {
        on_violation,
        ..map
    }
}

/// Law N8.
#[test]
fn a_conforming_name_costs_one_backing_lookup() {
    let modes = [Legacy::Decode, Legacy::Escape, Legacy::Raw, Legacy::Hide];
    for legacy in modes {
        let scratch = Scratch::new(
            map(legacy, &["iso-8859-1"]),
            &[b"plain", b"\xC3\xA9", b"caf\xE9"],
        );
        for (name, there) in [
            (&b"plain"[..], true),
            (b"absent", false),
            (b"\xC3\xA9", true),
        ] {
            let (found, asked) = scratch.find(name);
            assert_eq!(
                (found.is_some(), asked),
                (there, 1),
                "{name:02X?} {legacy:?}"
            );
        }
        assert!(
            !scratch.was_read(),
            "{legacy:?}: the directory was read for a name that is there or plain"
        );
    }
}

/// Laws N2, N3 and F5: the daemon sees a change made below at once, whatever it has read before; only the kernel's
/// caches are older.
#[test]
fn changes_below_are_seen_at_the_next_lookup() {
    let scratch = Scratch::new(map(Legacy::Escape, &[]), &[b"caf\xE9"]);
    scratch.leads_to(b"caf%E9", Some(b"caf\xE9"));
    std::fs::write(scratch.path(b"caf%E9"), "").unwrap();
    scratch.leads_to(b"caf%E9", Some(b"caf%E9"));
    scratch.leads_to(b"caf%%E9", Some(b"caf\xE9"));
    std::fs::remove_file(scratch.path(b"caf%E9")).unwrap();
    scratch.leads_to(b"caf%E9", Some(b"caf\xE9"));
    // What it was listed as is a spelling of it still (law N10).
    scratch.leads_to(b"caf%%E9", Some(b"caf\xE9"));
    std::fs::write(scratch.path(b"\xFF"), "").unwrap();
    scratch.leads_to(b"%FF", Some(b"\xFF"));
    assert_eq!(scratch.list(), [&b"%FF"[..], b"caf%E9"]);
}

/// Changes of ours are taken in without another reading, and give what another reading would.
#[test]
fn changes_through_the_mount_keep_the_names_right() {
    let names: Vec<Vec<u8>> = (0x80..=0xFF).map(|octet| vec![b'a', octet]).collect();
    let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    let scratch = Scratch::new(map(Legacy::Escape, &[]), &names);
    std::fs::write(scratch.path(b"a%80"), "").unwrap();
    assert_eq!(scratch.list().len(), 129);
    // A sibling waits for the name of this one.
    scratch.fs.unlink(CALLER, ROOT, b"a%80").unwrap();
    scratch.leads_to(b"a%80", Some(b"a\x80"));
    scratch.leads_to(b"a%%80", Some(b"a\x80"));
    for octet in 0x81..=0xFF_u8 {
        scratch
            .fs
            .unlink(CALLER, ROOT, format!("a%{octet:02X}").as_bytes())
            .unwrap();
        assert!(scratch.was_read(), "{octet:02X}: the names were forgotten");
    }
    assert_eq!(scratch.list(), [b"a%80"]);
    assert_eq!(std::fs::read_dir(scratch.below.path()).unwrap().count(), 1);
}

/// Law T7: what is given its old name back below is found also where that hides behind a change of ours.
#[test]
fn t7_a_name_that_is_taken_back_while_another_is_made_is_found() {
    let names = [&b"caf\xE9"[..], "caf\u{E9} 2".as_bytes()];
    let scratch = Scratch::new(map(Legacy::Decode, &["iso-8859-1"]), &names);
    let new = new_entry(ROOT, b"new", 0o700);
    let making = scratch.fs.making(Operation::Mkdir, &new).unwrap();
    scratch.leads_to("caf\u{E9}".as_bytes(), Some(b"caf\xE9"));
    let make = |dir: &Dir<&OwnedFd>, name: &BackingName| {
        let old = BackingName::parse("caf\u{E9} 2".as_bytes()).unwrap();
        dir.rename(&old, dir, &BackingName::parse(b"caf\xE9 2").unwrap(), 0)?;
        dir.mkdir(name, 0o700)
    };
    let made = scratch.fs.make_node(&making, &new, Kind::Dir, make);
    made.unwrap();
    scratch.leads_to("caf\u{E9} 2".as_bytes(), Some(b"caf\xE9 2"));
    scratch.leads_to("caf\u{E9} 3".as_bytes(), None);
    let readings = scratch.fs.indexed.counts().readings;
    scratch.leads_to("caf\u{E9} 3".as_bytes(), None);
    assert_eq!(scratch.fs.indexed.counts().readings, readings);
}

/// Law T7: names are found that are migrated at the moment when they are looked up.
#[test]
fn t7_a_name_that_is_migrated_while_it_is_looked_up_is_found() {
    let scratch = Scratch::new(map(Legacy::Decode, &["iso-8859-1"]), &[]);
    let (old, new) = (
        scratch.path(b"caf\xE9"),
        scratch.path("caf\u{E9}".as_bytes()),
    );
    let (start, started) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for pause in started {
                let start = std::time::Instant::now();
                while start.elapsed() < pause {}
                end.send(rustix::fs::rename(&old, &new)).unwrap();
            }
        });
        // The renaming comes at another step of the lookup each time.
        for round in 0..10_000 {
            std::fs::write(&old, "").unwrap();
            start
                .send(std::time::Duration::from_micros(round % 100))
                .unwrap();
            let found = scratch.fs.lookup(CALLER, ROOT, "caf\u{E9}".as_bytes());
            ended.recv().unwrap().unwrap();
            let found = found.map_err(|error| error.errno()).expect("it is there");
            scratch.fs.inodes.forget(found.inode.number, 1);
            std::fs::remove_file(&new).unwrap();
        }
        drop(start);
    });
}

/// Law T7: a migration replaces a link, and renames what it leads to then. Whoever reads the old one still is led there.
#[test]
fn t7_a_link_that_is_replaced_while_it_is_read_leads_to_what_was_migrated() {
    let scratch = Scratch::new(map(Legacy::Decode, &["iso-8859-1"]), &[b"caf\xE9"]);
    let link = scratch.path(b"link");
    let target = |octets: &[u8]| PathBuf::from(std::ffi::OsStr::from_bytes(octets));
    std::os::unix::fs::symlink(target(b"caf\xE9"), &link).unwrap();
    let entry = scratch.fs.lookup(CALLER, ROOT, b"link").unwrap();
    let shown = || scratch.fs.shown_target(&entry.inode, b"caf\xE9");
    let migrated = "caf\u{E9}".as_bytes();
    assert_eq!(shown().unwrap().as_deref(), Some(migrated));
    std::fs::write(scratch.path(migrated), "").unwrap();
    assert_eq!(shown().unwrap().as_deref(), Some(&b"caf%E9"[..]));
    std::fs::remove_file(scratch.path(b"caf\xE9")).unwrap();
    assert_eq!(shown().unwrap().as_deref(), Some(&b"caf%E9"[..]));
    std::os::unix::fs::symlink(target(migrated), scratch.path(b"other")).unwrap();
    rustix::fs::rename(scratch.path(b"other"), &link).unwrap();
    assert_eq!(shown().unwrap().as_deref(), Some(migrated));
}

/// More inodes are known than descriptors may be open, and each can be opened again, by its place where there is no
/// handle.
#[test]
fn inodes_outlive_their_descriptors() {
    let names: Vec<Vec<u8>> = (0..100).map(|n| format!("n{n}").into_bytes()).collect();
    let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    let scratch = Scratch::new(map(Legacy::Escape, &[]), &names);
    let entries: Vec<_> = names
        .iter()
        .map(|name| scratch.fs.lookup(CALLER, ROOT, name).unwrap())
        .collect();
    for (entry, name) in entries.iter().zip(&names) {
        let stat = scratch.fs.getattr(entry.inode.number).unwrap().1;
        assert_eq!(
            (stat.ino, stat.size),
            (entry.stat.ino, u64::try_from(name.len()).unwrap())
        );
    }
    // One that is another file now is not taken for the old one, though it may have its number.
    let first = entries.first().unwrap();
    std::fs::remove_file(scratch.path(b"n0")).unwrap();
    std::fs::write(scratch.path(b"n0"), "").unwrap();
    assert!(scratch.fs.getattr(first.inode.number).is_err());
    for entry in &entries {
        scratch.fs.inodes.forget(entry.inode.number, 1);
    }
    assert!(scratch.fs.inodes.get(first.inode.number).is_err());
}

/// A file without a name has attributes as long as it is open, and no descriptor beside the open one is kept for it.
#[test]
fn an_open_file_outlives_its_name() {
    let names: Vec<Vec<u8>> = (0..20).map(|n| format!("n{n}").into_bytes()).collect();
    let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    let scratch = Scratch::new(map(Legacy::Escape, &[]), &names);
    let entry = scratch.fs.lookup(CALLER, ROOT, b"n0").unwrap();
    let opened = scratch.fs.open(CALLER, entry.inode.number, libc::O_RDWR);
    let handle = opened.unwrap().handle;
    scratch.fs.unlink(CALLER, ROOT, b"n0").unwrap();
    // Others take its descriptor away.
    for name in names.iter().skip(1).chain(names.iter().skip(1)) {
        scratch.fs.lookup(CALLER, ROOT, name).unwrap();
    }
    let stat = scratch.fs.getattr(entry.inode.number).unwrap().1;
    assert_eq!((stat.nlink, stat.ino), (0, entry.stat.ino));
    scratch.fs.release(handle);
}

/// Law F3: the kernel looks a name up and opens what it finds once more before open(2) fails with `ESTALE`.
#[test]
fn whoever_was_sent_back_opens_what_he_finds_though_it_was_removed() {
    let below = tempfile::tempdir().unwrap();
    let path = below.path().join("file");
    let fs = Utf8Fs::new(Config {
        by_handle: Some(std::fs::File::open(below.path()).unwrap().into()),
        ..config(
            Dir::open_root(below.path()).unwrap().into_fd(),
            map(Legacy::Escape, &[]),
        )
    });
    let fs = fs.unwrap();
    if !fs.inodes.uses_handles() {
        // What is looked up is held by a descriptor there.
        return;
    }
    let open_too_late = |caller| {
        std::fs::write(&path, "content").unwrap();
        let changed = || Stat::of(std::fs::File::open(&path).unwrap()).unwrap().ctime;
        until(|| is_before_this_tick(changed()));
        let number = fs.lookup(caller, ROOT, b"file").unwrap().inode.number;
        std::fs::remove_file(&path).unwrap();
        let opened = fs.open(caller, number, libc::O_WRONLY);
        let released = opened.map(|opened| fs.release(opened.handle).is_some());
        fs.inodes.forget(number, 1);
        if released.is_ok() {
            fs.end_retry(caller);
        }
        released.map_err(|error| error.errno())
    };
    let other = Caller { pid: 7, ..CALLER };
    assert_eq!(open_too_late(CALLER), Err(libc::ESTALE));
    assert_eq!(open_too_late(other), Err(libc::ESTALE));
    assert!(open_too_late(CALLER).is_ok());
    assert_eq!(open_too_late(CALLER), Err(libc::ESTALE), "for another open");
}

/// Law N9: what `report` can't let through is refused for its length, whatever else is wrong with it.
#[test]
fn a_reported_name_that_no_filesystem_takes_is_too_long() {
    let report = in_mode(OnViolation::Report, map(Legacy::Escape, &[]));
    let scratch = Scratch::new(report, &[]);
    let made = scratch.fs.mkdir(&new_entry(ROOT, &[0xE9; 256], 0o700));
    assert_eq!(made.unwrap_err().errno(), libc::ENAMETOOLONG);
    let made = scratch.fs.mkdir(&new_entry(ROOT, &[0xE9; 255], 0o700));
    made.unwrap();
}

/// Laws N8 and N13: a link whose target conforms is read without a walk, and its size is that of the target that is read.
#[test]
fn a_target_that_conforms_is_not_walked_and_sizes_are_those_of_what_is_read() {
    let scratch = Scratch::new(map(Legacy::Escape, &[]), &[b"caf\xE9"]);
    for (target, link) in [(&b"x/../caf%E9"[..], "plain"), (b"./caf\xE9", "mapped")] {
        let target = std::ffi::OsStr::from_bytes(target);
        std::os::unix::fs::symlink(target, scratch.path(link.as_bytes())).unwrap();
    }
    let plain = scratch.fs.lookup(CALLER, ROOT, b"plain").unwrap();
    let target = |entry: &Entry| scratch.fs.mapped_target(&entry.inode, &entry.stat);
    assert_eq!(target(&plain), None);
    assert_eq!(
        scratch.fs.readlink(CALLER, plain.inode.number).unwrap(),
        b"x/../caf%E9"
    );
    assert!(!scratch.was_read());
    let mapped = scratch.fs.lookup(CALLER, ROOT, b"mapped").unwrap();
    assert!(target(&mapped).is_some());
    assert_eq!(scratch.fs.getattr(mapped.inode.number).unwrap().1.size, 8);
    assert_eq!(
        scratch.fs.readlink(CALLER, mapped.inode.number).unwrap(),
        b"./caf%E9"
    );
    assert_eq!(scratch.fs.getattr(plain.inode.number).unwrap().1.size, 11);
}

/// How deep a directory lies does not matter to what a change in it costs.
#[test]
fn a_change_takes_as_many_calls_however_deep_its_directory_lies() {
    let scratch = Scratch::new(map(Legacy::Escape, &[]), &[]);
    let mut number = ROOT;
    let mut calls = Vec::new();
    for _ in 0..12 {
        let before = calls::made();
        let made = scratch.fs.mkdir(&new_entry(number, b"d", 0o755)).unwrap();
        calls.push(calls::made() - before);
        number = made.inode.number;
    }
    // The root is not looked for.
    let deeper = calls.get(1..).unwrap();
    assert!(
        deeper.iter().all(|count| Some(count) == deeper.first()),
        "{calls:?}"
    );
}

/// Law F4. The directory is removed while it is listed, so that getdents(2) fails where it comes to the end.
#[test]
fn f4_an_error_in_the_middle_of_a_listing_loses_no_entry_and_leaks_no_lookup_count() {
    let tree = Scratch::new(map(Legacy::Escape, &[]), &[]);
    let path = tree.path(b"dir");
    std::fs::create_dir(&path).unwrap();
    for name in ["a", "b", "c"] {
        std::fs::write(path.join(name), name).unwrap();
    }
    let dir = tree.fs.lookup(CALLER, ROOT, b"dir").unwrap().inode.number;
    let handle = tree.fs.opendir(CALLER, dir, 0).unwrap();
    let mut counted = Vec::new();
    let mut last = 0;
    let listed = tree.fs.readdir(handle, 0, Plus::Yes, |listed| {
        counted.extend(listed.entry.map(|entry| entry.inode.number));
        last = listed.cookie;
        if counted.len() == 2 {
            drop(std::fs::remove_dir_all(&path));
        }
        false
    });
    assert_eq!(counted.len(), 2);
    assert_eq!(
        listed.map_err(|error| error.errno()),
        Ok(false),
        "the kernel never learns of the entries that it was to forget"
    );
    let failed = tree.fs.readdir(handle, last, Plus::Yes, |_| false);
    assert!(failed.is_err(), "the next call meets it");
    tree.fs.releasedir(handle);
    for number in counted {
        tree.fs.inodes.forget(number, 1);
        assert!(tree.fs.inodes.get(number).is_err(), "counted once");
    }
}

/// A program below may have taken it for work: another would be done twice. No lookup is counted for it.
#[test]
fn what_is_removed_or_replaced_as_it_is_made_is_not_made_again() {
    let scratch = Scratch::new(map(Legacy::Escape, &[]), &[]);
    for (name, is_replaced, expected) in [
        (&b"removed"[..], false, libc::ENOENT),
        (b"replaced", true, libc::EEXIST),
    ] {
        let before = scratch.fs.state().inodes;
        let made = AtomicUsize::new(0);
        let make = |dir: &Dir<&OwnedFd>, name: &BackingName| {
            made.fetch_add(1, Ordering::Relaxed);
            dir.mkdir(name, 0o700)?;
            dir.rmdir(name)?;
            match is_replaced {
                true => dir.symlink(name, b"elsewhere"),
                false => Ok(()),
            }
        };
        let new = new_entry(ROOT, name, 0o700);
        let making = scratch.fs.making(Operation::Mkdir, &new).unwrap();
        let entry = scratch.fs.make_node(&making, &new, Kind::Dir, make);
        assert_eq!(entry.unwrap_err().errno(), expected);
        assert_eq!(made.into_inner(), 1);
        assert_eq!(scratch.fs.state().inodes, before);
        assert_eq!(scratch.path(name).is_symlink(), is_replaced);
    }
}

//! Law N9, `--unique`: a new name that differs from a sibling in case or form alone is refused; what was made so below
//! stays as it is.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{OFlags, RenameFlags};
use rustix::io::Errno;

use crate::support::at::{self, Make};
use crate::support::audit::Record;
use crate::support::{Tree, needs, show};

/// A sibling, a new name, and whether the new one is refused by `casefold` and by `nfc`.
const ROWS: &[(&str, &str, bool, bool)] = &[
    ("readme", "README", true, false),
    ("readme", "readme.txt", false, false),
    ("straße", "STRASSE", true, false),
    ("STRAẞE", "strasse", true, false),
    ("σς", "ΣΣ", true, false),
    ("İ", "i\u{307}", true, false),
    ("i", "ı", false, false),
    ("\u{212A}", "k", true, false),
    // KELVIN SIGN and K are canonical equivalents
    ("\u{212A}", "K", true, true),
    ("\u{212B}", "Å", true, true),
    ("Å", "a\u{30A}", true, false),
    ("ﬁ", "FI", true, false),
    ("é", "e\u{301}", true, true),
    ("한", "\u{1112}\u{1161}\u{11AB}", true, true),
    ("ệ", "E\u{302}\u{323}", true, false),
    ("ệ", "e\u{302}\u{323}", true, true),
    ("Ꭰ", "\u{AB70}", true, false),
    ("\u{10400}", "\u{10428}", true, false),
    ("²", "2", false, false),
];

fn assert_record(record: &Record, sibling: &[u8], name: &[u8], kind: &str, verdict: &str) {
    assert_eq!(record.text("rule"), "not-unique");
    assert_eq!(record.text("kind"), kind);
    assert_eq!(record.text("verdict"), verdict);
    assert_eq!(record.name("name").as_deref(), Some(name));
    assert_eq!(record.name("sibling").as_deref(), Some(sibling));
    assert_eq!(record.name("accepted"), None);
    let end = record.number("offset") + record.number("length");
    assert!(record.number("length") > 0 && end <= name.len().try_into().unwrap());
}

/// Each row by each operation that makes a name.
#[test]
fn names_that_are_like_a_sibling_are_refused_by_every_operation() {
    for (kind, is_casefold) in [("casefold", true), ("nfc", false)] {
        let tree = Tree::new();
        for (row, (sibling, ..)) in ROWS.iter().enumerate() {
            for make in Make::ALL {
                let dir = tree.directory(format!("{row}-{}", make.label()).as_bytes());
                at::write_new(&dir, sibling.as_bytes(), b"sibling").unwrap();
                at::write_new(&dir, Make::SOURCE, b"source").unwrap();
            }
        }
        let mount = tree.mount(&["--unique", kind]);
        let mut refused = Vec::new();
        for (row, &(sibling, name, casefold, nfc)) in ROWS.iter().enumerate() {
            for make in Make::ALL {
                let dir = format!("{row}-{}", make.label());
                let what = format!("{} of {name} beside {sibling}, {kind}", make.label());
                let result = make.run(mount.sub(&dir), name.as_bytes());
                let below = at::open_dir(tree.below_dir(), dir.as_bytes()).unwrap();
                let mut expected = vec![sibling.as_bytes(), Make::SOURCE];
                if if is_casefold { casefold } else { nfc } {
                    assert_eq!(result, Err(Errno::EXIST), "{what}");
                    refused.push((sibling, name, make));
                } else {
                    assert_eq!(result, Ok(()), "{what}");
                    expected.push(name.as_bytes());
                    expected.retain(|name| make != Make::Rename || *name != Make::SOURCE);
                }
                expected.sort_unstable();
                assert_eq!(at::sorted(&below), expected, "{what}");
                // The name itself is there, which is no clash.
                assert_eq!(
                    at::mkdir(mount.sub(&dir), sibling.as_bytes()),
                    Err(Errno::EXIST)
                );
            }
        }
        let records = mount.stop();
        assert_eq!(records.len(), refused.len());
        for (record, (sibling, name, make)) in records.iter().zip(refused) {
            assert_record(record, sibling.as_bytes(), name.as_bytes(), kind, "refused");
            assert_eq!(record.text("errno"), "EEXIST");
            assert_eq!(record.text("operation"), make.label());
        }
    }
}

/// What has the name itself is opened, refused or replaced as ever, and an entry may change the case of its own name.
#[test]
fn the_name_itself_and_its_own_other_case_are_no_clash() {
    let tree = Tree::new();
    tree.file(b"readme", b"one");
    tree.file(b"other", b"two");
    drop(tree.directory(b"Sub"));
    let mount = tree.mount(&["-o", "unique=casefold"]);
    let dir = mount.dir();
    let create = OFlags::RDWR | OFlags::CREATE;
    drop(at::open(dir, b"readme", create).unwrap());
    assert_eq!(at::open(dir, b"README", create).err(), Some(Errno::EXIST));
    assert_eq!(at::link(dir, b"readme", b"README"), Err(Errno::EXIST));
    at::rename(dir, b"readme", b"ReadMe").unwrap();
    at::rename(dir, b"Sub", b"sub").unwrap();
    assert_eq!(at::rename(dir, b"other", b"README"), Err(Errno::EXIST));
    assert_eq!(
        at::rename_with(dir, b"other", b"ReadMe", RenameFlags::NOREPLACE),
        Err(Errno::EXIST)
    );
    at::rename(dir, b"other", b"ReadMe").unwrap();
    assert_eq!(at::read(dir, b"ReadMe").unwrap(), b"two");
    // What is gone is no sibling.
    at::unlink(dir, b"ReadMe").unwrap();
    at::write_new(dir, b"README", b"three").unwrap();
    at::rename_with(dir, b"README", b"sub", RenameFlags::EXCHANGE).unwrap();
    assert_eq!(at::mkdir(dir, b"SUB"), Err(Errno::EXIST));
    assert_eq!(at::sorted(tree.below_dir()), [&b"README"[..], b"sub"]);
    assert_eq!(mount.stop().len(), 4);
}

/// A whiteout keeps the old name, so that the other case of it is a clash.
#[test]
fn a_name_that_a_whiteout_keeps_is_a_sibling() {
    if !needs::root("whiteouts") {
        return;
    }
    let tree = Tree::new();
    tree.file(b"a", b"content");
    let mount = tree.mount(&["--unique", "casefold"]);
    let refused = at::rename_with(mount.dir(), b"a", b"A", RenameFlags::WHITEOUT);
    assert_eq!(refused, Err(Errno::EXIST));
    assert_eq!(at::read(tree.below_dir(), b"a").unwrap(), b"content");
    mount.stop();
}

/// Entries that were made so below are all shown, and each opens; they can be cleaned up through the mount.
#[test]
fn entries_that_are_alike_below_are_shown_and_open() {
    let tree = Tree::new();
    for name in ["a", "A", "é", "e\u{301}", "É"] {
        tree.file(name.as_bytes(), name.as_bytes());
    }
    let mount = tree.mount(&["--unique", "casefold"]);
    let dir = mount.dir();
    assert_eq!(at::sorted(dir), at::sorted(tree.below_dir()));
    for name in at::list(dir) {
        assert_eq!(at::read(dir, &name).unwrap(), name, "{}", show(&name));
    }
    at::rename(dir, b"A", b"a").unwrap();
    assert_eq!(at::read(dir, b"a").unwrap(), b"A");
    assert_eq!(at::create_new(dir, b"A").err(), Some(Errno::EXIST));
    at::unlink(dir, b"a").unwrap();
    at::write_new(dir, b"A", b"").unwrap();
    let refused = at::rename(dir, "é".as_bytes(), "E\u{301}".as_bytes());
    assert_eq!(refused, Err(Errno::EXIST), "like two others");
    // Another one made so below, while the mount runs; once the clock has moved on, without which old kernels' ctime does
    // not tell the change from the one before.
    let ctime = |path: &Path| std::fs::metadata(path).map(|of| (of.ctime(), of.ctime_nsec()));
    let (last, probe) = (ctime(&tree.backing()).unwrap(), tree.parent().join("probe"));
    while std::fs::write(&probe, b"")
        .and_then(|()| ctime(&probe))
        .unwrap()
        <= last
    {}
    tree.file(b"b", b"");
    assert_eq!(at::mkdir(dir, b"B"), Err(Errno::EXIST));
    at::unlink(tree.below_dir(), b"b").unwrap();
    at::mkdir(dir, b"B").unwrap();
    mount.stop();
}

/// Names are compared as they are visible; those that are hidden, not at all.
#[test]
fn legacy_names_are_compared_as_they_are_visible() {
    const LATIN: &[u8] = b"caf\xE9";
    // options, new name, is it refused
    let rows: &[(&[&str], &[u8], bool)] = &[
        (&["--from", "iso-8859-1"], "CAFÉ".as_bytes(), true),
        (&["--from", "iso-8859-1"], "cafe\u{301}".as_bytes(), true),
        (&["--legacy", "escape"], b"CAF%e9", true),
        (&["--legacy", "escape"], "CAFÉ".as_bytes(), false),
        (&["--legacy", "raw"], b"CAF%e9", false),
        (&["--legacy", "hide"], b"CAF%e9", false),
    ];
    for &(options, name, is_refused) in rows {
        let tree = Tree::new();
        tree.file(LATIN, b"legacy");
        let mount = tree.mount(&[options, &["--unique", "casefold"]].concat());
        let result = at::mkdir(mount.dir(), name);
        let expected = if is_refused {
            Err(Errno::EXIST)
        } else {
            Ok(())
        };
        assert_eq!(result, expected, "{} with {options:?}", show(name));
        mount.stop();
    }
}

/// `report` lets it through and says so; `normalize` has nothing to make of it.
#[test]
fn clashes_are_reported_under_report_and_refused_under_normalize() {
    let tree = Tree::new();
    tree.file(b"a", b"");
    let mount = tree.mount(&["--unique", "casefold", "--on-violation", "report"]);
    at::mkdir(mount.dir(), b"A").unwrap();
    at::link(mount.dir(), b"a", b"b").unwrap();
    at::rename(mount.dir(), b"A", b"B").unwrap();
    assert_eq!(at::sorted(mount.dir()), [&b"B"[..], b"a", b"b"]);
    let records = mount.stop();
    let [first, second] = &records[..] else {
        panic!("{records:?}");
    };
    assert_record(first, b"a", b"A", "casefold", "reported");
    assert_record(second, b"b", b"B", "casefold", "reported");
    for (record, name) in [(first, b"A"), (second, b"B")] {
        assert!(record.0["errno"].is_null() && record.0["exempt"].is_null());
        assert_eq!(record.name("visible").as_deref(), Some(&name[..]));
        assert_eq!(record.name("backing").as_deref(), Some(&name[..]));
    }

    let tree = Tree::new();
    tree.file("café".as_bytes(), b"");
    let options =
        "--unique casefold --on-violation normalize --from iso-8859-1 --normalization nfc";
    let mount = tree.mount(&options.split(' ').collect::<Vec<_>>());
    // Other spellings of the name itself are the entry that is there.
    for own in [&b"caf\xE9"[..], b"cafe\xCC\x81"] {
        at::rename(mount.dir(), own, own).unwrap();
        assert_eq!(at::create_new(mount.dir(), own).err(), Some(Errno::EXIST));
    }
    for other in [&b"CAF\xC9"[..], b"CAFE\xCC\x81", "CAFÉ".as_bytes()] {
        let refused = at::create_new(mount.dir(), other).err();
        assert_eq!(refused, Some(Errno::EXIST), "{}", show(other));
    }
    assert_eq!(at::list(tree.below_dir()), ["café".as_bytes()]);
    let records = mount.stop();
    assert_eq!(records.len(), 3);
    for record in &records {
        let name = record.name("name").unwrap();
        assert_record(record, "café".as_bytes(), &name, "casefold", "refused");
    }
}

/// Where names are well-formed by an older definition, what is text by RFC 3629 has case.
#[test]
fn names_in_older_forms_are_compared_too() {
    let tree = Tree::new();
    tree.file(b"a\xED\xA0\x80\xFD\xBF\xBF\xBF\xBF\xBF", b"");
    let mount = tree.mount(&["--unique", "casefold", "--encoding", "utf-8-rfc2279"]);
    let refused = at::mkdir(mount.dir(), b"A\xED\xA0\x80\xFD\xBF\xBF\xBF\xBF\xBF");
    assert_eq!(refused, Err(Errno::EXIST));
    at::mkdir(mount.dir(), b"A\xED\xA0\x81\xFD\xBF\xBF\xBF\xBF\xBF").unwrap();
    mount.stop();
}

/// Of many that create names that are alike, at once, one succeeds.
#[test]
fn of_many_that_create_names_that_are_alike_one_succeeds() {
    const THREADS: usize = 8;
    let spellings: [&[u8]; 4] = [b"abc", b"ABC", b"aBc", b"AbC"];
    let tree = Tree::new();
    let mount = tree.mount(&["--unique", "casefold", "--audit-burst", "0"]);
    let dir = mount.dir();
    let barrier = Barrier::new(THREADS);
    let made: Vec<AtomicUsize> = (0..100).map(|_| AtomicUsize::new(0)).collect();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (dir, barrier, made) = (&dir, &barrier, &made);
            scope.spawn(move || {
                for (round, made) in made.iter().enumerate() {
                    let spelling = spellings[(thread + round) % spellings.len()];
                    let name = [spelling, round.to_string().as_bytes()].concat();
                    barrier.wait();
                    // A panic would leave the others at the barrier.
                    match at::create_new(dir, &name) {
                        Ok(_) => _ = made.fetch_add(1, Ordering::Relaxed),
                        Err(Errno::EXIST) => {}
                        Err(_) => _ = made.fetch_add(1000, Ordering::Relaxed),
                    }
                }
            });
        }
    });
    for made in &made {
        assert_eq!(made.load(Ordering::Relaxed), 1);
    }
    assert_eq!(at::list(tree.below_dir()).len(), made.len());
    mount.stop();
}

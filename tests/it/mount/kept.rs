//! What the kernel keeps: names that entries are listed under, and absent ones that have no other spelling, so that asking again costs
//! nothing; and no other spelling (laws F5, N10, N14).

use std::os::fd::OwnedFd;

use rustix::fs::RenameFlags;
use rustix::io::Errno;

use crate::support::{Mount, Tree, at, audit, memory, needs};

const LONGEST: &str = "--cache=86400";

/// Ends the mount, and gives how many operations the kernel asked of it.
fn operations(tree: &Tree, mount: Mount<'_>) -> u64 {
    mount.stop();
    let records = audit::read(&tree.audit_log());
    let summary = records
        .iter()
        .find(|record| record.text("event") == "summary");
    summary.unwrap().number("operations")
}

/// How many operations it costs to do this once, and how many a hundred times; the mount itself takes a few more or fewer.
fn once_and_often(options: &[&str], act: impl Fn(&Mount<'_>)) -> [u64; 2] {
    [1, 100].map(|times| {
        let tree = Tree::new();
        tree.file(b"plain", b"");
        tree.file("caf\u{e9}".as_bytes(), b"");
        let mount = tree.mount(options);
        for _ in 0..times {
            act(&mount);
        }
        operations(&tree, mount)
    })
}

#[test]
fn names_with_one_spelling_are_asked_for_once() {
    needs::fuse();
    let _kept = memory::kept();
    let everywhere: [&[&str]; 6] = [
        &["--from=iso-8859-1"],
        &["--legacy=escape"],
        &["--legacy=raw"],
        &["--legacy=hide", "--on-violation=report"],
        &[
            "--from=iso-8859-1",
            "--on-violation=normalize",
            "--normalization=nfc",
        ],
        &["--from=iso-8859-1", "--store-as=iso-8859-1"],
    ];
    for options in everywhere {
        for (what, name, errno, kept) in [
            ("present", &b"plain"[..], None, LONGEST),
            // By time alone, that a name is absent is not kept: who waits for it is to see it come (law F9).
            (
                "absent",
                b"no such name",
                Some(Errno::NOENT),
                "--cache=exclusive",
            ),
        ] {
            let options = [options, &[kept]].concat();
            let [once, often] = once_and_often(&options, |mount| {
                assert_eq!(at::stat(mount.dir(), name).err(), errno);
            });
            assert!(often < once + 20, "{what}: {options:?}: {once}, {often}");
        }
    }
    // Where a letter has one form, a name that conforms has one spelling.
    let [once, often] = once_and_often(&["--from=iso-8859-1", LONGEST], |mount| {
        at::stat(mount.dir(), "caf\u{e9}".as_bytes()).unwrap();
    });
    assert!(often < once + 20, "{once}, {often}");
}

/// A directory and a file in it, by names that are mapped.
#[test]
fn n14_a_listed_name_is_asked_for_once_whatever_it_is_stored_as() {
    needs::fuse();
    let _kept = memory::kept();
    let rows: [(&[&str], &[u8], &str); 6] = [
        (&["--from=iso-8859-1"], b"caf\xE9", "caf\u{e9}"),
        (&["--legacy=escape"], b"caf\xE9", "caf%E9"),
        (&["--from=shift_jis"], b"\x95\x5C", "\u{8868}"),
        (
            &["--from=iso-8859-1", "--store-as=iso-8859-1"],
            b"caf\xE9",
            "caf\u{e9}",
        ),
        (
            &["--from=iso-8859-1", "--on-violation=normalize"],
            "caf\u{e9}".as_bytes(),
            "caf\u{e9}",
        ),
        (&["--normalization=nfc"], b"cafe\xCC\x81", "caf\u{e9}"),
    ];
    for (options, stored, listed) in rows {
        let [once, often] = [1, 100].map(|times| {
            let tree = Tree::new();
            let directory = tree.directory(stored);
            at::write_new(&directory, stored, b"").unwrap();
            let mount = tree.mount(&[options, &[LONGEST]].concat());
            for _ in 0..times {
                let path = format!("{listed}/{listed}");
                at::stat(mount.dir(), path.as_bytes()).unwrap();
            }
            operations(&tree, mount)
        });
        assert!(often < once + 20, "{options:?}: {once}, {often}");
    }
}

/// A way to change an entry in a directory by a spelling that it is not listed under, and the content of what has the listed name after it.
type ChangeByAlias = (&'static str, fn(&OwnedFd, &[u8]), Option<&'static [u8]>);

const CHANGES_BY_ALIAS: [ChangeByAlias; 4] = [
    ("unlink", |dir, alias| at::unlink(dir, alias).unwrap(), None),
    (
        "rename",
        |dir, alias| at::rename(dir, alias, b"elsewhere").unwrap(),
        None,
    ),
    (
        "replace",
        |dir, alias| at::rename(dir, b"new", alias).unwrap(),
        Some(b"new"),
    ),
    (
        "exchange",
        |dir, alias| at::rename_with(dir, b"new", alias, RenameFlags::EXCHANGE).unwrap(),
        Some(b"new"),
    ),
];

/// To the kernel an alias and the listed name are two names, and it would go on with the one that it keeps.
#[test]
fn n10_an_entry_that_is_changed_by_an_alias_leaves_no_kept_name() {
    needs::fuse();
    for cache in [LONGEST, "--cache=1", "--cache=watch"] {
        let tree = Tree::new();
        drop(tree.directory(b"sub"));
        let mount = tree.mount(&["--from=iso-8859-1", cache]);
        let above = mount.dir().try_clone_to_owned().unwrap();
        let below = tree.below_dir();
        let [sub, below_sub] = [&above, &below].map(|dir| at::open_dir(dir, b"sub").unwrap());
        for round in 0..5 {
            for (what, change, expected) in CHANGES_BY_ALIAS {
                for (dir, below) in [(&above, &below), (&sub, &below_sub)] {
                    let name = format!("{what}{round}\u{e9}");
                    let stored = format!("{what}{round}").into_bytes();
                    let alias = [&stored[..], b"%E9"].concat();
                    at::write_new(below, &[&stored[..], b"\xE9"].concat(), b"old").unwrap();
                    at::write_new(dir, b"new", b"new").unwrap();
                    let listed = name.as_bytes();
                    assert_eq!(at::read(dir, listed).unwrap(), b"old");
                    change(dir, &alias);
                    let found = at::read(dir, listed).ok();
                    assert_eq!(found.as_deref(), expected, "{cache}: {what}: read");
                    let made = at::create_new(dir, listed).err();
                    let is_there = expected.map(|_| Errno::EXIST);
                    assert_eq!(made, is_there, "{cache}: {what}: made");
                    for rest in [listed, b"new", b"elsewhere"] {
                        let _absent = at::unlink(dir, rest);
                    }
                    let mut left = at::list(below);
                    left.retain(|name| name != b"sub");
                    assert!(left.is_empty(), "{cache}: {what}: {left:?}");
                }
            }
        }
        drop((above, sub));
        mount.stop();
    }
}

#[test]
fn aliases_are_asked_for_again() {
    needs::fuse();
    let rows: [(&[&str], &[u8]); 2] = [
        (&["--normalization=nfc"], "cafe\u{301}".as_bytes()),
        (
            &["--from=iso-8859-1", "--on-violation=normalize"],
            b"caf\xE9",
        ),
    ];
    for (options, name) in rows {
        let [once, often] = once_and_often(&[options, &[LONGEST]].concat(), |mount| {
            at::stat(mount.dir(), name).unwrap();
        });
        assert!(often > once + 80, "{name:?}: {once}, {often}");
    }
}

/// Renamed to a spelling of an entry, a name would be kept under that spelling, whatever becomes of the entry.
#[test]
fn a_kept_name_that_is_renamed_to_one_with_other_spellings_is_kept_no_more() {
    needs::fuse();
    let tree = Tree::new();
    let mount = tree.mount(&["--from=iso-8859-1", LONGEST]);
    let (above, below) = (mount.dir(), tree.below_dir());
    let shown = "caf\u{e9}".as_bytes();
    for round in 0..3 {
        tree.file(b"caf\xE9", b"old");
        at::write_new(above, b"new", b"new").unwrap();
        at::stat(above, b"new").unwrap();
        match round {
            0 => at::rename(above, b"new", shown).unwrap(),
            _ => {
                let flags = RenameFlags::EXCHANGE;
                let (one, other) = if round == 1 {
                    (&b"new"[..], shown)
                } else {
                    (shown, &b"new"[..])
                };
                at::rename_with(above, one, other, flags).unwrap();
                assert_eq!(at::read(above, b"new").unwrap(), b"old");
                at::unlink(above, b"new").unwrap();
            }
        }
        assert_eq!(at::read(above, shown).unwrap(), b"new");
        assert_eq!(at::list(&below), [b"caf\xE9"]);
        at::unlink(above, b"caf%E9").unwrap();
        assert_eq!(
            at::stat(above, shown).err(),
            Some(Errno::NOENT),
            "round {round}"
        );
        at::write_new(above, shown, b"another").unwrap();
        at::unlink(above, shown).unwrap();
    }
    mount.stop();
}

//! What the kernel keeps: names that have no other spelling, present and absent, so that asking again costs nothing; and no
//! name that something else can change (laws F5, N10).

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

#[test]
fn names_with_several_spellings_are_asked_for_again() {
    needs::fuse();
    let rows: [(&[&str], &[u8]); 3] = [
        (&["--normalization=nfc"], "caf\u{e9}".as_bytes()),
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
                let flags = rustix::fs::RenameFlags::EXCHANGE;
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

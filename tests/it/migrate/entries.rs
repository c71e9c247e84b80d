//! Entries that are given by name: files, and directories with their own names.

use std::path::Path;

use super::{Run, utf8fs};
use crate::support::snapshot::{self, Snapshot, Times};
use crate::support::{Tree, at};

/// Files, links and directories whose names are Latin-1, some in each other.
fn tree() -> Tree {
    let tree = Tree::new();
    for name in [b"caf\xE9".as_slice(), b"th\xE9", b"stays\xE9"] {
        tree.file(name, name);
    }
    at::symlink(b"nowhere", tree.below_dir(), b"li\xE9n").unwrap();
    let outer = tree.directory(b"d\xE9");
    at::write_new(&outer, b"\xE9", b"in it").unwrap();
    at::mkdir(&outer, b"x\xE9").unwrap();
    let inner = at::open_dir(&outer, b"x\xE9").unwrap();
    at::write_new(&inner, b"\xE9", b"in that").unwrap();
    at::symlink(b"../../caf\xE9", &inner, b"link").unwrap();
    at::symlink(b"d\xE9/\xE9", tree.below_dir(), b"to d").unwrap();
    tree
}

fn all(tree: &Tree) -> Snapshot {
    snapshot::take(&tree.backing(), Times::Kept)
}

fn run(directory: &Path, arguments: &[&[u8]]) -> Run {
    let fixed: [&[u8]; 3] = [b"migrate", b"--from", b"iso-8859-1"];
    utf8fs(directory, &[&fixed, arguments].concat())
}

/// Applies, and checks that the names are those of before with some replaced, and that undo restores all (laws T2, T4, T6).
#[track_caller]
fn applied(tree: &Tree, arguments: &[&[u8]], renamed: &[(&[u8], &str)]) {
    let before = all(tree);
    let fixed: [&[u8]; 3] = [b"--apply", b"--journal", b"journal"];
    run(tree.parent(), &[&fixed, arguments].concat()).expect(0);
    let mut expected: Vec<Vec<u8>> = before.keys().cloned().collect();
    for path in &mut expected {
        if let Some((_, new)) = renamed.iter().find(|(old, _)| path == old) {
            *path = new.as_bytes().to_vec();
        }
    }
    expected.sort();
    let after = all(tree);
    assert!(after.keys().eq(&expected), "{:?}", after.keys());
    utf8fs(tree.parent(), &[b"undo", b"--apply", b"journal"]).expect(0);
    assert_eq!(all(tree), before);
    std::fs::remove_file(tree.parent().join("journal")).unwrap();
}

#[test]
fn files_that_are_given_are_renamed_and_no_others() {
    let tree = tree();
    let rows: [(&[u8], &str); 2] = [(b"caf\xE9", "café"), (b"li\xE9n", "lién")];
    applied(&tree, &[b"backing/caf\xE9"], &rows[..1]);
    applied(&tree, &[b"backing/li\xE9n", b"backing/caf\xE9"], &rows[..2]);
    // By a plan as well.
    let plan: [&[u8]; 3] = [b"--plan", b"plan", b"backing/caf\xE9"];
    run(tree.parent(), &plan).expect(0);
    let by_plan: [&[u8]; 4] = [b"migrate", b"--plan", b"plan", b"--apply"];
    utf8fs(tree.parent(), &by_plan).expect(0);
    assert!(all(&tree).contains_key("café".as_bytes()));
    assert!(all(&tree).contains_key(b"th\xE9".as_slice()));
}

#[test]
fn files_of_several_directories_are_migrated_one_directory_after_the_other() {
    let tree = tree();
    let arguments: [&[u8]; 3] = [b"--apply", b"backing/caf\xE9", b"backing/d\xE9/\xE9"];
    run(tree.parent(), &arguments).expect(0);
    let after = all(&tree);
    assert!(after.contains_key("café".as_bytes()), "{after:?}");
    let inner = [b"d\xE9/".as_slice(), "é".as_bytes()].concat();
    assert!(after.contains_key(&inner), "{after:?}");
}

#[test]
fn a_directory_is_renamed_itself_with_own_name() {
    let tree = tree();
    let renamed: [(&[u8], &str); 5] = [
        (b"d\xE9", "dé"),
        (b"d\xE9/\xE9", "dé/é"),
        (b"d\xE9/x\xE9", "dé/xé"),
        (b"d\xE9/x\xE9/\xE9", "dé/xé/é"),
        (b"d\xE9/x\xE9/link", "dé/xé/link"),
    ];
    applied(&tree, &[b"--own-name", b"backing/d\xE9"], &renamed);
    // From within, and with a slash.
    applied(
        &tree,
        &[b"--own-name", b"backing/d\xE9/x\xE9/../"],
        &renamed,
    );
    // Paths start in the directory itself.
    std::fs::write(
        tree.parent().join("map"),
        "[[directory]]\npath = '/x%E9'\ncharset = 'koi8-r'\n",
    )
    .unwrap();
    let mapped: [&[u8]; 6] = [
        b"--own-name",
        b"--charset-map",
        b"map",
        b"--exclude",
        b"/\xC3\xA9",
        b"backing/d\xE9",
    ];
    let mut renamed = renamed;
    renamed[3].1 = "dé/xé/И";
    applied(&tree, &mapped, &renamed);
    // Without it the name stays.
    let arguments: [&[u8]; 2] = [b"--apply", b"backing/d\xE9"];
    run(tree.parent(), &arguments).expect(0);
    let inner = [b"d\xE9/".as_slice(), "é".as_bytes()].concat();
    assert!(all(&tree).contains_key(&inner));
}

#[test]
fn what_overlaps_or_cannot_be_renamed_is_refused() {
    let tree = tree();
    let before = all(&tree);
    let rows: [(&[&[u8]], &str); 6] = [
        (&[b"backing", b"backing/caf\xE9"], "lies in"),
        (&[b"backing/caf\xE9", b"backing"], "lies in"),
        (
            &[b"--own-name", b"backing/d\xE9", b"backing/d\xE9/x\xE9"],
            "lies in",
        ),
        (&[b"--own-name", b"/"], "\"/\" cannot be renamed itself"),
        (
            &[b"--own-name", b"/proc"],
            "\"/proc\" cannot be renamed itself",
        ),
        (&[b"backing/none"], "No such file"),
    ];
    for (arguments, fault) in rows {
        let refused = run(
            tree.parent(),
            &[&[b"--apply".as_slice()], arguments].concat(),
        );
        let refused = refused.expect(2);
        assert!(refused.stderr.contains(fault), "{refused:?}");
    }
    assert_eq!(all(&tree), before);
}

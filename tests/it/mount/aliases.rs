//! Laws N10 and N11: other spellings of a name, and names that a legacy sibling has.

use std::os::fd::AsFd;

use rustix::fs::RenameFlags;
use rustix::io::Errno;

use crate::support::at::{self, Make};
use crate::support::{Mount, Tree, show};

const COMPOSED: &[u8] = b"caf\xC3\xA9";
const DECOMPOSED: &[u8] = b"cafe\xCC\x81";
const LATIN: &[u8] = b"caf\xE9";

/// A mount where all three spellings reach the composed one.
fn lenient(tree: &Tree) -> Mount<'_> {
    let options = "--on-violation normalize --from iso-8859-1 --normalization nfc";
    tree.mount(&options.split(' ').collect::<Vec<_>>())
}

fn assert_gone(dir: impl AsFd, what: &str) {
    for spelling in [COMPOSED, DECOMPOSED, LATIN] {
        let found = at::stat(&dir, spelling).err();
        assert_eq!(found, Some(Errno::NOENT), "{} after {what}", show(spelling));
    }
}

/// N10: made by one spelling, used by each, gone by any.
#[test]
fn every_spelling_reaches_the_same_entry_and_none_goes_stale() {
    let tree = Tree::new();
    let mount = lenient(&tree);
    let dir = mount.dir();
    let below = tree.below_dir();
    let spellings = [COMPOSED, DECOMPOSED, LATIN];
    for made in spellings {
        for removed in spellings {
            let what = format!("made as {}, removed as {}", show(made), show(removed));
            at::write_new(dir, made, b"content").unwrap();
            assert_eq!(at::list(&below), [COMPOSED], "{what}");
            let number = at::stat(dir, COMPOSED).unwrap().st_ino;
            for used in spellings {
                assert_eq!(at::read(dir, used).unwrap(), b"content", "{what}");
                assert_eq!(at::stat(dir, used).unwrap().st_ino, number, "{what}");
                at::set_mtime(dir, used, 1_000_000).unwrap();
                let again = at::create_new(dir, used).err();
                assert_eq!(again, Some(Errno::EXIST), "{what}");
                assert_eq!(at::mkdir(dir, used), Err(Errno::EXIST), "{what}");
            }
            at::unlink(dir, removed).unwrap();
            assert_gone(dir, &what);
            at::mkdir(dir, made).unwrap();
            let child = at::open_dir(dir, removed).unwrap();
            at::write_new(&child, b"x", b"").unwrap();
            assert_eq!(at::rmdir(dir, removed), Err(Errno::NOTEMPTY), "{what}");
            at::unlink(&child, b"x").unwrap();
            drop(child);
            at::rmdir(dir, removed).unwrap();
            assert_gone(dir, &what);
            at::write_new(dir, made, b"content").unwrap();
            at::rename(dir, removed, b"elsewhere").unwrap();
            assert_gone(dir, &what);
            at::rename(dir, b"elsewhere", made).unwrap();
            assert_eq!(at::list(&below), [COMPOSED], "{what}");
            at::unlink(dir, COMPOSED).unwrap();
            assert_gone(dir, &what);
        }
    }
    mount.stop();
}

/// N10: a rename from one spelling of an entry to another of the same entry changes nothing.
#[test]
fn a_rename_between_spellings_of_one_entry_changes_nothing() {
    let tree = Tree::new();
    tree.file(COMPOSED, b"content");
    drop(tree.directory("d-é".as_bytes()));
    let mount = lenient(&tree);
    let dir = mount.dir();
    for (old, new) in [
        (DECOMPOSED, COMPOSED),
        (COMPOSED, LATIN),
        (LATIN, DECOMPOSED),
    ] {
        at::rename(dir, old, new).unwrap();
        assert_eq!(at::read(dir, COMPOSED).unwrap(), b"content");
        let refused = at::rename_with(dir, old, new, RenameFlags::NOREPLACE);
        assert_eq!(refused, Err(Errno::EXIST));
    }
    at::rename(dir, b"d-e\xCC\x81", "d-é".as_bytes()).unwrap();
    at::rename(dir, "d-é".as_bytes(), b"d-\xE9").unwrap();
    assert_eq!(at::sorted(tree.below_dir()), [COMPOSED, "d-é".as_bytes()]);
    mount.stop();
}

/// N11: a legacy sibling that is visible as a name is what has that name, for each operation that would make it.
#[test]
fn a_legacy_sibling_is_the_existing_entry() {
    let tree = Tree::new();
    for make in Make::ALL {
        let dir = tree.directory(make.label().as_bytes());
        at::write_new(&dir, LATIN, b"legacy").unwrap();
        at::write_new(&dir, Make::SOURCE, b"source").unwrap();
    }
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    for make in Make::ALL {
        let dir = mount.sub(make.label());
        let below = at::open_dir(tree.below_dir(), make.label().as_bytes()).unwrap();
        let result = make.run(&dir, COMPOSED);
        if make == Make::Rename {
            // Replaced, under its old name below.
            assert_eq!(result, Ok(()));
            assert_eq!(at::list(&below), [LATIN]);
            assert_eq!(at::read(&below, LATIN).unwrap(), b"source");
            assert_eq!(at::list(&dir), [COMPOSED]);
            assert_eq!(at::read(&dir, COMPOSED).unwrap(), b"source");
        } else {
            assert_eq!(result, Err(Errno::EXIST), "{}", make.label());
            assert_eq!(at::sorted(&below), [LATIN, Make::SOURCE]);
            assert_eq!(at::read(&below, LATIN).unwrap(), b"legacy");
        }
    }
    mount.stop();
}

/// N3, N10: a program lists a directory, and then goes from name to name. An entry that has a better name meanwhile,
/// because a sibling is gone, is reached by the one that it was listed under: `rm -r` leaves nothing behind.
#[test]
fn a_name_that_was_listed_reaches_its_entry_when_a_sibling_is_gone() {
    // As text it fits, escaped it is cut.
    let (long, long_text) = ([0xE9; 100], "é".repeat(100));
    let names = [
        COMPOSED,
        DECOMPOSED,
        LATIN,
        b"caf%E9",
        b"\xC0",
        b"%C0",
        &long,
        long_text.as_bytes(),
    ];
    for options in [
        &["--legacy=escape"][..],
        &["--from=iso-8859-1"],
        &["--from=iso-8859-1", "--normalization=nfc"],
        &[
            "--from=iso-8859-1",
            "--on-violation=normalize",
            "--normalization=nfd",
        ],
        &["--from=iso-8859-1", "--on-violation=report"],
    ] {
        let tree = Tree::new();
        for name in names {
            tree.file(name, name);
        }
        let mount = tree.mount(options);
        let dir = mount.dir();
        let listed = at::list(dir);
        let contents: Vec<_> = listed
            .iter()
            .map(|name| at::read(dir, name).unwrap())
            .collect();
        for (place, name) in listed.iter().enumerate() {
            let what = format!("{options:?}: {}", show(name));
            for (name, content) in listed.iter().zip(&contents).skip(place) {
                assert_eq!(
                    at::read(dir, name).as_ref(),
                    Ok(content),
                    "{what}: {}",
                    show(name)
                );
            }
            assert_eq!(at::unlink(dir, name), Ok(()), "{what}");
            // The sibling that wanted the name may have it now.
            let left = at::list(tree.below_dir());
            assert!(!left.contains(&contents[place]), "{what}");
        }
        assert!(at::list(tree.below_dir()).is_empty());
        mount.stop();
    }
}

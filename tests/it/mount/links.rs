//! Law N13: targets of symlinks that lie below, as they are read.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use rustix::fs::AtFlags;
use rustix::io::Errno;

use crate::support::mount::{binary, detach};
use crate::support::{Tree, at, show};

/// A file or directory by a path, symlinks followed: its inode number.
pub(super) fn leads_to(dir: impl AsFd, path: &[u8]) -> at::Result<u64> {
    rustix::fs::statat(dir, path, AtFlags::empty()).map(|stat| stat.st_ino)
}

/// Replaces one run of bytes by another, wherever it is.
pub(super) fn replaced(path: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut left = path;
    let mut made = Vec::new();
    while let Some((&first, rest)) = left.split_first() {
        if let Some(rest) = left.strip_prefix(from) {
            made.extend_from_slice(to);
            left = rest;
        } else {
            made.push(first);
            left = rest;
        }
    }
    made
}

/// The target that is read through the mount; the size of the link is its length, whoever asks first.
pub(super) fn target_and_size(dir: impl AsFd, path: &[u8]) -> Vec<u8> {
    let size = at::stat(&dir, path).unwrap().st_size;
    let target = at::readlink(&dir, path).unwrap();
    assert_eq!(size, i64::try_from(target.len()).unwrap(), "{}", show(path));
    target
}

/// Directories and files with legacy names, and links that lead through links.
pub(super) fn legacy_tree(tree: &Tree) -> OwnedFd {
    let below = tree.below_dir();
    tree.file(b"caf\xE9", b"root");
    for dir in [&b"d\xE9"[..], b"d\xE9/sub", b"d\xE9/s\xE9b", b"plain"] {
        at::mkdir(&below, dir).unwrap();
    }
    at::write_new(&below, b"d\xE9/f\xE9", b"inner").unwrap();
    at::write_new(&below, "plain/é".as_bytes(), b"conforming").unwrap();
    for (link, target) in [
        (&b"hop"[..], &b"d\xE9"[..]),
        (b"hop2", b"plain/../hop"),
        (b"d\xE9/back", b".."),
        (b"d\xE9/h\xE9p", b"s\xE9b/.././../hop2"),
    ] {
        at::symlink(target, &below, link).unwrap();
    }
    below
}

/// Links in `legacy_tree` that lead to something.
const LEADING: [(&[u8], &[u8]); 13] = [
    (b"l1", b"caf\xE9"),
    (b"plain/l2", b"../d\xE9/f\xE9"),
    (b"l3", b"hop/f\xE9"),
    (b"l4", b"plain/../d\xE9/./sub//..//f\xE9"),
    (b"l5", b"./d\xE9//"),
    (b"l6", b"d\xE9/back/caf\xE9"),
    (b"plain/l7", b"./../hop2/f\xE9"),
    (b"l8", b"hop/../caf\xE9"),
    (b"d\xE9/l\xE9", b"f\xE9"),
    (b"d\xE9/s\xE9b/l10", b"../h\xE9p/h\xE9p/../caf\xE9"),
    (b"l11", b"l10/../caf\xE9"),
    (b"l10", b"d\xE9/s\xE9b"),
    (b"l12", "plain/é".as_bytes()),
];

/// The link resolves to the same file through the mount and below it.
#[test]
fn links_lead_to_the_same_file_through_the_mount_and_below_it() {
    for (options, shown) in [
        (&[][..], &b"%E9"[..]),
        (&["--from", "iso-8859-1"], "é".as_bytes()),
    ] {
        let tree = Tree::new();
        let below = legacy_tree(&tree);
        for (link, target) in LEADING {
            at::symlink(target, &below, link).unwrap();
        }
        let mount = tree.mount(options);
        let dir = mount.dir();
        for (link, target) in LEADING {
            let visible = replaced(link, b"\xE9", shown);
            let what = show(link);
            let read = target_and_size(dir, &visible);
            assert_eq!(show(&read), show(&replaced(target, b"\xE9", shown)));
            let above = leads_to(dir, &visible);
            // `d\xE9/back/..` is no row: above the root there is another directory than below.
            if link != b"l11" {
                assert_eq!(above, leads_to(&below, link), "{what}");
            } else {
                assert_eq!(leads_to(&below, link), Err(Errno::NOENT));
            }
            assert_eq!(at::readlink(&below, link).unwrap(), target, "{what}");
        }
        mount.stop();
    }
}

/// Where the mount covers the backing directory, absolute targets into it lead into the mount.
#[test]
fn absolute_links_lead_into_a_mount_over_the_backing_directory() {
    let tree = Tree::new();
    let below = legacy_tree(&tree);
    let real = tree.backing();
    let inside = |rest: &[u8]| [real.as_os_str().as_bytes(), rest].concat();
    let rows = [
        (inside(b"/caf\xE9"), inside("/café".as_bytes())),
        (inside(b"//d\xE9/./f\xE9"), inside("//dé/./fé".as_bytes())),
        (inside(b"/hop/f\xE9"), inside("/hop/fé".as_bytes())),
        (inside(b"/jump/f\xE9"), inside("/jump/fé".as_bytes())),
        (inside(b"/../caf\xE9"), inside(b"/../caf\xE9")),
        (inside(b"2/caf\xE9"), inside(b"2/caf\xE9")),
    ];
    at::symlink(&inside(b"/d\xE9"), &below, b"jump").unwrap();
    for (number, (target, _)) in rows.iter().enumerate() {
        at::symlink(target, &below, format!("l{number}").as_bytes()).unwrap();
    }
    let status = Command::new(binary())
        .args(["mount", "--background", "--from", "iso-8859-1"])
        .args([&real, &real])
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let above = at::open_dir_path(&real);
    for (number, (_, visible)) in rows.iter().enumerate() {
        let link = format!("l{number}").into_bytes();
        assert_eq!(show(&target_and_size(&above, &link)), show(visible));
        let found = leads_to(&above, &link);
        assert_eq!(found.is_ok(), number < 4, "{}", show(visible));
    }
    let file = leads_to(&above, "dé/fé".as_bytes());
    assert_eq!(leads_to(&above, b"l1"), file);
    assert_eq!(leads_to(&above, b"l3"), file);
    let made = inside("/dé/fé".as_bytes());
    at::symlink(&made, &above, b"made").unwrap();
    assert_eq!(target_and_size(&above, b"made"), made);
    drop(above);
    detach(&real);
    let stored = at::readlink(&below, b"made").unwrap();
    assert_eq!(stored, inside(b"/d\xE9/f\xE9"));
}

/// A legacy target that names nothing below was shown as the name of another entry, and led there.
#[test]
fn a_link_that_dangles_below_leads_to_no_sibling_that_has_its_visible_name() {
    for (options, sibling, shown) in [
        (&["--from=iso-8859-1"][..], "q\u{e9}", &b"q%E9"[..]),
        (&["--legacy=escape"], "q%E9", b"q%%E9"),
    ] {
        let tree = Tree::new();
        let below = tree.below_dir();
        at::symlink(b"q\xE9", &below, b"link").unwrap();
        let mount = tree.mount(options);
        let above = mount.dir();
        // As it would be visible if it were there: first alone, then beside a sibling.
        let alone = if options[0] == "--legacy=escape" {
            b"q%E9"
        } else {
            "q\u{e9}".as_bytes()
        };
        assert_eq!(at::readlink(above, b"link").unwrap(), alone);
        tree.file(sibling.as_bytes(), b"another");
        assert_eq!(target_and_size(above, b"link"), shown);
        assert_eq!(leads_to(above, b"link"), Err(Errno::NOENT));
        at::write_new(&below, b"q\xE9", b"its own").unwrap();
        assert_eq!(leads_to(above, b"link"), leads_to(&below, b"link"));
        mount.stop();
    }
}

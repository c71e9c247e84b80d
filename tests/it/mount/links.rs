//! Law N13: targets of symlinks that lie below, as they are read.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

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

/// A link that leads out names the same outside, also behind another that leads out.
#[test]
fn links_that_lead_out_are_left_alone() {
    let tree = Tree::new();
    let below = legacy_tree(&tree);
    let outside = at::open_dir_path(tree.parent());
    at::write_new(&outside, b"caf\xE9", b"outside").unwrap();
    let parent = tree.parent().as_os_str().as_bytes();
    let backing = tree.backing();
    let absolute = |rest: &[u8]| [backing.as_os_str().as_bytes(), rest].concat();
    at::symlink(parent, &below, b"out").unwrap();
    let left_alone = [
        b"../caf\xE9".to_vec(),
        b"d\xE9/../../caf\xE9".to_vec(),
        b"hop/back/../caf\xE9".to_vec(),
        [parent, b"/caf\xE9"].concat(),
        absolute(b"/caf\xE9"),
        absolute(b"/d\xE9/f\xE9"),
        b"/".to_vec(),
        b"/caf\xE9".to_vec(),
    ];
    for (number, target) in left_alone.iter().enumerate() {
        at::symlink(target, &below, format!("l{number}").as_bytes()).unwrap();
    }
    at::symlink(b"d\xE9/../out/caf\xE9", &below, b"behind").unwrap();
    let mount = tree.mount(&[]);
    let dir = mount.dir();
    for (number, target) in left_alone.iter().enumerate() {
        let link = format!("l{number}").into_bytes();
        assert_eq!(show(&target_and_size(dir, &link)), show(target));
        // The mountpoint lies beside the backing directory, and has no `d\xE9`.
        if number != 1 {
            assert_eq!(leads_to(dir, &link), leads_to(&below, &link), "{number}");
        }
    }
    let behind = target_and_size(dir, b"behind");
    assert_eq!(show(&behind), show(b"d%E9/../out/caf\xE9"));
    assert_eq!(leads_to(dir, b"behind"), leads_to(&outside, b"caf\xE9"));
    mount.stop();
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

/// What a link does not lead to is shown as it would be visible; links in a ring end as they do below.
#[test]
fn dangling_links_and_rings_are_read_and_lead_nowhere() {
    let tree = Tree::new();
    let below = legacy_tree(&tree);
    let rows: [(&[u8], &[u8], &[u8]); 10] = [
        (b"nix", b"n\xEFx", b"n%EFx"),
        (b"nix2", b"n\xEFx/caf\xE9", b"n%EFx/caf%E9"),
        (b"nix3", b"nix-at-all/caf\xE9", b"nix-at-all/caf%E9"),
        (b"nix4", b"nix-at-all/../caf\xE9", b"nix-at-all/../caf%E9"),
        (b"nix5", b"caf\xE9/caf\xE9", b"caf%E9/caf%E9"),
        (b"nix6", b"nowhere", b"nowhere"),
        (b"r\xE9ng", b"r\xE9ng/x", b"r%E9ng/x"),
        (b"r\xE9ng1", b"r\xE9ng2/\xFF", b"r%E9ng2/%FF"),
        (b"r\xE9ng2", b"r\xE9ng1/\xFF", b"r%E9ng1/%FF"),
        (b"self\xE9", b"self\xE9", b"self%E9"),
    ];
    for (link, target, _) in rows {
        at::symlink(target, &below, link).unwrap();
    }
    let mount = tree.mount(&[]);
    let dir = mount.dir();
    for (link, _, visible) in rows {
        let above = replaced(link, b"\xE9", b"%E9");
        assert_eq!(show(&target_and_size(dir, &above)), show(visible));
        let error = leads_to(&below, link).unwrap_err();
        assert_eq!(leads_to(dir, &above), Err(error), "{}", show(link));
    }
    mount.stop();
}

/// A target names the entry that it names below, whatever that is visible as beside its siblings.
#[test]
fn targets_follow_the_names_that_the_directory_gives() {
    let tree = Tree::new();
    let below = tree.below_dir();
    let long: Vec<u8> = [&[0xE9; 250][..], b".txt"].concat();
    let names = [
        &b"a\xE9"[..],
        b"a%E9",
        b"b\xE9",
        "bé".as_bytes(),
        b"b%E9",
        &long,
    ];
    for name in names {
        at::write_new(&below, name, name).unwrap();
        at::symlink(name, &below, &[b"to-", &name[..2]].concat()).ok();
    }
    at::symlink(&long, &below, b"to-long").unwrap();
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let dir = mount.dir();
    let through = |link: &[u8]| {
        let target = target_and_size(dir, link);
        (at::read(dir, &target).unwrap(), target)
    };
    assert_eq!(through("to-aé".as_bytes()).0, b"a\xE9");
    let (content, target) = through("to-bé".as_bytes());
    assert_eq!((&content[..], &target[..]), (&b"b\xE9"[..], &b"b%%E9"[..]));
    let (content, target) = through(b"to-long");
    assert_eq!(content, long);
    assert!(target.contains(&b'~') && target.ends_with(b".txt"));
    // A sibling goes, and the names change.
    at::unlink(dir, "bé".as_bytes()).unwrap();
    assert_eq!(through("to-bé".as_bytes()).1, "bé".as_bytes());
    mount.stop();
}

/// `raw` shows targets as they are, and `hide` too: what they name is not visible at all.
#[test]
fn targets_are_as_they_are_where_no_name_is_mapped() {
    for (legacy, found) in [("raw", true), ("hide", false)] {
        let tree = Tree::new();
        tree.file(b"caf\xE9", b"");
        at::symlink(b"./caf\xE9", tree.below_dir(), b"link").unwrap();
        let mount = tree.mount(&["--legacy", legacy]);
        let dir = mount.dir();
        assert_eq!(target_and_size(dir, b"link"), b"./caf\xE9");
        assert_eq!(leads_to(dir, b"link").is_ok(), found, "{legacy}");
        mount.stop();
    }
}

/// Targets made by an enemy cost no more than a bounded walk, and are left alone beyond.
#[test]
fn endless_targets_are_left_alone() {
    let tree = Tree::new();
    let below = legacy_tree(&tree);
    let fill = |piece: &[u8], end: &[u8]| {
        let times = (4090 - end.len()) / piece.len();
        [&piece.repeat(times)[..], end].concat()
    };
    for number in 0..40 {
        let next = format!("c{}", number + 1).into_bytes();
        let link = format!("c{number}").into_bytes();
        at::symlink(&fill(b"./", &next), &below, &link).unwrap();
    }
    at::mkdir(&below, b"c40").unwrap();
    let rows = [
        (fill(b"plain/../", b"caf\xE9"), true),
        (fill(b"./", b"caf\xE9"), true),
        (fill(b"/", b"caf\xE9")[1..].to_vec(), false),
        (fill(b"d\xE9/../", b"caf\xE9"), false),
        (fill(b"caf\xE9/../", b"caf\xE9"), false),
        (fill(b"a/", b"caf\xE9"), false),
        // After 40 links it leads nowhere, and what leads nowhere is shown as it would be visible.
        (fill(b"hop/../", b"caf\xE9"), true),
        (b"c0/../caf\xE9".to_vec(), false),
        (b"c39/../caf\xE9".to_vec(), true),
        ([&b"../"[..]; 1365].concat(), false),
    ];
    for (number, (target, _)) in rows.iter().enumerate() {
        at::symlink(target, &below, format!("l{number}").as_bytes()).unwrap();
    }
    let mount = tree.mount(&[]);
    let dir = mount.dir();
    for (number, (target, is_translated)) in rows.iter().enumerate() {
        let shown = target_and_size(dir, format!("l{number}").as_bytes());
        let is_longer = shown.len() > target.len();
        assert_eq!(is_longer, *is_translated, "row {number}");
        if !is_longer {
            assert!(shown == *target, "row {number}");
        }
    }
    mount.stop();
}

/// Law F2: while a directory is swapped for a link that leads out, no name is taken from outside.
#[test]
fn a_directory_swapped_for_a_link_lends_no_names_from_outside() {
    let tree = Tree::new();
    let below = tree.below_dir();
    let outside = tree.parent().join("outside");
    std::fs::create_dir(&outside).unwrap();
    for (dir, names) in [
        (tree.directory(b"d"), &[&b"\xFF"[..]][..]),
        (at::open_dir_path(&outside), &[&b"\xFF"[..], b"%FF"]),
    ] {
        for name in names {
            at::write_new(&dir, name, b"").unwrap();
        }
    }
    at::symlink(b"../outside", &below, b"swap").unwrap();
    at::mkdir(&below, b"links").unwrap();
    at::symlink(b"../d/\xFF", &below, b"links/l").unwrap();
    at::symlink(b"../d/../d/\xFF", &below, b"links/l2").unwrap();
    let mount = tree.mount(&[]);
    let dir = mount.dir();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                at::rename_with(&below, b"d", b"swap", flags).unwrap();
            }
        });
        let read = || {
            (0..2000).all(|_| {
                [&b"links/l"[..], b"links/l2"].iter().all(|link| {
                    let target = at::readlink(dir, link).unwrap();
                    target.ends_with(b"d/%FF") || target.ends_with(b"d/\xFF")
                })
            })
        };
        let is_inside = read();
        done.store(true, Ordering::Release);
        assert!(is_inside, "a name from outside");
    });
    mount.stop();
    assert!(Path::new(&outside).is_dir());
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

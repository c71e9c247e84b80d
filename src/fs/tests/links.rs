//! Law N13: targets of symlinks that lie below, as they are read.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::{CALLER, Exemptions, Legacy, NameMap, Scratch, map};

fn legacy_tree(map: NameMap) -> Scratch {
    Scratch::new(map, &[]).with_legacy_tree()
}

fn escape() -> NameMap {
    map(Legacy::Escape, &[])
}

/// A link that leads out names the same outside, also behind another that leads out.
#[test]
fn links_that_lead_out_are_left_alone() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join(OsStr::from_bytes(b"caf\xE9")), "").unwrap();
    let below = Arc::new(tempfile::tempdir_in(outside.path()).unwrap());
    let scratch = Scratch::of(below, Exemptions::default(), escape(), None).with_legacy_tree();
    let parent = outside.path().as_os_str().as_bytes();
    let absolute = |rest: &[u8]| [scratch.path(b"").as_os_str().as_bytes(), rest].concat();
    scratch.symlink_below(parent, b"out");
    let left_alone = [
        b"../caf\xE9".to_vec(),
        b"d\xE9/../../caf\xE9".to_vec(),
        b"hop/back/../caf\xE9".to_vec(),
        [parent, b"/caf\xE9"].concat(),
        absolute(b"caf\xE9"),
        absolute(b"d\xE9/f\xE9"),
        b"/".to_vec(),
        b"/caf\xE9".to_vec(),
    ];
    for (number, target) in left_alone.iter().enumerate() {
        let link = format!("l{number}").into_bytes();
        scratch.symlink_below(target, &link);
        let shown = scratch.root().readlink(&link).unwrap();
        assert_eq!(
            shown.escape_ascii().to_string(),
            target.escape_ascii().to_string()
        );
        // No name is `d\xE9` above.
        if number != 1 {
            assert_eq!(
                scratch.follow(&link),
                scratch.follow_below(&link),
                "{number}"
            );
        }
    }
    scratch.symlink_below(b"d\xE9/../out/caf\xE9", b"behind");
    assert_eq!(
        scratch.root().readlink(b"behind").unwrap(),
        b"d%E9/../out/caf\xE9"
    );
    let led_to = scratch.follow(b"behind");
    assert!(led_to.is_ok());
    assert_eq!(led_to, scratch.follow_below(b"../caf\xE9"));
}

/// What a link does not lead to is shown as it would be visible; links in a ring end as they do below.
#[test]
fn dangling_links_and_rings_are_read_and_lead_nowhere() {
    let scratch = legacy_tree(escape());
    // The link below and above, its target, and that as it is shown.
    let rows: [[&[u8]; 4]; 10] = [
        [b"nix", b"nix", b"n\xEFx", b"n%EFx"],
        [b"nix2", b"nix2", b"n\xEFx/caf\xE9", b"n%EFx/caf%E9"],
        [
            b"nix3",
            b"nix3",
            b"nix-at-all/caf\xE9",
            b"nix-at-all/caf%E9",
        ],
        [
            b"nix4",
            b"nix4",
            b"nix-at-all/../caf\xE9",
            b"nix-at-all/../caf%E9",
        ],
        [b"nix5", b"nix5", b"caf\xE9/caf\xE9", b"caf%E9/caf%E9"],
        [b"nix6", b"nix6", b"nowhere", b"nowhere"],
        [b"r\xE9ng", b"r%E9ng", b"r\xE9ng/x", b"r%E9ng/x"],
        [b"r\xE9ng1", b"r%E9ng1", b"r\xE9ng2/\xFF", b"r%E9ng2/%FF"],
        [b"r\xE9ng2", b"r%E9ng2", b"r\xE9ng1/\xFF", b"r%E9ng1/%FF"],
        [b"self\xE9", b"self%E9", b"self\xE9", b"self%E9"],
    ];
    for [link, _, target, _] in rows {
        scratch.symlink_below(target, link);
    }
    for [link, above, _, shown] in rows {
        let what = link.escape_ascii();
        assert_eq!(scratch.root().readlink(above).unwrap(), shown, "{what}");
        let error = scratch.follow_below(link).unwrap_err();
        assert_eq!(scratch.follow(above), Err(error), "{what}");
    }
}

/// A target names the entry that it names below, whatever that is visible as beside its siblings.
#[test]
fn targets_follow_the_names_that_the_directory_gives() {
    let long: Vec<u8> = [&[0xE9; 250][..], b".txt"].concat();
    let conforming = "bé".as_bytes();
    let names = [&b"a\xE9"[..], b"a%E9", b"b\xE9", conforming, b"b%E9", &long];
    let scratch = Scratch::new(map(Legacy::Decode, &["iso-8859-1"]), &names);
    for (target, link) in [
        (names[0], b"to-a"),
        (names[2], b"to-b"),
        (names[5], b"to-l"),
    ] {
        scratch.symlink_below(target, link);
    }
    let dir = scratch.root();
    let through = |link: &[u8]| {
        let target = dir.readlink(link).unwrap();
        (dir.read(&target).unwrap(), target)
    };
    assert_eq!(through(b"to-a").0, b"a\xE9");
    assert_eq!(through(b"to-b"), (b"b\xE9".to_vec(), b"b%%E9".to_vec()));
    let (content, target) = through(b"to-l");
    assert_eq!(content, long);
    assert!(target.contains(&b'~') && target.ends_with(b".txt"));
    // A sibling goes, and the names change.
    dir.unlink(conforming).unwrap();
    assert_eq!(through(b"to-b"), (b"b\xE9".to_vec(), conforming.to_vec()));
}

/// `raw` shows targets as they are, and `hide` too: what they name is not visible at all.
#[test]
fn targets_are_as_they_are_where_no_name_is_mapped() {
    for (legacy, is_found) in [(Legacy::Raw, true), (Legacy::Hide, false)] {
        let scratch = Scratch::new(map(legacy, &[]), &[b"caf\xE9"]);
        scratch.symlink_below(b"./caf\xE9", b"link");
        assert_eq!(scratch.root().readlink(b"link").unwrap(), b"./caf\xE9");
        assert_eq!(scratch.follow(b"link").is_ok(), is_found, "{legacy:?}");
    }
}

/// Targets made by an enemy cost no more than a bounded walk, and are left alone beyond.
#[test]
fn endless_targets_are_left_alone() {
    let scratch = legacy_tree(escape());
    let fill = |piece: &[u8], end: &[u8]| {
        let times = (4090 - end.len()) / piece.len();
        [&piece.repeat(times)[..], end].concat()
    };
    for number in 0..40 {
        let next = format!("c{}", number + 1).into_bytes();
        scratch.symlink_below(&fill(b"./", &next), format!("c{number}").as_bytes());
    }
    std::fs::create_dir(scratch.path(b"c40")).unwrap();
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
    for (number, (target, is_translated)) in rows.iter().enumerate() {
        let link = format!("l{number}").into_bytes();
        scratch.symlink_below(target, &link);
        let shown = scratch.root().readlink(&link).unwrap();
        let is_longer = shown.len() > target.len();
        assert_eq!(is_longer, *is_translated, "row {number}");
        assert!(is_longer || shown == *target, "row {number}");
    }
}

/// Law F2: while a directory is swapped for a link that leads out, no name is taken from outside.
#[test]
fn a_directory_swapped_for_a_link_lends_no_names_from_outside() {
    let scratch = Scratch::new(escape(), &[]);
    let outside = tempfile::tempdir_in(scratch.path(b"..")).unwrap();
    for dir in ["d", "links"] {
        std::fs::create_dir(scratch.path(dir.as_bytes())).unwrap();
    }
    let within = |name: &[u8]| outside.path().join(OsStr::from_bytes(name));
    for file in [scratch.path(b"d/\xFF"), within(b"\xFF"), within(b"%FF")] {
        std::fs::write(file, "").unwrap();
    }
    let out = outside.path().file_name().unwrap().as_bytes();
    scratch.symlink_below(&[b"../", out].concat(), b"swap");
    scratch.symlink_below(b"../d/\xFF", b"links/l");
    scratch.symlink_below(b"../d/../d/\xFF", b"links/l2");
    std::fs::metadata(scratch.path(b"swap/\xFF")).expect("it leads out");
    let (dir, swap) = (scratch.path(b"d"), scratch.path(b"swap"));
    let links = [&b"links/l"[..], b"links/l2"].map(|link| scratch.root().number_of(link).unwrap());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                renameat_with(CWD, &dir, CWD, &swap, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let is_inside = (0..2000).all(|_| {
            links.iter().all(|&link| {
                let target = scratch.fs.readlink(CALLER, link).unwrap_or_default();
                target.ends_with(b"d/%FF") || target.ends_with(b"d/\xFF")
            })
        });
        is_over.store(true, Ordering::Release);
        assert!(is_inside, "a name from outside");
    });
}

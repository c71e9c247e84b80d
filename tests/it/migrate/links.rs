//! Targets of symbolic links: components that are renamed follow, on the way that the kernel goes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{options, planned};
use crate::support::{Tree, at, needs, show};

/// A directory, the target of a link in it, and what that becomes.
type Row<'r> = (&'r [u8], &'r [u8], Option<&'r [u8]>);

fn path(root: &Path, name: &[u8]) -> PathBuf {
    root.join(OsStr::from_bytes(name))
}

/// The new target of the link `link` in the directory `directory` of the tree.
fn new_target(tree: &Tree, directory: &[u8], link: &[u8], target: &[u8]) -> Option<Vec<u8>> {
    let fd = at::open_dir_path(&path(&tree.backing(), directory));
    at::symlink(target, &fd, link).unwrap();
    let lines = planned(&tree.backing(), &options(&["iso-8859-1"]));
    at::unlink(&fd, link).unwrap();
    let mut lines = lines.get(directory)?.iter();
    let line = lines.find(|line| line.old.as_bytes() == link)?;
    let told = line.target.as_ref();
    assert!(told.is_none_or(|told| told.as_bytes() == target));
    line.new_target
        .clone()
        .map(utf8fs::records::Name::into_bytes)
}

#[test]
fn components_follow_as_the_rows_say() {
    let tree = Tree::new();
    let root = tree.backing();
    for directory in [
        b"caf\xE9".as_slice(),
        b"caf\xE9/\xE0",
        b"plain",
        b"plain/\xE8",
    ] {
        std::fs::create_dir(path(&root, directory)).unwrap();
    }
    for file in [b"caf\xE9/f\xE9".as_slice(), b"\xFB", b"plain/\xE8/f"] {
        std::fs::write(path(&root, file), "").unwrap();
    }
    // Somewhere outside, of the same name.
    std::fs::create_dir(path(tree.parent(), b"caf\xE9")).unwrap();
    std::os::unix::fs::symlink(OsStr::from_bytes(b"../caf\xE9"), path(&root, b"plain/way"))
        .unwrap();
    std::os::unix::fs::symlink("/", path(&root, b"plain/out")).unwrap();
    let absolute = |rest: &[u8]| [root.as_os_str().as_bytes(), rest].concat();
    let rows: [Row; 17] = [
        (b"", b"\xFB", Some("û".as_bytes())),
        (b"", b"caf\xE9/f\xE9", Some("café/fé".as_bytes())),
        (b"", b"./caf\xE9//\xE0/", Some("./café//à/".as_bytes())),
        (b"", b"caf\xE9/../\xFB", Some("café/../û".as_bytes())),
        (b"plain", b"../caf\xE9", Some("../café".as_bytes())),
        // through another link, whose components are not of this target
        (b"plain", b"way/\xE0", Some("way/à".as_bytes())),
        (b"plain", b"way/../\xFB", Some("way/../û".as_bytes())),
        (b"plain/\xE8", b"f", None),
        (b"plain/\xE8", b"../\xE8/f", Some("../è/f".as_bytes())),
        // out of the tree: left alone
        (b"", b"../caf\xE9", None),
        (b"plain", b"../../caf\xE9", None),
        (b"", b"/caf\xE9", None),
        (b"plain", b"out/caf\xE9", None),
        // out, and in again
        (b"", b"../backing/\xFB", Some("../backing/û".as_bytes())),
        // nowhere
        (b"", b"not th\xE9re", Some("not thére".as_bytes())),
        (
            b"",
            b"nothing/not th\xE9re",
            Some("nothing/not thére".as_bytes()),
        ),
        (
            b"",
            b"plain/\xE8/f/below\xE9",
            Some("plain/è/f/belowé".as_bytes()),
        ),
    ];
    for (directory, target, expected) in rows {
        let new = new_target(&tree, directory, b"link", target);
        assert_eq!(
            new.as_deref().map(show),
            expected.map(show),
            "{}",
            show(target)
        );
    }
    let new = new_target(&tree, b"plain", b"link", &absolute(b"/caf\xE9/f\xE9"));
    assert_eq!(new, Some(absolute("/café/fé".as_bytes())));
    // A link that is renamed itself.
    let new = new_target(&tree, b"", b"li\xE9n", b"\xFB");
    assert_eq!(new.as_deref(), Some("û".as_bytes()));
}

/// What would lead to another file than before stays.
#[test]
fn a_target_never_comes_to_lead_elsewhere() {
    let tree = Tree::new();
    tree.file("café".as_bytes(), b"another");
    tree.file(b"caf\xE9", b"taken: it stays");
    assert_eq!(new_target(&tree, b"", b"link", b"caf\xE9"), None);
}

/// Law T9: such a link was left when what it leads to was renamed.
#[test]
fn t9_a_link_that_leads_nowhere_gets_the_name_that_is_there_now() {
    let tree = Tree::new();
    tree.file("café".as_bytes(), b"");
    drop(tree.directory("dépôt".as_bytes()));
    drop(tree.directory(b"d\xE9j\xE0"));
    std::fs::write(path(&tree.backing(), "dépôt/là".as_bytes()), "").unwrap();
    std::fs::write(path(&tree.backing(), b"d\xE9j\xE0/vu"), "").unwrap();
    at::symlink(b"d\xE9p\xF4t", tree.below_dir(), b"way").unwrap();
    let rows: [(&[u8], &str); 7] = [
        (b"caf\xE9", "café"),
        (b"d\xE9p\xF4t/l\xE0", "dépôt/là"),
        (b"./d\xE9p\xF4t//../caf\xE9", "./dépôt//../café"),
        // Over a link that is mended itself.
        (b"way/l\xE0", "way/là"),
        (b"way/../caf\xE9", "way/../café"),
        // One name was changed before, and one is changed now.
        (b"d\xE9p\xF4t/../d\xE9j\xE0/vu", "dépôt/../déjà/vu"),
        // Of which nothing is there.
        (b"d\xE9p\xF4t/nothing\xE9", "dépôt/nothingé"),
    ];
    for (target, expected) in rows {
        let new = new_target(&tree, b"", b"link", target);
        assert_eq!(new.as_deref().map(show), Some(show(expected.as_bytes())));
    }
}

#[test]
fn loops_and_long_ways_come_to_an_end() {
    let tree = Tree::new();
    let below = tree.below_dir();
    at::symlink(b"loop", &below, b"loop").unwrap();
    at::symlink(b"b/caf\xE9", &below, b"a").unwrap();
    at::symlink(b"a", &below, b"b").unwrap();
    assert_eq!(new_target(&tree, b"", b"link", b"loop/caf\xE9"), None);
    let long = b"./".repeat(2000);
    let target = [long.as_slice(), b"caf\xE9"].concat();
    let expected = [long.as_slice(), "café".as_bytes()].concat();
    assert_eq!(new_target(&tree, b"", b"link", &target), Some(expected));
    // One that would be longer than a target can be.
    let longest = [b"./".repeat(2045).as_slice(), b"\xE9\xE9\xE9\xE9\xE9"].concat();
    assert_eq!(longest.len(), 4095);
    assert_eq!(new_target(&tree, b"", b"link", &longest), None);
}

#[test]
fn a_directory_with_a_mount_on_it_keeps_its_name_and_what_is_mounted_is_not_planned() {
    if !needs::root("a mount inside the tree") {
        return;
    }
    let tree = Tree::new();
    drop(tree.directory(b"caf\xE9"));
    let inner = crate::mount::mounts_inside::Inner::memory(path(&tree.backing(), b"caf\xE9"));
    std::fs::write(path(&tree.backing(), b"caf\xE9/\xE0"), "").unwrap();
    let lines = planned(&tree.backing(), &options(&["iso-8859-1"]));
    drop(inner);
    assert_eq!(lines.len(), 1, "{lines:?}");
    let line = &lines[b"".as_slice()][0];
    assert_eq!(line.reason, utf8fs::records::Reason::MountPoint);
    assert_eq!(line.new, None);
}

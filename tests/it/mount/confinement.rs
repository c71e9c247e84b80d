//! Law C5: no conversion of a name yields `/`, NUL, an empty name, `.` or `..`. Law F2: nothing outside the backing
//! directory can be reached.

use std::collections::BTreeSet;

use utf8fs::codec::Charset;

use crate::support::at::{self, Make};
use crate::support::snapshot::{self, Snapshot, Times};
use crate::support::{Tree, show};

/// Names that somebody or other has taken for a path, in whatever encoding.
const TRICKS: &[&[u8]] = &[
    // Overlong `/`, NUL and `..`, and `../etc` spelled with them.
    b"\xC0\xAF",
    b"\xC0\x80",
    b"\xC0\xAE\xC0\xAE",
    b"\xC0\xAE\xC0\xAE\xC0\xAF\x65\x74\x63",
    b"..\xC0\xAFtarget",
    b"\xE0\x80\xAF",
    b"..\xE0\x80\xAFtarget",
    b"..\xF0\x80\x80\xAFtarget",
    b"..\xFC\x80\x80\x80\x80\xAFtarget",
    // Escapes that must not be undone.
    b"%2F",
    b"..%2Ftarget",
    b"%2E%2E",
    b"%2E%2E%2Ftarget",
    b"%00",
    b"%%2F",
    b"..%252Ftarget",
    // Characters that look like `/` or `.` or fold into them.
    b"..\xEF\xBC\x8Ftarget",
    b"\xEF\xBC\x8E\xEF\xBC\x8E",
    b"\xE2\x80\xA5",
    b"..\xE2\x81\x84target",
    b"..\xE2\x88\x95target",
    // UTF-7, UTF-16, ISO-2022 and HZ.
    b"..+AC8-target",
    b"+AC4ALg-",
    b"\xFF\xFE.",
    b"\x1B$B!?\x1B(B",
    b"..~{#/~}target",
    // Backslash, yen and the octets that end with 5C in multi-byte charsets.
    b"..\\target",
    b"..\x81\x5Ctarget",
    b"..\xA1\x5Ctarget",
    // Solidus, full stop and two-dot leader of full width in Shift_JIS, EUC-JP, GBK, Big5, EUC-KR.
    b"\x81\x44\x81\x44\x81\x5Etarget",
    b"\xA1\xA5\xA1\xA5\xA1\xBFtarget",
    b"\xA3\xAE\xA3\xAE\xA3\xAFtarget",
    b"\xA1\x44\xA1\x44\xA1\xFEtarget",
    b"\xA8\x45",
    // EBCDIC `../`.
    b"\x4B\x4B\x61",
    b"...",
    b".. ",
    b" ..",
    b"..\x85",
];

/// Names of one and two octets that a decoder of `charset` turns into something that is no component, and the
/// encodings of characters that look like `/` or `.`.
fn tricks_of(charset: Charset) -> BTreeSet<Vec<u8>> {
    let suspicious = |name: &[u8]| {
        charset.decode(name).is_ok_and(|text| {
            text.contains(['/', '\0']) || matches!(text.as_str(), "" | "." | "..")
        })
    };
    let octets = || (1..=255_u8).filter(|&octet| octet != b'/');
    let one = octets().map(|octet| vec![octet]);
    let two = octets().flat_map(|first| octets().map(move |second| vec![first, second]));
    let mut tricks: BTreeSet<Vec<u8>> = one
        .chain(two)
        .filter(|name| name != b"." && name != b".." && suspicious(name))
        .collect();
    for text in ["／", "．．", "‥", "..／target", "⁄", "∕", "＼"] {
        tricks.extend(charset.encode(text).ok());
    }
    tricks.extend(TRICKS.iter().map(|name| name.to_vec()));
    tricks.retain(|name| !name.contains(&b'/') && !name.contains(&0));
    tricks
}

/// Everything beside the backing directory, the mountpoint and our own logs.
fn outside(tree: &Tree) -> Snapshot {
    let mut snapshot = Snapshot::new();
    for part in ["target", "secret"] {
        let root = tree.parent().join(part);
        for (path, entry) in snapshot::take(&root, Times::Kept) {
            snapshot.insert([part.as_bytes(), b"/", &path].concat(), entry);
        }
    }
    snapshot
}

fn tree_with_neighbours() -> Tree {
    let tree = Tree::in_memory();
    for part in ["target", "secret"] {
        let root = tree.parent().join(part);
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("file"), "untouched").unwrap();
        std::fs::create_dir(root.join("directory")).unwrap();
    }
    tree
}

/// Nothing in the parent of BACKING changes or is reached, whatever name is made, looked up or lies below, through
/// every charset on offer.
#[test]
fn no_name_in_any_charset_leads_out_of_the_backing_directory() {
    let charsets: Vec<Charset> = Charset::all().collect();
    assert!(charsets.len() > 30, "{} charsets", charsets.len());
    for charset in charsets {
        let label = charset.label();
        let tree = tree_with_neighbours();
        let tricks = tricks_of(charset);
        let parent = at::sorted(at::open_dir_path(tree.parent()));
        let before = outside(&tree);
        // Below, where no policy is between.
        let below = tree.directory(b"below");
        for name in &tricks {
            at::write_new(&below, name, name).unwrap();
        }
        for make in Make::ALL {
            let dir = tree.directory(make.label().as_bytes());
            at::write_new(&dir, Make::SOURCE, b"content").unwrap();
        }
        let options = [
            "--from",
            label,
            "--on-violation",
            "normalize",
            "--audit-burst",
            "10",
        ];
        let mount = tree.mount(&options);
        let dir = mount.sub("below");
        let listed = at::list(&dir);
        assert_eq!(listed.len(), tricks.len(), "{label}");
        for visible in &listed {
            assert!(
                std::str::from_utf8(visible).is_ok(),
                "{label} {}",
                show(visible)
            );
            let content = at::read(&dir, visible).unwrap();
            assert!(tricks.contains(&content), "{label} {}", show(visible));
        }
        drop(dir);
        for make in Make::ALL {
            let dir = mount.sub(make.label());
            for name in &tricks {
                // Made or refused; neither may touch what is outside.
                let made = make.run(&dir, name);
                if made.is_ok() {
                    at::stat(&dir, name).unwrap();
                    if make == Make::Rename {
                        at::rename(&dir, name, Make::SOURCE).unwrap();
                    }
                }
            }
            let below = at::open_dir(tree.below_dir(), make.label().as_bytes()).unwrap();
            for name in at::list(&below) {
                assert!(
                    std::str::from_utf8(&name).is_ok(),
                    "{label} {}",
                    show(&name)
                );
            }
            assert_eq!(at::sorted(&below), at::sorted(&dir), "{label}");
        }
        mount.stop();
        snapshot::assert_same(&before, &outside(&tree));
        let mut after = at::sorted(at::open_dir_path(tree.parent()));
        after.retain(|name| name != b"stderr");
        assert_eq!(parent, after, "{label}");
        let roots = Make::ALL.len() + 1;
        assert_eq!(at::list(tree.below_dir()).len(), roots, "{label}");
    }
}

/// Law F2: a directory that is open, and is moved away below and replaced by a link that leads out, stays itself.
#[test]
fn a_directory_swapped_for_a_link_below_does_not_lead_out() {
    let tree = tree_with_neighbours();
    drop(tree.directory(b"d"));
    let before = outside(&tree);
    let mount = tree.mount(&[]);
    let dir = mount.sub("d");
    let below = tree.below_dir();
    at::rename(&below, b"d", b"moved").unwrap();
    at::symlink(b"../target", &below, b"d").unwrap();
    at::write_new(&dir, b"new", b"inside").unwrap();
    assert_eq!(at::mkdir(&dir, b"sub"), Ok(()));
    assert_eq!(at::rename(&dir, b"new", b"newer"), Ok(()));
    let moved = at::open_dir(&below, b"moved").unwrap();
    assert_eq!(at::sorted(&moved), [&b"newer"[..], b"sub"]);
    drop(dir);
    mount.stop();
    snapshot::assert_same(&before, &outside(&tree));
}

/// Law F2: a link that lies in the backing directory is a link above, with its target as it is.
#[test]
fn links_are_shown_and_not_followed() {
    let tree = tree_with_neighbours();
    let below = tree.below_dir();
    at::symlink(b"/nowhere/at/all", &below, b"absolute").unwrap();
    at::symlink(b"../secret/file", &below, b"out").unwrap();
    let mount = tree.mount(&[]);
    let dir = mount.dir();
    assert_eq!(at::readlink(dir, b"absolute").unwrap(), b"/nowhere/at/all");
    assert_eq!(at::readlink(dir, b"out").unwrap(), b"../secret/file");
    let opened = at::read(dir, b"out").err();
    assert_eq!(opened, Some(rustix::io::Errno::LOOP));
    mount.stop();
}

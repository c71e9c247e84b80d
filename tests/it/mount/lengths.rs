//! Names of every length that can be asked for, and of every single octet.

use std::os::fd::AsFd;

use rustix::fs::RenameFlags;
use rustix::io::Errno;

use super::nested::Beside;
use crate::support::at::{self, Make};
use crate::support::{Tree, show};

/// Law N9: 0 and 4095 bytes are the kernel's business, 1 and 255 conform, all above is too long.
#[test]
fn names_of_every_length_are_made_or_refused_as_natively() {
    let tree = Tree::new();
    let mount = tree.mount(&[]);
    for make in Make::ALL {
        let label = make.label();
        for (length, expected) in [
            (0, Err(Errno::NOENT)),
            (1, Ok(())),
            (255, Ok(())),
            (256, Err(Errno::NAMETOOLONG)),
            (1023, Err(Errno::NAMETOOLONG)),
            (1024, Err(Errno::NAMETOOLONG)),
            (4095, Err(Errno::NAMETOOLONG)),
        ] {
            let dir = tree.directory(format!("{label}{length}").as_bytes());
            at::write_new(&dir, Make::SOURCE, b"content").unwrap();
            let above = mount.sub(&format!("{label}{length}"));
            let name = vec![b'n'; length];
            assert_eq!(
                make.run(&above, &name),
                expected,
                "{label} of {length} bytes"
            );
            let made = at::list(&dir).contains(&name);
            assert_eq!(made, expected.is_ok(), "{label} of {length} bytes");
            if made {
                at::stat(&above, &name).unwrap();
            } else {
                assert_eq!(at::list(&dir), [Make::SOURCE]);
                assert!(at::stat(&above, &name).is_err());
            }
        }
    }
    mount.stop();
}

/// Law N7: with --on-violation normalize a name that is too long is cut, up to what the kernel takes.
#[test]
fn too_long_names_are_cut_under_normalize() {
    let tree = Tree::new();
    let mount = tree.mount(&["--on-violation", "normalize"]);
    let dir = mount.dir();
    for length in [256, 1023] {
        let asked = [&vec![b'n'; length - 4][..], b".txt"].concat();
        at::write_new(dir, &asked, b"content").unwrap();
        let listed = at::list(dir);
        let [cut] = &listed[..] else {
            panic!("{length}: {} names", listed.len());
        };
        assert!(cut.len() <= 255 && cut.starts_with(b"nnnn") && cut.ends_with(b".txt"));
        assert_eq!(cut[cut.len() - 21], b'~');
        // N10: what was asked for is another spelling of it.
        assert_eq!(at::read(dir, &asked).unwrap(), b"content");
        assert_eq!(at::read(dir, cut).unwrap(), b"content");
        at::unlink(dir, &asked).unwrap();
        assert_eq!(at::stat(dir, cut).err(), Some(Errno::NOENT));
        assert!(at::list(tree.below_dir()).is_empty());
    }
    mount.stop();
}

/// Laws N3, N5: every octet that can be a name, below the mount.
#[test]
fn every_single_octet_below_is_visible_and_opens() {
    let tree = Tree::new();
    let octets: Vec<u8> = (1..=255).filter(|octet| !b"/.".contains(octet)).collect();
    for octet in &octets {
        tree.file(&[*octet], &[*octet]);
    }
    let mount = tree.mount(&["--legacy", "escape"]);
    let dir = mount.dir();
    let listed = at::list(dir);
    assert_eq!(listed.len(), octets.len());
    for octet in octets {
        let visible = if octet.is_ascii() {
            vec![octet]
        } else {
            format!("%{octet:02X}").into_bytes()
        };
        assert!(listed.contains(&visible), "{}", show(&visible));
        assert_eq!(at::read(dir, &visible).unwrap(), [octet]);
    }
    mount.stop();
}

/// Law N9: every octet as a new name.
#[test]
fn every_single_octet_as_a_new_name_is_made_where_it_is_ascii() {
    let tree = Tree::new();
    let mount = tree.mount(&["--audit-burst", "1000"]);
    let dir = mount.dir();
    for octet in 1..=255_u8 {
        let expected = match octet {
            // The directory itself.
            b'.' | b'/' => Err(Errno::EXIST),
            0..0x80 => Ok(()),
            _ => Err(Errno::ILSEQ),
        };
        assert_eq!(at::mkdir(dir, &[octet]), expected, "{octet:02X}");
    }
    assert_eq!(at::list(tree.below_dir()).len(), 127 - 2);
    assert_eq!(mount.stop().len(), 128);
}

/// Law N7: a name whose escapes do not fit is cut between them, ends in a hash of the whole name and its extension,
/// and opens; two such names that are cut alike stay apart.
#[test]
fn legacy_names_that_outgrow_the_limit_are_cut_and_open() {
    let tree = Tree::new();
    let mut names = Vec::new();
    for last in [b'a', b'b'] {
        names.push([&vec![0xE9; 200][..], &[last]].concat());
        names.push([&vec![0xE9; 200][..], &[last], b".jpeg"].concat());
    }
    for name in &names {
        tree.file(name, name);
    }
    for options in [&["--legacy", "escape"][..], &["--from", "iso-8859-1"]] {
        let mount = tree.mount(options);
        let dir = mount.dir();
        let listed = at::sorted(dir);
        assert_eq!(listed.len(), 4, "N2");
        let mut reached = Vec::new();
        for visible in &listed {
            let text = std::str::from_utf8(visible).unwrap();
            assert!(text.len() <= 255, "N7");
            let stem = text.strip_suffix(".jpeg").unwrap_or(text);
            let (prefix, mark) = stem.rsplit_once('~').unwrap();
            assert_eq!(mark.len(), 16);
            assert!(mark.bytes().all(|b| matches!(b, b'a'..=b'z' | b'2'..=b'7')));
            assert!(prefix.ends_with("%E9") || prefix.ends_with('é'), "{prefix}");
            let content = at::read(dir, visible).unwrap();
            assert_eq!(content.ends_with(b".jpeg"), text.ends_with(".jpeg"));
            reached.push(content);
        }
        reached.sort();
        names.sort();
        assert_eq!(reached, names, "N3");
        mount.stop();
    }
}

/// Law F1: a name that the policy takes and the backing filesystem finds too long is too long for every operation that makes
/// it, as it is below. The backing filesystem is a mount of ours that takes 143 bytes, as eCryptfs does.
#[test]
fn a_name_too_long_for_the_backing_filesystem_is_too_long_and_not_absent() {
    let lower = Tree::new();
    lower.file(b"file", b"content");
    lower.file(Make::SOURCE, b"content");
    let tree = Tree::new();
    let options = ["--max-bytes", "143", "--audit-burst", "1000"];
    let beside = Beside::start(&lower.backing(), &tree.backing(), &options);
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let below = tree.below_dir();
    for name in [vec![b'n'; 144], "é".repeat(72).into_bytes()] {
        for (place, dir) in [("below", below.as_fd()), ("above", mount.dir())] {
            let too_long = Err(Errno::NAMETOOLONG);
            assert_eq!(at::rename(dir, b"file", &name), too_long, "{place}");
            for flags in [RenameFlags::NOREPLACE, RenameFlags::EXCHANGE] {
                let renamed = at::rename_with(dir, b"file", &name, flags);
                assert!(renamed.is_err(), "{place}: {flags:?}");
            }
            for make in Make::ALL {
                assert_eq!(make.run(dir, &name), too_long, "{place}: {}", make.label());
            }
            assert_eq!(at::read(dir, b"file").unwrap(), b"content", "{place}");
        }
    }
    at::rename(mount.dir(), b"file", &[b'n'; 143]).unwrap();
    drop(below);
    mount.stop();
    beside.stop();
}

//! Names of every length that can be asked for.

use std::os::fd::AsFd;

use rustix::fs::RenameFlags;
use rustix::io::Errno;

use super::nested::Beside;
use crate::support::Tree;
use crate::support::at::{self, Make};

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

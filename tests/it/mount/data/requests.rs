//! How many requests are made for data.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::OFlags;
use serde_json::Value;

use super::{WAYS, has_passthrough};
use crate::support::wait::until;
use crate::support::{Mount, Tree, at, cpu, memory, status, user};

/// A mount whose daemon works on one request at a time, in their order.
fn in_order<'t>(tree: &'t Tree, options: &[&str]) -> Mount<'t> {
    cpu::stay();
    tree.mount(&[&["--threads", "1"], options].concat())
}

/// Options by which the kernel keeps names and attributes, so that no request is made for them.
const KEPT: &[&str] = &["--cache", "3600", "--legacy", "raw"];

/// How many requests are made while `act` runs, but for those that nobody waits for.
fn requests(mount: &Mount<'_>, act: impl FnOnce()) -> u64 {
    let count = || {
        let mut status = vec![0; 65_536];
        let length = rustix::fs::fgetxattr(mount.dir(), "utf8fs.status", &mut *status).unwrap();
        let status: Value = serde_json::from_slice(&status[..length]).unwrap();
        let of = |what: &Value| what["requests"].as_u64().unwrap();
        of(&status["total"]) - of(&status["operations"]["forget"])
    };
    let before = count();
    act();
    // Closing a file is not waited for; what comes after it, is.
    rustix::fs::fstatfs(mount.dir()).unwrap();
    count() - before - 1
}

/// The kernel answers reads and writes by itself: no request is made for them, no question for `security.capability` and
/// no flush.
#[test]
fn reads_and_rewrites_make_no_request() {
    let _kept = memory::kept();
    if !has_passthrough() {
        return;
    }
    for tree in [Tree::new(), Tree::in_memory()] {
        tree.file(b"file", &[b'x'; 1 << 20]);
        let mount = in_order(&tree, KEPT);
        let file = at::open(mount.dir(), b"file", OFlags::RDWR).unwrap();
        // The first write of all asks once whether there are capabilities.
        rustix::io::pwrite(&file, b"first", 0).unwrap();
        let made = requests(&mount, || {
            for block in 0..200 {
                rustix::io::pwrite(&file, &[b'y'; 4096], block * 4096).unwrap();
            }
        });
        assert_eq!(made, 0, "rewriting");
        let made = requests(&mount, || {
            let mut buffer = [0; 4096];
            for block in 0..200 {
                rustix::io::pread(&file, &mut buffer, block * 4096).unwrap();
                assert_eq!(buffer, [b'y'; 4096]);
            }
        });
        assert_eq!(made, 0, "reading");
        let end = at::open(mount.dir(), b"file", OFlags::WRONLY | OFlags::APPEND).unwrap();
        at::write_all(&end, b"first").unwrap();
        let made = requests(&mount, || {
            for _ in 0..200 {
                at::write_all(&end, &[b'z'; 4096]).unwrap();
            }
        });
        assert_eq!(made, 0, "appending");
        drop((file, end));
        mount.stop();
    }
}

/// Who reads a file, as `tail -f` does a log that was just made, takes nothing from those who write to it: it had the daemon serve
/// all of them for as long as it was open.
#[test]
fn writes_beside_a_reader_make_no_request_whatever_the_file_held_when_it_was_opened() {
    let _kept = memory::kept();
    if !has_passthrough() {
        return;
    }
    for (content, owner) in [(&b""[..], 0), (b"content", 0), (b"", user::NOBODY)] {
        let tree = Tree::in_memory();
        tree.file(b"caf\xE9", content);
        let below = tree.backing().join(OsStr::from_bytes(b"caf\xE9"));
        std::os::unix::fs::chown(below, Some(owner), Some(owner)).unwrap();
        let mount = in_order(&tree, &["--cache", "3600", "--from", "iso-8859-1"]);
        let name = "caf\u{e9}".as_bytes();
        let reader = at::open(mount.dir(), name, OFlags::RDONLY).unwrap();
        assert_eq!(at::read_all(&reader).unwrap(), content);
        let append = || {
            let script = r#"dd if=/dev/zero bs=512 count=9 conv=notrunc oflag=append status=none of="$PLACE/café""#;
            let output = user::script(owner, &mount.point(), script);
            assert!(output.status.success(), "{output:?}");
        };
        append();
        append();
        let made = status::requests(&mount.point());
        assert_eq!(made.get("write"), None, "{content:?} of {owner}: {made:?}");
        assert_eq!(at::read_all(&reader).unwrap(), [0; 2 * 9 * 512]);
        drop(reader);
        mount.stop();
    }
}

/// OPEN and RELEASE, in every way: closing asks nothing where it cannot fail below. `O_TRUNC` is two requests of its
/// own: the kernel asks for capabilities and truncates.
#[test]
fn opening_and_closing_are_a_request_each() {
    let _kept = memory::kept();
    for options in &WAYS[..2] {
        let tree = Tree::in_memory();
        tree.file(b"file", b"content");
        let options = [KEPT, options].concat();
        let mount = in_order(&tree, &options);
        // The kernel asks for capabilities when it truncates what it has not seen written to.
        let file = at::open(mount.dir(), b"file", OFlags::WRONLY).unwrap();
        at::write_all(&file, b"first").unwrap();
        drop(file);
        for flags in [
            OFlags::RDONLY,
            OFlags::WRONLY | OFlags::TRUNC,
            OFlags::WRONLY | OFlags::APPEND,
            OFlags::RDWR,
        ] {
            // What was written since the kernel had its attributes last is asked for once.
            at::stat(mount.dir(), b"file").unwrap();
            drop(at::open(mount.dir(), b"file", flags).unwrap());
            let made = requests(&mount, || {
                for _ in 0..10 {
                    drop(at::open(mount.dir(), b"file", flags).unwrap());
                }
            });
            // What may be written to by a mapping has its attributes asked for when it is opened.
            let expected = match flags {
                OFlags::RDWR => 30,
                flags if flags.contains(OFlags::TRUNC) => 40,
                _ => 20,
            };
            assert_eq!(made, expected, "{flags:?} {options:?}");
        }
        mount.stop();
    }
}

/// Without passthrough, what was read stays with the kernel from one open to the next, for as long as `--cache` says.
#[test]
fn what_was_read_is_kept_and_dropped_as_the_cache_option_says() {
    let _kept = memory::kept();
    let tree = Tree::in_memory();
    tree.file(b"file", b"content");
    let mount = in_order(&tree, &[KEPT, &["--passthrough", "off"]].concat());
    let content = || at::read(mount.dir(), b"file").unwrap();
    // It is not kept while it could change once more within a tick of the clock, nor while the answer to an open could be on its
    // way that drops it.
    until(|| {
        let made = requests(&mount, || assert_eq!(content(), b"content"));
        made == 2
    });
    mount.stop();

    let mount = in_order(&tree, &["--passthrough", "off", "--cache", "none"]);
    let read = |expected: &[u8]| {
        let open = at::open(mount.dir(), b"file", OFlags::RDONLY).unwrap();
        assert_eq!(at::read_all(&open).unwrap(), expected);
        open
    };
    let open = read(b"content");
    let below = at::open(tree.below_dir(), b"file", OFlags::WRONLY).unwrap();
    for version in [&b"changed"[..], b"grown below", b"shrunk"] {
        rustix::fs::ftruncate(&below, 0).unwrap();
        rustix::io::pwrite(&below, version, 0).unwrap();
        drop(read(version));
        // Also by who has it open all the time.
        let mut buffer = [0; 20];
        let count = rustix::io::pread(&open, &mut buffer, 0).unwrap();
        assert_eq!(&buffer[..count], version);
    }
    drop(open);
    mount.stop();
}

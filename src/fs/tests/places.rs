//! Files and directories without file handles, which are opened where they were last seen.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;

use super::{CALLER, Legacy, ROOT, Scratch, map};

impl Scratch {
    /// Closes all descriptors, so that each inode is opened again.
    fn close_all(&self) {
        let failed: std::io::Result<()> =
            self.fs.inodes.with_descriptors(|| Err(Errno::MFILE.into()));
        failed.unwrap_err();
    }

    /// Looks names up, each in the one before; returns the number of the last.
    fn walk(&self, names: &[&[u8]]) -> u64 {
        let look =
            |parent, name: &&[u8]| self.fs.lookup(CALLER, parent, name).unwrap().inode.number;
        names.iter().fold(ROOT, look)
    }
}

/// Law F3: whoever works below a directory notices nothing of it when others rename that through the mount.
#[test]
fn f3_what_lies_below_a_directory_is_found_while_that_is_renamed() {
    const ROUNDS: usize = 4000;
    for flags in [0, libc::RENAME_EXCHANGE] {
        let scratch = Scratch::new(map(Legacy::Escape, &[]), &[]);
        std::fs::create_dir_all(scratch.path(b"here/sub")).unwrap();
        if flags != 0 {
            std::fs::create_dir_all(scratch.path(b"there/sub")).unwrap();
            scratch.walk(&[b"there", b"sub"]);
        }
        let sub = scratch.walk(&[b"here", b"sub"]);
        let is_over = AtomicBool::new(false);
        let names: [&[u8]; 2] = [b"here", b"there"];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    let (from, to) = (names[round % 2], names[1 - round % 2]);
                    let renamed =
                        scratch
                            .fs
                            .rename_at_once(CALLER, (ROOT, from), (ROOT, to), flags);
                    renamed.unwrap();
                }
                is_over.store(true, Ordering::Relaxed);
            });
            while !is_over.load(Ordering::Relaxed) {
                scratch.close_all();
                scratch.fs.getattr(sub).unwrap();
            }
        });
        scratch.close_all();
        scratch.fs.getattr(sub).unwrap();
    }
}

/// Law F3: a file that has another name is found by that.
#[test]
fn f3_a_file_that_loses_the_name_it_was_last_seen_by_is_found_by_another() {
    type Lose = fn(&Scratch);
    let rows: [(&str, Lose); 3] = [
        ("removed", |scratch| {
            scratch.fs.unlink(CALLER, ROOT, b"last").unwrap();
        }),
        ("renamed below", |scratch| {
            rustix::fs::rename(scratch.path(b"last"), scratch.path(b"elsewhere")).unwrap();
        }),
        ("replaced", |scratch| {
            let replaced = scratch
                .fs
                .rename_at_once(CALLER, (ROOT, b"other"), (ROOT, b"last"), 0);
            replaced.unwrap();
        }),
    ];
    for (what, lose) in rows {
        let scratch = Scratch::new(map(Legacy::Escape, &[]), &[b"first", b"other"]);
        for name in [&b"second"[..], b"third", b"last"] {
            std::fs::hard_link(scratch.path(b"first"), scratch.path(name)).unwrap();
        }
        let mut number = 0;
        for name in [&b"first"[..], b"second", b"third", b"second", b"last"] {
            number = scratch.walk(&[name]);
        }
        lose(&scratch);
        for gone in [&b"third"[..], b"first"] {
            scratch.close_all();
            assert!(scratch.fs.getattr(number).is_ok(), "{what}");
            std::fs::remove_file(scratch.path(gone)).unwrap();
        }
        scratch.close_all();
        assert!(scratch.fs.getattr(number).is_ok(), "{what}");
        std::fs::remove_file(scratch.path(b"second")).unwrap();
        scratch.close_all();
        assert_eq!(
            scratch.fs.getattr(number).unwrap_err().errno(),
            libc::ESTALE,
            "{what}"
        );
    }
}

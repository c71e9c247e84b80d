//! `scan` and `migrate` on what utf8fs itself shows, where all names are fine whatever lies on disk.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use super::{Run, run};
use crate::support::mount::detach;
use crate::support::{Tree, at, needs};
use utf8fs::names::{Quoted, ShellWord};

const COMMANDS: [&[&[u8]]; 2] = [&[b"scan"], &[b"migrate", b"--from", b"iso-8859-1"]];

fn on(command: &[&[u8]], path: &Path) -> Run {
    run(&[command, &[path.as_os_str().as_bytes()]].concat())
}

#[test]
fn a_directory_that_utf8fs_shows_is_no_all_clear() {
    let tree = Tree::new();
    at::write_new(tree.directory(b"in"), b"caf\xE9", b"").unwrap();
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let backing = tree.backing();
    for command in COMMANDS {
        for path in [mount.point(), mount.point().join("in")] {
            let refused = on(command, &path);
            let (error, hint) = refused.refusal();
            assert!(error.contains("is shown by utf8fs"), "{error}");
            assert!(error.contains(backing.to_str().unwrap()), "{error}");
            assert!(hint.contains("--view insists"), "{hint}");
            let insisting = on(&[command, &[b"--view"]].concat(), &path);
            assert_eq!(insisting.code, Some(0), "{insisting:?}");
        }
        // What the mount shows lies here.
        assert_eq!(
            on(command, &backing).code,
            Some(i32::from(command == COMMANDS[0]))
        );
    }
    mount.stop();
}

#[test]
fn a_mount_inside_that_a_scan_would_enter_is_no_all_clear() {
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"");
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let above = mount.point().parent().unwrap().to_owned();
    let crossing: &[&[u8]] = &[b"scan", b"--cross-mounts"];
    let refused = on(crossing, &above);
    let (error, _) = refused.refusal();
    let shown = format!("{} is shown by utf8fs", Quoted::of(&mount.point()));
    assert!(error.contains(&shown), "{error}");
    // The backing directory lies beside the mount.
    for command in [&[crossing, &[b"--view"]].concat()[..], COMMANDS[0]] {
        assert_eq!(on(command, &above).code, Some(1));
    }
    // What is planned stays on its mount, and says so.
    let planned = on(COMMANDS[1], &above);
    let inside = mount.point();
    let inside = Quoted(inside.file_name().unwrap().as_bytes());
    let left = format!("{inside} is left out: it is on another mount");
    assert!(planned.stderr.contains(&left), "{planned:?}");
    mount.stop();
}

/// A mount over a directory, as docs/serving.md recommends it, detached at the end.
struct Over(std::path::PathBuf);

impl Drop for Over {
    fn drop(&mut self) {
        detach(&self.0);
    }
}

#[test]
fn a_directory_that_utf8fs_is_mounted_over_is_no_all_clear() {
    if !needs::root("bind mounts") {
        return;
    }
    let tree = Tree::in_memory();
    tree.file(b"caf\xE9", b"");
    let path = tree.backing();
    let name = path.file_name().unwrap().as_bytes().to_owned();
    let octets = path.as_os_str().as_bytes();
    let mounted = run(&[
        b"mount",
        b"--background",
        b"-q",
        b"--from",
        b"iso-8859-1",
        octets,
        octets,
    ]);
    assert_eq!(mounted.code, Some(0), "{mounted:?}");
    let over = Over(path);
    for command in COMMANDS {
        let refused = on(command, &over.0);
        let (error, hint) = refused.refusal();
        assert!(error.contains("is shown by utf8fs"), "{error}");
        assert!(
            hint.contains("unmounted") && hint.contains("mount --rbind"),
            "{hint}"
        );
        // What the hint says is done, also where the directory is a mount itself.
        let (_, recipe) = hint.split_once(" by '").unwrap();
        let (recipe, _) = recipe.split_once("';").unwrap();
        let script = format!("{recipe}; ls {}", ShellWord(&[b"/mnt/", &*name].concat()));
        let below = Command::new("unshare")
            .args(["--mount", "sh", "-c", &script])
            .output();
        assert_eq!(below.unwrap().stdout, b"caf\xE9\n");
    }
}

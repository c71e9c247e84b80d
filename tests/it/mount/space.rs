//! The space of a removed file is free: at once where it was removed above, soon where it was removed below (law F5), also while the kernel
//! knows the file.

use std::time::{Duration, Instant};

use rustix::event::{Timespec, poll};
use rustix::fs::{OFlags, statvfs};
use rustix::mount::{MountFlags, mount};

use super::users::prepare_for_user;
use crate::support::wait::{until, within};
use crate::support::{Mount, Tree, at, needs, status, user};

/// Ten times as long as the daemon keeps the descriptor of a file that nobody uses. Reaching it is a failure.
const PATIENCE: Duration = Duration::from_secs(10);

const SIZE: u64 = 4 << 20;

/// A tree whose backing directory is a filesystem of its own.
fn tree() -> Tree {
    let tree = Tree::new();
    mount(
        "none",
        tree.backing(),
        "tmpfs",
        MountFlags::empty(),
        c"size=16m,mode=777",
    )
    .unwrap();
    tree
}

fn free(tree: &Tree) -> u64 {
    let stat = statvfs(tree.backing()).unwrap();
    stat.f_bfree * stat.f_frsize
}

/// Makes a file below, has `look` look at it above, removes it below, and waits until its space is free.
fn assert_space_is_freed(tree: &Tree, name: &[u8], look: impl FnOnce()) {
    let before = free(tree);
    tree.file(name, &vec![1; usize::try_from(SIZE).unwrap()]);
    assert!(free(tree) <= before - SIZE);
    look();
    at::unlink(tree.below_dir(), name).unwrap();
    let start = Instant::now();
    let pause = Timespec::try_from(Duration::from_millis(20)).unwrap();
    while free(tree) < before {
        let waited = start.elapsed();
        assert!(waited < PATIENCE, "no space is free after {waited:?}");
        poll(&mut [], Some(&pause)).unwrap();
    }
}

/// Looks at all there is, as `ls -l` does.
fn list(mount: &Mount<'_>) {
    for name in at::list(mount.dir()) {
        at::stat(mount.dir(), &name).unwrap();
    }
}

/// Opens all there is for writing, and closes it.
fn open(mount: &Mount<'_>) {
    for name in at::list(mount.dir()) {
        drop(at::open(mount.dir(), &name, OFlags::RDWR).unwrap());
    }
}

#[test]
fn f5_the_space_of_a_file_that_is_removed_below_is_free_in_a_second() {
    if !needs::root("a filesystem of its own below") {
        return;
    }
    let settings: [(&[&str], &[u8]); 6] = [
        (&["--cache", "none"], b"file"),
        (&["--cache", "1"], b"file"),
        (&["--cache", "1"], b"caf\xE9"),
        (&["--cache", "exclusive"], b"file"),
        (&["--cache", "watch"], b"file"),
        (&["--cache", "watch", "--from", "iso-8859-1"], b"caf\xE9"),
    ];
    for (options, name) in settings {
        for look in [list, open] {
            let tree = tree();
            let mount = tree.mount(options);
            assert_space_is_freed(&tree, name, || look(&mount));
            mount.stop();
        }
    }
}

#[test]
fn f5_the_space_of_directories_that_are_removed_below_is_free_in_a_second() {
    if !needs::root("a filesystem of its own below") {
        return;
    }
    for cache in ["1", "watch"] {
        let tree = tree();
        let mount = tree.mount(&["--cache", cache]);
        let free = || statvfs(tree.backing()).unwrap().f_ffree;
        let before = free();
        let names: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        for name in &names {
            tree.directory(name.as_bytes());
        }
        for name in &names {
            let directory = at::open_dir(mount.dir(), name.as_bytes()).unwrap();
            assert!(at::list(&directory).is_empty());
        }
        for name in &names {
            at::rmdir(tree.below_dir(), name.as_bytes()).unwrap();
        }
        within(PATIENCE, || free() == before);
        mount.stop();
    }
}

#[test]
fn f5_the_space_of_a_file_that_is_removed_below_is_free_in_a_second_in_a_user_s_mount() {
    if !needs::root("a filesystem of its own below") {
        return;
    }
    for cache in ["none", "1"] {
        let tree = tree();
        let program = prepare_for_user(&tree);
        let mount = Mount::start_as(&tree, user::NOBODY, &program, &["--cache", cache]);
        assert_space_is_freed(&tree, b"file", || {
            let output = user::script(user::NOBODY, &tree.point(), "ls -l \"$PLACE\"");
            assert!(output.stdout.ends_with(b"file\n"), "{output:?}");
        });
        mount.stop();
    }
}

/// Fills the filesystem with a file, takes that away through the mount, and writes as much again at once.
fn assert_space_is_there(tree: &Tree, mount: &Mount<'_>, name: &str, remove: impl Fn(&str)) {
    let path = |name: &str| tree.point().join(name);
    // The kernel does not wait for the RELEASE of what a program closes.
    let are_released = || status::of(&tree.point())["open"]["files"] == 0;
    let all = vec![1; usize::try_from(free(tree) - (1 << 20)).unwrap()];
    for round in 0..5 {
        std::fs::write(path(name), &all).unwrap();
        std::fs::read(path(name)).unwrap();
        list(mount);
        until(are_released);
        remove(name);
        std::fs::write(path("next"), &all).unwrap_or_else(|error| panic!("{round}: {error}"));
        until(are_released);
        std::fs::remove_file(path("next")).unwrap();
    }
}

#[test]
fn the_space_of_a_file_that_is_removed_or_replaced_above_is_free_at_once() {
    if !needs::root("a filesystem of its own below") {
        return;
    }
    for options in [&[][..], &["--cache", "1"], &["--passthrough", "off"]] {
        for name in ["big", "caf\u{e9}"] {
            let tree = tree();
            let mount = tree.mount(&[&["--from", "iso-8859-1"], options].concat());
            assert_space_is_there(&tree, &mount, name, |name| {
                std::fs::remove_file(tree.point().join(name)).unwrap();
            });
            assert_space_is_there(&tree, &mount, name, |name| {
                std::fs::write(tree.point().join("small"), "").unwrap();
                rustix::fs::rename(tree.point().join("small"), tree.point().join(name)).unwrap();
            });
            mount.stop();
        }
    }
}

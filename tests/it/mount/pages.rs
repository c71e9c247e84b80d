//! Law F5, where the kernel keeps content of its own: what others write below is read and mapped above.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::thread;

use rustix::fs::OFlags;

use super::users::prepare_for_user;
use crate::support::{Mount, Tree, at, memory, needs, status, user};

/// Runs a script of Python's on the mount and below it.
fn run(mut python: Command, script: &str, tree: &Tree, when: &str) {
    let output = python
        .args(["-c", script])
        .env("PLACE", tree.point())
        .env("BELOW", tree.backing())
        .env("WHEN", when)
        .current_dir("/")
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"seen\n", "{}", output.stderr.escape_ascii());
}

fn python() -> Command {
    Command::new("python3")
}

fn check(options: &[&str], when: &str) {
    needs::fuse();
    for tree in [Tree::new(), Tree::in_memory()] {
        for passthrough in ["auto", "off"] {
            let options = [options, &["--passthrough", passthrough]].concat();
            let mount = tree.mount(&options);
            run(python(), include_str!("pages/content.py"), &tree, when);
            mount.stop();
        }
    }
}

#[test]
fn f5_with_none_content_is_read_as_it_is_below() {
    check(&["--cache=none"], "at once");
}

#[test]
fn f5_with_seconds_content_is_read_as_it_is_below_when_they_are_over() {
    check(&["--cache=0.1"], "soon");
    check(&["--cache=1"], "soon");
}

#[test]
fn f5_where_changes_are_heard_of_content_is_read_as_it_is_below() {
    if needs::root("fanotify") {
        check(&["--cache=watch"], "soon");
    }
}

#[test]
fn f5_on_an_ordinary_users_mount_content_is_read_as_it_is_below() {
    if !needs::root("mounting as another user") {
        return;
    }
    for (cache, when) in [("none", "at once"), ("1", "soon")] {
        let tree = Tree::new();
        let program = prepare_for_user(&tree);
        let mount = Mount::start_as(&tree, user::NOBODY, &program, &["--cache", cache]);
        let python = user::command(user::NOBODY, Path::new("/usr/bin/python3"));
        run(python, include_str!("pages/content.py"), &tree, when);
        mount.stop();
    }
}

/// What a mapping below changes without any sign is seen within a minute, which this test takes therefore.
#[test]
fn f5_what_is_written_by_a_mapping_below_is_seen() {
    let modes = ["none", "1", "watch"];
    let modes = modes
        .into_iter()
        .filter(|mode| *mode != "watch" || needs::root("fanotify"));
    let check = |mode: &str| {
        let tree = Tree::in_memory();
        let mount = tree.mount(&["--passthrough=off", "--cache", mode]);
        run(python(), include_str!("pages/mapped_below.py"), &tree, "");
        mount.stop();
    };
    thread::scope(|scope| {
        let checks: Vec<_> = modes.map(|mode| scope.spawn(move || check(mode))).collect();
        for check in checks {
            check.join().unwrap();
        }
    });
}

/// Content that stays as it is is not read again and again.
#[test]
fn content_is_kept_from_one_open_to_the_next() {
    needs::fuse();
    let _kept = memory::kept();
    let tree = Tree::in_memory();
    tree.file(b"file", b"content");
    let mount = tree.mount(&["--passthrough=off", "--cache=1"]);
    let read = || {
        let file = at::open(mount.dir(), b"file", OFlags::RDONLY).unwrap();
        assert_eq!(at::read_all(&file).unwrap(), b"content");
        drop(file);
        let requests = status::requests(&mount.point());
        requests.get("read").copied().unwrap_or(0)
    };
    // While it was made a moment ago, it may change within the same moment.
    let mut before = read();
    loop {
        let now = (0..5).fold(0, |_, _| read());
        if now == before {
            break;
        }
        before = now;
    }
    mount.stop();
}

/// Copies by `copy_file_range(2)` or sendfile(2) until nothing comes. Neither asks for the size of what is copied first.
fn copied(from: &Path, to: &Path, by_range: bool) -> usize {
    let (from, to) = (File::open(from).unwrap(), File::create(to).unwrap());
    let mut sum = 0;
    loop {
        let copied = match by_range {
            true => rustix::fs::copy_file_range(&from, None, &to, None, 1 << 20),
            false => rustix::fs::sendfile(&to, &from, None, 1 << 20),
        };
        match copied.unwrap() {
            0 => return sum,
            copied => sum += copied,
        }
    }
}

#[test]
fn f5_a_file_that_was_just_opened_is_copied_whole() {
    const OPTIONS: [&[&str]; 5] = [
        &[],
        &["--cache", "1"],
        &["--cache", "none"],
        &["--cache", "exclusive"],
        &["--passthrough", "off"],
    ];
    needs::fuse();
    for options in OPTIONS {
        let tree = Tree::new();
        let mount = tree.mount(options);
        for by_range in [true, false] {
            for (size, open) in [(6000, false), (6000, true), (2, false)] {
                let name = format!("file {by_range} {size} {open}");
                let (above, below) = (tree.point().join(&name), tree.backing().join(&name));
                std::fs::write(&below, "four").unwrap();
                assert_eq!(std::fs::read(&above).unwrap(), b"four");
                let reader = open.then(|| File::open(&above).unwrap());
                std::fs::write(&below, vec![b'x'; size]).unwrap();
                let copy = tree.point().join("copy");
                let what = format!("{options:?} {name}");
                assert_eq!(copied(&above, &copy, by_range), size, "{what}");
                assert_eq!(std::fs::read(&copy).unwrap(), vec![b'x'; size], "{what}");
                drop(reader);
            }
        }
        mount.stop();
    }
}

/// The kernel knows what was written through it: nothing is asked for twice.
#[test]
fn what_is_read_after_it_was_written_above_is_looked_up_once() {
    needs::fuse();
    let tree = Tree::new();
    let mount = tree.mount(&["--cache", "3600"]);
    let path = tree.point().join("file");
    std::fs::write(&path, "new").unwrap();
    let lookups = || status::requests(&tree.point()).get("lookup").copied();
    let before = lookups();
    for content in ["one", "another", ""] {
        std::fs::write(&path, content).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
    }
    assert_eq!(lookups(), before);
    mount.stop();
}

//! Law F5: what somebody else changes below is seen above within the time that `--cache` promises, while a reader above has
//! everything in the kernel's caches.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::fs::{AtFlags, Mode, OFlags, chmodat, fstat, ftruncate};
use rustix::io::Errno;

use crate::support::mount::Sub;
use crate::support::wait::within;
use crate::support::{Mount, Tree, at, memory, needs, status};

/// What a reader sees of a name: nothing, or kind, permissions and size.
type Seen = Result<(u32, i64), Errno>;

fn see(dir: impl AsFd, name: &[u8]) -> Seen {
    at::stat(dir, name).map(|stat| (stat.st_mode, stat.st_size))
}

/// A change of something named `name`, and how it is made below; it is looked at above before and after.
struct Change {
    label: &'static str,
    name: &'static [u8],
    make: fn(&OwnedFd),
}

const CHANGES: &[Change] = &[
    Change {
        label: "a file appears",
        name: b"new",
        make: |below| at::write_new(below, b"new", b"content").unwrap(),
    },
    Change {
        label: "a directory appears",
        name: b"newdir",
        make: |below| at::mkdir(below, b"newdir").unwrap(),
    },
    Change {
        label: "a file is removed",
        name: b"removed",
        make: |below| at::unlink(below, b"removed").unwrap(),
    },
    Change {
        label: "a file is renamed away",
        name: b"away",
        make: |below| at::rename(below, b"away", b"gone away").unwrap(),
    },
    Change {
        label: "a file is renamed to the name",
        name: b"renamed",
        make: |below| at::rename(below, b"other", b"renamed").unwrap(),
    },
    Change {
        label: "another file replaces it",
        name: b"replaced",
        make: |below| at::rename(below, b"replacing", b"replaced").unwrap(),
    },
    Change {
        label: "a directory of its name replaces it",
        name: b"turned",
        make: |below| {
            at::unlink(below, b"turned").unwrap();
            at::mkdir(below, b"turned").unwrap();
        },
    },
    Change {
        label: "its permissions change",
        name: b"chmod",
        make: |below| {
            chmodat(
                below,
                c"chmod",
                Mode::from_raw_mode(0o611),
                AtFlags::empty(),
            )
            .unwrap();
        },
    },
    Change {
        label: "it grows",
        name: b"grown",
        make: |below| {
            let file = at::open(below, b"grown", OFlags::WRONLY | OFlags::APPEND).unwrap();
            at::write_all(&file, b"more").unwrap();
        },
    },
    Change {
        label: "it is cut",
        name: b"cut",
        make: |below| {
            let file = at::open(below, b"cut", OFlags::WRONLY).unwrap();
            ftruncate(&file, 1).unwrap();
        },
    },
    Change {
        label: "it grows by another of its names, in a directory that nobody looked at",
        name: b"linked",
        make: |below| {
            let file = at::open(below, b"unseen/linked", OFlags::WRONLY | OFlags::APPEND).unwrap();
            at::write_all(&file, b"more").unwrap();
        },
    },
    Change {
        label: "a file appears in a directory",
        name: b"d/new",
        make: |below| at::write_new(below, b"d/new", b"").unwrap(),
    },
    Change {
        label: "the directory above it is renamed",
        name: b"e/file",
        make: |below| at::rename(below, b"e", b"f").unwrap(),
    },
    Change {
        label: "a directory is renamed to the one above it",
        name: b"h/file",
        make: |below| at::rename(below, b"g", b"h").unwrap(),
    },
    Change {
        label: "a legacy name appears",
        name: "caf\u{e9}".as_bytes(),
        make: |below| at::write_new(below, b"caf\xE9", b"").unwrap(),
    },
];

/// Makes what is changed, in this directory of the tree.
fn prepare(tree: &Tree, place: &str) {
    let at = |name: &str| format!("{place}/{name}").into_bytes();
    for name in [
        "removed", "away", "other", "replaced", "turned", "chmod", "grown", "cut", "linked",
    ] {
        tree.file(&at(name), b"first");
    }
    tree.file(&at("replacing"), b"a longer content");
    for name in ["d", "e", "g", "unseen"] {
        tree.directory(&at(name));
    }
    tree.file(&at("e/file"), b"");
    tree.file(&at("g/file"), b"");
    at::link(tree.below_dir(), &at("linked"), &at("unseen/linked")).unwrap();
}

/// Law F5's time in a directory that is otherwise idle, ten times.
pub(super) const HEARD: Duration = Duration::from_secs(1);

/// Law F5's time in a directory that is being changed, ten times.
pub(super) const SLOW: Duration = Duration::from_secs(10);

/// `promised` is the time in which a change is to be seen in a directory that is otherwise idle, ten times. Each is made in a
/// directory of its own.
fn check(options: &[&str], promised: Duration) {
    let at_once = promised.is_zero();
    needs::fuse();
    let tree = Tree::new();
    let places: Vec<String> = (0..=CHANGES.len())
        .map(|number| number.to_string())
        .collect();
    for place in &places {
        tree.directory(place.as_bytes());
        prepare(&tree, place);
    }
    if options.contains(&"--cache=watch") {
        tree.until_idle();
    }
    let mount = tree.mount(&[options, &["--from=iso-8859-1"]].concat());
    for (place, change) in places.iter().zip(CHANGES) {
        let (above, below) = both(&tree, &mount, place);
        let before = see(&above, change.name);
        // Once more, from what is kept; and the list.
        assert_eq!(see(&above, change.name), before, "{}", change.label);
        at::list(&above);
        // Shown where the test fails.
        println!("{options:?}: {}", change.label);
        (change.make)(&below);
        let promised = match change.label.contains("nobody looked at") {
            true if !at_once => SLOW,
            _ => promised,
        };
        // The legacy name is another below.
        let backing = match change.name.is_ascii() {
            true => change.name,
            false => b"caf\xE9",
        };
        let now = see(&below, backing);
        assert_ne!(now, before, "{}", change.label);
        if at_once {
            assert_eq!(see(&above, change.name), now, "{}", change.label);
        } else {
            within(promised, || see(&above, change.name) == now);
        }
        let mut names = at::sorted(&below);
        names.iter_mut().for_each(|name| {
            if *name == b"caf\xE9" {
                *name = "caf\u{e9}".into();
            }
        });
        names.sort();
        if at_once {
            assert_eq!(at::sorted(&above), names, "{}", change.label);
        } else {
            within(promised, || at::sorted(&above) == names);
        }
    }
    // A file that is open above, is moved below to where nobody looks, and changes there.
    let (above, below) = both(&tree, &mount, &places[CHANGES.len()]);
    let open = at::open(&above, b"grown", OFlags::RDONLY).unwrap();
    let size = || fstat(&open).unwrap().st_size;
    let before = size();
    at::rename(&below, b"grown", b"unseen/grown").unwrap();
    let promised = promised.max(HEARD);
    within(promised, || at::stat(&above, b"grown").is_err());
    let file = at::open(&below, b"unseen/grown", OFlags::WRONLY | OFlags::APPEND).unwrap();
    at::write_all(&file, b"12345").unwrap();
    within(SLOW, || size() == before + 5);
    drop((open, file, above));
    mount.stop();
}

/// A directory above, and below.
fn both<'m>(tree: &Tree, mount: &'m Mount<'_>, place: &str) -> (Sub<'m>, OwnedFd) {
    let below = at::open_dir(tree.below_dir(), place.as_bytes()).unwrap();
    (mount.sub(place), below)
}

#[test]
fn f5_with_none_a_change_is_seen_at_once() {
    check(&["--cache=none"], Duration::ZERO);
}

#[test]
fn f5_with_seconds_a_change_is_seen_when_they_are_over() {
    check(&["--cache=0.1"], HEARD);
}

#[test]
fn f5_where_changes_are_heard_of_they_are_seen() {
    if needs::root("fanotify") {
        check(&["--cache=watch"], HEARD);
        check(&["--cache=watch", "--passthrough=off"], HEARD);
    }
}

/// Where much is changed, to hear of it would cost each who changes something more than asking costs.
#[test]
fn f5_a_directory_that_is_being_changed_has_no_mark_and_its_changes_are_seen() {
    if !needs::root("fanotify") {
        return;
    }
    let _kept = memory::kept();
    let tree = Tree::new();
    tree.directory(b"idle");
    tree.until_idle();
    let mount = tree.mount(&["--cache=watch"]);
    let (above, below) = (mount.dir(), tree.below_dir());
    let marked = || status::of(&mount.point())["watch"]["directories"].clone();
    let is_there = |name: &[u8]| at::stat(above, name).is_ok();
    at::mkdir(above, b"busy").unwrap();
    for number in 0..10 {
        let name = format!("busy/{number}").into_bytes();
        at::write_new(above, &name, b"").unwrap();
        assert!(is_there(&name) && !is_there(b"busy/absent"));
        at::list(at::open_dir(above, b"busy").unwrap());
    }
    at::list(at::open_dir(above, b"idle").unwrap());
    assert_eq!(marked(), 2, "the root and what is idle");
    at::unlink(&below, b"busy/7").unwrap();
    at::write_new(&below, b"busy/absent", b"").unwrap();
    within(SLOW, || !is_there(b"busy/7") && is_there(b"busy/absent"));
    // What is kept for long of an idle directory is heard of wherever it is moved.
    at::write_new(&below, b"idle/moved", b"").unwrap();
    within(HEARD, || is_there(b"idle/moved"));
    at::rename(above, b"idle/moved", b"busy/moved").unwrap();
    assert_eq!(marked(), 3);
    assert!(is_there(b"busy/moved"));
    at::unlink(&below, b"busy/moved").unwrap();
    within(HEARD, || !is_there(b"busy/moved"));
    mount.stop();
}

/// More changes than the kernel reports: all that was kept is forgotten.
#[test]
fn f5_an_overflow_of_changes_leaves_nothing_stale() {
    if !needs::root("fanotify") {
        return;
    }
    let most = std::fs::read_to_string("/proc/sys/fs/fanotify/max_queued_events").unwrap();
    let most: usize = most.trim().parse().unwrap();
    if most > 100_000 {
        return;
    }
    let tree = Tree::in_memory();
    tree.file(b"removed", b"");
    tree.file(b"grown", b"");
    tree.directory(b"d");
    tree.until_idle();
    let mut mount = tree.mount(&["--cache=watch"]);
    mount.allow_warning("more changes in the backing directory than can be followed");
    let (above, below) = (mount.dir(), tree.below_dir());
    let absent = |name: &[u8]| see(above, name) == Err(Errno::NOENT);
    assert!(absent(b"new") && absent(b"d/new") && !absent(b"removed"));
    assert_eq!(at::stat(above, b"grown").unwrap().st_size, 0);
    // While it sleeps, it hears nothing.
    mount.pause();
    for number in 0..=most {
        at::mkdir(&below, number.to_string().as_bytes()).unwrap();
    }
    at::write_new(&below, b"new", b"").unwrap();
    at::write_new(&below, b"d/new", b"").unwrap();
    at::unlink(&below, b"removed").unwrap();
    let file = at::open(&below, b"grown", OFlags::WRONLY).unwrap();
    at::write_all(&file, b"grown").unwrap();
    mount.go_on();
    within(SLOW, || !absent(b"new"));
    within(SLOW, || !absent(b"d/new"));
    within(SLOW, || absent(b"removed"));
    within(SLOW, || at::stat(above, b"grown").unwrap().st_size == 5);
    assert_eq!(at::list(above).len(), most + 4);
    mount.stop();
}

/// Ends the mount, and gives how many operations the kernel asked of it.
fn operations(tree: &Tree, mount: Mount<'_>) -> u64 {
    mount.stop();
    let records = crate::support::audit::read(&tree.audit_log());
    let summary = records
        .iter()
        .find(|record| record.text("event") == "summary");
    summary.unwrap().number("operations")
}

/// What is heard of need not be asked for, however often: names, that there are none, and directories.
#[test]
fn where_changes_are_heard_of_nothing_is_asked_for_twice() {
    if !needs::root("fanotify") {
        return;
    }
    let count = |rounds: usize| {
        let tree = Tree::new();
        prepare(&tree, ".");
        tree.until_idle();
        let mount = tree.mount(&["--cache=watch"]);
        let above = mount.dir();
        for _ in 0..rounds {
            for name in [&b"d"[..], b"unseen", b"e/file"] {
                at::stat(above, name).unwrap();
            }
            assert_eq!(see(above, b"absent"), Err(Errno::NOENT));
            assert_eq!(see(above, b"e/absent"), Err(Errno::NOENT));
        }
        operations(&tree, mount)
    };
    let (few, many) = (count(3), count(103));
    // But for the attributes of the file, once a second.
    assert!(many < few + 50, "{few}, {many}");
}

//! A file that has, or had, several names: each of them is checked before anything is done by it.

use std::path::Path;

use super::{OPTIONS, rename};
use crate::support::Tree;

fn link(old: &Path, new: &Path) {
    std::fs::hard_link(old, new).unwrap();
}

/// Something that is done with a file `a` of the directory above and below, so that it has other names then.
type Change = (&'static str, fn(above: &Path, below: &Path));

const CHANGES: &[Change] = &[
    ("renamed below, and then above", |above, below| {
        rename(below.join("a"), below.join("b")).unwrap();
        rename(above.join("b"), above.join("c")).unwrap();
    }),
    (
        "renamed below, and then over another above",
        |above, below| {
            std::fs::write(above.join("c"), "other").unwrap();
            rename(below.join("a"), below.join("b")).unwrap();
            rename(above.join("b"), above.join("c")).unwrap();
        },
    ),
    (
        "renamed below, and then to and fro above",
        |above, below| {
            rename(below.join("a"), below.join("b")).unwrap();
            rename(above.join("b"), above.join("c")).unwrap();
            rename(above.join("c"), above.join("b")).unwrap();
        },
    ),
    (
        "linked and unlinked below, and renamed above",
        |above, below| {
            link(&below.join("a"), &below.join("b"));
            std::fs::remove_file(below.join("a")).unwrap();
            rename(above.join("b"), above.join("c")).unwrap();
        },
    ),
    (
        "renamed below, and linked and unlinked above",
        |above, below| {
            rename(below.join("a"), below.join("b")).unwrap();
            link(&above.join("b"), &above.join("c"));
            std::fs::remove_file(above.join("b")).unwrap();
        },
    ),
    (
        "renamed to another directory below, and then above",
        |above, below| {
            std::fs::create_dir(below.join("d")).unwrap();
            rename(below.join("a"), below.join("d/b")).unwrap();
            rename(above.join("d/b"), above.join("c")).unwrap();
        },
    ),
    (
        "replaced below, with twenty names that are known",
        |above, below| {
            for number in 0..20 {
                let name = format!("name{number}");
                link(&below.join("a"), &below.join(&name));
                std::fs::metadata(above.join(name)).unwrap();
            }
            std::fs::write(below.join("new"), "replacement").unwrap();
            rename(below.join("new"), below.join("a")).unwrap();
        },
    ),
    (
        "removed below, with twenty names that are known",
        |above, below| {
            for number in 0..20 {
                let name = format!("name{number}");
                link(&below.join("a"), &below.join(&name));
                std::fs::metadata(above.join(name)).unwrap();
            }
            std::fs::remove_file(below.join("a")).unwrap();
        },
    ),
];

#[test]
fn f9_what_is_written_by_a_name_is_not_in_a_file_that_had_it_before() {
    for options in OPTIONS {
        let tree = Tree::new();
        let mut mount = tree.mount(options);
        if options.contains(&"--cross-mounts") {
            mount.allow_warning("the sandbox is weaker with --cross-mounts");
        }
        for (number, (what, change)) in CHANGES.iter().enumerate() {
            let what = format!("{options:?} {what}");
            let place = format!("case{number}");
            let (above, below) = (mount.point().join(&place), tree.backing().join(&place));
            std::fs::create_dir(&below).unwrap();
            std::fs::write(above.join("a"), "one").expect(&what);
            change(&above, &below);
            std::fs::write(above.join("a"), "two").expect(&what);
            let mut with_it = Vec::new();
            for entry in std::fs::read_dir(&below).unwrap() {
                let entry = entry.unwrap();
                if entry.metadata().unwrap().is_file()
                    && std::fs::read(entry.path()).unwrap() == b"two"
                {
                    with_it.push(entry.file_name());
                }
            }
            assert_eq!(with_it, ["a"], "{what}");
        }
        mount.stop();
    }
}

//! What is let pass because the kernel repeats a call is let pass for that call alone.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::XattrFlags;

use super::{OPTIONS, rename};
use crate::support::Tree;

/// Replaces a file below by another, so that the old one keeps another name.
fn replace_and_keep(below: &Path, name: &str) {
    std::fs::hard_link(below.join(name), below.join(format!("{name}~"))).unwrap();
    std::fs::write(below.join("new"), "replacement").unwrap();
    rename(below.join("new"), below.join(name)).unwrap();
}

/// Writes to a file above, and sees to it that the file of that name has it.
fn write_above(above: &Path, below: &Path, name: &str, what: &str) {
    std::fs::write(above.join(name), "two").expect(what);
    let found = std::fs::read_to_string(below.join(name)).expect(what);
    assert_eq!(found, "two", "{what}");
}

/// A call that meets a name that leads elsewhere, which the kernel looks up anew.
type Repeated = (&'static str, fn(&Path));

const REPEATED: &[Repeated] = &[
    ("chmod", |above| {
        let mode = PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(above.join("other"), mode).unwrap();
    }),
    ("attribute set", |above| {
        rustix::fs::setxattr(above.join("other"), "user.a", b"1", XattrFlags::empty()).unwrap();
    }),
    ("made", |above| {
        std::fs::create_dir(above.join("d/made")).unwrap();
    }),
    ("renamed", |above| {
        rename(above.join("other"), above.join("d/other")).unwrap();
    }),
    ("linked", |above| {
        std::fs::hard_link(above.join("other"), above.join("d/linked")).unwrap();
    }),
    ("listed", |above| {
        assert_eq!(std::fs::read_dir(above.join("d")).unwrap().count(), 0);
    }),
    ("removed, though it is not there", |above| {
        std::fs::remove_file(above.join("d/absent")).unwrap_err();
    }),
];

/// What is let pass because the kernel repeats one call is not let pass for the next one.
#[test]
fn f9_a_call_that_was_repeated_leaves_the_next_one_of_its_thread_checked() {
    for options in OPTIONS {
        let tree = Tree::new();
        let mut mount = tree.mount(options);
        if options.contains(&"--cross-mounts") {
            mount.allow_warning("the sandbox is weaker with --cross-mounts");
        }
        for (number, (repeated, call)) in REPEATED.iter().enumerate() {
            let what = format!("{options:?} {repeated}");
            let place = format!("case{number}");
            let (above, below) = (mount.point().join(&place), tree.backing().join(&place));
            std::fs::create_dir_all(below.join("d")).unwrap();
            std::fs::write(below.join("other"), "other").unwrap();
            std::fs::write(below.join("file"), "one").unwrap();
            std::fs::read(above.join("other")).unwrap();
            assert_eq!(std::fs::read_dir(above.join("d")).unwrap().count(), 0);
            replace_and_keep(&below, "other");
            rename(below.join("d"), below.join("old")).unwrap();
            std::fs::create_dir(below.join("d")).unwrap();
            call(&above);
            // Another thread gets to know the file since.
            let path = above.join("file");
            let reader = std::thread::spawn(move || std::fs::read(path).unwrap());
            assert_eq!(reader.join().unwrap(), b"one");
            replace_and_keep(&below, "file");
            write_above(&above, &below, "file", &what);
        }
        mount.stop();
    }
}

/// Where a call fails for good by a descriptor of another thread, the next one by the name is another call.
#[test]
fn f9_a_call_that_failed_by_a_descriptor_leaves_the_next_one_by_the_name_checked() {
    for options in OPTIONS {
        let tree = Tree::new();
        let mut mount = tree.mount(options);
        if options.contains(&"--cross-mounts") {
            mount.allow_warning("the sandbox is weaker with --cross-mounts");
        }
        let (above, below) = (mount.point(), tree.backing());
        std::fs::write(above.join("file"), "one").unwrap();
        let file = File::open(above.join("file")).unwrap();
        replace_and_keep(&below, "file");
        let what = format!("{options:?}");
        let worker = std::thread::spawn(move || {
            let mode = PermissionsExt::from_mode(0o600);
            // The name leads elsewhere, which fails as semantics.md says.
            let failed = file.set_permissions(mode).unwrap_err();
            assert_eq!(failed.raw_os_error(), Some(libc::ESTALE));
            write_above(&above, &below, "file", &what);
        });
        worker.join().unwrap();
        mount.stop();
    }
}

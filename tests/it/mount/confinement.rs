//! Law C5: no conversion of a name yields `/`, NUL, an empty name, `.` or `..`. Law F2: nothing outside the backing
//! directory can be reached.

use crate::support::at::{self, Make};
use crate::support::snapshot::{self, Snapshot, Times};
use crate::support::{Tree, show};

/// Names that somebody or other has taken for a path, in whatever encoding; `fs::tests::confinement` has many more.
const TRICKS: &[&[u8]] = &[
    b"\xC0\xAE\xC0\xAE\xC0\xAFtarget",
    b"..%2Ftarget",
    // Fullwidth full stop and solidus, in UTF-8 and in Shift_JIS.
    b"..\xEF\xBC\x8Ftarget",
    b"\x81\x44\x81\x44\x81\x5Etarget",
    b"..\x81\x5Ctarget",
    b"..\\target",
    b"%2E%2E",
    b"...",
];

/// Everything beside the backing directory, the mountpoint and our own logs.
fn outside(tree: &Tree) -> Snapshot {
    let mut snapshot = Snapshot::new();
    for part in ["target", "secret"] {
        let root = tree.parent().join(part);
        for (path, entry) in snapshot::take(&root, Times::Kept) {
            snapshot.insert([part.as_bytes(), b"/", &path].concat(), entry);
        }
    }
    snapshot
}

fn tree_with_neighbours() -> Tree {
    let tree = Tree::in_memory();
    for part in ["target", "secret"] {
        let root = tree.parent().join(part);
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("file"), "untouched").unwrap();
        std::fs::create_dir(root.join("directory")).unwrap();
    }
    tree
}

/// Nothing in the parent of BACKING changes or is reached, whatever name is made, looked up or lies below.
#[test]
fn no_name_leads_out_of_the_backing_directory() {
    for label in ["iso-8859-1", "shift_jis"] {
        let tree = tree_with_neighbours();
        let parent = at::sorted(at::open_dir_path(tree.parent()));
        let before = outside(&tree);
        // Below, where no policy is between.
        let below = tree.directory(b"below");
        for name in TRICKS {
            at::write_new(&below, name, name).unwrap();
        }
        for make in Make::ALL {
            let dir = tree.directory(make.label().as_bytes());
            at::write_new(&dir, Make::SOURCE, b"content").unwrap();
        }
        let options = [
            "--from",
            label,
            "--on-violation",
            "normalize",
            "--audit-burst",
            "10",
        ];
        let mount = tree.mount(&options);
        let dir = mount.sub("below");
        let listed = at::list(&dir);
        assert_eq!(listed.len(), TRICKS.len(), "{label}");
        for visible in &listed {
            assert!(
                std::str::from_utf8(visible).is_ok(),
                "{label} {}",
                show(visible)
            );
            let content = at::read(&dir, visible).unwrap();
            assert!(TRICKS.contains(&&content[..]), "{label} {}", show(visible));
        }
        drop(dir);
        for make in Make::ALL {
            let dir = mount.sub(make.label());
            for name in TRICKS {
                // Made or refused; neither may touch what is outside.
                let made = make.run(&dir, name);
                if made.is_ok() {
                    at::stat(&dir, name).unwrap();
                    if make == Make::Rename {
                        at::rename(&dir, name, Make::SOURCE).unwrap();
                    }
                }
            }
            let below = at::open_dir(tree.below_dir(), make.label().as_bytes()).unwrap();
            for name in at::list(&below) {
                assert!(
                    std::str::from_utf8(&name).is_ok(),
                    "{label} {}",
                    show(&name)
                );
            }
            assert_eq!(at::sorted(&below), at::sorted(&dir), "{label}");
        }
        mount.stop();
        snapshot::assert_same(&before, &outside(&tree));
        let mut after = at::sorted(at::open_dir_path(tree.parent()));
        after.retain(|name| name != b"stderr");
        assert_eq!(parent, after, "{label}");
        let roots = Make::ALL.len() + 1;
        assert_eq!(at::list(tree.below_dir()).len(), roots, "{label}");
    }
}

/// Law F2: a directory that is open, and is moved away below and replaced by a link that leads out, stays itself.
#[test]
fn a_directory_swapped_for_a_link_below_does_not_lead_out() {
    let tree = tree_with_neighbours();
    drop(tree.directory(b"d"));
    let before = outside(&tree);
    let mount = tree.mount(&[]);
    let dir = mount.sub("d");
    let below = tree.below_dir();
    at::rename(&below, b"d", b"moved").unwrap();
    at::symlink(b"../target", &below, b"d").unwrap();
    at::write_new(&dir, b"new", b"inside").unwrap();
    assert_eq!(at::mkdir(&dir, b"sub"), Ok(()));
    assert_eq!(at::rename(&dir, b"new", b"newer"), Ok(()));
    let moved = at::open_dir(&below, b"moved").unwrap();
    assert_eq!(at::sorted(&moved), [&b"newer"[..], b"sub"]);
    drop(dir);
    mount.stop();
    snapshot::assert_same(&before, &outside(&tree));
}

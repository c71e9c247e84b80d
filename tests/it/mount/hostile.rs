//! Directories made by an enemy (laws N2, N3, N4, N8): what they cost is measured by `scripts/long hostile`.

mod measure;

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use crate::names::crowds::{self, Crowd};
use crate::support::{Tree, at, show};

/// Entries of each directory; `scripts/long hostile` takes ten and a hundred thousand.
const ENTRIES: usize = 10_000;

/// Lists a crowd through the mount, opens each entry and looks at its content, which is its backing name; removes half of
/// it one by one, compares what is left with what another daemon shows, and removes that with `rm -rf`.
fn check(crowd: &Crowd) {
    let names = crowd.names(ENTRIES);
    let expected: BTreeSet<&[u8]> = names.iter().map(Vec::as_slice).collect();
    assert_eq!((expected.len(), names.len()), (ENTRIES, ENTRIES));
    let tree = Tree::in_memory();
    let below = tree.directory(b"crowd");
    for name in &names {
        at::write_new(&below, name, name).unwrap();
    }
    let mount = tree.mount(crowd.options);
    let crowd_above = mount.sub("crowd");
    let listed = at::list(&crowd_above);
    let distinct: BTreeSet<&[u8]> = listed.iter().map(Vec::as_slice).collect();
    assert_eq!((distinct.len(), listed.len()), (ENTRIES, ENTRIES), "N2");
    let mut reached = BTreeSet::new();
    for visible in &listed {
        let shown = show(visible);
        assert!(std::str::from_utf8(visible).is_ok(), "N5: {shown}");
        assert!(visible.len() <= 255, "N5: {shown}");
        at::stat(&crowd_above, visible).unwrap_or_else(|error| panic!("N3: {shown}: {error}"));
        let content = at::read(&crowd_above, visible).unwrap();
        let by_itself = expected.contains(visible.as_slice());
        assert!(!by_itself || content == *visible, "N1: {shown}");
        assert!(reached.insert(content), "N3: {shown}");
    }
    assert!(reached.iter().eq(expected), "N3");
    // Names move up while others go, so that what was listed before is listed anew.
    for _ in 0..2 {
        for visible in at::list(&crowd_above).iter().take(ENTRIES / 4) {
            match at::unlink(&crowd_above, visible) {
                Err(rustix::io::Errno::NOENT) if crowd.runs > 1 => {}
                removed => removed.unwrap(),
            }
        }
    }
    let left = at::sorted(&crowd_above);
    assert_eq!(left.len(), at::list(&below).len());
    drop(crowd_above);
    mount.stop();
    let mount = tree.mount(crowd.options);
    let crowd_above = mount.sub("crowd");
    assert!(left == at::sorted(&crowd_above), "N4");
    drop(crowd_above);
    let is_done = (0..crowd.runs).any(|_| {
        let mut rm = Command::new("rm");
        rm.arg("-rf")
            .arg(mount.point().join("crowd"))
            .stderr(Stdio::null());
        rm.status().unwrap().success()
    });
    assert!(is_done);
    assert!(at::list(tree.below_dir()).is_empty());
    mount.stop();
}

#[test]
fn names_that_all_decode_to_one_stay_apart_and_can_be_removed() {
    check(&crowds::ONE_TEXT);
}

#[test]
fn names_of_percent_signs_alone_stay_apart_and_can_be_removed() {
    check(&crowds::PERCENTS);
}

#[test]
fn names_that_forge_the_mark_of_a_cut_stay_apart_and_can_be_removed() {
    check(&crowds::FORGED_MARKS);
}

#[test]
fn a_million_combining_marks_stay_apart_and_can_be_removed() {
    check(&crowds::COMBINING_MARKS);
}

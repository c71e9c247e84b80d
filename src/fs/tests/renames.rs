//! What a rename leaves under the old name, and replaces under the new one.

use super::{Legacy, NameMap, OnViolation, Scratch, map};
use crate::at;
use crate::backing::Kind;

/// The names of the directory were kept as if the old name were gone, and the whiteout under it was not found.
#[test]
fn a_whiteout_is_seen_under_the_name_that_it_took() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let scratch = Scratch::new(map(Legacy::Decode, &["iso-8859-1"]), &[b"caf\xE9"]);
    let (dir, café) = (scratch.root(), "café".as_bytes());
    dir.stat(café).unwrap();
    dir.rename_with(café, b"gone", libc::RENAME_WHITEOUT)
        .unwrap();
    assert_eq!(dir.stat(café).unwrap().kind(), Kind::CharDevice);
    assert_eq!(dir.read(b"gone").unwrap(), b"caf\xE9");
}

/// A rename onto a listed raw name made a second entry, by the name that `normalize` makes of it.
#[test]
fn a_rename_onto_a_raw_name_replaces_it_under_normalize() {
    let raw = NameMap {
        on_violation: OnViolation::Normalize,
        ..map(Legacy::Raw, &["iso-8859-1"])
    };
    let scratch = Scratch::new(raw, &[b"caf\xE9", b"new"]);
    let dir = scratch.root();
    dir.rename(b"new", b"caf\xE9").unwrap();
    assert_eq!(dir.sorted(), [b"caf\xE9"]);
    assert_eq!(dir.read(b"caf\xE9").unwrap(), b"new");
    assert_eq!(at::list(scratch.below_dir()), [b"caf\xE9"]);
}

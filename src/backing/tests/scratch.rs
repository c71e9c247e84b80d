//! What the tests of this layer share: a directory of their own.

use rustix::thread::CapabilitySet;
use tempfile::TempDir;

use super::Dir;
use crate::names::BackingName;

/// A new directory with its descriptor, removed at the end.
pub(crate) struct Scratch {
    pub(crate) dir: Dir,
    pub(crate) temp: TempDir,
}

/// A new empty directory.
pub(crate) fn scratch() -> Scratch {
    let temp = TempDir::new().unwrap();
    let dir = Dir::open_root(temp.path()).unwrap();
    Scratch { dir, temp }
}

/// A backing name.
pub(crate) fn name(bytes: &[u8]) -> BackingName {
    BackingName::parse(bytes).unwrap()
}

/// Names that only bytes can hold, and others that a careless program trips over.
pub(crate) fn odd_names() -> Vec<BackingName> {
    let longest = [0xE9_u8; 255];
    [
        &b"caf\xE9"[..],
        b"a\nb",
        &longest,
        b"\x80",
        b"...",
        b"-rf",
        b" ",
    ]
    .into_iter()
    .map(name)
    .collect()
}

/// The errno of a failure.
pub(crate) fn errno<T: std::fmt::Debug>(result: std::io::Result<T>) -> i32 {
    result.unwrap_err().raw_os_error().unwrap()
}

/// Has this thread the capability in effect, and over everything: not only in a user namespace of its own?
pub(crate) fn can(needed: CapabilitySet) -> bool {
    let everything = std::fs::read_to_string("/proc/self/uid_map")
        .is_ok_and(|map| map.split_whitespace().eq(["0", "0", "4294967295"]));
    let sets = rustix::thread::capabilities(None).unwrap();
    everything && sets.effective.contains(needed)
}

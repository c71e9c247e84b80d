//! What the tests of this layer share: a directory of their own.

use tempfile::TempDir;

use super::Dir;
use crate::names::BackingName;

/// A new directory with its descriptor, removed at the end.
pub(super) struct Scratch {
    pub(super) dir: Dir,
    pub(super) temp: TempDir,
}

/// A new empty directory.
pub(super) fn scratch() -> Scratch {
    let temp = TempDir::new().unwrap();
    let dir = Dir::open_root(temp.path()).unwrap();
    Scratch { dir, temp }
}

/// A backing name.
pub(super) fn name(bytes: &[u8]) -> BackingName {
    BackingName::parse(bytes).unwrap()
}

/// Names that only bytes can hold: Latin-1, a newline, the longest, a lone continuation byte, what is not to be followed.
pub(super) fn odd_names() -> Vec<BackingName> {
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
pub(super) fn errno<T: std::fmt::Debug>(result: std::io::Result<T>) -> i32 {
    result.unwrap_err().raw_os_error().unwrap()
}

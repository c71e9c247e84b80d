//! Trying to make names that are not allowed.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::policy::NAME_MAX;

/// The name of the file that may be made.
const PLAIN: &str = "plain.txt";

/// How a name is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// A file is created, and may be.
    Plain,
    /// A file is created.
    Create,
    /// A directory is made.
    Mkdir,
    /// A symbolic link is made.
    Symlink,
    /// The plain file gets the name.
    Rename,
}

impl Act {
    /// The word for it.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Plain | Self::Create => "create",
            Self::Mkdir => "mkdir",
            Self::Symlink => "symlink",
            Self::Rename => "rename",
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Attempt {
    /// How.
    pub(super) act: Act,
    /// The name that was asked for.
    pub(super) name: Vec<u8>,
    /// What the program got.
    pub(super) outcome: io::Result<()>,
}

impl Attempt {
    /// Tries to make `name` in `directory`.
    pub(super) fn make(act: Act, name: &[u8], directory: &Path) -> Self {
        let path = directory.join(OsStr::from_bytes(name));
        let outcome = match act {
            Act::Plain | Act::Create => OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&path)
                .map(drop),
            Act::Mkdir => fs::create_dir(&path),
            Act::Symlink => symlink(PLAIN, &path),
            Act::Rename => rustix::fs::rename(directory.join(PLAIN), &path).map_err(Into::into),
        };
        Self {
            act,
            name: name.to_vec(),
            outcome,
        }
    }

    /// Was the plain name made, or the other refused with the error of its rule?
    pub(super) fn is_as_it_should(&self) -> bool {
        let errno = self.outcome.as_ref().err().map(io::Error::raw_os_error);
        let expected = match self.act {
            Act::Plain => None,
            _ if self.name.len() > NAME_MAX => Some(Some(libc::ENAMETOOLONG)),
            Act::Create | Act::Mkdir | Act::Symlink | Act::Rename => Some(Some(libc::EILSEQ)),
        };
        errno == expected
    }
}

/// A plain name, which may be made, and then one of each kind that may not.
pub(super) fn forbidden() -> Vec<(Act, Vec<u8>)> {
    let long = [&[b'x'; 252][..], b".txt"].concat();
    let rows: [(Act, &[u8]); 9] = [
        (Act::Plain, PLAIN.as_bytes()),
        (Act::Create, b"caf\xE9.txt"),
        (Act::Mkdir, b"\xC0\xAE\xC0\xAE\xC0\xAFetc"),
        (Act::Symlink, b"\xED\xA0\x80.txt"),
        (Act::Create, &long),
        (Act::Rename, b"one\ntwo.txt"),
        (Act::Mkdir, b"\x1B[2J"),
        (Act::Create, b"-rf"),
        (Act::Rename, b"song\xE2\x80\xAE3pm.exe"),
    ];
    rows.map(|(act, name)| (act, name.to_vec())).into()
}

/// What an audit record says of the name: the rule and where it is broken, without who, when and what instead.
pub(super) fn reason_in(record: &str) -> Option<&str> {
    let (_, refusal) = record.split_once(": refused with ")?;
    let (_, reason) = refusal.split_once(": ")?;
    let (reason, _) = reason.split_once("; by uid ")?;
    Some(
        reason
            .split_once("; would be accepted: ")
            .map_or(reason, |(reason, _)| reason),
    )
}

#[cfg(test)]
mod tests {
    use super::reason_in;

    #[test]
    fn the_reason_stands_between_the_errno_and_the_user() {
        let rows = [
            (
                "2026-01-01T00:00:00.000000Z mkdir \"/a\": refused with EILSEQ: ill-formed UTF-8: x; at byte 1: E9; by uid 0 gid 0",
                Some("ill-formed UTF-8: x; at byte 1: E9"),
            ),
            (
                "t create \"/a\": refused with EPERM: forbidden: x; at byte 1: 0A; would be accepted: \"%0A\"; by uid 0",
                Some("forbidden: x; at byte 1: 0A"),
            ),
            ("t create \"/a\": reported: forbidden: x", None),
            ("", None),
        ];
        for (record, expected) in rows {
            assert_eq!(reason_in(record), expected);
        }
    }
}

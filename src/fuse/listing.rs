//! Answers with lists of names.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use fuser::{Generation, INodeNo, ReplyDirectory, ReplyDirectoryPlus};

use super::answer::Kept;
use super::convert::{attr, file_type, number_only};
use crate::fs::{FsError, Plus, Utf8Fs};

/// Fills `reply` with names.
///
/// # Errors
/// Those of [`Utf8Fs::readdir`].
pub(super) fn list(
    fs: &Utf8Fs,
    handle: u64,
    offset: u64,
    reply: &mut ReplyDirectory,
) -> Result<(), FsError> {
    fs.readdir(handle, offset, Plus::No, |listed| {
        let name = OsStr::from_bytes(listed.name);
        let number = INodeNo(listed.number);
        reply.add(number, listed.cookie, file_type(listed.kind), name)
    })
}

/// Fills `reply` with names and attributes.
///
/// # Errors
/// Those of [`Utf8Fs::readdir`].
pub(super) fn list_plus(
    fs: &Utf8Fs,
    handle: u64,
    offset: u64,
    kept: Kept,
    reply: &mut ReplyDirectoryPlus,
) -> Result<(), FsError> {
    fs.readdir(handle, offset, Plus::Yes, |listed| {
        let (attr, kept, generation) = match &listed.entry {
            Some(entry) => (
                attr(entry.number, &entry.stat),
                kept.listed(entry),
                entry.generation,
            ),
            None if matches!(listed.name, b"." | b"..") => {
                (number_only(listed.number, listed.kind), Duration::ZERO, 0)
            }
            // The kernel gives the name to who lists, and knows no entry by it.
            None => (number_only(INodeNo::ROOT.0, listed.kind), Duration::ZERO, 0),
        };
        let name = OsStr::from_bytes(listed.name);
        let number = INodeNo(listed.number);
        let generation = Generation(generation);
        reply.add(number, listed.cookie, name, &kept, &attr, generation)
    })
}

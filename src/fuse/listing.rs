//! Answers with lists of names.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use fuser::{Generation, INodeNo, ReplyDirectory, ReplyDirectoryPlus};

use super::convert::{attr, file_type, number_only};
use crate::coherence::Coherence;
use crate::fs::{FsError, Plus};

/// Fills `reply` with names.
///
/// # Errors
/// Those of [`Utf8Fs::readdir`](crate::fs::Utf8Fs::readdir).
pub(super) fn list(
    coherence: &Coherence,
    directory: u64,
    (handle, offset): (u64, u64),
    reply: &mut ReplyDirectory,
) -> Result<(), FsError> {
    let listing = coherence.list(directory, offset == 0, false)?;
    let is_end = coherence.fs().readdir(handle, offset, Plus::No, |listed| {
        let name = OsStr::from_bytes(listed.name);
        let number = INodeNo(listed.number);
        reply.add(number, listed.cookie, file_type(listed.kind), name)
    })?;
    listing.finish(is_end);
    Ok(())
}

/// Fills `reply` with names and attributes.
///
/// # Errors
/// Those of [`Utf8Fs::readdir`](crate::fs::Utf8Fs::readdir).
pub(super) fn list_plus(
    coherence: &Coherence,
    directory: u64,
    (handle, offset): (u64, u64),
    reply: &mut ReplyDirectoryPlus,
) -> Result<(), FsError> {
    let mut listing = coherence.list(directory, offset == 0, true)?;
    let is_end = coherence
        .fs()
        .readdir(handle, offset, Plus::Yes, |listed| {
            let (attr, kept, generation) = match &listed.entry {
                Some(entry) => (
                    attr(entry.number, &entry.stat),
                    listing.keep(listed.name, entry).whole(),
                    entry.inode.generation(),
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
        })?;
    listing.finish(is_end);
    Ok(())
}

//! Comparison of the content of two files.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::{AsFd, OwnedFd};

use crate::backing::{Dir, Kind, Stat, file};
use crate::names::BackingName;

/// Bytes of each that are read at once.
const PIECE: usize = 128 * 1024;

/// Are these two regular files of the directory, with the same content? No link is followed.
///
/// # Errors
/// One of them can't be opened or read.
pub(super) fn have_same_content(
    directory: impl AsFd,
    one: &BackingName,
    other: &BackingName,
) -> io::Result<bool> {
    let open = |name| Dir::new(directory.as_fd()).child(name);
    let (one, other) = (open(one)?, open(other)?);
    let (first, second) = (Stat::of(&one)?, Stat::of(&other)?);
    if first.kind() != Kind::File || second.kind() != Kind::File || first.size != second.size {
        return Ok(false);
    }
    if first.identity() == second.identity() {
        return Ok(true);
    }
    let read = |fd: OwnedFd| {
        let file = File::from(file::reopen_quietly(fd, 0)?);
        io::Result::Ok(BufReader::with_capacity(PIECE, file))
    };
    let (mut one, mut other) = (read(one)?, read(other)?);
    loop {
        let (here, there) = (one.fill_buf()?, other.fill_buf()?);
        let length = here.len().min(there.len());
        if length == 0 || here.get(..length) != there.get(..length) {
            return Ok(here.is_empty() && there.is_empty());
        }
        one.consume(length);
        other.consume(length);
    }
}

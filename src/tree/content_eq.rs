//! Comparison of the content of two files.

use std::io;
use std::os::fd::AsFd;

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
    if (first.dev, first.ino) == (second.dev, second.ino) {
        return Ok(true);
    }
    let one = file::reopen_quietly(&one, 0)?;
    let other = file::reopen_quietly(&other, 0)?;
    let (mut here, mut there) = (vec![0; PIECE], vec![0; PIECE]);
    let mut offset = 0;
    loop {
        let length = read(&one, &mut here, offset)?;
        if length != read(&other, &mut there, offset)? || here.get(..length) != there.get(..length)
        {
            return Ok(false);
        }
        if length == 0 {
            return Ok(true);
        }
        offset += u64::try_from(length).unwrap_or(0);
    }
}

/// Fills the buffer, unless the file ends.
fn read(fd: impl AsFd, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut length = 0;
    while let Some(rest) = buffer.get_mut(length..)
        && !rest.is_empty()
    {
        let place = offset + u64::try_from(length).unwrap_or(0);
        match file::read_at(&fd, rest, place)? {
            0 => break,
            more => length += more,
        }
    }
    Ok(length)
}

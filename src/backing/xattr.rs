//! Extended attributes of an inode that is held by `O_PATH`.
//!
//! Neither the f-calls nor getxattrat(2) with `AT_EMPTY_PATH` take an `O_PATH` descriptor, so that these go through
//! `/proc/self/fd`. A symlink held is reached itself, not what it points to.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::XattrFlags;
use rustix::io::Errno;

use super::calls::counted;
use super::file::proc_path;

/// Most bytes in a value or in a list of names, `XATTR_SIZE_MAX` and `XATTR_LIST_MAX` of the kernel.
pub const MAX: usize = 65536;

/// Puts the value of attribute `name` into `value`, and returns its length; empty, that asks for the length alone.
///
/// # Errors
/// `ENODATA` if there is none, `ERANGE` if it is longer; else those of getxattr(2).
pub fn get(fd: impl AsFd, name: &[u8], value: &mut [u8]) -> io::Result<usize> {
    let path = proc_path(fd.as_fd());
    // With an empty buffer rustix answers 0.
    counted(match value.is_empty() {
        true => rustix::fs::getxattr_query(&*path, name),
        false => rustix::fs::getxattr(&*path, name, value),
    })
}

/// The same of a file that is open, not by `O_PATH`.
///
/// # Errors
/// As for [`get`], but those of fgetxattr(2).
pub fn get_of_open(fd: impl AsFd, name: &[u8], value: &mut [u8]) -> io::Result<usize> {
    counted(match value.is_empty() {
        true => rustix::fs::fgetxattr_query(fd, name),
        false => rustix::fs::fgetxattr(fd, name, value),
    })
}

/// Puts the names of all attributes, each ended by NUL, into `names`, and returns their length; as for [`get`].
///
/// # Errors
/// `ERANGE` if they are longer; else those of listxattr(2).
pub fn list(fd: impl AsFd, names: &mut [u8]) -> io::Result<usize> {
    let path = proc_path(fd.as_fd());
    counted(match names.is_empty() {
        true => rustix::fs::listxattr_query(&*path),
        false => rustix::fs::listxattr(&*path, names),
    })
}

/// Returns all that [`get`] or [`list`] finds.
///
/// # Errors
/// Those of `ask`.
pub fn whole(ask: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> io::Result<Vec<u8>> {
    let mut data = vec![0; MAX];
    let length = ask(&mut data)?;
    data.truncate(length);
    Ok(data)
}

/// Puts `data` into `room` and returns its length, as getxattr(2) answers; where there is no room at all, its length alone.
///
/// # Errors
/// `ERANGE`: it is longer than the room.
pub fn answer(data: &[u8], room: &mut [u8]) -> Result<usize, Errno> {
    if !room.is_empty() {
        let room = room.get_mut(..data.len()).ok_or(Errno::RANGE)?;
        room.copy_from_slice(data);
    }
    Ok(data.len())
}

/// Sets attribute `name`; `flags` are setxattr(2)'s `XATTR_CREATE` and `XATTR_REPLACE`.
///
/// # Errors
/// `EEXIST` and `ENODATA` by the flags; else those of setxattr(2).
pub fn set(fd: impl AsFd, name: &[u8], value: &[u8], flags: i32) -> io::Result<()> {
    let path = proc_path(fd.as_fd());
    let flags = XattrFlags::from_bits_retain(flags.cast_unsigned());
    counted(rustix::fs::setxattr(&*path, name, value, flags))
}

/// Removes attribute `name`.
///
/// # Errors
/// `ENODATA` if there is none; else those of removexattr(2).
pub fn remove(fd: impl AsFd, name: &[u8]) -> io::Result<()> {
    counted(rustix::fs::removexattr(&*proc_path(fd.as_fd()), name))
}

#[cfg(test)]
mod tests;

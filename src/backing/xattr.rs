//! Extended attributes of an inode that is held by `O_PATH`.
//!
//! Neither the f-calls nor getxattrat(2) with `AT_EMPTY_PATH` take an `O_PATH` descriptor, so that these go through
//! `/proc/self/fd`. A symlink held is reached itself, not what it points to.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::XattrFlags;

use super::calls::counted;
use super::file::proc_path;

/// Most bytes in a value or in a list of names, `XATTR_SIZE_MAX` and `XATTR_LIST_MAX` of the kernel.
const MAX: u32 = 65536;

/// The answer to a question with a limit on its size, as getxattr(2) and listxattr(2) put it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Xattr {
    /// The limit was 0: how long the answer is.
    Size(usize),
    /// The answer.
    Data(Vec<u8>),
}

/// The value of attribute `name`, of at most `limit` bytes; `limit` 0 asks for its length.
///
/// # Errors
/// `ENODATA` if there is none, `ERANGE` if it is longer; else those of getxattr(2).
pub fn get(fd: impl AsFd, name: &[u8], limit: u32) -> io::Result<Xattr> {
    let path = proc_path(fd.as_fd());
    if limit == 0 {
        return counted(rustix::fs::getxattr_query(&*path, name)).map(Xattr::Size);
    }
    let mut value = room(limit)?;
    let length = counted(rustix::fs::getxattr(&*path, name, &mut *value))?;
    value.truncate(length);
    Ok(Xattr::Data(value))
}

/// The names of all attributes, each ended by NUL, of at most `limit` bytes; `limit` 0 asks for their length.
///
/// # Errors
/// `ERANGE` if they are longer; else those of listxattr(2).
pub fn list(fd: impl AsFd, limit: u32) -> io::Result<Xattr> {
    let path = proc_path(fd.as_fd());
    if limit == 0 {
        return counted(rustix::fs::listxattr_query(&*path)).map(Xattr::Size);
    }
    let mut names = room(limit)?;
    let length = counted(rustix::fs::listxattr(&*path, &mut *names))?;
    names.truncate(length);
    Ok(Xattr::Data(names))
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

/// A buffer of `limit` bytes, no more than the kernel can fill.
fn room(limit: u32) -> io::Result<Vec<u8>> {
    let length = usize::try_from(limit.min(MAX)).map_err(io::Error::other)?;
    Ok(vec![0; length])
}

#[cfg(test)]
mod tests;

//! Requests of the kernel.

use rustix::io::Errno;
use zerocopy::{FromBytes, Immutable, KnownLayout};

use super::layout::InHeader;
use crate::fs::{Answer, Caller, NewEntry};

/// A request.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    /// The operation, a number of `enum fuse_opcode`.
    pub(super) opcode: u32,
    /// The id that the answer repeats.
    pub(super) unique: u64,
    /// The inode that it is about.
    pub(super) node: u64,
    /// The caller.
    pub(super) caller: Caller,
    /// The rest.
    pub(super) arguments: Arguments<'a>,
    /// Makes the way of an answer that is given after others, where there is one.
    pub(super) later: Option<&'a dyn Fn() -> Answer>,
}

impl<'a> Request<'a> {
    /// The request that begins so.
    pub(super) fn new(
        header: InHeader,
        arguments: Arguments<'a>,
        later: Option<&'a dyn Fn() -> Answer>,
    ) -> Self {
        Self {
            opcode: header.opcode,
            unique: header.unique,
            node: header.node,
            caller: Caller {
                uid: header.uid,
                gid: header.gid,
                pid: header.pid,
            },
            arguments,
            later,
        }
    }

    /// The entry that it is to make in the directory that it is about, by the name that is its next text.
    ///
    /// # Errors
    /// As for [`Arguments::text`].
    pub(super) fn new_entry(&mut self, mode: u32, umask: u32) -> Result<NewEntry<'a>, Errno> {
        Ok(NewEntry {
            caller: self.caller,
            parent: self.node,
            name: self.arguments.text()?,
            mode,
            umask,
        })
    }
}

/// The arguments of a request, to be taken one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments<'a> {
    /// Holds the first record, where that lies apart.
    first: Option<&'a [u8]>,
    rest: &'a [u8],
}

/// The kernel does not send what its protocol says.
const MALFORMED: Errno = Errno::IO;

impl<'a> Arguments<'a> {
    /// Reads records that lie one behind the other.
    pub(super) fn new(octets: &'a [u8]) -> Self {
        Self {
            first: None,
            rest: octets,
        }
    }

    /// Reads the records of a request by a ring: `first` holds the first one, if there is any, and `rest` all others.
    pub(super) fn apart(first: &'a [u8], rest: &'a [u8]) -> Self {
        Self {
            first: Some(first),
            rest,
        }
    }

    /// The next record.
    ///
    /// # Errors
    /// `EIO`: there is less.
    pub(super) fn record<T: FromBytes + KnownLayout + Immutable>(&mut self) -> Result<T, Errno> {
        let apart = self.first.take();
        let octets = apart.unwrap_or(self.rest);
        let (value, rest) = T::read_from_prefix(octets).map_err(|_short| MALFORMED)?;
        if apart.is_none() {
            self.rest = rest;
        }
        Ok(value)
    }

    /// The next text, which ends with a NUL.
    ///
    /// # Errors
    /// `EIO`: there is none.
    pub(super) fn text(&mut self) -> Result<&'a [u8], Errno> {
        let end = self.rest.iter().position(|&octet| octet == 0);
        let (text, rest) = self.rest.split_at(end.ok_or(MALFORMED)?);
        self.rest = rest.get(1..).unwrap_or_default();
        Ok(text)
    }

    /// Takes the next `size` bytes.
    ///
    /// # Errors
    /// `EIO`: there are fewer.
    pub(super) fn data(&mut self, size: u32) -> Result<&'a [u8], Errno> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        self.rest.get(..size).ok_or(MALFORMED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuse::layout::{MkdirIn, SetxattrIn};

    #[test]
    fn arguments_come_one_after_the_other() {
        let octets = [
            &7_u32.to_ne_bytes()[..],
            &2_i32.to_ne_bytes(),
            b"name\0value",
        ]
        .concat();
        let mut arguments = Arguments::new(&octets);
        let SetxattrIn { size, flags } = arguments.record().unwrap();
        assert_eq!((size, flags), (7, 2));
        assert_eq!(arguments.text(), Ok(&b"name"[..]));
        assert_eq!(arguments.data(5), Ok(&b"value"[..]));
        assert_eq!(arguments.data(6), Err(MALFORMED));
        assert_eq!(arguments.text(), Err(MALFORMED), "no NUL");
        let mut short = Arguments::new(&octets[..7]);
        assert!(short.record::<MkdirIn>().is_err());
        assert_eq!(Arguments::new(b"\0").text(), Ok(&b""[..]));
    }

    #[test]
    fn by_a_ring_the_first_record_lies_apart_from_the_rest() {
        let first = [3_u32.to_ne_bytes(), 4_u32.to_ne_bytes(), [9; 4]].concat();
        let mut arguments = Arguments::apart(&first, b"old\0new\0");
        let MkdirIn { mode, umask } = arguments.record().unwrap();
        assert_eq!((mode, umask), (3, 4));
        assert_eq!(arguments.text(), Ok(&b"old"[..]));
        assert_eq!(arguments.text(), Ok(&b"new"[..]));
        assert_eq!(arguments.text(), Err(MALFORMED));
        // Some have no record.
        assert_eq!(Arguments::apart(&first, b"name\0").text(), Ok(&b"name"[..]));
    }
}

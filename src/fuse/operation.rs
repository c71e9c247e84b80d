//! The requests of the protocol that are answered, by name and number.

use strum::{FromRepr, IntoStaticStr, VariantArray};

/// A kind of request, by its number in the protocol (`enum fuse_opcode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRepr, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[repr(u32)]
#[expect(missing_docs, reason = "fuse(4) and the kernel describe them")]
pub enum Operation {
    Lookup = 1,
    Forget = 2,
    Getattr = 3,
    Setattr = 4,
    Readlink = 5,
    Symlink = 6,
    Mknod = 8,
    Mkdir = 9,
    Unlink = 10,
    Rmdir = 11,
    Rename = 12,
    Link = 13,
    Open = 14,
    Read = 15,
    Write = 16,
    Statfs = 17,
    Release = 18,
    Fsync = 20,
    Setxattr = 21,
    Getxattr = 22,
    Listxattr = 23,
    Removexattr = 24,
    Flush = 25,
    Opendir = 27,
    Readdir = 28,
    Releasedir = 29,
    Fsyncdir = 30,
    Getlk = 31,
    Setlk = 32,
    Access = 34,
    Create = 35,
    Interrupt = 36,
    Bmap = 37,
    Ioctl = 39,
    Poll = 40,
    Fallocate = 43,
    Readdirplus = 44,
    Lseek = 46,
    CopyFileRange = 47,
    Tmpfile = 51,
    Statx = 52,
}

impl Operation {
    /// The stable name, as in JSON: that of the protocol in lower case, without `FUSE_`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns true if the kernel may make such a request on its way to what a system call asks for in the end: names are looked up, links
    /// read, and rights to directories checked.
    pub fn is_on_the_way(self) -> bool {
        matches!(
            self,
            Self::Lookup
                | Self::Readlink
                | Self::Getattr
                | Self::Statx
                | Self::Access
                | Self::Getxattr
        )
    }

    /// The one with this number, if it is known. Those with more arguments, or of several inodes, count as the plain ones.
    pub fn of(number: u32) -> Option<Self> {
        Self::from_repr(match number {
            33 => Self::Setlk as u32,
            42 => Self::Forget as u32,
            45 => Self::Rename as u32,
            number => number,
        })
    }
}

//! The requests of the protocol that are answered, by name and number.

/// Declares [`Operation`] with the stable name and the number of each.
macro_rules! operations {
    ($($variant:ident = $($number:literal)|+, $name:literal;)+) => {
        /// A kind of request.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Operation {
            $(
                #[doc = concat!("`", $name, "`.")]
                $variant,
            )+
        }

        impl Operation {
            /// All of them, in the order of their numbers in the protocol.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The stable name, as in JSON: that of the protocol in lower case, without `FUSE_`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }

            /// The one with this number in the protocol (`enum fuse_opcode`), if it is known.
            #[must_use]
            pub fn of(number: u32) -> Option<Self> {
                match number {
                    $($($number)|+ => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

operations! {
    Lookup = 1, "lookup";
    Forget = 2 | 42, "forget";
    Getattr = 3, "getattr";
    Setattr = 4, "setattr";
    Readlink = 5, "readlink";
    Symlink = 6, "symlink";
    Mknod = 8, "mknod";
    Mkdir = 9, "mkdir";
    Unlink = 10, "unlink";
    Rmdir = 11, "rmdir";
    Rename = 12 | 45, "rename";
    Link = 13, "link";
    Open = 14, "open";
    Read = 15, "read";
    Write = 16, "write";
    Statfs = 17, "statfs";
    Release = 18, "release";
    Fsync = 20, "fsync";
    Setxattr = 21, "setxattr";
    Getxattr = 22, "getxattr";
    Listxattr = 23, "listxattr";
    Removexattr = 24, "removexattr";
    Flush = 25, "flush";
    Opendir = 27, "opendir";
    Readdir = 28, "readdir";
    Releasedir = 29, "releasedir";
    Fsyncdir = 30, "fsyncdir";
    Getlk = 31, "getlk";
    Setlk = 32 | 33, "setlk";
    Access = 34, "access";
    Create = 35, "create";
    Interrupt = 36, "interrupt";
    Bmap = 37, "bmap";
    Ioctl = 39, "ioctl";
    Poll = 40, "poll";
    Fallocate = 43, "fallocate";
    Readdirplus = 44, "readdirplus";
    Lseek = 46, "lseek";
    CopyFileRange = 47, "copy_file_range";
    Tmpfile = 51, "tmpfile";
    Statx = 52, "statx";
}

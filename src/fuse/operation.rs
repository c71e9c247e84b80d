//! The requests of the protocol that are answered, by name.

/// Declares [`Operation`] with the stable name of each.
macro_rules! operations {
    ($($variant:ident = $name:literal),+ $(,)?) => {
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
        }
    };
}

operations! {
    Lookup = "lookup",
    Forget = "forget",
    Getattr = "getattr",
    Setattr = "setattr",
    Readlink = "readlink",
    Symlink = "symlink",
    Mknod = "mknod",
    Mkdir = "mkdir",
    Unlink = "unlink",
    Rmdir = "rmdir",
    Rename = "rename",
    Link = "link",
    Open = "open",
    Read = "read",
    Write = "write",
    Statfs = "statfs",
    Release = "release",
    Fsync = "fsync",
    Setxattr = "setxattr",
    Getxattr = "getxattr",
    Listxattr = "listxattr",
    Removexattr = "removexattr",
    Flush = "flush",
    Opendir = "opendir",
    Readdir = "readdir",
    Releasedir = "releasedir",
    Fsyncdir = "fsyncdir",
    Getlk = "getlk",
    Setlk = "setlk",
    Access = "access",
    Create = "create",
    Bmap = "bmap",
    Ioctl = "ioctl",
    Poll = "poll",
    Fallocate = "fallocate",
    Readdirplus = "readdirplus",
    Lseek = "lseek",
    CopyFileRange = "copy_file_range",
}

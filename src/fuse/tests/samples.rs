//! What unit tests serve.

use std::env;
use std::time::{Duration, UNIX_EPOCH};

use fuser::{Errno, FileAttr, FileHandle, FileType, Filesystem, INodeNo, ReplyAttr, Request};

/// An empty directory.
pub(crate) struct Empty;

impl Filesystem for Empty {
    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        if env::var_os("SILENT").is_some() {
            return reply.error(Errno::EIO);
        }
        let attr = FileAttr {
            ino,
            size: 0,
            blocks: 0,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: FileType::Directory,
            perm: 0o755,
            nlink: 2,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        };
        reply.attr(&Duration::ZERO, &attr);
    }
}

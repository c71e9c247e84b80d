//! Telling the kernel what it is to forget.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use zerocopy::IntoBytes;

use super::layout::{
    EXPIRE_ONLY, InvalEntry, InvalInode, NOTIFY_INVAL_ENTRY, NOTIFY_INVAL_INODE, OutHeader,
};
use crate::coherence::Kernel;

/// The way to the kernel that serves a mount.
///
/// The calls wait for operations that the kernel has under way in the same directory; so they are not made while a request is
/// served.
#[derive(Debug)]
pub struct Forgetting(pub(super) Arc<OwnedFd>);

/// Has the kernel ask for the attributes of an inode when it needs them next. Waits for nobody, so that it may be called while
/// a request is served. False where it has no such inode.
pub(super) fn forget_attributes(connection: &OwnedFd, node: u64) -> bool {
    // From before the start: no content.
    forget_inode(connection, node, -1)
}

fn forget_inode(connection: &OwnedFd, node: u64, offset: i64) -> bool {
    let length = 0;
    let about = InvalInode {
        node,
        offset,
        length,
    };
    notify(connection, NOTIFY_INVAL_INODE, about.as_bytes())
}

/// Sends a notification, whose number is in the place of the error of an answer that answers nothing. False where the kernel has nothing
/// to forget, which is no error.
fn notify(connection: &OwnedFd, what: i32, about: &[u8]) -> bool {
    let header = OutHeader::new(0, what, about.len());
    let sent = rustix::io::write(connection, &[header.as_bytes(), about].concat());
    if let Err(errno) = sent
        && errno != Errno::NOENT
    {
        log::debug!("the kernel does not take notification {what}: {errno}");
    }
    sent != Err(Errno::NOENT)
}

impl Forgetting {
    fn forget_name(&self, directory: u64, name: &[u8], flags: u32) {
        let about = InvalEntry {
            directory,
            name_length: u32::try_from(name.len()).unwrap_or(u32::MAX),
            flags,
        };
        let about = [about.as_bytes(), name, &[0]].concat();
        notify(&self.0, NOTIFY_INVAL_ENTRY, &about);
    }
}

impl Kernel for Forgetting {
    fn invalidate_name(&self, directory: u64, name: &[u8]) {
        self.forget_name(directory, name, 0);
    }

    fn invalidate_inode(&self, number: u64) -> bool {
        forget_inode(&self.0, number, 0)
    }

    fn expire_attributes(&self, number: u64) -> bool {
        forget_attributes(&self.0, number)
    }

    fn expire_name(&self, directory: u64, name: &[u8]) {
        self.forget_name(directory, name, EXPIRE_ONLY);
    }
}

//! Telling the kernel what it is to forget.

use std::io;
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

impl Forgetting {
    fn forget_name(&self, directory: u64, name: &[u8], flags: u32) -> io::Result<()> {
        let about = InvalEntry {
            directory,
            name_length: u32::try_from(name.len()).map_err(io::Error::other)?,
            flags,
        };
        notify(
            &self.0,
            NOTIFY_INVAL_ENTRY,
            &[about.as_bytes(), name, &[0]].concat(),
        )
    }
}

/// Has the kernel ask for the attributes of an inode when it needs them next. Waits for nobody, so that it may be called while
/// a request is served. False where it has no such inode.
pub(super) fn forget_attributes(connection: &OwnedFd, node: u64) -> bool {
    // From before the start: no content.
    note("attributes", forget_inode(connection, node, -1))
}

fn forget_inode(connection: &OwnedFd, node: u64, offset: i64) -> io::Result<()> {
    let length = 0;
    let about = InvalInode {
        node,
        offset,
        length,
    };
    notify(connection, NOTIFY_INVAL_INODE, about.as_bytes())
}

/// Sends a notification, whose number is in the place of the error of an answer that answers nothing.
fn notify(connection: &OwnedFd, what: i32, about: &[u8]) -> io::Result<()> {
    let header = OutHeader::new(0, what, about.len());
    rustix::io::write(connection, &[header.as_bytes(), about].concat())?;
    Ok(())
}

/// Logs a failed notification. Nothing to invalidate is no error: then the result is `false`.
fn note(what: &str, done: io::Result<()>) -> bool {
    match done {
        Err(error) if error.raw_os_error() == Some(Errno::NOENT.raw_os_error()) => false,
        Err(error) => {
            log::debug!("the kernel does not forget {what}: {error}");
            true
        }
        Ok(()) => true,
    }
}

impl Kernel for Forgetting {
    fn invalidate_name(&self, directory: u64, name: &[u8]) {
        note("a name", self.forget_name(directory, name, 0));
    }

    fn invalidate_inode(&self, number: u64) -> bool {
        note("an inode", forget_inode(&self.0, number, 0))
    }

    fn expire_attributes(&self, number: u64) -> bool {
        forget_attributes(&self.0, number)
    }

    fn expire_name(&self, directory: u64, name: &[u8]) {
        note(
            "a name in doubt",
            self.forget_name(directory, name, EXPIRE_ONLY),
        );
    }
}

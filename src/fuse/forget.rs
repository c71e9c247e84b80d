//! Telling the kernel what it is to forget.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use fuser::{INodeNo, Notifier};

use crate::coherence::Kernel;

/// The notification by which the kernel forgets an inode's attributes and content (`FUSE_NOTIFY_INVAL_INODE`).
const INVAL_INODE: u32 = 2;

/// The notification by which the kernel forgets a name (`FUSE_NOTIFY_INVAL_ENTRY`), and the flag by which it only takes it for
/// old (`FUSE_EXPIRE_ONLY`, Linux 6.2), which fuser does not know.
const INVAL_ENTRY: u32 = 3;
const EXPIRE_ONLY: u32 = 1;

/// The way to the kernel that serves a mount.
///
/// The calls wait for operations that the kernel has under way in the same directory; so they are not made while a request is
/// served.
#[derive(Debug)]
pub struct Forgetting {
    notifier: Notifier,
    connection: OwnedFd,
}

impl Forgetting {
    pub(super) fn new(notifier: Notifier, connection: OwnedFd) -> Self {
        Self {
            notifier,
            connection,
        }
    }
}

/// Has the kernel ask for the attributes of an inode when it needs them next. Waits for nobody, so that it may be called while
/// a request is served.
pub(super) fn forget_attributes(connection: &OwnedFd, number: u64) {
    note("attributes", forget_at(connection, number));
}

fn forget_at(connection: &OwnedFd, number: u64) -> io::Result<()> {
    let message = [
        &40_u32.to_ne_bytes()[..],
        &INVAL_INODE.to_ne_bytes(),
        &0_u64.to_ne_bytes(),
        &number.to_ne_bytes(),
        // From before the start: no content.
        &(-1_i64).to_ne_bytes(),
        &0_i64.to_ne_bytes(),
    ]
    .concat();
    rustix::io::write(connection, &message)?;
    Ok(())
}

/// That there is nothing to forget is no error.
fn note(what: &str, done: io::Result<()>) {
    match done {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
        Err(error) => log::debug!("the kernel does not forget {what}: {error}"),
    }
}

impl Kernel for Forgetting {
    fn invalidate_name(&self, directory: u64, name: &[u8]) {
        let name = OsStr::from_bytes(name);
        note(
            "a name",
            self.notifier.inval_entry(INodeNo(directory), name),
        );
    }

    fn invalidate_inode(&self, number: u64) {
        note("an inode", self.notifier.inval_inode(INodeNo(number), 0, 0));
    }

    fn expire_attributes(&self, number: u64) {
        forget_attributes(&self.connection, number);
    }

    fn expire_name(&self, directory: u64, name: &[u8]) {
        let done = expiry(directory, name)
            .and_then(|message| Ok(rustix::io::write(&self.connection, &message)?));
        note("a name in doubt", done.map(drop));
    }
}

/// A header with the notification in the place of the error, what it is about, and the name with a NUL.
fn expiry(directory: u64, name: &[u8]) -> io::Result<Vec<u8>> {
    let size = u32::try_from(name.len()).map_err(io::Error::other)?;
    let whole = u32::try_from(16 + 16 + name.len() + 1).map_err(io::Error::other)?;
    Ok([
        &whole.to_ne_bytes()[..],
        &INVAL_ENTRY.to_ne_bytes(),
        &0_u64.to_ne_bytes(),
        &directory.to_ne_bytes(),
        &size.to_ne_bytes(),
        &EXPIRE_ONLY.to_ne_bytes(),
        name,
        &[0],
    ]
    .concat())
}

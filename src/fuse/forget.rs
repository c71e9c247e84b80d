//! Telling the kernel what it is to forget.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use fuser::{INodeNo, Notifier};

use crate::fs::watch::Kernel;

/// The notification by which the kernel takes all names for old (`FUSE_NOTIFY_INC_EPOCH`, Linux 6.16), which fuser does not
/// know: a header of 16 bytes with this in the place of the error.
const INC_EPOCH: u32 = 8;

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

/// That there is nothing to forget is no error.
fn note(what: &str, done: io::Result<()>) {
    match done {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
        Err(error) => log::debug!("the kernel does not forget {what}: {error}"),
    }
}

impl Kernel for Forgetting {
    fn forget_name(&self, directory: u64, name: &[u8]) {
        let name = OsStr::from_bytes(name);
        note(
            "a name",
            self.notifier.inval_entry(INodeNo(directory), name),
        );
    }

    fn forget_inode(&self, number: u64) {
        note("an inode", self.notifier.inval_inode(INodeNo(number), 0, 0));
    }

    fn forget_all_names(&self) -> bool {
        let mut header = [0; 16];
        let (length, rest) = header.split_at_mut(4);
        length.copy_from_slice(&16_u32.to_ne_bytes());
        if let Some(code) = rest.get_mut(..4) {
            code.copy_from_slice(&INC_EPOCH.to_ne_bytes());
        }
        rustix::io::write(&self.connection, &header).is_ok()
    }
}

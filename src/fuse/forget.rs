//! Telling the kernel what it is to forget.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use fuser::{INodeNo, Notifier};

use crate::fs::watch::Kernel;

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
    // From before the start: no content.
    note("attributes", forget_from(connection, number, -1));
}

/// Has the kernel forget the content of an inode, and ask for its attributes. Waits for what is just being read of it and for
/// what of it is to be written, and thereby for who serves that: not to be called while a request is served.
fn forget_content(connection: &OwnedFd, number: u64) {
    note("content", forget_from(connection, number, 0));
}

fn forget_from(connection: &OwnedFd, number: u64, offset: i64) -> io::Result<()> {
    let message = [
        &40_u32.to_ne_bytes()[..],
        &INVAL_INODE.to_ne_bytes(),
        &0_u64.to_ne_bytes(),
        &number.to_ne_bytes(),
        &offset.to_ne_bytes(),
        // To the end.
        &0_i64.to_ne_bytes(),
    ]
    .concat();
    rustix::io::write(connection, &message)?;
    Ok(())
}

/// An answer that is to be given when the kernel has forgotten something.
type Answer = Box<dyn FnOnce() + Send>;

/// Has the kernel forget the content of an inode, then calls `answer`: both on a thread of its own, since there may be no other
/// who serves what the kernel waits for meanwhile. Where there can be no thread, `answer` alone.
pub(super) fn forget_content_then(connection: &Arc<OwnedFd>, number: u64, answer: Answer) {
    // So that it is not lost with a thread that does not start.
    let slot = Arc::new(Mutex::new(Some(answer)));
    let take = |slot: &Mutex<Option<Answer>>| {
        let answer = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        answer.into_iter().for_each(|answer| answer());
    };
    let (connection, theirs) = (Arc::clone(connection), Arc::clone(&slot));
    let forget = move || {
        forget_content(&connection, number);
        take(&theirs);
    };
    let started = thread::Builder::new()
        .name("content".to_owned())
        .spawn(forget);
    if let Err(error) = started {
        log::debug!("the kernel keeps old content for a moment: {error}");
        take(&slot);
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

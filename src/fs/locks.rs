//! Locks carried to the backing files (`--locks backing`), so that they hold beside programs that work below.
//!
//! Each owner that the kernel names has a descriptor of its own on the backing file, with the locks of fcntl(2) as
//! OFD locks on it. Each file that a program has open has one for flock(2). So the backing filesystem decides who
//! gets what, above and below alike, and all locks go with the daemon. No thread that serves ever waits for a lock:
//! see [`waiters`].

mod table;
mod waiters;

use parking_lot::Mutex;
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::descriptors::Pool;
use super::inode::InodeId;
use super::{Caller, FsError, Utf8Fs};
use crate::backing::{Holder, LockKind, LockRange};
use crate::os::{Privilege, act_as};
use table::{FileLocks, FlockDescriptor};
use waiters::{Waiters, Waiting};

/// The place where locks are held.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum LocksAt {
    /// In the mount alone, by the kernel (default)
    #[default]
    Local,
    /// In the backing directory, so that programs there see them too
    Backing,
}

/// The system call that a lock is asked for by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockCall {
    /// fcntl(2).
    Fcntl,
    /// flock(2): the whole file.
    Flock,
}

/// A request for a lock.
#[derive(Debug, Clone, Copy)]
pub struct LockRequest {
    /// The system call.
    pub call: LockCall,
    /// The owner, as the kernel names it: a program's files, or one open file.
    pub owner: u64,
    /// The process, for those who ask who holds it; 0 if it is not of our pid namespace.
    pub pid: u32,
    /// The caller, with whose credentials every attempt is made.
    pub caller: Caller,
    /// The bytes.
    pub range: LockRange,
    /// The kind of lock; `None` unlocks.
    pub kind: Option<LockKind>,
}

/// The receiver of the answer to a lock that is waited for.
pub type Answer = Box<dyn FnOnce(Result<(), FsError>) + Send>;

/// A file's locks, shared with those who wait for one.
type Shared = Arc<Mutex<FileLocks>>;

/// All locks.
#[derive(Debug, Default)]
pub(super) struct Locks {
    /// Locks by number and generation. Never held while the lock of one of them is waited for.
    files: Mutex<HashMap<InodeId, Shared>>,
    waiters: Arc<Waiters>,
}

impl Locks {
    fn of(&self, file: InodeId) -> Shared {
        Arc::clone(self.files.lock().entry(file).or_default())
    }

    /// Runs `act` on the locks of a file, if it has any, and forgets the file if it has none after that.
    pub(super) fn let_go(&self, file: InodeId, act: impl FnOnce(&mut FileLocks)) {
        let Some(shared) = self.files.lock().get(&file).map(Arc::clone) else {
            return;
        };
        // Not under the table's lock: it closes descriptors, which can wait for the filesystem of this file.
        act(&mut shared.lock());
        let mut files = self.files.lock();
        drop(shared);
        // Only the table has it, and nobody can get hold of it meanwhile.
        let is_idle = |shared: &Shared| Arc::strong_count(shared) == 1 && shared.lock().is_empty();
        if files.get(&file).is_some_and(is_idle) {
            files.remove(&file);
        }
        drop(files);
        self.waiters.wake();
    }
}

/// Attempts to get one lock, by the same descriptor each time. They may be made on a thread that serves others too.
struct LockAttempts {
    /// Takes on the caller's credentials; `None` where the backing filesystem does not check rights itself.
    privilege: Option<Privilege>,
    locks: Shared,
    pool: Arc<Pool>,
    /// The backing file as the program has it open by `handle`.
    base: Arc<OwnedFd>,
    handle: u64,
    request: LockRequest,
    /// The descriptor of a flock(2) that was not granted yet.
    refused: Option<FlockDescriptor>,
}

impl LockAttempts {
    /// Attempts to get the lock; false if another's stands in the way.
    fn attempt(&mut self) -> io::Result<bool> {
        self.act_as_caller()?;
        let mut locks = self.locks.lock();
        let refused = &mut self.refused;
        locks.set(&self.pool, &self.base, self.handle, self.request, refused)
    }

    fn act_as_caller(&self) -> io::Result<()> {
        let Caller { uid, gid, .. } = self.request.caller;
        let act = |privilege| act_as(privilege, uid, gid);
        self.privilege.map_or(Ok(()), act)
    }
}

impl Drop for LockAttempts {
    /// The backing filesystem is told of the close of a descriptor, by the credentials of the thread that closes it.
    fn drop(&mut self) {
        if self.refused.is_some()
            && let Err(error) = self.act_as_caller()
        {
            log::debug!("a lock is given up as another than its caller: {error}");
        }
    }
}

fn no_locks(error: io::Error) -> FsError {
    match error.raw_os_error() {
        // There are no more descriptors to hold locks by.
        Some(libc::EMFILE | libc::ENFILE) => io::Error::from_raw_os_error(libc::ENOLCK).into(),
        _ => error.into(),
    }
}

impl Utf8Fs {
    /// Are locks carried to the backing files? Then every close must be told of, by [`Utf8Fs::close_locks`].
    pub fn carries_locks(&self) -> bool {
        self.settings.locks == LocksAt::Backing
    }

    /// Sets a lock through the open file `handle`; false if another's stands in the way.
    ///
    /// # Errors
    /// The handle is gone; `ENOLCK`: there are no more descriptors; else the system's error.
    pub fn set_lock(&self, handle: u64, request: LockRequest) -> Result<bool, FsError> {
        let mut attempts = self.lock_attempts(handle, request)?;
        let is_granted = self.inodes.with_descriptors(|| attempts.attempt());
        if request.kind != Some(LockKind::Write) {
            // Something became free.
            self.locks.waiters.wake();
        }
        is_granted.map_err(no_locks)
    }

    /// Calls `answer` once a lock is granted that another's stands in the way of. With `EINTR` if the request
    /// `unique` is [interrupted](Self::interrupt) before.
    ///
    /// # Errors
    /// The handle is gone; `ENOLCK`: too many wait.
    pub fn wait_for_lock(
        &self,
        handle: u64,
        request: LockRequest,
        unique: u64,
        answer: Answer,
    ) -> Result<(), FsError> {
        let mut attempts = self.lock_attempts(handle, request)?;
        self.locks.waiters.add(Waiting {
            unique,
            attempt: Box::new(move || attempts.attempt()),
            answer,
        })
    }

    /// A signal has come for who asks by this request.
    pub fn interrupt(&self, unique: u64) {
        if self.carries_locks() {
            self.locks.waiters.interrupt(unique);
        }
    }

    fn lock_attempts(&self, handle: u64, request: LockRequest) -> Result<LockAttempts, FsError> {
        let open = self.files.get(handle)?;
        Ok(LockAttempts {
            privilege: self.acts_as_callers().then_some(self.settings.privilege),
            locks: self.locks.of(open.inode.id()),
            pool: Arc::clone(&self.inodes.descriptors.pool),
            base: Arc::clone(&open.fd),
            handle,
            request,
            refused: None,
        })
    }

    /// A lock that stands in the way of this one; `None` where there is none, and for an unlocking.
    ///
    /// # Errors
    /// The handle is gone, or the system's error.
    pub fn test_lock(&self, handle: u64, request: LockRequest) -> Result<Option<Holder>, FsError> {
        let Some(kind) = request.kind else {
            return Ok(None);
        };
        let open = self.files.get(handle)?;
        let shared = self.locks.of(open.inode.id());
        self.inodes
            .with_descriptors(|| shared.lock().test(&open.fd, kind, request))
            .map_err(no_locks)
    }

    /// Takes note that a descriptor of the file was closed. All that `owner` has locked by fcntl(2) in the file
    /// becomes free, also by other descriptors, as POSIX has it.
    pub fn close_locks(&self, handle: u64, owner: u64) {
        if self.carries_locks()
            && let Ok(open) = self.files.get(handle)
        {
            let closed = |locks: &mut FileLocks| locks.close(owner);
            self.locks.let_go(open.inode.id(), closed);
        }
    }
}

#[cfg(test)]
mod tests;

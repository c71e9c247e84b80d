//! The locks of one file, of fcntl(2) by owner and of flock(2) by open file. Whether one shuts out the other is for the backing filesystem to
//! say, as for programs that work below.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;

use super::super::descriptors::{Pool, Taken, Use};
use super::{LockCall, LockRequest};
use crate::backing::lock::{access, flock, set, test};
use crate::backing::{Holder, LockKind, LockRange, file};

/// Locks that an owner holds by fcntl(2).
#[derive(Debug, Clone, Copy)]
struct Held {
    range: LockRange,
    kind: LockKind,
    pid: u32,
}

/// A descriptor whose OFD locks are an owner's.
#[derive(Debug)]
struct Descriptor {
    fd: OwnedFd,
    /// The access mode of open(2) that it has.
    access: i32,
    _taken: Taken,
}

#[derive(Debug, Default)]
struct Owner {
    descriptor: Option<Descriptor>,
    held: Vec<Held>,
    /// The open files by which it has locked.
    handles: Vec<u64>,
}

/// The locks of one file.
#[derive(Debug, Default)]
pub(in crate::fs) struct FileLocks {
    owners: BTreeMap<u64, Owner>,
    /// Descriptors with the flock(2) of an open file, by its handle.
    flocked: BTreeMap<u64, FlockDescriptor>,
}

/// A descriptor for a flock(2).
#[derive(Debug)]
pub(super) struct FlockDescriptor {
    fd: OwnedFd,
    _taken: Taken,
}

impl FlockDescriptor {
    /// Opens the file of `base` once more, for the user `uid`.
    fn open(pool: &Arc<Pool>, base: &OwnedFd, uid: u32) -> io::Result<Self> {
        let _taken = pool.take(uid, Use::File)?;
        let fd = reopen(base, access(base)?)?;
        Ok(Self { fd, _taken })
    }
}

/// The file of `fd` once more, opened with this access mode of open(2).
fn reopen(fd: &OwnedFd, access: i32) -> io::Result<OwnedFd> {
    file::reopen(fd, access | libc::O_NONBLOCK)
}

impl Owner {
    /// Sets a lock, as for [`FileLocks::set`].
    fn set(&mut self, pool: &Arc<Pool>, base: &OwnedFd, request: LockRequest) -> io::Result<bool> {
        if let Some(kind) = request.kind {
            self.open_for(kind, pool, base, request.caller.uid)?;
        }
        // Without a descriptor nothing is held that could be unlocked.
        let Some(Descriptor { fd, .. }) = &self.descriptor else {
            return Ok(true);
        };
        let is_granted = set(fd, request.kind, request.range)?;
        if is_granted {
            self.note(request);
        }
        Ok(is_granted)
    }

    /// Sees to it that its descriptor can hold a lock of this kind.
    fn open_for(
        &mut self,
        kind: LockKind,
        pool: &Arc<Pool>,
        base: &OwnedFd,
        uid: u32,
    ) -> io::Result<()> {
        let needed = match kind {
            LockKind::Read => libc::O_RDONLY,
            LockKind::Write => libc::O_WRONLY,
        };
        let had = self.descriptor.as_ref().map(|had| had.access);
        if had == Some(needed) || had == Some(libc::O_RDWR) {
            return Ok(());
        }
        let _taken = pool.take(uid, Use::File)?;
        let opened = access(base)?;
        let wanted = match had {
            None if opened == libc::O_RDONLY => libc::O_RDONLY,
            _ => libc::O_RDWR,
        };
        let (fd, access) = match reopen(base, wanted) {
            // It may be written and not read.
            Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
                (reopen(base, opened)?, opened)
            }
            reopened => (reopened?, wanted),
        };
        // Locks for reading stand beside their like, so that what is held is held at every moment. None is for
        // writing but where the old descriptor could not be read.
        for kind in [LockKind::Read, LockKind::Write] {
            for held in self.held.iter().filter(|held| held.kind == kind) {
                if !set(&fd, Some(kind), held.range)? {
                    return Err(Errno::NOLCK.into());
                }
            }
            self.descriptor = None;
        }
        self.descriptor = Some(Descriptor { fd, access, _taken });
        Ok(())
    }

    /// Notes what is held now, in place of what was held there.
    fn note(&mut self, request: LockRequest) {
        let LockRequest {
            range, kind, pid, ..
        } = request;
        let mut held = Vec::with_capacity(self.held.len() + 2);
        for old in self.held.drain(..) {
            if !old.range.meets(range) {
                held.push(old);
                continue;
            }
            let mut rest = |start, end| {
                let range = LockRange { start, end };
                held.push(Held { range, ..old });
            };
            if old.range.start < range.start {
                rest(old.range.start, range.start - 1);
            }
            if old.range.end > range.end {
                rest(range.end + 1, old.range.end);
            }
        }
        held.extend(kind.map(|kind| Held { range, kind, pid }));
        self.held = held;
    }
}

impl FileLocks {
    /// Does nobody hold anything, or may soon?
    pub(super) fn is_empty(&self) -> bool {
        self.owners.is_empty() && self.flocked.is_empty()
    }

    /// Sets a lock; `base` is the backing file as the program has it open by `handle`, and a descriptor that the lock takes is one of
    /// the pool. False if another's stands in the way; a flock(2) that was to become another is gone then. `refused` keeps the
    /// descriptor of a flock(2) that is not granted, for the next attempt.
    pub(super) fn set(
        &mut self,
        pool: &Arc<Pool>,
        base: &OwnedFd,
        handle: u64,
        request: LockRequest,
        refused: &mut Option<FlockDescriptor>,
    ) -> io::Result<bool> {
        match (request.call, request.kind) {
            (LockCall::Flock, None) => {
                // Where the filesystem below is one of FUSE, nobody would wait for what closing the file frees.
                let flocked = self.flocked.remove(&handle);
                flocked.map_or(Ok(true), |flocked| flock(&flocked.fd, None))
            }
            (LockCall::Flock, kind) => {
                if let Some(flocked) = self.flocked.get(&handle) {
                    return flock(&flocked.fd, kind);
                }
                let descriptor = match refused.take() {
                    Some(descriptor) => descriptor,
                    None => FlockDescriptor::open(pool, base, request.caller.uid)?,
                };
                let is_granted = flock(&descriptor.fd, kind)?;
                if is_granted {
                    self.flocked.insert(handle, descriptor);
                } else {
                    *refused = Some(descriptor);
                }
                Ok(is_granted)
            }
            (LockCall::Fcntl, _) => {
                let owner = self.owners.entry(request.owner).or_default();
                if !owner.handles.contains(&handle) {
                    owner.handles.push(handle);
                }
                owner.set(pool, base, request)
            }
        }
    }

    /// Returns the lock that stands in the way of a lock of fcntl(2).
    pub(super) fn test(
        &mut self,
        base: &OwnedFd,
        kind: LockKind,
        request: LockRequest,
    ) -> io::Result<Option<Holder>> {
        let own = self.owners.get(&request.owner);
        let found = match own.and_then(|owner| owner.descriptor.as_ref()) {
            Some(descriptor) => test(&descriptor.fd, kind, request.range)?,
            None => test(reopen(base, libc::O_RDONLY)?, kind, request.range)?,
        };
        // The kernel knows it as that of an open file, and does not know the process that asked for it.
        let others = self
            .owners
            .iter()
            .filter(|(owner, _)| **owner != request.owner);
        let mut others = others.flat_map(|(_, other)| &other.held);
        Ok(found.map(|found| {
            let is_it = |held: &&Held| held.range.meets(found.range) && held.kind == found.kind;
            let asked = || others.find(is_it).map(|held| held.pid);
            Holder {
                pid: found.pid.or_else(asked),
                ..found
            }
        }))
    }

    /// `owner` closed a descriptor of the file.
    pub(super) fn close(&mut self, owner: u64) {
        self.owners.remove(&owner);
    }

    /// The open file is closed for good, and takes its locks with it.
    pub(in crate::fs) fn release(&mut self, handle: u64) {
        self.owners.retain(|_, owner| owner.handles != [handle]);
        for owner in self.owners.values_mut() {
            owner.handles.retain(|&other| other != handle);
        }
        self.flocked.remove(&handle);
    }
}

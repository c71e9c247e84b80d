//! The locks of one file, of fcntl(2) by owner and of flock(2) by open file. Whether one shuts out the other is for the backing filesystem to
//! say, as for programs that work below.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

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

/// A descriptor with the flock(2) of an open file.
#[derive(Debug)]
struct Flocked {
    fd: OwnedFd,
    _taken: Taken,
}

/// The locks of one file.
#[derive(Debug, Default)]
pub(super) struct FileLocks {
    owners: BTreeMap<u64, Owner>,
    /// Locks by handle.
    flocked: BTreeMap<u64, Flocked>,
}

/// The file of `fd` once more, opened with this access mode of open(2).
fn reopen(fd: &OwnedFd, access: i32) -> io::Result<OwnedFd> {
    file::reopen(fd, access | libc::O_NONBLOCK)
}

impl Owner {
    /// Its descriptor, able to hold a lock of this kind.
    fn descriptor(
        &mut self,
        base: &OwnedFd,
        kind: LockKind,
        (pool, uid): (&Arc<Pool>, u32),
    ) -> io::Result<&OwnedFd> {
        let needed = match kind {
            LockKind::Read => libc::O_RDONLY,
            LockKind::Write => libc::O_WRONLY,
        };
        let had = self.descriptor.as_ref().map(|had| had.access);
        if had != Some(needed) && had != Some(libc::O_RDWR) {
            let _taken = pool.take(uid, Use::File)?;
            let opened = access(base)?;
            let is_read_only = [had.unwrap_or(opened), needed, opened] == [libc::O_RDONLY; 3];
            let wanted = if is_read_only {
                libc::O_RDONLY
            } else {
                libc::O_RDWR
            };
            let (fd, access) = match reopen(base, wanted) {
                Ok(fd) => (fd, wanted),
                // It may be written and not read.
                Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
                    (reopen(base, opened)?, opened)
                }
                Err(error) => return Err(error),
            };
            // Locks for reading stand beside their like, so that what is held is held at every moment. None is for
            // writing but where the old descriptor could not be read.
            self.take_again(&fd, LockKind::Read)?;
            self.descriptor = None;
            self.take_again(&fd, LockKind::Write)?;
            self.descriptor = Some(Descriptor { fd, access, _taken });
        }
        let descriptor = self.descriptor.as_ref().map(|had| &had.fd);
        descriptor.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOLCK))
    }

    /// Takes on `fd` what is held of this kind.
    fn take_again(&self, fd: &OwnedFd, kind: LockKind) -> io::Result<()> {
        for held in self.held.iter().filter(|held| held.kind == kind) {
            if !set(fd, Some(kind), held.range)? {
                return Err(io::Error::from_raw_os_error(libc::ENOLCK));
            }
        }
        Ok(())
    }

    /// Notes what is held now: `kind` on `range`, in place of what was held there.
    fn note(&mut self, range: LockRange, kind: Option<LockKind>, pid: u32) {
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
    /// the pool. False if another's stands in the way; a flock(2) that was to become another is gone then.
    pub(super) fn set(
        &mut self,
        pool: &Arc<Pool>,
        base: &OwnedFd,
        handle: u64,
        request: LockRequest,
    ) -> io::Result<bool> {
        match (request.call, request.kind) {
            (LockCall::Flock, None) => {
                // Where the filesystem below is one of FUSE, nobody would wait for what closing the file frees.
                self.flocked
                    .remove(&handle)
                    .map_or(Ok(true), |flocked| flock(&flocked.fd, None))
            }
            (LockCall::Flock, Some(kind)) => self.flock((pool, request.uid), base, handle, kind),
            (LockCall::Fcntl, None) => self.unlock(request.owner, request.range),
            (LockCall::Fcntl, Some(kind)) => self.lock(pool, base, handle, request, kind),
        }
    }

    fn flock(
        &mut self,
        (pool, uid): (&Arc<Pool>, u32),
        base: &OwnedFd,
        handle: u64,
        kind: LockKind,
    ) -> io::Result<bool> {
        if let Some(flocked) = self.flocked.get(&handle) {
            return flock(&flocked.fd, Some(kind));
        }
        let _taken = pool.take(uid, Use::File)?;
        let fd = reopen(base, access(base)?)?;
        let is_granted = flock(&fd, Some(kind))?;
        if is_granted {
            self.flocked.insert(handle, Flocked { fd, _taken });
        }
        Ok(is_granted)
    }

    fn lock(
        &mut self,
        pool: &Arc<Pool>,
        base: &OwnedFd,
        handle: u64,
        request: LockRequest,
        kind: LockKind,
    ) -> io::Result<bool> {
        let owner = self.owners.entry(request.owner).or_default();
        if !owner.handles.contains(&handle) {
            owner.handles.push(handle);
        }
        let fd = owner.descriptor(base, kind, (pool, request.uid))?;
        let is_granted = set(fd, Some(kind), request.range)?;
        if is_granted {
            owner.note(request.range, Some(kind), request.pid);
        }
        Ok(is_granted)
    }

    fn unlock(&mut self, owner: u64, range: LockRange) -> io::Result<bool> {
        if let Some(owner) = self.owners.get_mut(&owner) {
            if let Some(descriptor) = &owner.descriptor {
                set(&descriptor.fd, None, range)?;
            }
            owner.note(range, None, 0);
        }
        Ok(true)
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
        Ok(found.map(|found| Holder {
            pid: found.pid.or_else(|| self.holder(request.owner, found)),
            ..found
        }))
    }

    /// The process that asked for a lock which the kernel knows as that of an open file.
    fn holder(&self, asker: u64, found: Holder) -> Option<u32> {
        let others = self.owners.iter().filter(|(owner, _)| **owner != asker);
        others
            .flat_map(|(_, other)| &other.held)
            .find(|held| held.range.meets(found.range) && held.kind == found.kind)
            .map(|held| held.pid)
    }

    /// `owner` closed a descriptor of the file.
    pub(super) fn close(&mut self, owner: u64) {
        self.owners.remove(&owner);
    }

    /// The open file is closed for good.
    pub(super) fn release(&mut self, handle: u64) {
        self.owners.retain(|_, owner| owner.handles != [handle]);
        for owner in self.owners.values_mut() {
            owner.handles.retain(|&other| other != handle);
        }
        self.flocked.remove(&handle);
    }
}

//! The locks of one file.
//!
//! A lock of a part of a file is one of fcntl(2), and so is whatever its owner asks after it. A lock of the whole file
//! for writing by a file that is open for reading only (or the other way round) is one of flock(2), which does not mind.
//! Any other of the whole file may be either: it is taken as both, but where the process has one of the whole file by the
//! same open file under another name already: then this is the other of the two.
//!
//! Where the filesystem makes one lock of the two (NFS, `GlusterFS`) it is taken by fcntl(2) alone, not to shut out itself.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use super::super::descriptors::{Allowance, Taken};
use super::LockRequest;
use super::flocked::{Flocked, Whole};
use crate::backing::lock::{access, set, test};
use crate::backing::{FsType, Holder, LockKind, LockRange, file};

/// What the locks of an owner are, as far as it can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Nature {
    /// Nothing but the whole file was locked so far, in a way that both calls can.
    #[default]
    Either,
    /// Those of fcntl(2).
    Ranges,
    /// Those of flock(2).
    Flock,
}

/// What an owner holds by fcntl(2).
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
    /// May it be read, and may it be written?
    access: (bool, bool),
    _taken: Taken,
}

#[derive(Debug, Default)]
struct Owner {
    nature: Nature,
    descriptor: Option<Descriptor>,
    held: Vec<Held>,
    /// The open files by which it has locked.
    handles: Vec<u64>,
}

/// The locks of one file.
#[derive(Debug)]
pub(super) struct FileLocks {
    allowance: Allowance,
    owners: BTreeMap<u64, Owner>,
    flocked: BTreeMap<u64, Flocked>,
    /// `None` before somebody locks the file.
    are_apart: Option<bool>,
}

/// The file of `fd` once more, opened so that it can be locked for `(reading, writing)`.
fn reopen(fd: &OwnedFd, access: (bool, bool)) -> io::Result<OwnedFd> {
    let flags = match access {
        (_, false) => libc::O_RDONLY,
        (false, true) => libc::O_WRONLY,
        (true, true) => libc::O_RDWR,
    };
    file::reopen(fd, flags | libc::O_NONBLOCK)
}

impl Owner {
    /// Its descriptor, able to hold a lock of this kind.
    fn descriptor(
        &mut self,
        base: &OwnedFd,
        kind: LockKind,
        (allowance, uid): (&Allowance, u32),
    ) -> io::Result<&OwnedFd> {
        let needed = match kind {
            LockKind::Read => (true, false),
            LockKind::Write => (false, true),
        };
        let had = self
            .descriptor
            .as_ref()
            .map_or((false, false), |had| had.access);
        let is_enough = (had.0 || !needed.0) && (had.1 || !needed.1);
        if !is_enough {
            let _taken = allowance.take(uid)?;
            let opened = access(base)?;
            let wanted = (true, had.1 || needed.1 || opened.1);
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
    /// None yet. Each descriptor that they take is one of the allowance.
    pub(super) fn new(allowance: Allowance) -> Self {
        Self {
            allowance,
            owners: BTreeMap::new(),
            flocked: BTreeMap::new(),
            are_apart: None,
        }
    }

    /// Does the backing filesystem tell flock(2) from fcntl(2)?
    fn are_apart(&mut self, base: &OwnedFd) -> io::Result<bool> {
        if self.are_apart.is_none() {
            self.are_apart = Some(FsType::of(base)?.tells_locks_apart());
        }
        Ok(self.are_apart == Some(true))
    }

    /// Does nobody hold anything, or may soon?
    pub(super) fn is_empty(&self) -> bool {
        self.owners.is_empty() && self.flocked.is_empty()
    }

    /// Sets a lock; `base` is the backing file as the program has it open by `handle`. False if another's stands in
    /// the way; then all is as before.
    pub(super) fn set(
        &mut self,
        base: &OwnedFd,
        handle: u64,
        request: LockRequest,
    ) -> io::Result<bool> {
        let owner = self.owners.entry(request.owner).or_default();
        if !owner.handles.contains(&handle) {
            owner.handles.push(handle);
        }
        if !request.range.is_whole() && owner.nature != Nature::Ranges {
            owner.nature = Nature::Ranges;
            self.drop_flock(handle, request.owner)?;
        }
        match request.kind {
            None => self.unlock(handle, request),
            Some(kind) => self.lock(base, handle, request, kind),
        }
    }

    fn lock(
        &mut self,
        base: &OwnedFd,
        handle: u64,
        request: LockRequest,
        kind: LockKind,
    ) -> io::Result<bool> {
        let are_apart = self.are_apart(base)?;
        let Some(owner) = self.owners.get_mut(&request.owner) else {
            return Ok(false);
        };
        let (readable, writable) = access(base)?;
        let is_possible = match kind {
            LockKind::Read => readable,
            LockKind::Write => writable,
        };
        if are_apart && !is_possible && owner.nature == Nature::Either {
            owner.nature = Nature::Flock;
        }
        let nature = owner.nature;
        let flocked = self.flocked.get(&handle);
        let is_the_other = nature == Nature::Either
            && owner.held.is_empty()
            && flocked.is_some_and(|flocked| {
                let is_other = |(other, whole): (&u64, &Whole)| {
                    *other != request.owner && whole.pid == request.pid && request.pid != 0
                };
                flocked.owners.iter().any(is_other)
            });
        let takes_both = are_apart && nature != Nature::Ranges;
        if takes_both && !self.add_flock(base, handle, request, kind)? {
            return Ok(false);
        }
        if nature == Nature::Flock || is_the_other {
            return Ok(true);
        }
        let owner = self.owners.entry(request.owner).or_default();
        let granted = owner
            .descriptor(base, kind, (&self.allowance, request.uid))
            .and_then(|fd| set(fd, Some(kind), request.range));
        if matches!(granted, Ok(true)) {
            owner.note(request.range, Some(kind), request.pid);
        } else if takes_both {
            // What the owner had before, it still has.
            let before = owner.held.iter().find(|held| held.range.is_whole());
            match before.map(|held| held.kind) {
                Some(kind) => _ = self.add_flock(base, handle, request, kind)?,
                None => self.drop_flock(handle, request.owner)?,
            }
        }
        granted
    }

    fn unlock(&mut self, handle: u64, request: LockRequest) -> io::Result<bool> {
        if request.range.is_whole() {
            self.drop_flock(handle, request.owner)?;
        }
        let heir = self.heir(handle, request);
        let Some(owner) = self.owners.get_mut(&request.owner) else {
            return Ok(true);
        };
        if let Some(heir) = heir {
            let (descriptor, held) = (owner.descriptor.take(), std::mem::take(&mut owner.held));
            let heir = self.owners.entry(heir).or_default();
            (heir.descriptor, heir.held) = (descriptor, held);
            return Ok(true);
        }
        if let Some(descriptor) = &owner.descriptor {
            set(&descriptor.fd, None, request.range)?;
        }
        owner.note(request.range, None, request.pid);
        Ok(true)
    }

    /// Another owner with a lock of the whole file by the same open file that holds it as flock(2) only, because this
    /// one held it by fcntl(2): it may have been the other way round.
    fn heir(&self, handle: u64, request: LockRequest) -> Option<u64> {
        let owner = self.owners.get(&request.owner)?;
        let gives = owner.nature == Nature::Either && request.range.is_whole();
        if !gives || owner.held.is_empty() {
            return None;
        }
        let flocked = self.flocked.get(&handle)?;
        flocked.owners.keys().copied().find(|other| {
            let is_heir = |other: &Owner| other.nature == Nature::Either && other.held.is_empty();
            *other != request.owner && self.owners.get(other).is_some_and(is_heir)
        })
    }

    /// Locks the open file as flock(2) would.
    fn add_flock(
        &mut self,
        base: &OwnedFd,
        handle: u64,
        request: LockRequest,
        kind: LockKind,
    ) -> io::Result<bool> {
        let flocked = match self.flocked.entry(handle) {
            std::collections::btree_map::Entry::Occupied(there) => there.into_mut(),
            std::collections::btree_map::Entry::Vacant(free) => {
                let _taken = self.allowance.take(request.uid)?;
                let fd = reopen(base, access(base)?)?;
                free.insert(Flocked {
                    fd,
                    owners: BTreeMap::new(),
                    _taken,
                })
            }
        };
        let whole = Whole {
            kind,
            pid: request.pid,
        };
        let before = flocked.owners.insert(request.owner, whole);
        if flocked.settle()? {
            return Ok(true);
        }
        // The kernel has taken what was held before; somebody else may be faster to get it.
        match before {
            Some(before) => flocked.owners.insert(request.owner, before),
            None => flocked.owners.remove(&request.owner),
        };
        flocked.settle()?;
        Ok(false)
    }

    /// Takes back what [`Self::add_flock`] did.
    fn drop_flock(&mut self, handle: u64, owner: u64) -> io::Result<()> {
        let Some(flocked) = self.flocked.get_mut(&handle) else {
            return Ok(());
        };
        if flocked.owners.remove(&owner).is_some() {
            flocked.settle()?;
        }
        Ok(())
    }

    /// What stands in the way of a lock of fcntl(2).
    pub(super) fn test(
        &mut self,
        base: &OwnedFd,
        kind: LockKind,
        request: LockRequest,
    ) -> io::Result<Option<Holder>> {
        let own = self.owners.get(&request.owner);
        let found = match own.and_then(|owner| owner.descriptor.as_ref()) {
            Some(descriptor) => test(&descriptor.fd, kind, request.range)?,
            None => test(reopen(base, (true, false))?, kind, request.range)?,
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
        let handles = match self.owners.get(&owner) {
            Some(owner) => owner.handles.clone(),
            None => return,
        };
        for handle in handles {
            let request = LockRequest {
                owner,
                pid: 0,
                tid: 0,
                uid: 0,
                range: LockRange::WHOLE,
                kind: None,
            };
            // Closing the descriptor below unlocks in any case.
            if let Err(error) = self.unlock(handle, request) {
                log::debug!("cannot unlock a file that is closed: {error}");
            }
        }
        self.owners.remove(&owner);
    }

    /// The open file is closed for good.
    pub(super) fn release(&mut self, handle: u64) {
        let by_it_alone: Vec<u64> = self
            .owners
            .iter()
            .filter(|(_, owner)| owner.handles == [handle])
            .map(|(&owner, _)| owner)
            .collect();
        for owner in by_it_alone {
            self.owners.remove(&owner);
        }
        for owner in self.owners.values_mut() {
            owner.handles.retain(|&other| other != handle);
        }
        self.flocked.remove(&handle);
    }
}

//! Entering files into the table: which inode is whose, and what becomes of numbers that are used again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Inodes;
use crate::backing::{FileHandle, Stat};
use crate::fs::inode::{ByNumber, Identity, Inode, Place, ROOT, lock};
use crate::fs::look::{By, Looked};
use crate::fs::number::{Device, Numbering};

/// How many other numbers a file is offered where its own is taken.
const OFFERED: u32 = 16;

/// A file that was entered or found.
#[derive(Debug)]
pub(in crate::fs) struct Entered {
    /// Its inode.
    pub(in crate::fs) inode: Arc<Inode>,
    /// Its attributes.
    pub(in crate::fs) stat: Stat,
    /// Where it was seen before, if that is known and another place.
    pub(in crate::fs) left: Option<Place>,
    /// The inode that had its number before and is gone.
    pub(in crate::fs) replaced: Option<Arc<Inode>>,
}

/// What was looked at by name is to be looked at by a descriptor.
#[derive(Debug)]
pub(in crate::fs) struct Unproven;

impl Inodes {
    /// Enters the file that was looked at, or finds it, and counts one lookup; [`Unproven`] where its number is that of
    /// another file by what is known, and it may be that just because it was not looked at by a descriptor. Tells also where
    /// it was seen before, if that is known and another place.
    ///
    /// # Errors
    /// Its handle can't be had.
    pub(in crate::fs) fn enter(
        &self,
        looked: Looked,
        place: &Place,
    ) -> io::Result<Result<Entered, Unproven>> {
        let Looked { stat, by } = looked;
        let number = self.number(&stat);
        if number == ROOT {
            return Ok(Ok(Entered {
                inode: Arc::clone(&self.root),
                stat,
                left: None,
                replaced: None,
            }));
        }
        let is_proven = !matches!(by, By::Handle(_));
        let (fd, handle) = match by {
            By::Handle(handle) => (None, Some(handle)),
            By::Open(handle) => (None, handle),
            By::Fd(fd) => {
                let handle = match self.uses_handles() && self.reaches(&stat) {
                    true => FileHandle::of(&fd)?,
                    false => None,
                };
                (Some(fd), handle)
            }
        };
        let identity = handle.map(Identity::Handle);
        let mut identity = identity.unwrap_or_else(|| Identity::looks(&stat, self.mount_of(&stat)));
        let device = Device::new(stat.dev);
        let others = (0..OFFERED).map(|tried| Numbering::other(device, stat.ino, tried));
        let entered = |inode: Arc<Inode>, replaced: Option<Arc<Inode>>| {
            // Most regular files that are looked up are not opened; of those that are many are opened by their handles.
            if let Some(fd) = fd
                && !inode.is_elsewhere()
                && (!inode.is_regular() || inode.handle().is_none() || self.descriptors.has_room())
            {
                self.descriptors.hold(&inode, fd);
            }
            Ok(Ok(self.seen(inode, stat, place, replaced)))
        };
        // A file that has another number keeps it.
        if self.is_renumbered.load(Ordering::Acquire)
            && let Some(inode) = others
                .clone()
                .find_map(|number| self.meet(number, device, &identity))
        {
            return entered(inode, None);
        }
        let others = others.map(|number| (number, true));
        for (number, is_other) in std::iter::once((number, false)).chain(others) {
            match self.enter_as(number, is_other, is_proven, identity, &stat) {
                Ok((inode, replaced)) => return entered(inode, replaced),
                Err(_) if !is_proven => return Ok(Err(Unproven)),
                Err(back) => identity = back,
            }
        }
        Err(io::Error::from_raw_os_error(libc::EIO))
    }

    /// Finds the file that has the number and the time of birth of `stat`, and counts one lookup; `None` where that is not known, or may
    /// be another.
    pub(in crate::fs) fn enter_known(&self, stat: &Stat, place: &Place) -> Option<Entered> {
        let number = self.number(stat);
        if number == ROOT || self.is_renumbered.load(Ordering::Acquire) {
            return None;
        }
        let slots = lock(self.shard(number)?);
        let inode = Arc::clone(&slots.get(&number)?.0);
        let is_it = inode.is_born_as(stat)
            && inode.device == Device::new(stat.dev)
            && inode.identity.mount() == self.mount_of(stat);
        if !is_it {
            return None;
        }
        inode.lookups.fetch_add(1, Ordering::Relaxed);
        drop(slots);
        Some(self.seen(inode, *stat, place, None))
    }

    /// Notes where a file was seen.
    fn seen(
        &self,
        inode: Arc<Inode>,
        stat: Stat,
        place: &Place,
        replaced: Option<Arc<Inode>>,
    ) -> Entered {
        // Of the names of a file that has several, the one that it had when that was its only one stays known.
        let is_one_of_many = self.keeps_places && stat.is_file() && stat.nlink > 1;
        let left = match is_one_of_many && inode.handle().is_some() {
            true => None,
            false => inode.set_place(place),
        };
        Entered {
            inode,
            stat,
            left,
            replaced,
        }
    }

    /// Finds a file by a number and counts one lookup.
    fn meet(&self, number: u64, device: Device, identity: &Identity) -> Option<Arc<Inode>> {
        let slots = lock(self.shard(number)?);
        let known = slots.get(&number)?;
        if known.0.device != device || known.0.identity != *identity {
            return None;
        }
        known.0.lookups.fetch_add(1, Ordering::Relaxed);
        Some(Arc::clone(&known.0))
    }

    /// Enters a file under a number, or finds it there, and returns the inode that it replaces, if any; gives its identity back where the number is another file's, or was
    /// and the identity is not proven to be that of the file of that number.
    fn enter_as(
        &self,
        number: u64,
        is_other: bool,
        is_proven: bool,
        identity: Identity,
        stat: &Stat,
    ) -> Result<(Arc<Inode>, Option<Arc<Inode>>), Identity> {
        let Some(shard) = self.shard(number) else {
            return Err(identity);
        };
        let mut slots = lock(shard);
        let device = Device::new(stat.dev);
        // By which a file is the same under another daemon, and after it was forgotten.
        let own_generation = match &identity {
            Identity::Handle(handle) => Some(handle.digest()),
            Identity::Looks { .. } => None,
        };
        let (generation, lookups) = match slots.get(&number) {
            Some(known) if known.0.identity == identity && known.0.device == device => {
                known.0.lookups.fetch_add(1, Ordering::Relaxed);
                known.0.found(stat);
                return Ok((Arc::clone(&known.0), None));
            }
            Some(known)
                if is_other
                    || !is_proven
                    || known.0.is_renumbered
                    || known.0.device != device
                    || known.0.identity.mount() != identity.mount() =>
            {
                return Err(identity);
            }
            // The number of a file that is gone is used again. The old one is forgotten under it too.
            Some(known) => {
                let generation = own_generation.unwrap_or_else(|| {
                    let generation = self.generations.fetch_add(1, Ordering::Relaxed);
                    u32::try_from(generation % 0x1_0000_0000).unwrap_or_default()
                });
                let is_taken = known.0.generation() == u64::from(generation);
                (
                    generation.wrapping_add(is_taken.into()),
                    known.0.lookups.load(Ordering::Relaxed),
                )
            }
            None => (own_generation.unwrap_or_default(), 0),
        };
        let mut inode = Inode::new(number, generation, identity, stat);
        inode.is_renumbered = is_other;
        inode.set_proven(is_proven);
        inode.found(stat);
        if self.keeps_places {
            inode.keep_place();
        }
        inode.lookups = (lookups + 1).into();
        let inode = Arc::new(inode);
        let replaced = slots.replace(ByNumber(Arc::clone(&inode)));
        drop(slots);
        if is_other {
            self.is_renumbered.store(true, Ordering::Release);
        }
        if replaced.is_none() {
            let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
            self.peak.fetch_max(count, Ordering::Relaxed);
        }
        let replaced = replaced.map(|known| known.0);
        Ok((inode, replaced))
    }
}

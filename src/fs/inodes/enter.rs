//! Entering files into the table: which inode is whose, and what becomes of files whose number is another's.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Inodes;
use crate::backing::{FileHandle, Stat};
use crate::fs::Entry;
use crate::fs::inode::{ByNumber, Identity, Inode, Place, UNPROVEN};
use crate::fs::number::{Device, Numbering, ROOT};

/// An entry that was looked at.
#[derive(Debug)]
pub(in crate::fs) struct Looked {
    /// Its attributes.
    pub(in crate::fs) stat: Stat,
    /// The way to open it.
    pub(in crate::fs) by: By,
}

/// The way to open an inode.
#[derive(Debug)]
pub(in crate::fs) enum By {
    /// Its name alone, whose attributes were asked for: all that an inode needs that is known.
    Name,
    /// An `O_PATH` descriptor. What is known of it was asked of this descriptor: all is of one inode.
    Fd(OwnedFd),
    /// Its handle. The name was asked twice, and can have led to two inodes: the handle can be that of another than the
    /// attributes.
    Handle(FileHandle),
    /// An open file, which was asked for its identity too: all is of one inode.
    Open(Identity),
}

impl Inodes {
    /// Enters the file that was looked at, or finds it, and counts one lookup. Whether it is listed as `place` is for the
    /// caller to say. `None` where it is not known and was looked at by its name alone, or has the number of another
    /// known file, perhaps only because it was not looked at by a descriptor: look at it closer.
    ///
    /// # Errors
    /// Its handle can't be had.
    pub(in crate::fs) fn enter(
        &self,
        looked: Looked,
        place: Option<&Place>,
    ) -> io::Result<Option<Entry>> {
        let Looked { stat, by } = looked;
        let number = self.number(&stat);
        if number == ROOT {
            return Ok(Some(self.seen(Arc::clone(&self.root), stat, None)));
        }
        let device = Device::new(stat.dev);
        let (fd, identity, is_proven) = match by {
            By::Name => {
                // Its number and its time of birth tell which it is, unless either may be another's.
                let known = self.meet(number, |inode| {
                    inode.is_born_as(&stat)
                        && inode.device == device
                        && inode.identity.mount() == self.mount_of(&stat)
                });
                return Ok(known.map(|inode| self.seen(inode, stat, place)));
            }
            By::Handle(handle) => (None, Identity::Handle(handle), false),
            By::Open(identity) => (None, identity, true),
            By::Fd(fd) => {
                let identity = self.identity(&fd, &stat)?;
                (Some(fd), identity, true)
            }
        };
        let own = (device, number);
        let entered = |inode: Arc<Inode>| {
            // Most regular files that are looked up are not opened; of those that are many are opened by their handles.
            if let Some(fd) = fd
                && !inode.is_elsewhere()
                && (!inode.is_regular() || inode.handle().is_none() || self.descriptors.has_room())
            {
                self.descriptors.hold(&inode, fd);
            }
            Ok(Some(self.seen(inode, stat, place)))
        };
        if let Some(other) = self.renumbered_as(own)
            && let Some(inode) = self.meet(other, |inode| inode.is(device, &identity))
        {
            return entered(inode);
        }
        match self.enter_as(number, is_proven, identity, &stat) {
            Ok(inode) => entered(inode),
            Err(_) if !is_proven => Ok(None),
            Err(identity) => entered(self.enter_renumbered(own, identity, &stat)),
        }
    }

    /// The identity of an open file.
    ///
    /// # Errors
    /// As [`FileHandle::of`].
    pub(in crate::fs) fn identity(&self, fd: &OwnedFd, stat: &Stat) -> io::Result<Identity> {
        let is_opened_by_it = self.opens_by_handle(stat);
        let is_needed = is_opened_by_it || stat.btime.is_none();
        let handle = is_needed.then(|| FileHandle::of(fd)).transpose()?.flatten();
        Ok(match handle {
            Some(handle) if is_opened_by_it => Identity::Handle(handle),
            handle => Identity::looks(stat, self.mount_of(stat), handle.as_ref()),
        })
    }

    /// The number of a file that has another than its own.
    pub(super) fn renumbered_as(&self, own: (Device, u64)) -> Option<u64> {
        if !self.is_any_renumbered.load(Ordering::Acquire) {
            return None;
        }
        self.renumbered.lock().numbers.get(&own).copied()
    }

    /// Enters a file whose own number another one has: one of another device, or one that is gone and not forgotten. A request that is
    /// on its way may mean that one still, and must not be served with this one (law F1).
    fn enter_renumbered(
        &self,
        own: (Device, u64),
        mut identity: Identity,
        stat: &Stat,
    ) -> Arc<Inode> {
        let mut renumbered = self.renumbered.lock();
        // Somebody else may have entered it meanwhile.
        if let Some(&number) = renumbered.numbers.get(&own)
            && let Some(inode) = self.meet(number, |inode| inode.is(own.0, &identity))
        {
            return inode;
        }
        let mut tried = 0;
        loop {
            let number = Numbering::other(own.0, stat.ino, tried);
            match self.enter_as(number, true, identity, stat) {
                Ok(inode) => {
                    renumbered.numbers.insert(own, number);
                    renumbered.own.insert(number, own);
                    self.is_any_renumbered.store(true, Ordering::Release);
                    return inode;
                }
                Err(back) => identity = back,
            }
            tried += 1;
        }
    }

    /// Notes where a file was seen, if it has a name.
    fn seen(&self, inode: Arc<Inode>, stat: Stat, place: Option<&Place>) -> Entry {
        inode.told_at.store(self.now(), Ordering::Relaxed);
        let has_several_names = stat.has_several_names();
        let left = match place {
            None => None,
            // The name that it had when that was its only one stays the first.
            Some(place) if has_several_names && inode.handle().is_some() => {
                inode.add_place(place);
                None
            }
            Some(place) => inode.set_place(place),
        };
        // The kernel may have a file's name of before as well; of a directory it has one (`d_splice_alias` in fs/dcache.c).
        if let Some(left) = left.as_ref().filter(|_| !stat.is_dir()) {
            inode.keep_place(left);
        }
        Entry {
            inode,
            stat,
            is_listed: false,
            left,
        }
    }

    /// Finds the inode of a number and counts one lookup; `None` where there is none, or another than `is_it` looks for.
    fn meet(&self, number: u64, is_it: impl FnOnce(&Inode) -> bool) -> Option<Arc<Inode>> {
        let slots = self.shard(number).lock();
        let known = slots.get(&number).filter(|known| is_it(&known.0))?;
        known.0.lookups.fetch_add(1, Ordering::Relaxed);
        Some(Arc::clone(&known.0))
    }

    /// Enters a file under a number, or finds it there; gives its identity back where the number is another file's.
    fn enter_as(
        &self,
        number: u64,
        is_proven: bool,
        identity: Identity,
        stat: &Stat,
    ) -> Result<Arc<Inode>, Identity> {
        let mut slots = self.shard(number).lock();
        if let Some(known) = slots.get(&number) {
            if !known.0.is(Device::new(stat.dev), &identity) {
                return Err(identity);
            }
            known.0.lookups.fetch_add(1, Ordering::Relaxed);
            known.0.found(stat);
            return Ok(Arc::clone(&known.0));
        }
        let inode = Inode::new(number, identity, stat);
        inode.marks.set(UNPROVEN, !is_proven);
        inode.found(stat);
        let inode = Arc::new(inode);
        slots.insert(ByNumber(Arc::clone(&inode)));
        drop(slots);
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        self.peak.fetch_max(count, Ordering::Relaxed);
        Ok(inode)
    }
}

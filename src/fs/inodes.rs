//! The inodes that the kernel knows, by number, and how each is opened.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use super::FsError;
use super::descriptors::{Allowance, Descriptors, Taken, Use};
use super::inode::{ByNumber, Identity, Inode, Place, ROOT, lock};
use super::look::{By, Looked};
use super::number::{Device, Numbering};
use crate::backing::{Dir, FileHandle, Stat, file, give_memory_back};
use crate::names::VisibleName;

const SHARDS: usize = 64;

/// A shard of no more inodes than this does not shrink.
const SMALL_SHARD: usize = 64;

/// So many forgotten inodes are worth the time that giving memory back takes.
const MANY: usize = 16_384;

/// How many other numbers a file is offered where its own is taken.
const OFFERED: u32 = 16;

/// A file that was entered or found.
#[derive(Debug)]
pub(super) struct Entered {
    /// Its inode.
    pub(super) inode: Arc<Inode>,
    /// Its attributes.
    pub(super) stat: Stat,
    /// Where it was seen before, if that is known and another place.
    pub(super) left: Option<Place>,
}

/// What was looked at by name is to be looked at by a descriptor.
#[derive(Debug)]
pub(super) struct Unproven;

/// The table of inodes.
#[derive(Debug)]
pub struct Inodes {
    pub(super) root: Arc<Inode>,
    /// A number is looked up, counted and forgotten under its shard's lock; nothing else is locked meanwhile.
    shards: Vec<Mutex<HashSet<ByNumber>>>,
    pub(super) count: AtomicUsize,
    /// The largest `count` since memory was given back last.
    peak: AtomicUsize,
    numbering: Numbering,
    /// Was any file given another number than its own?
    is_renumbered: AtomicBool,
    generations: AtomicUsize,
    /// The descriptor that file handles are opened by, where they can be.
    mount: Option<OwnedFd>,
    /// What that reaches: the id of the mount, and its device.
    reach: (u64, u64),
    /// A view of the root alone, for opening by handle: no way leads up out of it, and reading through it leaves access
    /// times as they are.
    pub(super) view: Option<OwnedFd>,
    /// The device of a mount of ours that covers the root.
    pub(super) cover: OnceLock<u64>,
    pub(super) descriptors: Descriptors,
    /// Is the root its own parent: the root of a mount, so that the kernel tells what lies outside of it?
    pub(super) is_mount_root: bool,
    /// Are the places of all inodes wanted?
    pub(super) keeps_places: bool,
    /// Where the clock of [`Inode::confined`] starts.
    pub(super) started: Instant,
}

impl Inodes {
    /// A table whose root is the directory `root`. `mount` is a descriptor by which file handles may be opened;
    /// `limit` is how many descriptors the process may have.
    ///
    /// # Errors
    /// `root` can't be looked at.
    pub fn new(root: OwnedFd, mount: Option<OwnedFd>, limit: usize) -> io::Result<Self> {
        let stat = Stat::of(&root)?;
        // That a handle is given does not say that it can be opened.
        let opens = |mount: &OwnedFd| match FileHandle::of(&root) {
            Ok(Some(handle)) => matches!(handle.open(mount, libc::O_PATH), Ok(Some(_))),
            Ok(None) | Err(_) => false,
        };
        let mount = mount.filter(opens);
        let above = Dir::new(&root).stat_parent()?;
        let inode = Arc::new(Inode::new(ROOT, 0, Identity::looks(&stat, 0), &stat));
        let (_root, _) = inode.hold(root);
        Ok(Self {
            root: inode,
            shards: std::iter::repeat_with(Mutex::default)
                .take(SHARDS)
                .collect(),
            count: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            numbering: Numbering::new(stat.dev, stat.ino),
            is_renumbered: AtomicBool::new(false),
            generations: AtomicUsize::new(1),
            mount,
            reach: (stat.mnt_id, stat.dev),
            view: None,
            cover: OnceLock::new(),
            descriptors: Descriptors::new(limit),
            is_mount_root: (above.dev, above.ino) == (stat.dev, stat.ino),
            keeps_places: false,
            started: Instant::now(),
        })
    }

    /// The inode of this number.
    ///
    /// # Errors
    /// [`FsError::Stale`]: the kernel has forgotten it.
    pub fn get(&self, number: u64) -> Result<Arc<Inode>, FsError> {
        if number == ROOT {
            return Ok(Arc::clone(&self.root));
        }
        let slots = lock(self.shard(number).ok_or(FsError::Stale)?);
        let known = slots.get(&number).ok_or(FsError::Stale)?;
        Ok(Arc::clone(&known.0))
    }

    /// The inode of the file that `stat` describes, if the kernel knows it. It may be an earlier one of that number.
    pub(super) fn known(&self, stat: &Stat) -> Option<Arc<Inode>> {
        let inode = self.get(self.number(stat)).ok()?;
        let is_it = inode.device == Device::new(stat.dev)
            && inode.identity.mount() == self.mount_of(stat)
            && !inode.is_renumbered;
        is_it.then_some(inode)
    }

    /// An inode that is not in the table: it has no place and can't be opened.
    pub(super) fn aside(&self, stat: &Stat) -> Arc<Inode> {
        let number = self.number(stat);
        let identity = Identity::looks(stat, self.mount_of(stat));
        Arc::new(Inode::new(number, 0, identity, stat))
    }

    /// The number of the file `ino` in `directory`, as it is listed: what stat(2) shows for it.
    pub(super) fn listed_number(&self, directory: &Inode, ino: u64) -> u64 {
        self.numbering
            .shown(directory.device, ino, directory.is_elsewhere())
    }

    /// Enters the file that was looked at, or finds it, and counts one lookup; [`Unproven`] where its number is that of
    /// another file by what is known, and it may be that just because it was not looked at by a descriptor. Tells also where
    /// it was seen before, if that is known and another place.
    ///
    /// # Errors
    /// Its handle can't be had.
    pub(super) fn enter(
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
            }));
        }
        let is_proven = matches!(by, By::Fd(_));
        let (fd, handle) = match by {
            By::Handle(handle) => (None, Some(handle)),
            By::Fd(fd) => {
                let handle = match self.uses_handles() && self.reaches(&stat) {
                    true => FileHandle::of(&fd)?,
                    false => None,
                };
                (Some(fd), handle)
            }
        };
        let identity = handle.map(Identity::Handle);
        let stat = &stat;
        let mut identity = identity.unwrap_or_else(|| Identity::looks(stat, self.mount_of(stat)));
        let device = Device::new(stat.dev);
        let others = (0..OFFERED).map(|tried| Numbering::other(device, stat.ino, tried));
        let entered = |inode: Arc<Inode>| {
            // Of the names of a file that has several, the one by which the kernel may keep it for long stays known.
            let is_one_of_many = self.keeps_places && stat.is_file() && stat.nlink > 1;
            let left = match is_one_of_many && inode.handle().is_some() {
                true => None,
                false => inode.set_place(place),
            };
            // Most regular files that are looked up are not opened; of those that are many are opened by their handles.
            if let Some(fd) = fd
                && !inode.is_elsewhere()
                && (!inode.is_regular() || inode.handle().is_none() || self.descriptors.has_room())
            {
                self.descriptors.hold(&inode, fd);
            }
            let stat = *stat;
            Ok(Ok(Entered { inode, stat, left }))
        };
        // A file that has another number keeps it.
        if self.is_renumbered.load(Ordering::Acquire)
            && let Some(inode) = others
                .clone()
                .find_map(|number| self.meet(number, device, &identity))
        {
            return entered(inode);
        }
        let others = others.map(|number| (number, true));
        for (number, is_other) in std::iter::once((number, false)).chain(others) {
            match self.enter_as(number, is_other, is_proven, identity, stat) {
                Ok(inode) => return entered(inode),
                Err(_) if !is_proven => return Ok(Err(Unproven)),
                Err(back) => identity = back,
            }
        }
        Err(io::Error::from_raw_os_error(libc::EIO))
    }

    fn number(&self, stat: &Stat) -> u64 {
        let is_elsewhere = self.mount_of(stat) != 0;
        self.numbering
            .number(Device::new(stat.dev), stat.ino, is_elsewhere)
    }

    /// The mount through which a file was reached, where that is not the root's; else 0.
    fn mount_of(&self, stat: &Stat) -> u32 {
        match stat.mnt_id == self.reach.0 {
            true => 0,
            // The kernel's are small numbers.
            false => u32::try_from(stat.mnt_id).unwrap_or(u32::MAX).max(1),
        }
    }

    /// Are files opened by their handles, where these reach?
    pub(super) fn uses_handles(&self) -> bool {
        self.mount.is_some()
    }

    /// Can a file be opened by its handle and our descriptor?
    pub(super) fn reaches(&self, stat: &Stat) -> bool {
        match self.reach {
            (0, dev) => stat.dev == dev,
            (id, _) => stat.mnt_id == id,
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

    /// Enters a file under a number, or finds it there; gives its identity back where the number is another file's, or was
    /// and the identity is not proven to be that of the file of that number.
    fn enter_as(
        &self,
        number: u64,
        is_other: bool,
        is_proven: bool,
        identity: Identity,
        stat: &Stat,
    ) -> Result<Arc<Inode>, Identity> {
        let Some(shard) = self.shard(number) else {
            return Err(identity);
        };
        let mut slots = lock(shard);
        let device = Device::new(stat.dev);
        // By which a file is the same under another daemon, and after the kernel forgot it.
        let own_generation = match &identity {
            Identity::Handle(handle) => Some(handle.digest()),
            Identity::Looks { .. } => None,
        };
        let (generation, lookups) = match slots.get(&number) {
            Some(known) if known.0.identity == identity && known.0.device == device => {
                known.0.lookups.fetch_add(1, Ordering::Relaxed);
                return Ok(Arc::clone(&known.0));
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
            // The number of a file that is gone is used again. The kernel forgets the old one under it too.
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
        inode.has_place |= self.keeps_places;
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
        Ok(inode)
    }

    /// Takes `count` lookups back; the inode goes with the last.
    ///
    /// Gives the inode if it is gone and was marked.
    pub fn forget(&self, number: u64, count: u64) -> Option<Arc<Inode>> {
        let shard = self.shard(number).filter(|_| number != ROOT)?;
        let gone = {
            let mut slots = lock(shard);
            let known = slots.get(&number)?;
            let lookups = known.0.lookups.load(Ordering::Relaxed);
            if lookups > count {
                known.0.lookups.store(lookups - count, Ordering::Relaxed);
                return None;
            }
            let gone = slots.take(&number);
            let length = slots.len().max(SMALL_SHARD);
            if slots.capacity() > 4 * length {
                slots.shrink_to(2 * length);
            }
            gone
        };
        // No lock is held: it may close a descriptor.
        let marked = gone.and_then(|known| known.0.is_marked().then_some(known.0));
        self.give_memory_back();
        marked
    }

    /// Counts one inode less, and gives memory back whenever half of them are gone.
    fn give_memory_back(&self) {
        let count = self.count.fetch_sub(1, Ordering::Relaxed) - 1;
        let peak = self.peak.load(Ordering::Relaxed);
        if peak >= MANY
            && count <= peak / 2
            && self
                .peak
                .compare_exchange(peak, count, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        {
            give_memory_back();
        }
    }

    /// An `O_PATH` descriptor of the inode, opened again if it had to be closed.
    ///
    /// # Errors
    /// The file is gone (`ESTALE`), or can't be opened.
    pub fn fd(&self, inode: &Arc<Inode>) -> io::Result<Arc<OwnedFd>> {
        if let Some(fd) = inode.held() {
            return Ok(fd);
        }
        let open_file = inode.open_file();
        let stale = || io::Error::from_raw_os_error(libc::ESTALE);
        let open = || match (&inode.identity, &self.mount) {
            _ if let Some(file) = &open_file => file::path_only(file),
            (Identity::Handle(handle), Some(mount)) => {
                handle.open(mount, libc::O_PATH)?.ok_or_else(stale)
            }
            _ => self.open_in_place(inode),
        };
        let fd = self.descriptors.enough_for(open)?;
        self.prove(inode, &fd)?;
        if inode.is_elsewhere() {
            return Ok(Arc::new(fd));
        }
        Ok(self.descriptors.hold(inode, fd))
    }

    /// Opens a regular file with the given open(2) flags and its handle; `None` where that can't be had.
    ///
    /// # Errors
    /// The file is gone (`ESTALE`), or can't be opened.
    pub(super) fn open(&self, inode: &Inode, flags: i32) -> io::Result<Option<OwnedFd>> {
        let (Some(handle), Some(mount)) = (inode.handle(), &self.mount) else {
            return Ok(None);
        };
        if !inode.is_regular() {
            return Ok(None);
        }
        let flags = flags & !(libc::O_CREAT | libc::O_EXCL | libc::O_PATH);
        let Some(fd) = self.descriptors.enough_for(|| handle.open(mount, flags))? else {
            return Ok(None);
        };
        self.prove(inode, &fd)?;
        Ok(Some(fd))
    }

    /// Sees to it that `fd`, opened by the handle of an inode, is the file that the kernel knows by its number.
    ///
    /// # Errors
    /// `ESTALE`: it is another. The kernel looks the name up once more then.
    fn prove(&self, inode: &Inode, fd: &OwnedFd) -> io::Result<()> {
        if inode.is_proven() {
            return Ok(());
        }
        let stat = Stat::of(fd)?;
        if Device::new(stat.dev) != inode.device || self.number(&stat) != inode.number {
            return Err(io::Error::from_raw_os_error(libc::ESTALE));
        }
        inode.set_proven(true);
        Ok(())
    }

    /// Opens what has the handle `handle`, an `O_PATH` descriptor.
    ///
    /// # Errors
    /// `ESTALE` if it is gone or handles are not used.
    pub(super) fn open_handle(&self, handle: &FileHandle) -> io::Result<OwnedFd> {
        let stale = || io::Error::from_raw_os_error(libc::ESTALE);
        let mount = self.mount.as_ref().ok_or_else(stale)?;
        let open = || handle.open(mount, libc::O_PATH)?.ok_or_else(stale);
        self.descriptors.enough_for(open)
    }

    /// The numbers of all inodes but the root.
    pub(super) fn numbers(&self) -> Vec<u64> {
        let mut numbers = Vec::new();
        for shard in &self.shards {
            numbers.extend(lock(shard).iter().map(|known| known.0.number));
        }
        numbers
    }

    /// Opens an inode that has no handle by the name under which it was last seen, if it is still there.
    fn open_in_place(&self, inode: &Inode) -> io::Result<OwnedFd> {
        let stale = || io::Error::from_raw_os_error(libc::ESTALE);
        let place = inode.place().ok_or_else(stale)?;
        let parent = self.get(place.parent).map_err(|_gone| stale())?;
        let fd = match Dir::new(&*self.fd(&parent)?).child(&place.backing) {
            // The name is gone, which says nothing about the file: whoever asks looks it up again.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Err(stale()),
            child => child?,
        };
        let stat = Stat::of(&fd)?;
        let looks = Identity::looks(&stat, self.mount_of(&stat));
        if looks == inode.identity && Device::new(stat.dev) == inode.device {
            Ok(fd)
        } else {
            Err(stale())
        }
    }

    /// Lets somebody open a file or directory, as long as the result lives.
    ///
    /// # Errors
    /// `EMFILE`: too many are open.
    pub(super) fn take_descriptors(&self, what: Use) -> io::Result<Taken> {
        self.descriptors.take(what)
    }

    /// For what is open beside files and directories.
    pub(super) fn allowance(&self) -> Allowance {
        self.descriptors.allowance()
    }

    /// Runs `act`; where it fails for want of a descriptor, once more after closing those that nobody needs.
    pub(super) fn with_descriptors<T>(&self, act: impl Fn() -> io::Result<T>) -> io::Result<T> {
        self.descriptors.enough_for(act)
    }

    fn shard(&self, number: u64) -> Option<&Mutex<HashSet<ByNumber>>> {
        self.shards
            .get(usize::try_from(number % SHARDS as u64).unwrap_or(0))
    }

    /// The visible path of a directory from the mount's root, with a `/` in front: `/`, `/a/b`. Of directories that have
    /// been moved below the mount it is the last known one.
    #[must_use]
    pub fn path(&self, directory: &Inode) -> Vec<u8> {
        let mut names: Vec<Vec<u8>> = Vec::new();
        let mut place = directory.place();
        // A path has at most PATH_MAX / 2 components; a ring made by moves below the mount ends there too.
        while let Some(here) = place
            && names.len() < 2048
        {
            names.push(
                here.visible
                    .as_ref()
                    .map_or(here.backing.as_bytes(), VisibleName::as_bytes)
                    .to_vec(),
            );
            place = match here.parent {
                ROOT => None,
                parent => self.get(parent).ok().and_then(|parent| parent.place()),
            };
        }
        let mut path = Vec::new();
        for name in names.iter().rev() {
            path.push(b'/');
            path.extend_from_slice(name);
        }
        if path.is_empty() { b"/".to_vec() } else { path }
    }
}

#[cfg(test)]
mod tests;

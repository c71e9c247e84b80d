//! The inodes that were looked up and not forgotten, by number, and how each is opened.

mod enter;
mod open;

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::FsError;
use super::descriptors::Descriptors;
use super::inode::{ByNumber, GIVEN_UP, Identity, Inode, Place};
use super::number::{Device, Numbering, ROOT};
use crate::backing::{Dir, FileHandle, Stat, quiet_clone};
use crate::os::give_memory_back;
pub(super) use enter::{By, Looked};
pub(super) use open::{ATTEMPTS, PAUSE};

const SHARDS: usize = 64;

/// A shard of no more inodes than this does not shrink.
const SMALL_SHARD: usize = 64;

/// Number of forgotten inodes that is worth the time of giving memory back.
const MANY: usize = 16_384;

/// Files that have another number than their own.
#[derive(Debug, Default)]
struct Renumbered {
    /// Their numbers by their devices and the numbers of their own. Of several in turn, all but the last are gone.
    numbers: HashMap<(Device, u64), u64>,
    /// The other way round.
    own: HashMap<u64, (Device, u64)>,
}

/// The table of inodes.
#[derive(Debug)]
pub struct Inodes {
    pub(super) root: Arc<Inode>,
    /// A number is looked up, counted and forgotten under its shard's lock; nothing else is locked meanwhile.
    shards: [Mutex<HashSet<ByNumber>>; SHARDS],
    pub(super) count: AtomicUsize,
    /// The largest `count` since memory was given back last.
    peak: AtomicUsize,
    numbering: Numbering,
    /// Taken before the lock of a shard.
    renumbered: Mutex<Renumbered>,
    is_any_renumbered: AtomicBool,
    /// The descriptor that file handles are opened by, where they can be.
    mount: Option<OwnedFd>,
    /// The id of the root's mount.
    mount_id: u64,
    /// A clone of the root's mount, for opening by handle. No way leads up out of it, and reading through it keeps
    /// access times.
    pub(super) view: Option<OwnedFd>,
    /// The device of a mount of ours that covers the root.
    pub(super) cover: OnceLock<u64>,
    pub(super) descriptors: Descriptors,
    /// Is the root its own parent: the root of a mount, so that the kernel tells what lies outside of it?
    pub(super) is_mount_root: bool,
    /// Are files opened by their names rather than by their handles?
    pub(super) opens_by_name: bool,
    /// The start of the clock of [`Inode::confined`].
    pub(super) started: Instant,
    /// Number of renames so far; cloned while something is renamed, until its place is noted.
    renames: Arc<AtomicU64>,
}

impl Inodes {
    /// Makes a table whose root is the directory `root`. File handles may be opened by `mount`; the process may have
    /// `limit` descriptors.
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
        let view = mount.as_ref().and_then(|_may| {
            let clone = quiet_clone(&root);
            let noted =
                clone.inspect_err(|error| log::debug!("lstat of links reads them: {error}"));
            noted.ok()
        });
        let above = Dir::new(&root).stat_parent()?;
        let inode = Arc::new(Inode::new(ROOT, Identity::looks(&stat, 0, None), &stat));
        let (_root, _) = inode.hold(root);
        Ok(Self {
            root: inode,
            shards: std::array::from_fn(|_| Mutex::default()),
            count: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            numbering: Numbering::new(stat.dev, stat.ino),
            renumbered: Mutex::default(),
            is_any_renumbered: AtomicBool::new(false),
            mount,
            view,
            mount_id: stat.mnt_id,
            cover: OnceLock::new(),
            descriptors: Descriptors::new(limit),
            is_mount_root: above.identity() == stat.identity(),
            opens_by_name: false,
            started: Instant::now(),
            renames: Arc::default(),
        })
    }

    /// The inode of this number.
    ///
    /// # Errors
    /// [`FsError::Stale`]: it was forgotten.
    pub fn get(&self, number: u64) -> Result<Arc<Inode>, FsError> {
        if number == ROOT {
            return Ok(Arc::clone(&self.root));
        }
        let slots = self.shard(number).lock();
        let known = slots.get(&number).ok_or(FsError::Stale)?;
        Ok(Arc::clone(&known.0))
    }

    /// The inode of the file that `stat` describes, if that is known. It may be an earlier one of that number.
    pub(super) fn known(&self, stat: &Stat) -> Option<Arc<Inode>> {
        self.all_known(stat).next()
    }

    /// The inodes of the file that `stat` describes and of earlier ones of its number, as far as they are known.
    pub(super) fn all_known(&self, stat: &Stat) -> impl Iterator<Item = Arc<Inode>> {
        let (device, number) = (Device::new(stat.dev), self.number(stat));
        let mount = self.mount_of(stat);
        let other = self.renumbered_as((device, number));
        let known = other.into_iter().chain([number]);
        known
            .filter_map(|number| self.get(number).ok())
            .filter(move |inode| inode.device == device && inode.identity.mount() == mount)
            .filter(|inode| !inode.marks.has(GIVEN_UP))
    }

    /// An inode that is not in the table: it has no place and can't be opened.
    pub(super) fn aside(&self, stat: &Stat) -> Arc<Inode> {
        let number = self.number(stat);
        let identity = Identity::looks(stat, self.mount_of(stat), None);
        Arc::new(Inode::new(number, identity, stat))
    }

    /// The inode number that is shown of the file `ino` in `directory`, as a listing has it.
    pub(super) fn listed_number(&self, directory: &Inode, ino: u64) -> u64 {
        self.numbering.shown(directory.device, ino)
    }

    /// Returns the inode number that is shown of the file that `stat` describes (law F10).
    pub fn shown_number(&self, stat: &Stat) -> u64 {
        self.numbering.shown(Device::new(stat.dev), stat.ino)
    }

    /// Returns the node id of the file that `stat` describes, where that is not another file's.
    pub(super) fn number(&self, stat: &Stat) -> u64 {
        let is_elsewhere = self.mount_of(stat) != 0;
        self.numbering
            .number(Device::new(stat.dev), stat.ino, is_elsewhere)
    }

    /// The mount through which a file was reached, where that is not the root's; else 0.
    fn mount_of(&self, stat: &Stat) -> u32 {
        match stat.mnt_id == self.mount_id {
            true => 0,
            // The kernel's are small numbers.
            false => u32::try_from(stat.mnt_id).unwrap_or(u32::MAX).max(1),
        }
    }

    /// Are files opened by their handles, where these reach?
    pub(super) fn uses_handles(&self) -> bool {
        self.mount.is_some()
    }

    /// Is a file opened by its handle and our descriptor?
    pub(super) fn opens_by_handle(&self, stat: &Stat) -> bool {
        self.uses_handles() && stat.mnt_id == self.mount_id
    }

    /// Takes `count` lookups back; the inode goes with the last.
    ///
    /// Gives the inode if it is gone.
    pub fn forget(&self, number: u64, count: u64) -> Option<Arc<Inode>> {
        let gone = {
            let mut slots = self.shard(number).lock();
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
        // Memory is given back whenever half of them are gone.
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
        self.forget_renumbered(number);
        gone.map(|known| known.0)
    }

    fn forget_renumbered(&self, number: u64) {
        if !self.is_any_renumbered.load(Ordering::Acquire) {
            return;
        }
        let mut renumbered = self.renumbered.lock();
        // It may have been entered anew since, under the same number.
        if self.get(number).is_ok() {
            return;
        }
        if let Some(own) = renumbered.own.remove(&number)
            && renumbered.numbers.get(&own) == Some(&number)
        {
            renumbered.numbers.remove(&own);
        }
        let is_any = !renumbered.own.is_empty();
        self.is_any_renumbered.store(is_any, Ordering::Release);
    }

    /// The numbers of all inodes but the root.
    pub fn numbers(&self) -> Vec<u64> {
        let mut numbers = Vec::new();
        for shard in &self.shards {
            numbers.extend(shard.lock().iter().map(|known| known.0.number));
        }
        numbers
    }

    /// Runs `act`; where it fails for want of a descriptor, once more after closing those that nobody needs.
    pub(super) fn with_descriptors<T>(
        &self,
        mut act: impl FnMut() -> io::Result<T>,
    ) -> io::Result<T> {
        match act() {
            Err(error) if error.raw_os_error() == Some(libc::EMFILE) => {
                self.descriptors.close_all();
                act()
            }
            done => done,
        }
    }

    fn shard(&self, number: u64) -> &Mutex<HashSet<ByNumber>> {
        let [first, ..] = &self.shards;
        let index = usize::try_from(number % SHARDS as u64).unwrap_or(0);
        self.shards.get(index).unwrap_or(first)
    }

    /// The visible path of a directory from the mount's root, with a `/` in front: `/`, `/a/b`. Of directories that have
    /// been moved below the mount it is the last known one.
    pub fn path(&self, directory: &Inode) -> Vec<u8> {
        let mut path = Vec::new();
        for place in self.places(directory).iter().rev() {
            path.push(b'/');
            path.extend_from_slice(place.visible.as_bytes());
        }
        if path.is_empty() { b"/".to_vec() } else { path }
    }

    /// Returns the milliseconds of the clock of the table.
    pub(super) fn now(&self) -> u32 {
        u32::try_from(self.started.elapsed().as_millis() % (1 << 32)).unwrap_or_default()
    }

    /// Returns the time when the kernel was told of an inode last.
    pub(super) fn told_at(&self, inode: &Inode) -> Instant {
        let age = self
            .now()
            .wrapping_sub(inode.told_at.load(Ordering::Relaxed));
        let now = Instant::now();
        now.checked_sub(Duration::from_millis(age.into()))
            .unwrap_or(now)
    }

    /// Is an inode the file that `stat` describes, which is there now? The inode of an earlier file of that number is taken for it too.
    pub(super) fn is_of(&self, inode: &Inode, stat: &Stat) -> bool {
        inode.device == Device::new(stat.dev) && self.own_number(inode) == self.number(stat)
    }

    /// Returns the node id that an inode would have if no other file had it.
    fn own_number(&self, inode: &Inode) -> u64 {
        if !self.is_any_renumbered.load(Ordering::Acquire) {
            return inode.number;
        }
        let renumbered = self.renumbered.lock();
        let own = renumbered.own.get(&inode.number);
        own.map_or(inode.number, |&(_, number)| number)
    }

    /// Returns `place` and where each directory above it was last seen, from the root down; fewer where one is not known.
    pub(super) fn path_of(&self, place: Place) -> Vec<Place> {
        let mut path = self.places_from(Some(place));
        path.reverse();
        path
    }

    /// Returns where a directory and each one above it were last seen, up to the root; fewer where one is not known.
    pub(super) fn places(&self, directory: &Inode) -> Vec<Place> {
        self.places_from(directory.place())
    }

    fn places_from(&self, lowest: Option<Place>) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        let mut next = lowest;
        // A path has at most PATH_MAX / 2 components; a ring made by moves below the mount ends there too.
        while let Some(place) = next
            && places.len() < 2048
        {
            // The root has none.
            next = self.get(place.parent).ok().and_then(|above| above.place());
            places.push(place);
        }
        places
    }
}

#[cfg(test)]
mod tests;

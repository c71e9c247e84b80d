//! The inodes that the kernel knows: their identity, their descriptors, and how often the kernel has looked them up.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::FsError;
use super::directory::DirectoryIndex;
use super::number::Numbering;
use crate::backing::stat::is_other_mount;
use crate::backing::{Dir, FileHandle, Kind, Stat, Time, file};
use crate::names::{BackingName, VisibleName};

/// The root's number, by the protocol.
pub const ROOT: u64 = 1;

const SHARDS: usize = 64;

/// Takes a lock. A panic elsewhere leaves no half-made state behind these locks, so that a poisoned one is as good.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where an inode was last seen.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The directory's number.
    pub(super) parent: u64,
    /// Its name in it.
    pub(super) backing: BackingName,
    /// What that is visible as, where it is not the same.
    pub(super) visible: Option<VisibleName>,
}

impl Place {
    pub(super) fn new(parent: u64, backing: BackingName, visible: VisibleName) -> Self {
        let mapped = visible.as_bytes() != backing.as_bytes();
        Self {
            parent,
            backing,
            visible: mapped.then_some(visible),
        }
    }
}

/// What tells a file from every other, also from one that gets its number later.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    dev: u64,
    ino: u64,
    kind: Kind,
    born: Option<Time>,
    handle: Option<FileHandle>,
}

impl Identity {
    fn without_handle(stat: &Stat) -> Self {
        Self {
            dev: stat.dev,
            ino: stat.ino,
            kind: stat.kind(),
            born: stat.btime,
            handle: None,
        }
    }
}

/// An inode that the kernel knows.
#[derive(Debug)]
pub struct Inode {
    /// Its number towards the kernel.
    pub number: u64,
    /// Tells it from earlier files of that number.
    pub generation: u64,
    identity: Identity,
    /// No other lock is taken while this one is held.
    state: Mutex<State>,
    /// The visible names of a directory. Taken after the lock of a directory stream, before `state`; never that of two
    /// directories at once. Where siblings are compared it is held while a name is made, never across a reply.
    pub(super) index: Mutex<Option<DirectoryIndex>>,
    /// Set on each use of the descriptor; it stays open a round longer.
    used: AtomicBool,
}

#[derive(Debug)]
struct State {
    /// An `O_PATH` descriptor, if it is open.
    fd: Option<Arc<OwnedFd>>,
    /// The open files of this inode, and some that are closed by now.
    files: Vec<Weak<OwnedFd>>,
    place: Option<Place>,
}

impl Inode {
    fn new(number: u64, generation: u64, identity: Identity, fd: Option<Arc<OwnedFd>>) -> Self {
        Self {
            number,
            generation,
            identity,
            state: Mutex::new(State {
                fd,
                files: Vec::new(),
                place: None,
            }),
            index: Mutex::new(None),
            used: AtomicBool::new(true),
        }
    }

    /// Notes a file of this inode that a program has open.
    pub(super) fn opened(&self, file: &Arc<OwnedFd>) {
        let mut state = lock(&self.state);
        state.files.retain(|file| file.strong_count() > 0);
        state.files.push(Arc::downgrade(file));
    }

    fn open_file(&self) -> Option<Arc<OwnedFd>> {
        lock(&self.state).files.iter().find_map(Weak::upgrade)
    }

    pub(super) fn place(&self) -> Option<Place> {
        lock(&self.state).place.clone()
    }

    pub(super) fn set_place(&self, place: Place) {
        lock(&self.state).place = Some(place);
    }
}

#[derive(Debug)]
struct Slot {
    inode: Arc<Inode>,
    lookups: u64,
}

/// The table of inodes.
#[derive(Debug)]
pub struct Inodes {
    root: Arc<Inode>,
    /// A number is looked up, counted and forgotten under its shard's lock; nothing else is locked meanwhile.
    shards: Vec<Mutex<HashMap<u64, Slot>>>,
    numbering: Numbering,
    generations: AtomicU64,
    /// The descriptor that file handles are opened by; `None` for users who may not.
    mount: Option<OwnedFd>,
    /// The mount that the root lies in.
    root_mount: u64,
    /// Inodes with an open descriptor, oldest first.
    open: Mutex<VecDeque<Weak<Inode>>>,
    descriptors: AtomicUsize,
    most_descriptors: usize,
}

impl Inodes {
    /// A table whose root is the directory `root`. `mount` is a descriptor by which file handles may be opened, at
    /// most `most_descriptors` stay open beside those of open files.
    ///
    /// # Errors
    /// `root` can't be looked at.
    pub fn new(root: OwnedFd, mount: Option<OwnedFd>, most_descriptors: usize) -> io::Result<Self> {
        let stat = Stat::of(&root)?;
        let identity = Identity::without_handle(&stat);
        let root = Inode::new(ROOT, 0, identity, Some(Arc::new(root)));
        Ok(Self {
            root: Arc::new(root),
            shards: std::iter::repeat_with(|| Mutex::new(HashMap::new()))
                .take(SHARDS)
                .collect(),
            numbering: Numbering::new(stat.dev, stat.ino),
            generations: AtomicU64::new(1),
            mount,
            root_mount: stat.mnt_id,
            open: Mutex::new(VecDeque::new()),
            descriptors: AtomicUsize::new(0),
            most_descriptors,
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
        let shard = self.shard(number).ok_or(FsError::Stale)?;
        lock(shard)
            .get(&number)
            .map(|slot| Arc::clone(&slot.inode))
            .ok_or(FsError::Stale)
    }

    /// An inode that is not in the table: it has no place and can't be opened.
    pub(super) fn aside(&self, stat: &Stat) -> Arc<Inode> {
        let number = self.numbering.number(stat.dev, stat.ino);
        Arc::new(Inode::new(number, 0, Identity::without_handle(stat), None))
    }

    /// The number towards the kernel of a file of the backing device.
    #[must_use]
    pub fn number(&self, dev: u64, ino: u64) -> u64 {
        self.numbering.number(dev, ino)
    }

    /// What `stat` says, with files of other mounts than the root's on devices of their own.
    #[must_use]
    pub fn within(&self, stat: Stat) -> Stat {
        stat.within(self.root_mount)
    }

    /// The number of the file `ino` on the root's device, as directories list it.
    #[must_use]
    pub fn listed_number(&self, ino: u64) -> u64 {
        self.numbering.on_root_device(ino)
    }

    /// Enters the file open as `fd`, which `stat` describes, or finds it, and counts one lookup.
    ///
    /// # Errors
    /// Its handle can't be had.
    pub(super) fn enter(&self, fd: OwnedFd, stat: &Stat, place: Place) -> io::Result<Arc<Inode>> {
        let number = self.numbering.number(stat.dev, stat.ino);
        if number == ROOT {
            return Ok(Arc::clone(&self.root));
        }
        // Handles are those of one filesystem, and are opened through the root's mount.
        let is_elsewhere = is_other_mount(stat.dev);
        let handle = match &self.mount {
            Some(_) if !is_elsewhere => FileHandle::of(&fd)?,
            _ => None,
        };
        let identity = Identity {
            handle,
            ..Identity::without_handle(stat)
        };
        let Some(shard) = self.shard(number) else {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        };
        let (inode, replaced) = {
            let mut slots = lock(shard);
            match slots.get_mut(&number) {
                Some(slot) if slot.inode.identity == identity => {
                    slot.lookups += 1;
                    (Arc::clone(&slot.inode), None)
                }
                known => {
                    let generation = match known {
                        Some(_) => self.generations.fetch_add(1, Ordering::Relaxed),
                        None => 0,
                    };
                    let inode = Arc::new(Inode::new(number, generation, identity, None));
                    let lookups = known.map_or(0, |slot| slot.lookups) + 1;
                    let slot = Slot {
                        inode: Arc::clone(&inode),
                        lookups,
                    };
                    (inode, slots.insert(number, slot))
                }
            }
        };
        // Dropped here, where no lock is held: it may close a descriptor.
        drop(replaced);
        inode.set_place(place);
        // What is mounted inside the backing directory must not be kept in use by us.
        if !is_elsewhere {
            self.keep_open(&inode, fd);
        }
        Ok(inode)
    }

    /// Takes `count` lookups back; the inode goes with the last.
    pub fn forget(&self, number: u64, count: u64) {
        let Some(shard) = self.shard(number).filter(|_| number != ROOT) else {
            return;
        };
        let gone = {
            let mut slots = lock(shard);
            match slots.get_mut(&number) {
                Some(slot) if slot.lookups > count => {
                    slot.lookups -= count;
                    None
                }
                Some(_) => slots.remove(&number),
                None => None,
            }
        };
        if let Some(slot) = gone
            && lock(&slot.inode.state).fd.is_some()
        {
            self.descriptors.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// An `O_PATH` descriptor of the inode, opened again if it had to be closed.
    ///
    /// # Errors
    /// The file is gone (`ESTALE`), or can't be opened.
    pub fn fd(&self, inode: &Arc<Inode>) -> io::Result<Arc<OwnedFd>> {
        inode.used.store(true, Ordering::Relaxed);
        if let Some(fd) = &lock(&inode.state).fd {
            return Ok(Arc::clone(fd));
        }
        let open_file = inode.open_file();
        let fd = self.with_descriptors(|| match (&inode.identity.handle, &self.mount) {
            _ if let Some(file) = &open_file => file::path_only(file),
            (Some(handle), Some(mount)) => handle
                .open(mount, libc::O_PATH)?
                .ok_or_else(|| io::Error::from_raw_os_error(libc::ESTALE)),
            _ => self.open_in_place(inode),
        })?;
        if is_other_mount(inode.identity.dev) {
            return Ok(Arc::new(fd));
        }
        Ok(self.keep_open(inode, fd))
    }

    /// Opens an inode that has no handle by the name under which it was last seen, if it is still there.
    fn open_in_place(&self, inode: &Inode) -> io::Result<OwnedFd> {
        let stale = || io::Error::from_raw_os_error(libc::ESTALE);
        let place = inode.place().ok_or_else(stale)?;
        let parent = self.get(place.parent).map_err(|_gone| stale())?;
        let fd = Dir::new(&*self.fd(&parent)?).child(&place.backing)?;
        let stat = self.within(Stat::of(&fd)?);
        if Identity::without_handle(&stat) == inode.identity {
            Ok(fd)
        } else {
            Err(stale())
        }
    }

    fn keep_open(&self, inode: &Arc<Inode>, fd: OwnedFd) -> Arc<OwnedFd> {
        let kept = {
            let mut state = lock(&inode.state);
            if let Some(fd) = &state.fd {
                return Arc::clone(fd);
            }
            Arc::clone(state.fd.insert(Arc::new(fd)))
        };
        self.descriptors.fetch_add(1, Ordering::Relaxed);
        let mut open = lock(&self.open);
        open.push_back(Arc::downgrade(inode));
        // Each inode in turn loses its descriptor, unless it was used since its last turn or an open file needs it.
        let mut turns = open.len().min(256);
        while turns > 0 && self.descriptors.load(Ordering::Relaxed) > self.most_descriptors {
            turns -= 1;
            let Some(oldest) = open.pop_front().and_then(|weak| weak.upgrade()) else {
                continue;
            };
            let closed = {
                let mut state = lock(&oldest.state);
                let idle = state
                    .fd
                    .as_ref()
                    .is_some_and(|fd| Arc::strong_count(fd) == 1);
                let unused = !oldest.used.swap(false, Ordering::Relaxed);
                if idle && unused {
                    state.fd.take()
                } else {
                    None
                }
            };
            if closed.is_some() {
                self.descriptors.fetch_sub(1, Ordering::Relaxed);
            } else {
                open.push_back(Arc::downgrade(&oldest));
            }
        }
        // Those that the kernel forgot are in the queue still; it may be twice as long as it has to.
        if open.len() > 2 * self.most_descriptors.max(SHARDS) {
            open.retain(|inode| inode.strong_count() > 0);
        }
        kept
    }

    /// Runs `act`; where it fails for want of a descriptor, once more after closing those that nobody needs.
    pub(super) fn with_descriptors<T>(&self, act: impl Fn() -> io::Result<T>) -> io::Result<T> {
        match act() {
            Err(error) if error.raw_os_error() == Some(libc::EMFILE) => {
                self.close_idle();
                act()
            }
            done => done,
        }
    }

    fn close_idle(&self) {
        let mut open = lock(&self.open);
        open.retain(|inode| {
            let Some(inode) = inode.upgrade() else {
                return false;
            };
            let closed = {
                let mut state = lock(&inode.state);
                let idle = state
                    .fd
                    .as_ref()
                    .is_some_and(|fd| Arc::strong_count(fd) == 1);
                if idle { state.fd.take() } else { None }
            };
            if closed.is_some() {
                self.descriptors.fetch_sub(1, Ordering::Relaxed);
            }
            closed.is_none()
        });
    }

    fn shard(&self, number: u64) -> Option<&Mutex<HashMap<u64, Slot>>> {
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

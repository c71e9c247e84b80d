//! Opening inodes: by what is held of them, by their handles, or where they were last seen.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;

use super::Inodes;
use crate::backing::{Dir, FileHandle, Kind, Stat, file};
use crate::fs::inode::{Inode, Place, STALE, UNPROVEN};
use crate::fs::number::Device;

/// Most attempts to find an inode while others rename, and the pause between two. Who renames may wait for a processor
/// before the new place is noted.
pub(in crate::fs) const ATTEMPTS: usize = 2000;
pub(in crate::fs) const PAUSE: Duration = Duration::from_micros(500);

impl Inodes {
    /// An `O_PATH` descriptor of the inode, opened again if it had to be closed. What has no handle is looked for again
    /// if something was renamed meanwhile: its place, or that of a directory above it, may not be noted yet.
    ///
    /// # Errors
    /// The file is gone (`ESTALE`), or can't be opened.
    pub fn fd(&self, inode: &Arc<Inode>) -> io::Result<Arc<OwnedFd>> {
        for _ in 1..ATTEMPTS {
            let before = self.renames();
            let found = self.find(inode);
            let is_stale = inode.handle().is_none() && found.as_ref().is_err_and(is_stale);
            if !is_stale || before.is_some() && before == self.renames() {
                return found;
            }
            thread::sleep(PAUSE);
        }
        self.find(inode)
    }

    /// To be called before something is renamed. What is returned is to be dropped when its new place is noted.
    pub(in crate::fs) fn begin_rename(&self) -> Arc<AtomicU64> {
        let renaming = Arc::clone(&self.renames);
        renaming.fetch_add(1, Ordering::AcqRel);
        renaming
    }

    /// The number of renames so far; `None` while there is one.
    pub(in crate::fs) fn renames(&self) -> Option<u64> {
        // Read first: what begins after that makes it another number.
        let renames = self.renames.load(Ordering::Acquire);
        (Arc::strong_count(&self.renames) == 1).then_some(renames)
    }

    /// Returns the same, after one attempt.
    fn find(&self, inode: &Arc<Inode>) -> io::Result<Arc<OwnedFd>> {
        inode.held().map_or_else(|| self.open_again(inode), Ok)
    }

    /// Opens an inode of which no descriptor is held, an `O_PATH` descriptor.
    fn open_again(&self, inode: &Arc<Inode>) -> io::Result<Arc<OwnedFd>> {
        let open_file = inode.open_file();
        let open = || {
            let has_handle = inode.handle().is_some();
            let by_name = self.opens_by_name && has_handle && !inode.is_directory();
            let named = by_name.then(|| self.open_in_place(inode));
            match inode.handle() {
                _ if let Some(Ok(fd)) = named => Ok(fd),
                _ if let Some(file) = &open_file => file::path_only(file),
                Some(handle) => noting_stale(inode, self.open_handle(handle)),
                None => noting_stale(inode, self.open_in_place(inode)),
            }
        };
        let fd = self.with_descriptors(open)?;
        self.prove(inode, &fd)?;
        if inode.is_elsewhere() {
            return Ok(Arc::new(fd));
        }
        Ok(self.descriptors.hold(inode, fd))
    }

    /// Opens a regular file with the given open(2) flags: by its handle, or else by a descriptor of it.
    ///
    /// # Errors
    /// The file is gone (`ESTALE`), or can't be opened; `ENXIO` for anything else, whose opening could wait or act.
    pub(in crate::fs) fn open(&self, inode: &Arc<Inode>, flags: i32) -> io::Result<OwnedFd> {
        if !inode.is_regular() {
            return Err(Errno::NXIO.into());
        }
        if let (Some(handle), Some(mount)) = (inode.handle(), &self.mount) {
            let open = |flags| {
                let opened = self.with_descriptors(|| handle.open(mount, flags));
                noting_stale(inode, opened)
            };
            // Opening a FIFO would wait for its other side.
            if inode.marks.has(UNPROVEN)
                && let Some(fd) = open(libc::O_PATH)?
            {
                self.prove(inode, &fd)?;
            }
            if let Some(fd) = open(flags & !(libc::O_CREAT | libc::O_EXCL | libc::O_PATH))? {
                return Ok(fd);
            }
        }
        let fd = self.fd(inode)?;
        self.with_descriptors(|| file::reopen_known(&fd, Kind::File, flags))
    }

    /// Sees to it that `fd`, opened by the handle of an inode, is the file that is known by its number, and of that kind.
    ///
    /// # Errors
    /// `ESTALE`: it is another. The kernel looks the name up once more then.
    fn prove(&self, inode: &Inode, fd: &OwnedFd) -> io::Result<()> {
        if !inode.marks.has(UNPROVEN) {
            return Ok(());
        }
        let stat = Stat::of(fd)?;
        let is_it = Device::new(stat.dev) == inode.device
            && self.number(&stat) == inode.number
            && stat.is_file() == inode.is_regular();
        if is_it {
            inode.marks.set(UNPROVEN, false);
            return Ok(());
        }
        inode.marks.set(STALE, true);
        Err(Errno::STALE.into())
    }

    /// Opens what has the handle `handle`, an `O_PATH` descriptor.
    ///
    /// # Errors
    /// `ESTALE` if it is gone or handles are not used.
    pub fn open_handle(&self, handle: &FileHandle) -> io::Result<OwnedFd> {
        let mount = self.mount.as_ref().ok_or(Errno::STALE)?;
        let open = || Ok(handle.open(mount, libc::O_PATH)?.ok_or(Errno::STALE)?);
        self.with_descriptors(open)
    }

    /// Has the file of an inode lost its last name below? No where that cannot be told, as of one without a handle.
    pub fn is_removed(&self, inode: &Inode) -> bool {
        let opened = inode.handle().map(|handle| self.open_handle(handle));
        match opened {
            // Somebody has it open.
            Some(Ok(fd)) => Stat::of(fd).is_ok_and(|stat| stat.nlink == 0),
            Some(Err(error)) => is_stale(&error),
            None => false,
        }
    }

    /// Opens an inode by the name under which it was last seen, or by another of its names, if it is still there.
    fn open_in_place(&self, inode: &Inode) -> io::Result<OwnedFd> {
        let mut opened = Err(Errno::STALE.into());
        for place in inode.all_places() {
            if opened.as_ref().is_err_and(is_stale) {
                opened = self.open_at(inode, &place);
            }
        }
        opened
    }

    /// Opens an inode at a place, if it is there.
    fn open_at(&self, inode: &Inode, place: &Place) -> io::Result<OwnedFd> {
        let parent = self.get(place.parent).map_err(|_gone| Errno::STALE)?;
        let parent = self.find(&parent)?;
        let fd = match Dir::new(&*parent).child(&place.backing) {
            // The name is gone, which says nothing about the file: whoever asks looks it up again.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {
                return Err(Errno::STALE.into());
            }
            child => child?,
        };
        let stat = Stat::of(&fd)?;
        let is_it = self.identity(&fd, &stat)? == inode.identity;
        match is_it && Device::new(stat.dev) == inode.device {
            true => Ok(fd),
            false => Err(Errno::STALE.into()),
        }
    }
}

/// Has an inode that was found stale be looked at closely when it is looked up next.
fn noting_stale<T>(inode: &Inode, opened: io::Result<T>) -> io::Result<T> {
    opened.inspect_err(|error| {
        if is_stale(error) {
            inode.marks.set(STALE, true);
        }
    })
}

fn is_stale(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ESTALE)
}

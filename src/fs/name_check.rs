//! Sees to it that nothing is opened or changed by a name that leads elsewhere by now (law F9).
//!
//! The kernel keeps names for as long as `--cache` says, and asks for an inode. So before an inode is opened or changed, the path by which
//! the kernel may have reached it is walked from the root, by one system call as a rule. Where the path leads elsewhere, the request is
//! answered with `ESTALE`, and the kernel looks the names up anew ([`retries`](super::retries)).

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::inode::{Inode, OpenInode, Place};
use super::inodes::{ATTEMPTS, PAUSE};
use super::number::ROOT;
use super::retries::{Call, KernelName};
use super::{Caller, FsError, Utf8Fs};
use crate::backing::{Dir, Stat};
use crate::names::BackingName;

/// Pauses in which a file that was closed is released: 3 ms.
pub(super) const RELEASE_PAUSES: usize = 6;

/// The result of walking a path to an inode.
#[derive(Debug)]
enum Walked {
    /// It leads to the inode, which is open by this `O_PATH` descriptor.
    There(OwnedFd),
    /// It leads elsewhere, or nowhere, from this name on.
    Elsewhere(KernelName),
    /// It cannot be told: no name of the inode is known, or a directory may not be searched.
    Unknown,
}

impl Utf8Fs {
    /// Opens an inode in which names are made or removed, which gets another name, or whose attributes are changed.
    ///
    /// # Errors
    /// [`FsError::Stale`]: it is gone, a name that leads to it leads elsewhere by now, or it is a directory that was moved out of the
    /// backing directory.
    pub(super) fn open_to_change(
        &self,
        caller: Caller,
        call: Call,
        number: u64,
    ) -> Result<OpenInode, FsError> {
        let open = self.open_inode(number)?;
        let is_there = self.check_names(caller, call, &open.inode)?.is_some();
        // What the names lead to lies below the root.
        if !is_there && open.inode.is_directory() {
            self.inodes.confine(&open, Duration::ZERO)?;
        }
        Ok(open)
    }

    /// Opens an inode whose attributes are changed. A program changes those of an open file by its descriptor, whatever became of the name,
    /// and does not ask again. The request does not tell fchmod(2) from chmod(2), nor open(2) with `O_TRUNC` from truncate(2) (`fuse_do_setattr` in
    /// fs/fuse/dir.c), so that who has the file open is taken to use that.
    ///
    /// # Errors
    /// As for [`open_to_change`](Self::open_to_change).
    pub(super) fn open_to_set(
        &self,
        caller: Caller,
        call: Call,
        number: u64,
    ) -> Result<OpenInode, FsError> {
        let opened = self.open_to_change(caller, call, number);
        if matches!(opened, Err(FsError::Stale)) && self.has_open(caller, number) {
            self.retries.end(caller);
            return self.open_inode(number);
        }
        opened
    }

    /// Returns true if `caller` has opened a file or directory and not closed it. The kernel does not wait for the RELEASE of one that was
    /// just closed.
    fn has_open(&self, caller: Caller, number: u64) -> bool {
        let Ok(inode) = self.inodes.get(number) else {
            return false;
        };
        let is_open = || match inode.is_directory() {
            // Threads of other PID namespaces have the number 0, and are not known.
            true => self.directories.any(|open| {
                open.pid == caller.pid && open.pid != 0 && open.at.inode.number == number
            }),
            false => inode.is_opened_by(caller.pid),
        };
        for _ in 0..RELEASE_PAUSES {
            if !is_open() {
                return false;
            }
            thread::sleep(PAUSE);
        }
        is_open()
    }

    /// Notes that `caller` asks again if the answer about an inode is `ESTALE`. What he is told of when he looks the name up then is held, so
    /// that it can be reached though others remove it before he asks.
    pub fn note_answer<T>(
        &self,
        caller: Caller,
        call: Call,
        number: u64,
        answer: &Result<T, FsError>,
    ) {
        let is_stale = |error: &FsError| error.errno() == libc::ESTALE;
        if answer.as_ref().is_err_and(is_stale) && !self.retries.has(caller) {
            let inode = self.inodes.get(number).ok();
            let place = inode.and_then(|inode| inode.place());
            let name = place.as_ref().map(KernelName::of);
            self.retries.note(caller, call, name);
        }
    }

    /// Sends `caller` back to look up the file that he opens. Returns false if that was done, or if he is to come back anyway.
    pub fn send_back(&self, caller: Caller) -> bool {
        let is_first = !self.retries.has(caller);
        if is_first {
            self.retries.note(caller, Call::Open, None);
        }
        is_first
    }

    /// Notes that a request of `caller` was answered with something else than `ESTALE`. Unless it is one that the kernel makes on the way to
    /// what it repeats, the call that was answered with `ESTALE` is over.
    pub fn end_retry(&self, caller: Caller) {
        self.retries.end(caller);
    }

    /// Sees to it that the names by which the kernel may have reached an inode lead to it, unless `caller` did not use them. Returns a
    /// descriptor of the inode where they do.
    ///
    /// # Errors
    /// [`FsError::Stale`]: a name leads elsewhere; the kernel is to look it up.
    pub(super) fn check_names(
        &self,
        caller: Caller,
        call: Call,
        inode: &Arc<Inode>,
    ) -> Result<Option<OwnedFd>, FsError> {
        match self.walk_settled(inode) {
            Walked::There(_) | Walked::Unknown if self.is_to_be_looked_up(caller, call, inode) => {
                self.retries.note(caller, call, None);
                Err(FsError::Stale)
            }
            Walked::Elsewhere(name) => {
                if self
                    .retries
                    .lets_pass((caller, call), self.inodes.told_at(inode), &name)
                {
                    return Ok(None);
                }
                self.retries.note(caller, call, Some(name));
                Err(FsError::Stale)
            }
            Walked::There(fd) => Ok(Some(fd)),
            Walked::Unknown => Ok(None),
        }
    }

    /// Returns true if the kernel may have reached a file that is opened by a name that was forgotten, since it has so many: then it is sent
    /// back once. Of a file that gets one more name each time that would be twice the requests.
    fn is_to_be_looked_up(&self, caller: Caller, call: Call, inode: &Inode) -> bool {
        call == Call::Open
            && inode.has_forgotten_places(self.settings.names_kept)
            && !self.retries.has(caller)
    }

    /// Walks to an inode; once more if something was renamed through the mount meanwhile, whose new name may not be noted yet.
    fn walk_settled(&self, inode: &Arc<Inode>) -> Walked {
        for _ in 1..ATTEMPTS {
            let before = self.inodes.renames();
            let walked = self.walk_to(inode);
            let is_settled = before.is_some() && before == self.inodes.renames();
            if is_settled || !matches!(walked, Walked::Elsewhere(_)) {
                return walked;
            }
            thread::sleep(PAUSE);
        }
        self.walk_to(inode)
    }

    /// Walks by each name that the kernel may have of an inode.
    fn walk_to(&self, inode: &Arc<Inode>) -> Walked {
        if inode.number == ROOT {
            return Walked::Unknown;
        }
        let mut walked = Walked::Unknown;
        for place in inode.kernel_places(self.settings.names_kept) {
            walked = self.walk_by(inode, place);
            if matches!(walked, Walked::Elsewhere(_)) {
                return walked;
            }
        }
        walked
    }

    /// Walks by the names down to `place`, where an inode was seen.
    fn walk_by(&self, inode: &Arc<Inode>, place: Place) -> Walked {
        let path = self.inodes.path_of(place);
        if path.first().is_none_or(|top| top.parent != ROOT) {
            return Walked::Unknown;
        }
        let names: Vec<&BackingName> = path.iter().map(|place| &place.backing).collect();
        let reach = || {
            let root = self.inodes.fd(&self.inodes.root)?;
            let found = Dir::new(&*root).reach(&names)?;
            let is_it = self.inodes.is_of(inode, &Stat::of(&found)?);
            Ok(is_it.then_some(found))
        };
        match self.inodes.with_descriptors(reach) {
            Ok(Some(found)) => Walked::There(found),
            // Which of the names leads elsewhere, or whether a mount is on the way, is told by going from name to name.
            Ok(None) => self.walk_stepwise(inode, &path),
            Err(error) if error.raw_os_error() == Some(libc::EACCES) => Walked::Unknown,
            Err(_) => self.walk_stepwise(inode, &path),
        }
    }

    /// Walks a path from name to name, into mounts too.
    fn walk_stepwise(&self, inode: &Arc<Inode>, path: &[Place]) -> Walked {
        let Ok(mut at) = self.inodes.fd(&self.inodes.root) else {
            return Walked::Unknown;
        };
        let below = path
            .iter()
            .skip(1)
            .map(|place| self.inodes.get(place.parent));
        for (place, there) in path.iter().zip(below.chain([Ok(Arc::clone(inode))])) {
            let step = self
                .inodes
                .with_descriptors(|| self.step_to(&at, &place.backing));
            match (step, there) {
                (Ok(Some((fd, stat))), Ok(there)) if self.inodes.is_of(&there, &stat) => {
                    at = Arc::new(fd);
                }
                (Err(error), _) if !is_absence(&error) => return Walked::Unknown,
                _ => {
                    return Walked::Elsewhere(KernelName::of(place));
                }
            }
        }
        match Arc::into_inner(at) {
            Some(fd) => Walked::There(fd),
            None => Walked::Unknown,
        }
    }

    /// Opens an entry of a directory, and asks for its attributes; `None` where it leads back into this filesystem.
    fn step_to(&self, at: &OwnedFd, name: &BackingName) -> io::Result<Option<(OwnedFd, Stat)>> {
        let fd = Dir::new(at).child(name)?;
        if self.is_own(&fd)? {
            return Ok(None);
        }
        let stat = Stat::of(&fd)?;
        Ok(Some((fd, stat)))
    }
}

/// Does an error say that there is no such entry?
fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOENT | libc::ENOTDIR | libc::ESTALE)
    )
}

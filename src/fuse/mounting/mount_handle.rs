//! A mount of ours in the tree of mounts: finding it again, unmounting it, cutting its connection, also after its daemon was killed.
//!
//! A path says nothing about whose mount is there, and numbers of mounts are used again. So the mount is known by
//! the number that the kernel never gives twice (Linux 6.8), and by number, type and source before that.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, StatxFlags, makedev, minor};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, UnmountFlags};

use strum::FromRepr;

use super::fusermount;
use crate::backing::file::proc_path;
use crate::names::Quoted;
use crate::os::helper::{self, Errand};
use crate::os::mountinfo::{self, MountInfo, mount_of, statx_cached};
use crate::os::status_field;

/// `STATX_MNT_ID_UNIQUE`: asks for the number that is never given twice.
const MNT_ID_UNIQUE: StatxFlags = StatxFlags::from_bits_retain(0x4000);
/// Time for which a busy mount is tried again, and between two attempts.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);
/// The directory in which the kernel lists FUSE connections, if it is mounted.
const CONNECTIONS: &str = "/sys/fs/fuse/connections";

/// Which mount something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MountId {
    /// The number in `/proc/self/mountinfo`. The kernel gives it to another mount once this one is gone.
    pub number: u64,
    /// The number that the kernel never gives again; `None` before Linux 6.8.
    pub unique: Option<u64>,
    /// The device of its filesystem. Its minor number is the number of a FUSE connection.
    pub device: u64,
}

/// The outcome of an attempt to unmount. Its number is what the helper process answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRepr)]
#[repr(u8)]
pub enum UnmountOutcome {
    /// Unmounted.
    Done,
    /// Something is open or some process is inside; nothing changed.
    Busy,
    /// Was gone already; nothing changed.
    Gone,
    /// A foreign filesystem is mounted on it or inside it; nothing changed.
    Covered,
}

/// A mount of ours, as it can be found again in the tree of mounts. It holds no descriptor.
#[derive(Debug)]
pub struct Spot {
    /// The mount point, without symlinks.
    pub path: PathBuf,
    /// Which mount this is.
    pub id: MountId,
    source: Vec<u8>,
}

/// The mount of this process. Dropped, it is detached, unless it is gone or covered.
#[derive(Debug)]
pub struct Attached {
    /// Its place, for the helper process too.
    pub spot: Spot,
    /// Cuts the connection when written to. Open from the start: it stands for this connection even after the
    /// kernel has given its number to another.
    abort: Option<File>,
}

impl Attached {
    /// Finds the mount that was just made at `path`. Asks the daemon nothing, for there is none yet.
    pub(super) fn find(path: &Path) -> io::Result<Self> {
        let root = open_root(path)?;
        let listed = mount_of(&root)?.filter(|(listed, is_root)| *is_root && listed.is_ours());
        let (listed, _) = listed.ok_or_else(|| {
            let busy = io::ErrorKind::ResourceBusy;
            io::Error::new(busy, "something else is mounted there by now")
        })?;
        let spot = Spot::of(&root, listed)?;
        let abort = open_abort(minor(spot.id.device))
            .inspect_err(|error| log::debug!("the connection cannot be aborted: {error}"))
            .ok();
        Ok(Self { spot, abort })
    }

    /// Cuts the connection: whatever waits for the daemon fails with ECONNABORTED or ENOTCONN, and the daemon's
    /// session ends. Does nothing to a connection that has ended.
    ///
    /// # Errors
    /// The kernel's list of connections (fusectl) cannot be reached.
    pub fn abort(&self) -> io::Result<()> {
        match &self.abort {
            Some(file) => (&*file).write_all(b"1"),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Returns the descriptor that [`abort`](Self::abort) writes to, if there is one.
    pub fn cutter(&self) -> Option<BorrowedFd<'_>> {
        self.abort.as_ref().map(AsFd::as_fd)
    }
}

impl Spot {
    /// Returns the mount `listed` whose root is open as `root`.
    ///
    /// # Errors
    /// Those of statx(2).
    pub fn of(root: &OwnedFd, listed: MountInfo) -> io::Result<Self> {
        Ok(Self {
            path: listed.path(),
            id: identify(root)?,
            source: listed.source,
        })
    }

    /// Returns the path of the file that aborts its connection, within the kernel's list of connections.
    pub fn abort_file(&self) -> String {
        abort_file(minor(self.id.device))
    }

    /// Is there a connection still? `false` where the kernel's list of connections is not mounted.
    pub fn is_connected(&self) -> bool {
        Path::new(CONNECTIONS).join(self.abort_file()).is_file()
    }

    /// Unmounts it if nobody uses it, and nothing else. Where this process has a helper process, that does so: this one cannot.
    ///
    /// # Errors
    /// The system refused for another reason than use, or fusermount3 is not there; `BrokenPipe` if the
    /// helper processes are gone.
    pub fn unmount(&self) -> io::Result<UnmountOutcome> {
        if let Some(outcome) = by_helper(Errand::Unmount) {
            return outcome;
        }
        // An open descriptor would make it busy, so what follows goes by path.
        let path = match self.standing()? {
            Ok((_root, path)) => path,
            Err(outcome) => return Ok(outcome),
        };
        match rustix::mount::unmount(&path, UnmountFlags::NOFOLLOW) {
            Ok(()) => Ok(UnmountOutcome::Done),
            Err(Errno::BUSY) => Ok(UnmountOutcome::Busy),
            Err(Errno::INVAL | Errno::NOENT) => Ok(UnmountOutcome::Gone),
            Err(Errno::PERM) => fusermount::unmount(&path, false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Unmounts it, and tries again for two seconds while it is in use: what holds it may be gone in a moment, such as a program that
    /// just ended, or who asks for its status.
    ///
    /// # Errors
    /// As for [`Self::unmount`].
    pub fn unmount_patiently(&self) -> io::Result<UnmountOutcome> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.unmount() {
                Ok(UnmountOutcome::Busy) if Instant::now() < until => thread::sleep(PAUSE),
                outcome => return outcome,
            }
        }
    }

    /// Takes it out of the tree of mounts, and nothing else: whoever is in it stays and is served, nobody gets in
    /// any more. Never [`UnmountOutcome::Busy`].
    ///
    /// # Errors
    /// As for [`Self::unmount`].
    pub fn detach(&self) -> io::Result<UnmountOutcome> {
        if let Some(outcome) = by_helper(Errand::Detach) {
            return outcome;
        }
        match self.standing()? {
            Ok((root, path)) => take_out(&root, &path).map(|()| UnmountOutcome::Done),
            Err(outcome) => Ok(outcome),
        }
    }

    /// Takes it out of the tree of mounts with all that is mounted in it: no path leads there where its daemon is gone or stuck.
    ///
    /// # Errors
    /// As for [`Self::unmount`]; `ENOENT` where its path leads elsewhere.
    pub fn detach_with_inside(&self) -> io::Result<()> {
        let root = open_root(&self.path)?;
        match identify(&root)? == self.id {
            true => take_out(&root, &self.path),
            false => Err(Errno::NOENT.into()),
        }
    }

    /// Is another filesystem mounted on it or in it, so that it can be neither unmounted nor detached?
    ///
    /// # Errors
    /// The table of mounts cannot be read.
    pub fn is_covered(&self) -> io::Result<bool> {
        Ok(matches!(self.standing()?, Err(UnmountOutcome::Covered)))
    }

    /// Returns its root and its path, which may have been renamed, if nothing is mounted on it or in it; else whether it is covered or
    /// gone.
    fn standing(&self) -> io::Result<Result<(OwnedFd, PathBuf), UnmountOutcome>> {
        let mounts = mountinfo::read()?;
        let may_be = |mount: &&MountInfo| {
            mount.id == self.id.number && mount.is_ours() && mount.source == self.source
        };
        let Some(listed) = mounts.iter().find(may_be) else {
            return Ok(Err(UnmountOutcome::Gone));
        };
        // Not our own path: a directory above may have been renamed.
        let path = listed.path();
        let top = open_root(&path).and_then(|root| Ok((identify(&root)?, root)));
        let is_covering = |mount: &MountInfo| mount.parent == self.id.number;
        Ok(match top {
            Ok((id, root)) if id == self.id && !mounts.iter().any(is_covering) => Ok((root, path)),
            Ok((id, _)) if id == self.id => Err(UnmountOutcome::Covered),
            // The number is another's by now.
            Ok((id, _)) if id.number == self.id.number => Err(UnmountOutcome::Gone),
            Ok(_) | Err(_) if path == self.path => Err(UnmountOutcome::Covered),
            Ok(_) | Err(_) => Err(UnmountOutcome::Gone),
        })
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        if let Err(error) = self.spot.detach() {
            let path = Quoted::of(&self.spot.path);
            log::error!("{path} may still be mounted, without a daemon: {error}");
        }
    }
}

/// Returns what came of an attempt by the helper process, if there is one.
fn by_helper(errand: Errand) -> Option<io::Result<UnmountOutcome>> {
    Some(helper::text(errand, 0)?.and_then(|answer| {
        let outcome = answer.first().copied().and_then(UnmountOutcome::from_repr);
        outcome.ok_or(io::ErrorKind::InvalidData.into())
    }))
}

/// Takes the mount at `path`, whose root is `root`, out of the tree. By root no path is resolved, so that it hits no other mount.
pub(crate) fn take_out(root: &OwnedFd, path: &Path) -> io::Result<()> {
    match rustix::mount::unmount(proc_path(root.as_fd()), UnmountFlags::DETACH) {
        Err(Errno::PERM) => fusermount::unmount(path, true).map(drop),
        done => Ok(done?),
    }
}

/// Says which mount `fd` lies in, without asking its filesystem.
fn identify(fd: &OwnedFd) -> io::Result<MountId> {
    // It comes unasked. Who may not look at the mount, as anybody at another user's, must ask for nothing.
    let number = statx_cached(fd, StatxFlags::empty())?;
    let unique = match statx_cached(fd, MNT_ID_UNIQUE) {
        Err(Errno::ACCESS) => None,
        asked => Some(asked?).filter(|status| status.stx_mask & MNT_ID_UNIQUE.bits() != 0),
    };
    Ok(MountId {
        number: number.stx_mnt_id,
        unique: unique.map(|status| status.stx_mnt_id),
        device: makedev(number.stx_dev_major, number.stx_dev_minor),
    })
}

/// Opens what is mounted topmost at a path without symlinks. `O_PATH` asks no filesystem but those above.
fn open_root(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

fn abort_file(minor: u32) -> String {
    format!("{minor}/abort")
}

/// The file that aborts the connection whose filesystem has this minor device number. Where the list of connections is
/// not mounted, the administrator looks into a private instance of it.
fn open_abort(minor: u32) -> io::Result<File> {
    let name = abort_file(minor);
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let listed = rustix::fs::open(Path::new(CONNECTIONS).join(&name), flags, Mode::empty());
    let fd = match listed {
        Ok(fd) => fd,
        Err(Errno::NOENT) => {
            let list = rustix::mount::fsopen("fusectl", FsOpenFlags::FSOPEN_CLOEXEC)?;
            rustix::mount::fsconfig_create(&list)?;
            let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
            let list = rustix::mount::fsmount(&list, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
            rustix::fs::openat(&list, name, flags, Mode::empty())?
        }
        Err(errno) => return Err(errno.into()),
    };
    Ok(fd.into())
}

/// Cuts the connection of the FUSE filesystem with this minor device number if a thread holds it that was killed and cannot end, since it
/// waits in the kernel for a program that waits for the daemon: nobody who waits would learn that there is no answer. Where that cannot
/// be told or done nothing is.
pub(crate) fn cut_stuck_threads(minor: u32) {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut threads = processes.flat_map(|process| {
        let threads = fs::read_dir(process.path().join("task"));
        threads.into_iter().flatten().flatten()
    });
    if !threads.any(|thread| is_killed(&thread.path()) && holds(&thread.path(), minor)) {
        return;
    }
    let cut = open_abort(minor).and_then(|mut file| file.write_all(b"1"));
    log::debug!("cutting off what a killed daemon left: {cut:?}");
}

/// Has a thread been killed, and did not end yet (`SigPnd` in `proc_pid_status(5)`)? Each thread of a killed process has the signal at
/// once; the process counts as ended only some time later.
fn is_killed(thread: &Path) -> bool {
    let status = fs::read(thread.join("status")).unwrap_or_default();
    let pending = u64::from_str_radix(status_field(&status, "SigPnd:"), 16);
    pending.is_ok_and(|bits| bits & 1 << (libc::SIGKILL - 1) != 0)
}

/// Has a thread this connection open (Linux 5.17 tells)?
fn holds(thread: &Path, minor: u32) -> bool {
    let wanted = format!("fuse_connection:\t{minor}");
    let descriptors = fs::read_dir(thread.join("fdinfo"));
    let descriptors = descriptors.into_iter().flatten().flatten();
    descriptors
        .filter_map(|descriptor| fs::read_to_string(descriptor.path()).ok())
        .any(|told| told.lines().any(|line| line == wanted))
}

//! Following what others change below the mount, so that the kernel may keep names and attributes for long (law F5).
//!
//! A directory is marked before anything in it is given to the kernel to keep, so that no change falls between. Changes
//! that this process makes are the kernel's own; of what others change it is notified. All names that it may keep for long
//! are remembered, so that they can be expired where it was not heard what changed.

mod absent;
mod follow;
mod queues;

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use absent::AbsentNames;
use queues::{Notice, Queues};

use super::inode::{Inode, OpenAs, Place, ROOT, lock};
use super::{Lasts, Utf8Fs};
use crate::backing::watch::Watcher;
use crate::backing::{FileHandle, Stat, Time};

/// What the kernel keeps, and can be notified of. A call may block for as long as somebody works in the directory.
pub trait Kernel: Send + Sync {
    /// Drops the dentry of `name`, positive or negative. What is mounted at it or below is gone with it.
    fn invalidate_name(&self, directory: u64, name: &[u8]);

    /// Has the dentry of `name` revalidated when it is used next.
    fn expire_name(&self, directory: u64, name: &[u8]);

    /// Drops attributes, contents and lists of names.
    fn invalidate_inode(&self, number: u64);
}

/// The kernel keeps nothing for longer than this, whatever becomes of the notifications.
pub const LONGEST: Duration = Duration::from_secs(60);

/// Changes are reported, and are followed.
const HEARD: u8 = 0;
/// Events were lost or a notification is stalled: nothing is kept for long.
const UNRELIABLE: u8 = 1;
/// Nobody follows them.
const UNHEARD: u8 = 2;

/// The marked directories.
#[derive(Debug)]
pub(super) struct Watch {
    watcher: Watcher,
    /// By the handles that are reported. A mark is put and taken under this lock.
    marked: Mutex<HashMap<FileHandle, u64>>,
    /// [`HEARD`], [`UNRELIABLE`] or [`UNHEARD`].
    state: AtomicU8,
    /// Was it said that a directory cannot be marked?
    has_complained: AtomicBool,
    /// How often more changes came than could be reported.
    overflows: AtomicU64,
    /// How often a notification stalled.
    stalls: AtomicU64,
    is_stalled: AtomicBool,
    /// May attributes of files at rest be kept: is each write to them heard of, and has the kernel no content of its own that
    /// would be wrong with them?
    keeps_at_rest: AtomicBool,
    queues: Queues,
    absent: AbsentNames,
}

/// The time since a file was last changed, at `changed`, and [`LONGEST`] at most: for so long the kernel may keep attributes of
/// which not all changes are heard. Whoever wrote to it lately is likely to do so again.
fn at_rest(changed: Time, now: SystemTime) -> Duration {
    let since = |secs| {
        let whole = UNIX_EPOCH.checked_add(Duration::from_secs(secs))?;
        let changed = whole.checked_add(Duration::from_nanos(changed.nanos.into()))?;
        now.duration_since(changed).ok()
    };
    let age = u64::try_from(changed.secs).ok().and_then(since);
    age.unwrap_or_default().min(LONGEST)
}

impl Watch {
    pub(super) fn new(watcher: Watcher) -> Self {
        Self {
            watcher,
            marked: Mutex::default(),
            state: AtomicU8::new(HEARD),
            has_complained: AtomicBool::new(false),
            overflows: AtomicU64::new(0),
            stalls: AtomicU64::new(0),
            is_stalled: AtomicBool::new(false),
            keeps_at_rest: AtomicBool::new(false),
            queues: Queues::default(),
            absent: AbsentNames::default(),
        }
    }

    fn is_heard(&self) -> bool {
        self.state.load(Ordering::SeqCst) == HEARD
    }
}

/// How it stands with the following of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Following {
    /// Are changes reported, and followed? Else nothing is kept.
    pub is_alive: bool,
    /// So many directories are marked.
    pub directories: usize,
    /// So often there were more changes than could be reported.
    pub overflows: u64,
    /// So often the kernel held a notification back for over a second.
    pub stalls: u64,
    /// Is one held back now, so that nothing is kept for longer than a second?
    pub is_stalled: bool,
}

impl Utf8Fs {
    /// How it stands with the following of changes, if they are to be followed.
    pub(super) fn following(&self) -> Option<Following> {
        self.watch.as_ref().map(|watch| Following {
            is_alive: watch.state.load(Ordering::SeqCst) != UNHEARD,
            directories: lock(&watch.marked).len(),
            overflows: watch.overflows.load(Ordering::Relaxed),
            stalls: watch.stalls.load(Ordering::Relaxed),
            is_stalled: watch.is_stalled.load(Ordering::Relaxed),
        })
    }

    /// Marks a directory, if changes are followed; says whether it had no mark before. To be called before anything is read of
    /// it that the kernel is to keep.
    pub(super) fn mark(&self, directory: &Inode, fd: &OwnedFd) -> bool {
        let Some(watch) = &self.watch else {
            return false;
        };
        if directory.is_marked() || watch.state.load(Ordering::SeqCst) == UNHEARD {
            return false;
        }
        let mut marked = lock(&watch.marked);
        // What is reported are handles of the root's filesystem; those of others could be the same.
        let handle = match directory.number {
            ROOT => FileHandle::of(fd).ok().flatten(),
            _ => directory.handle().cloned(),
        };
        let done = match handle {
            Some(handle) => watch.watcher.add(fd).map(|()| {
                marked.insert(handle, directory.number);
            }),
            // On another mount inside: what is in it is not kept for long.
            None => return false,
        };
        match &done {
            Ok(()) => directory.set_marked(),
            Err(error) if !watch.has_complained.swap(true, Ordering::Relaxed) => {
                log::warn!(
                    "changes in some directories cannot be followed, and what is in them is kept for a second only: {error}"
                );
            }
            Err(_) => {}
        }
        done.is_ok()
    }

    /// How long the kernel may keep these attributes. What is in a directory changes it; what has several names can be changed
    /// by one in a directory that is not marked; and files can be by a mapping, which nobody hears of, also where nobody else
    /// changes anything: not at all while one is open through this mount for reading and writing, and for a second later, as a mapping may
    /// outlive the open file. Not at all where the kernel's pages are of another state.
    pub(super) fn attributes_last(&self, inode: &Inode, stat: &Stat) -> Lasts {
        if !self.tell(inode.number, stat) {
            return Lasts::Not;
        }
        if stat.is_file() && inode.is_open_as(OpenAs::Mappable) {
            return Lasts::Not;
        }
        if stat.is_file() && inode.was_mappable() {
            return Lasts::Open;
        }
        let Some(watch) = &self.watch else {
            return Lasts::Long;
        };
        let is_heard = if stat.is_dir() {
            inode.is_marked()
        } else {
            stat.nlink <= 1
        };
        if !is_heard || inode.is_adrift() || !watch.is_heard() {
            return Lasts::Briefly;
        }
        // Only a directory cannot get another name where nobody looks, and be changed by that.
        if stat.is_dir() {
            return Lasts::Long;
        }
        if stat.is_file() && !watch.keeps_at_rest.load(Ordering::Relaxed) {
            return Lasts::Briefly;
        }
        Lasts::For(at_rest(stat.ctime, SystemTime::now()))
    }

    /// The kernel keeps no content of files in this mount's name: it serves them by itself.
    pub fn keeps_no_pages(&self) {
        if let Some(watch) = &self.watch {
            let is_heard = watch.watcher.hears_writes();
            watch.keeps_at_rest.store(is_heard, Ordering::Relaxed);
        }
    }

    /// Are all changes of what is in this directory heard of, if they are to be?
    pub(super) fn is_followed(&self, directory: &Inode) -> bool {
        self.watch
            .as_ref()
            .is_none_or(|watch| watch.is_heard() && directory.is_marked())
    }

    /// How long the kernel may keep the name by which it was just told of `inode` in `directory`, where it may keep it at all.
    /// `left` is where it was before.
    pub(super) fn lasts(
        &self,
        directory: &Inode,
        inode: &Inode,
        stat: &Stat,
        left: Option<&Place>,
    ) -> Lasts {
        let Some(watch) = &self.watch else {
            return Lasts::Long;
        };
        match left {
            Some(left) if !stat.is_dir() => {
                // The kernel may have both names, and only one is remembered.
                let notice = Notice::of_expired(left.shown());
                watch.queues.add_once(left.parent, notice);
                watch.watcher.wake();
            }
            Some(left) if left.parent != directory.number => {
                watch.queues.leave(inode.number, left.parent);
            }
            _ => watch.queues.stay(inode.number),
        }
        // Asked last: whoever expires everything finds this name from now on.
        let is_remembered = stat.is_dir() || stat.nlink <= 1;
        match is_remembered && self.is_followed(directory) {
            true => Lasts::Long,
            false => Lasts::Briefly,
        }
    }

    /// How long the kernel may keep that there is no such name in `directory`, where it may keep it at all.
    pub(super) fn absence_lasts(&self, directory: &Inode, name: &[u8]) -> Lasts {
        let Some(watch) = &self.watch else {
            return Lasts::Long;
        };
        if !self.is_followed(directory) {
            return Lasts::Briefly;
        }
        let is_remembered = watch.absent.add(directory.number, name);
        // As above.
        match is_remembered && watch.is_heard() {
            true => Lasts::Long,
            false => Lasts::Briefly,
        }
    }

    /// The name exists now: the kernel keeps no negative dentry of it.
    pub(super) fn is_made(&self, directory: u64, name: &[u8]) {
        if let Some(watch) = &self.watch {
            watch.absent.remove(directory, name);
        }
    }

    /// Takes the mark of a directory away that the kernel has forgotten, or whose number is another's now.
    pub(super) fn unmark(&self, directory: &Inode) {
        let Some(watch) = self.watch.as_ref().filter(|_| directory.is_marked()) else {
            return;
        };
        let Some(handle) = directory.handle() else {
            return;
        };
        let mut marked = lock(&watch.marked);
        // It may be known again by now, and count on the mark.
        let now = self.inodes.get(directory.number);
        if now.is_ok_and(|inode| inode.handle() == Some(handle)) {
            return;
        }
        marked.remove(handle);
        if let Ok(fd) = self.inodes.open_handle(handle)
            && let Err(error) = watch.watcher.remove(&fd)
        {
            log::debug!("a directory keeps its mark: {error}");
        }
    }

    /// Are changes to be followed?
    #[must_use]
    pub fn follows(&self) -> bool {
        self.watch.is_some()
    }

    /// Nobody follows changes: the kernel is given nothing to keep for long from now on.
    pub fn follow_no_more(&self) {
        if let Some(watch) = &self.watch {
            watch.state.store(UNHEARD, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests;

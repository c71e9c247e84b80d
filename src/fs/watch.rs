//! Following what others change below the mount, so that the kernel may keep what it knows for as long as it likes (law F5).
//!
//! A directory is marked before anything in it is given to the kernel to keep, so that no change falls between. Changes
//! that this process makes are the kernel's own; what others change it is told to forget. All names that it may keep for long
//! are remembered, so that it can be told to forget them where it was not heard what changed.

mod follow;
mod gate;
mod known;

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gate::Gate;
use known::Known;

use super::inode::{Inode, Place, ROOT, lock};
use super::{Lasts, Opened, Utf8Fs};
use crate::backing::watch::Watcher;
use crate::backing::{FileHandle, Stat, Time};

/// What the kernel keeps, and can be told to forget.
pub trait Kernel {
    /// Forgets what `name` leads to in a directory, and that it leads nowhere. What is mounted at it or below is gone with it.
    fn forget_name(&self, directory: u64, name: &[u8]);

    /// Looks `name` up anew when it is asked for.
    fn doubt_name(&self, directory: u64, name: &[u8]);

    /// Forgets attributes, contents and lists of names.
    fn forget_inode(&self, number: u64);
}

/// What may change unheard is kept no longer than this.
const AT_REST: Duration = Duration::from_secs(60);

/// Changes are reported, and are followed.
const HEARD: u8 = 0;
/// There were more of them than are reported; nothing is kept for long.
const TOO_MANY: u8 = 1;
/// Nobody follows them.
const UNHEARD: u8 = 2;

/// The marked directories.
#[derive(Debug)]
pub(super) struct Watch {
    watcher: Watcher,
    /// By the handles that are reported. A mark is put and taken under this lock.
    marked: Mutex<HashMap<FileHandle, u64>>,
    /// [`HEARD`], [`TOO_MANY`] or [`UNHEARD`].
    state: AtomicU8,
    /// Was it said that a directory cannot be marked?
    has_complained: AtomicBool,
    /// How often more changes came than could be reported.
    overflows: AtomicU64,
    /// May attributes of files at rest be kept: is each write to them heard of, and has the kernel no content of its own that
    /// would be wrong with them?
    keeps_at_rest: AtomicBool,
    gate: Gate,
    known: Known,
}

/// How long a file has been as it is that was changed last at `changed`, and [`AT_REST`] at most: for so long the kernel may
/// keep attributes of which not all changes are heard. Who wrote to it of late is likely to do so again.
fn at_rest(changed: Time, now: SystemTime) -> Duration {
    let since = |secs| {
        let whole = UNIX_EPOCH.checked_add(Duration::from_secs(secs))?;
        let changed = whole.checked_add(Duration::from_nanos(changed.nanos.into()))?;
        now.duration_since(changed).ok()
    };
    let age = u64::try_from(changed.secs).ok().and_then(since);
    age.unwrap_or_default().min(AT_REST)
}

impl Watch {
    pub(super) fn new(watcher: Watcher) -> Self {
        Self {
            watcher,
            marked: Mutex::default(),
            state: AtomicU8::new(HEARD),
            has_complained: AtomicBool::new(false),
            overflows: AtomicU64::new(0),
            keeps_at_rest: AtomicBool::new(false),
            gate: Gate::default(),
            known: Known::default(),
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
}

impl Utf8Fs {
    /// How it stands with the following of changes, if they are to be followed.
    pub(super) fn following(&self) -> Option<Following> {
        self.watch.as_ref().map(|watch| Following {
            is_alive: watch.state.load(Ordering::SeqCst) != UNHEARD,
            directories: lock(&watch.marked).len(),
            overflows: watch.overflows.load(Ordering::Relaxed),
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
    /// by one in a directory that is not marked; and files can be by a mapping, which nobody hears of: who has one open through
    /// this mount may be doing so, also where nobody else changes anything. Not at all where the kernel's pages are of another state.
    pub(super) fn attributes_last(&self, inode: &Inode, stat: &Stat) -> Lasts {
        if !self.tell(inode.number, stat) {
            return Lasts::Not;
        }
        if stat.is_file() && inode.is_open() {
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

    /// May the kernel keep the attributes of a file that was just opened for longer than a second?
    #[must_use]
    pub fn was_at_rest(&self, opened: &Opened) -> bool {
        self.watch.is_some()
            && Stat::of(&*opened.path_only)
                .is_ok_and(|stat| at_rest(stat.ctime, SystemTime::now()) > Duration::from_secs(1))
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
                watch.known.add_late(left.parent, left.shown());
                watch.watcher.wake();
            }
            Some(left) if left.parent != directory.number => {
                watch.gate.leave(inode.number, left.parent);
            }
            _ => watch.gate.stay(inode.number),
        }
        // Asked last: who finds all that is to be forgotten finds this name from now on.
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
        let (is_remembered, has_late) = watch.known.add_absent(directory.number, name);
        if has_late {
            watch.watcher.wake();
        }
        // As above.
        match is_remembered && watch.is_heard() {
            true => Lasts::Long,
            false => Lasts::Briefly,
        }
    }

    /// Takes the mark of a directory away that the kernel has forgotten.
    pub(super) fn unmark(&self, directory: &Inode) {
        let Some(watch) = self.watch.as_ref().filter(|_| directory.is_marked()) else {
            return;
        };
        let mut marked = lock(&watch.marked);
        // It may be known again by now, and count on the mark.
        if self.inodes.get(directory.number).is_ok() {
            return;
        }
        let Some(handle) = directory.handle() else {
            return;
        };
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

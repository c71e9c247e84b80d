//! Following what others change below the mount, so that the kernel may keep names and attributes for long (law F5).
//!
//! A directory is marked before anything in it is given to the kernel to keep, so that no change falls between. Changes
//! that this process makes are the kernel's own; of what others change it is notified. All names that it may keep for long
//! are remembered, so that they can be expired where it was not heard what changed.

mod follow;
mod queues;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use queues::{Notice, Queues};

use super::dentries::{Dentries, Name};
use super::{ADRIFT, IDLE, MARKED, Times};
use crate::backing::ticks::age;
use crate::backing::watch::Watcher;
use crate::backing::{FileHandle, Stat, Time};
use crate::fs::{Entry, Inode, ROOT, Utf8Fs};
use crate::records::WatchStatus;

/// The kernel's caches, and notifications to them. A call may block for as long as somebody works in the directory.
pub trait Kernel: Send + Sync {
    /// Drops the dentry of `name`, positive or negative. What is mounted at it or below is gone with it.
    fn invalidate_name(&self, directory: u64, name: &[u8]);

    /// Has the dentry of `name` revalidated when it is used next.
    fn expire_name(&self, directory: u64, name: &[u8]);

    /// Drops attributes, contents and lists of names. False where the kernel has no such inode: it may have been told of it and not
    /// looked at that yet.
    fn invalidate_inode(&self, number: u64) -> bool;

    /// Has the attributes asked for when they are needed next; contents and lists of names then go where these tell that they
    /// changed. Never blocks. False where the kernel has no such inode, as above.
    fn expire_attributes(&self, number: u64) -> bool;
}

/// A directory in which nothing has changed for so long is idle.
const IDLE_AFTER: Duration = Duration::from_secs(2);

/// The kernel keeps nothing for longer than this, whatever becomes of the notifications.
pub const LONGEST: Duration = Duration::from_secs(60);

/// Changes are reported, and are followed.
const HEARD: u8 = 0;
/// Events were lost or a notification is stalled: nothing is kept for long.
const UNRELIABLE: u8 = 1;
/// Nobody follows them.
const UNHEARD: u8 = 2;

/// The marked directories, and what the kernel has of them.
#[derive(Debug)]
pub struct Watched {
    fs: Arc<Utf8Fs>,
    times: Times,
    watcher: Watcher,
    /// Inodes by the handles that are reported. A mark is put and taken under this lock.
    marked: Mutex<HashMap<FileHandle, u64>>,
    /// [`HEARD`], [`UNRELIABLE`] or [`UNHEARD`].
    state: AtomicU8,
    /// Was it said that a directory cannot be marked?
    complaint: Once,
    /// Number of overflows: more changes came than could be reported.
    overflows: AtomicU64,
    /// Number of notifications that stalled.
    stalls: AtomicU64,
    is_stalled: AtomicBool,
    /// Attributes of idle files may be kept: each write to them is reported, and the kernel has no content of its own
    /// that would be wrong with them.
    keeps_at_rest: AtomicBool,
    queues: Queues,
    dentries: Arc<Dentries>,
}

/// Returns the time since a file's last change at `changed`, [`LONGEST`] at most. The kernel may keep attributes that
/// long if not all changes are reported: whoever wrote to the file lately is likely to do so again.
fn at_rest(changed: Time, now: SystemTime) -> Duration {
    age(changed, now).min(LONGEST)
}

impl Watched {
    pub(super) fn new(
        fs: Arc<Utf8Fs>,
        dentries: Arc<Dentries>,
        watcher: Watcher,
        times: Times,
    ) -> Self {
        Self {
            fs,
            times,
            watcher,
            marked: Mutex::default(),
            state: AtomicU8::new(HEARD),
            complaint: Once::new(),
            overflows: AtomicU64::new(0),
            stalls: AtomicU64::new(0),
            is_stalled: AtomicBool::new(false),
            keeps_at_rest: AtomicBool::new(false),
            queues: Queues::default(),
            dentries,
        }
    }

    fn is_heard(&self) -> bool {
        self.state.load(Ordering::SeqCst) == HEARD
    }

    /// Returns how changes are followed.
    pub fn status(&self) -> WatchStatus {
        WatchStatus {
            alive: self.state.load(Ordering::SeqCst) != UNHEARD,
            directories: self.marked.lock().len(),
            overflows: self.overflows.load(Ordering::Relaxed),
            stalls: self.stalls.load(Ordering::Relaxed),
            stalled: self.is_stalled.load(Ordering::Relaxed),
        }
    }

    /// Notes whether a directory with these attributes is idle.
    pub(super) fn note_idleness(&self, directory: &Inode, stat: &Stat) {
        let is_idle = age(stat.ctime, SystemTime::now()) >= IDLE_AFTER;
        directory.notes.set(IDLE, is_idle);
    }

    /// Marks a directory if it is idle; returns whether it had no mark before. To be called before anything is read of it that the
    /// kernel is to keep. In a busy directory a mark costs more than it saves: each change makes an event.
    pub(super) fn look_into(&self, directory: &Arc<Inode>) -> bool {
        directory.notes.has(IDLE) && self.mark(directory)
    }

    /// Names are about to be moved from one directory to another. The kernel keeps each for as long as it was given it, wherever
    /// it is moved.
    pub(super) fn move_names(&self, from: &Inode, to: &Arc<Inode>) {
        if from.notes.has(MARKED) {
            self.mark(to);
        }
    }

    /// Marks a directory; says whether it had no mark before.
    fn mark(&self, directory: &Arc<Inode>) -> bool {
        if directory.notes.has(MARKED) || self.state.load(Ordering::SeqCst) == UNHEARD {
            return false;
        }
        let Ok(fd) = self.fs.inodes().fd(directory) else {
            return false;
        };
        let mut marked = self.marked.lock();
        // What is reported are handles of the root's filesystem; those of others could be the same.
        let handle = match directory.number {
            ROOT => FileHandle::of(&*fd).ok().flatten(),
            _ => directory.handle().cloned(),
        };
        // On another mount inside: what is in it is not kept for long.
        let Some(handle) = handle else {
            return false;
        };
        let done = self.watcher.add(&*fd);
        match &done {
            Ok(()) => {
                marked.insert(handle, directory.number);
                directory.notes.set(MARKED, true);
            }
            Err(error) => self.complaint.call_once(|| {
                log::warn!(
                    "changes in some directories cannot be followed, so what is in them is cached for a second only: {error}"
                );
            }),
        }
        done.is_ok()
    }

    /// Returns the timeout of these attributes, unless a mapping can change them. Changes in a directory change its
    /// attributes. A file with several names can be changed by one in a directory that is not marked.
    pub(super) fn keep_attributes(&self, inode: &Inode, stat: &Stat) -> Duration {
        let is_heard = if stat.is_dir() {
            inode.notes.has(MARKED) && inode.notes.has(IDLE)
        } else {
            stat.nlink <= 1
        };
        if !is_heard || inode.notes.has(ADRIFT) || !self.is_heard() {
            return self.times.unheard;
        }
        // Only a directory cannot get another name where nobody looks, and be changed by that.
        if stat.is_dir() {
            return self.times.heard;
        }
        if !self.keeps_at_rest.load(Ordering::Relaxed) {
            return self.times.unheard;
        }
        at_rest(stat.ctime, SystemTime::now()).max(self.times.unheard)
    }

    /// The kernel keeps no content of files in this mount's name: it serves them by itself.
    pub fn keeps_no_content(&self) {
        let is_heard = self.watcher.hears_writes;
        self.keeps_at_rest.store(is_heard, Ordering::Relaxed);
    }

    /// Are all changes of what is in this directory heard of soon? Not where it is being changed: each notification waits for who
    /// works there.
    pub(super) fn is_followed(&self, directory: &Inode) -> bool {
        self.is_heard() && directory.notes.has(MARKED) && directory.notes.has(IDLE)
    }

    /// Returns the entry timeout of `entry` in `directory`, where it may be kept at all.
    pub(super) fn keep_name(&self, directory: &Inode, entry: &Entry) -> Duration {
        let Entry { inode, stat, .. } = entry;
        inode.notes.set(ADRIFT, !self.is_followed(directory));
        if stat.is_dir() {
            self.note_idleness(inode, stat);
        }
        match &entry.left {
            Some(left) if !stat.is_dir() => {
                // The kernel may have both names, and only one is remembered.
                self.expire((left.parent, left.visible.as_bytes()));
            }
            Some(left) if left.parent != directory.number => {
                self.queues.leave(inode.number, left.parent);
            }
            _ => self.queues.stay(inode.number),
        }
        // Asked last: whoever expires everything finds this name from now on.
        let is_told = match stat.is_dir() {
            // A filesystem that is mounted on it is not reported.
            true => !self.fs.enters_mounts(),
            // Only one name is remembered.
            false => stat.nlink <= 1,
        };
        self.times.of(is_told && self.is_followed(directory))
    }

    /// Returns the timeout of a negative dentry in `directory`, where it may be kept at all.
    pub(super) fn keep_absence(&self, directory: &Inode, name: &[u8]) -> Duration {
        // Where it is not heard at once, whoever waits for a file to come is to find it with the files that came before it (law F9).
        let name = (directory.number, name);
        if !self.is_followed(directory) || !self.dentries.keep_absence(name, self.times.heard) {
            return Duration::ZERO;
        }
        // As above.
        match self.is_heard() {
            true => self.times.heard,
            false => Duration::ZERO,
        }
    }

    /// Has the dentry of a name revalidated that leads elsewhere.
    pub(super) fn expire(&self, (directory, name): Name<'_>) {
        let notice = Notice::of_expired(name);
        self.queues.add(HashMap::from([(directory, notice)]));
        self.watcher.wake();
    }

    /// Has the mark of a directory taken away, if it has one, that the kernel has forgotten, or whose number is another's now. Does
    /// not wait for that.
    pub(super) fn unmark(&self, directory: &Inode) {
        if directory.notes.has(MARKED)
            && let Some(handle) = directory.handle()
        {
            self.queues.unmark(directory.number, handle.clone());
        }
    }

    /// Takes the mark of a forgotten directory away. Opening it waits while somebody lists the directory above it, and another
    /// changes that (`reconnect_path` in `fs/exportfs/expfs.c`), so no lock is held meanwhile.
    fn take_mark(&self, number: u64, handle: &FileHandle) {
        let fd = self.fs.inodes().open_handle(handle);
        let mut marked = self.marked.lock();
        // It may be known again by now, and count on the mark, under this number or another.
        let now = self.fs.inodes().get(number);
        let is_of_other = marked.get(handle).is_some_and(|&other| other != number);
        if is_of_other
            || now.is_ok_and(|inode| inode.handle() == Some(handle) && inode.notes.has(MARKED))
        {
            return;
        }
        marked.remove(handle);
        if let Ok(fd) = fd
            && let Err(error) = self.watcher.remove(&fd)
        {
            log::debug!("a directory keeps its mark: {error}");
        }
    }

    /// Nobody follows changes: the kernel is given nothing to keep for long from now on.
    pub fn follow_no_more(&self) {
        self.state.store(UNHEARD, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests;

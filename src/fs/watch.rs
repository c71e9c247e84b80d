//! Following what others change below the mount, so that the kernel may keep what it knows for as long as it likes (law F5).
//!
//! A directory is marked before anything in it is given to the kernel to keep, so that no change falls between. Changes
//! that this process makes are the kernel's own; what others change it is told to forget.

use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::Utf8Fs;
use super::inode::{Inode, ROOT, lock};
use crate::backing::watch::{Change, Happened, Watcher};
use crate::backing::{FileHandle, Stat};

/// What the kernel keeps, and can be told to forget.
pub trait Kernel {
    /// Forgets what `name` leads to in a directory, and that it leads nowhere.
    fn forget_name(&self, directory: u64, name: &[u8]);

    /// Forgets attributes, contents and lists of names.
    fn forget_inode(&self, number: u64);

    /// Forgets all names; says whether that can be had.
    fn forget_all_names(&self) -> bool;
}

/// The marked directories.
#[derive(Debug)]
pub(super) struct Watch {
    watcher: Watcher,
    /// By the handles that are reported. A mark is put and taken under this lock.
    marked: Mutex<HashMap<FileHandle, u64>>,
    /// Changes are reported, and are followed.
    is_alive: AtomicBool,
    /// Was it said that a directory cannot be marked?
    has_complained: AtomicBool,
    overflows: AtomicU64,
}

impl Watch {
    pub(super) fn new(watcher: Watcher) -> Self {
        Self {
            watcher,
            marked: Mutex::default(),
            is_alive: AtomicBool::new(true),
            has_complained: AtomicBool::new(false),
            overflows: AtomicU64::new(0),
        }
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
            is_alive: watch.is_alive.load(Ordering::Acquire),
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
        if directory.is_marked() || !watch.is_alive.load(Ordering::Acquire) {
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
            // On another mount inside: what is in it is not kept.
            None => return false,
        };
        match &done {
            Ok(()) => directory.set_marked(),
            Err(error) if !watch.has_complained.swap(true, Ordering::Relaxed) => {
                log::warn!(
                    "changes in some directories cannot be followed, and what is in them is not kept: {error}"
                );
            }
            Err(_) => {}
        }
        done.is_ok()
    }

    /// Is every change of these attributes heard of, if it is to be? What is in a directory changes it; and what has several
    /// names can be changed by one in a directory that is not marked.
    pub(super) fn is_heard(&self, inode: &Inode, stat: &Stat) -> bool {
        let Some(watch) = &self.watch else {
            return true;
        };
        watch.is_alive.load(Ordering::Acquire)
            && !inode.is_adrift()
            && if stat.is_dir() {
                inode.is_marked()
            } else {
                stat.nlink <= 1
            }
    }

    /// Are all changes of what is in this directory heard of, if they are to be?
    pub(super) fn is_followed(&self, directory: &Inode) -> bool {
        self.watch
            .as_ref()
            .is_none_or(|watch| watch.is_alive.load(Ordering::Acquire) && directory.is_marked())
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

    /// Nobody follows changes: the kernel is given nothing to keep from now on.
    pub fn follow_no_more(&self) {
        if let Some(watch) = &self.watch {
            watch.is_alive.store(false, Ordering::Release);
        }
    }

    /// Follows changes until `end` can be read or its other side is closed. Blocks; to be run on a thread of its own, and not
    /// where a request is served, since the kernel may wait for that.
    pub fn follow(&self, kernel: &dyn Kernel, end: impl AsFd) {
        let Some(watch) = &self.watch else {
            return;
        };
        let ended = loop {
            match watch.watcher.wait(&end) {
                Ok(false) => {}
                Ok(true) => break Ok(()),
                Err(error) => break Err(error),
            }
            match watch.watcher.take() {
                Ok(happened) => self.forget_changed(watch, kernel, happened),
                Err(error) => break Err(error),
            }
        };
        self.follow_no_more();
        if let Err(error) = ended {
            log::error!(
                "changes made below the mount are not heard of any more, so that nothing is kept: {error}"
            );
            self.forget_everything(kernel);
        }
    }

    fn forget_changed(&self, watch: &Watch, kernel: &dyn Kernel, happened: Vec<Happened>) {
        let own = std::process::id();
        let (mut names, mut inodes) = (HashSet::new(), HashSet::new());
        for happened in happened {
            let change = match happened {
                Happened::Change(change) => change,
                Happened::Overflow => {
                    let before = watch.overflows.fetch_add(1, Ordering::Relaxed);
                    if before == 0 {
                        log::warn!(
                            "more changes below the mount than can be followed: all that was kept is forgotten"
                        );
                    }
                    return self.forget_everything(kernel);
                }
            };
            if change.pid == own {
                continue;
            }
            let directory = change
                .directory
                .as_ref()
                .and_then(|handle| lock(&watch.marked).get(handle).copied());
            if let Some(inode) = self.changed_inode(&change) {
                if change.is_gone
                    && let Ok(inode) = self.inodes.get(inode)
                {
                    // What happens to it elsewhere may go unheard.
                    inode.set_adrift(true);
                }
                inodes.insert(inode);
            }
            let Some(directory) = directory else {
                continue;
            };
            if change.is_of_name || change.name == b"." {
                inodes.insert(directory);
            }
            if change.is_of_name {
                names.insert((directory, change.name));
            }
        }
        for (directory, name) in names {
            kernel.forget_name(directory, &name);
        }
        for number in inodes {
            kernel.forget_inode(number);
        }
    }

    /// The number of what changed, or lost or got its name.
    fn changed_inode(&self, change: &Change) -> Option<u64> {
        let fd = self.inodes.open_handle(change.inode.as_ref()?).ok()?;
        let stat = Stat::of(fd).ok()?;
        self.inodes.known(&stat).map(|inode| inode.number)
    }

    fn forget_everything(&self, kernel: &dyn Kernel) {
        let numbers = self.inodes.numbers();
        if !kernel.forget_all_names() {
            log::error!("the kernel does not forget names: some may be stale until the mount ends");
        }
        kernel.forget_inode(ROOT);
        for number in numbers {
            kernel.forget_inode(number);
        }
    }
}

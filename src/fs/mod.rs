//! The filesystem: inodes, handles and operations over a backing directory. Knows nothing of FUSE.
//!
//! Every operation that takes a name goes through the chokepoint in `resolve` and `new_name`. It turns (directory,
//! visible name) into (descriptor, backing name): `Utf8Fs::resolve` for existing names, `Utf8Fs::new_name` for new
//! ones.

mod attr;
pub mod audit;
mod confine;
mod descriptors;
mod dir_index;
mod directory;
mod fs_error;
mod handle;
mod indexed;
mod inode;
mod inodes;
mod io;
mod listed_names;
mod locks;
mod make;
mod name_check;
mod namespace;
mod new_name;
mod number;
mod queries;
mod readdir;
mod rename;
mod report;
mod resolve;
mod retries;
#[cfg(test)]
#[path = "tests/samples.rs"]
pub(crate) mod samples;
mod symlink_target;
#[cfg(test)]
mod tests;
mod walk;

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once, OnceLock};
use std::time::Duration;

use parking_lot::RwLock;

use crate::backing::{FsType, Stat, device_unasked};
use crate::names::NameMap;
use crate::names::rules::Rules;
use crate::os::{Privilege, act_as};
use crate::policy::Alike;
pub use attr::{ACCESS_ACL, Change};
use audit::AuditLog;
pub(crate) use descriptors::MOST_DIRECTORIES;
pub use fs_error::FsError;
use handle::Handles;
pub use handle::{OpenDirectory, OpenFile};
use indexed::IndexedDirectories;
pub use inode::{Flags, Inode, InodeId, Place};
pub use inodes::Inodes;
pub use io::{Opened, Waits};
use locks::Locks;
pub use locks::{Answer, LockCall, LockRequest, LocksAt};
pub use make::NewEntry;
pub use number::ROOT;
pub use queries::{Absence, State};
pub use readdir::{Listed, Plus};
pub use rename::{RenamePlan, Renamed};
pub use retries::Call;
use retries::Retries;
use walk::Aside;

/// The parts and settings of a filesystem.
#[derive(Debug)]
pub struct Config {
    /// The mapping of names.
    pub map: NameMap,
    /// Terms for new names.
    pub rules: Rules,
    /// The backing directory, an `O_PATH` descriptor.
    pub root: OwnedFd,
    /// A descriptor by which file handles of its filesystem may be opened; `None` for users who may not.
    pub by_handle: Option<OwnedFd>,
    /// Are files opened by their names rather than by their handles? Where changes are followed: opened by its handle a file may have a dentry
    /// without a parent (`exportfs_decode_fh_raw` in fs/exportfs/expfs.c). Then nobody who has marked its directory hears how it is changed.
    pub opens_by_name: bool,
    /// Descriptors that the process may have (`RLIMIT_NOFILE`), without those that it has anyway.
    pub most_descriptors: usize,
    /// The settings that stay as they are.
    pub settings: Settings,
}

/// The settings of a filesystem for as long as it is served.
#[derive(Debug)]
pub struct Settings {
    /// In what a new name must not differ alone from a sibling.
    pub unique: Option<Alike>,
    /// Longest time that a change made below may go unseen (law F5).
    pub unseen: Duration,
    /// Longest time for which the kernel keeps a name.
    pub names_kept: Duration,
    /// Can the rules be replaced? Then lookups are answered as whatever rules there could be would have it.
    pub rules_may_change: bool,
    /// The place where locks are held.
    pub locks: LocksAt,
    /// Which changes are on the disk before they are answered.
    pub waits: Waits,
    /// Has each file to be opened so that reading it changes no access time, where that is allowed? Links have no such way.
    pub reads_quietly: bool,
    /// May the process act as other users?
    pub privilege: Privilege,
    /// Do others use it than the user of this process? Then the kernel checks their rights before it asks.
    pub is_shared: bool,
    /// The log of offences.
    pub auditor: Arc<dyn AuditLog>,
    /// The mount point, where it is the backing directory itself: then absolute paths below it lead into the mount.
    pub covered: Option<Vec<u8>>,
}

/// The caller of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// Its filesystem user id.
    pub uid: u32,
    /// Its filesystem group id.
    pub gid: u32,
    /// Its process, 0 if it is not of our pid namespace.
    pub pid: u32,
}

/// An entry that was looked up or made.
#[derive(Debug)]
pub struct Entry {
    /// Its inode.
    pub inode: Arc<Inode>,
    /// Its attributes. Those of a symlink tell the size of the stored target: to find out how it is shown can take long.
    pub stat: Stat,
    /// Was it asked for by the name that it is listed under, so that the kernel may keep that (law N14)?
    pub is_listed: bool,
    /// The place where it was seen before, if that is known and differs.
    pub left: Option<Place>,
}

/// The filesystem over one backing directory.
#[derive(Debug)]
pub struct Utf8Fs {
    settings: Settings,
    map: NameMap,
    /// The rules in force. An operation takes them once, so that later ones are for the next operation.
    rules: RwLock<Arc<Rules>>,
    inodes: Inodes,
    files: Handles<OpenFile>,
    directories: Handles<OpenDirectory>,
    indexed: IndexedDirectories,
    retries: Retries,
    aside: Aside,
    locks: Locks,
    own_device: OnceLock<u64>,
    /// The type of the backing filesystem.
    below: FsType,
    operations: AtomicU64,
    /// Done once a name was shown with control characters.
    control_shown: Once,
}

impl Utf8Fs {
    /// The filesystem of `config`.
    ///
    /// # Errors
    /// Its root can't be looked at.
    pub fn new(config: Config) -> std::io::Result<Self> {
        let below = FsType::of(&config.root)?;
        let mut inodes = Inodes::new(config.root, config.by_handle, config.most_descriptors)?;
        inodes.opens_by_name = config.opens_by_name;
        Ok(Self {
            retries: Retries::default(),
            below,
            settings: config.settings,
            map: config.map,
            rules: RwLock::new(Arc::new(config.rules)),
            files: Handles::default(),
            directories: Handles::default(),
            indexed: IndexedDirectories::default(),
            aside: Aside::default(),
            locks: Locks::default(),
            inodes,
            own_device: OnceLock::new(),
            operations: AtomicU64::new(0),
            control_shown: Once::new(),
        })
    }

    /// Do others use it than the user of this process? Else each operation has the rights of who asks for it, and the backing
    /// filesystem checks them.
    pub fn is_shared(&self) -> bool {
        self.settings.is_shared
    }

    /// Are filesystems entered that are mounted inside?
    pub fn enters_mounts(&self) -> bool {
        self.own_device.get().is_some()
    }

    /// Can the backing filesystem lie on another?
    pub fn is_stacked(&self) -> bool {
        self.below.is_stacked()
    }

    /// Sets the device that this filesystem is mounted as, for mounts inside the backing directory: one that leads
    /// back into it is shown as absent. The first call counts.
    pub fn mounted_as(&self, device: u64) {
        self.own_device.get_or_init(|| device);
        if self.settings.covered.is_some() {
            self.inodes.cover.get_or_init(|| device);
        }
    }

    /// Does `fd` lie in this filesystem itself? To ask it anything would be to wait for ourselves.
    fn is_own(&self, fd: impl AsFd) -> std::io::Result<bool> {
        let own = self.own_device.get();
        own.map_or(Ok(false), |own| Ok(device_unasked(fd)? == *own))
    }

    /// Begins an operation of `caller` on this thread: counts it and takes on the caller's credentials where the
    /// backing filesystem checks rights itself. `None` is for an operation that the kernel sends as nobody.
    ///
    /// # Errors
    /// `EPERM`: the thread may not act as the caller.
    pub fn begin(&self, caller: Option<Caller>) -> Result<(), FsError> {
        self.operations.fetch_add(1, Ordering::Relaxed);
        if let Some(caller) = caller.filter(|_| self.acts_as_callers()) {
            act_as(self.settings.privilege, caller.uid, caller.gid)?;
        }
        Ok(())
    }

    /// Says whether every operation runs with its caller's credentials. Else only those do that make or change an
    /// inode. The kernel has checked the rights (`default_permissions`) before it asks, or only the user of this
    /// process asks. A filesystem that checks rights itself may be mounted inside any other.
    fn acts_as_callers(&self) -> bool {
        self.below.checks_rights() || self.own_device.get().is_some()
    }

    /// Operations so far.
    pub fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// The rules in force, for one operation.
    fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules.read())
    }

    /// Has other rules hold for all operations that begin from now on. Those of [`Settings::rules_may_change`] only.
    pub fn replace_rules(&self, rules: Rules) {
        debug_assert!(
            self.settings.rules_may_change,
            "invariant: lookups are answered for them"
        );
        let mut held = self.rules.write();
        let old = std::mem::replace(&mut *held, Arc::new(rules));
        drop(held);
        // Its patterns may be many, and nobody is to wait for their end.
        drop(old);
    }

    /// Can nobody make a name but as the policy of the whole mount has it?
    fn nobody_is_exempt(&self) -> bool {
        !self.settings.rules_may_change && self.rules().exempt.is_empty()
    }
}

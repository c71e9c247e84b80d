//! The credentials that a thread acts with, and what the process may do.
//!
//! The kernel checks permissions before it sends a request (`default_permissions`). So the daemon keeps its
//! capabilities and takes on only the caller's filesystem uid, gid and umask, which shape a new inode. A backing
//! filesystem that checks rights itself gets uid and gid with every request. All three belong to the thread, stay
//! until a request needs others, and cost nothing while one user works.

use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::thread::LocalKey;

use rustix::fs::Mode;
use rustix::process::{Gid, Resource, Rlimit, Uid};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

use super::status_field;
use crate::backing::sys;

/// The daemon's power over callers' credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// Root's daemon: it can act as any caller.
    Root,
    /// A user's daemon: it acts as itself, whoever calls.
    User,
}

/// The capabilities that a privileged daemon works with.
const WORKING: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::MKNOD)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::SYS_ADMIN);

/// Capabilities without which it cannot act for others at all.
const NEEDED: CapabilitySet =
    WORKING.difference(CapabilitySet::MKNOD.union(CapabilitySet::SETFCAP));

/// A credential that a thread has taken on; `None` while it is as it was started.
type TakenOn = Cell<Option<u32>>;

thread_local! {
    static UID: TakenOn = const { Cell::new(None) };
    static GID: TakenOn = const { Cell::new(None) };
    static UMASK: TakenOn = const { Cell::new(None) };
}

/// Returns the capabilities that this thread has in effect; none if that is unknown.
pub fn in_effect() -> CapabilitySet {
    rustix::thread::capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective)
}

impl Privilege {
    /// Returns the power of this thread: can it act as other users and reach every file?
    pub fn of_thread() -> Self {
        if in_effect().contains(NEEDED) {
            Self::Root
        } else {
            Self::User
        }
    }
}

/// Lets new inodes of this thread belong to `uid` and `gid`, with `umask` taken from their mode.
///
/// [`Privilege::User`] takes on the umask only.
///
/// It lasts until the next call on this thread. Only what differs from the last call is changed.
///
/// # Errors
/// `EPERM` if the thread may not take on `uid` or `gid`. It then has at most one of them, and must not go on with the
/// request.
pub fn become_caller(privilege: Privilege, uid: u32, gid: u32, umask: u32) -> io::Result<()> {
    if UMASK.get() != Some(umask) {
        if UMASK.get().is_none() {
            sys::unshare_fs()?;
        }
        rustix::process::umask(Mode::from_raw_mode(umask));
        UMASK.set(Some(umask));
    }
    act_as(privilege, uid, gid)
}

/// Acts as `uid` and `gid`, by which the kernel knows who may use what is kept for root, until the next call on this
/// thread. What is made by it is shaped by [`become_caller`].
///
/// Does nothing for [`Privilege::User`]. Only what differs from the last call is changed.
///
/// # Errors
/// As for [`become_caller`].
pub fn act_as(privilege: Privilege, uid: u32, gid: u32) -> io::Result<()> {
    if privilege == Privilege::User {
        return Ok(());
    }
    take_on(&GID, gid, sys::set_fsgid)?;
    take_on(&UID, uid, sys::set_fsuid)
}

/// Sets an id with `set`, which does not tell whether it worked, and asks it whether it did.
fn take_on(last: &'static LocalKey<TakenOn>, id: u32, set: fn(u32) -> u32) -> io::Result<()> {
    if last.get() == Some(id) {
        return Ok(());
    }
    set(id);
    if id == u32::MAX || set(u32::MAX) != id {
        return Err(rustix::io::Errno::PERM.into());
    }
    last.set(Some(id));
    Ok(())
}

/// Gives this thread the ids of a user, for good.
///
/// # Errors
/// `EPERM` if it is not root's.
pub fn become_user(uid: u32, gid: u32) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    Ok(rustix::thread::set_thread_res_uid(uid, uid, uid)?)
}

/// Keeps the thread's capabilities whatever filesystem uid it takes on, and drops its supplementary groups.
///
/// For the start of a privileged process: threads made later inherit both, threads that run already do not.
///
/// # Errors
/// `EPERM` without `CAP_SETPCAP` or `CAP_SETGID`.
pub fn keep_capabilities() -> io::Result<()> {
    let bits = rustix::thread::capabilities_secure_bits()?;
    let bits = bits | CapabilitiesSecureBits::NO_SETUID_FIXUP;
    rustix::thread::set_capabilities_secure_bits(bits)?;
    Ok(rustix::thread::set_thread_groups(&[])?)
}

/// Gives up every capability that is not in `kept`; those that the thread lacks it still lacks.
///
/// `CAP_FSETID` stays permitted but not in effect, so that the kernel clears set-id bits on write as it does for
/// users; [`raise_fsetid`] has it back for a moment. Call it at the start of the process, after [`keep_capabilities`] and
/// [`raise_nofile`]: threads made later inherit it.
///
/// # Errors
/// Those of capset(2).
pub fn limit_capabilities(kept: CapabilitySet) -> io::Result<()> {
    let permitted = rustix::thread::capabilities(None)?.permitted & kept;
    let sets = CapabilitySets {
        effective: permitted.difference(CapabilitySet::FSETID),
        permitted,
        inheritable: CapabilitySet::empty(),
    };
    Ok(rustix::thread::set_capabilities(None, sets)?)
}

/// Gives capabilities up as [`limit_capabilities`] does, for good. The process gets none back by running a program, by
/// changing its ids, or as a capability that a child inherits.
///
/// The ids of a thread can be changed still, where `CAP_SETUID` and `CAP_SETGID` are kept.
///
/// # Errors
/// `EPERM` without `CAP_SETPCAP`; those of prctl(2).
pub fn lock_capabilities(kept: CapabilitySet) -> io::Result<()> {
    let bits = rustix::thread::capabilities_secure_bits()?
        | CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    rustix::thread::set_capabilities_secure_bits(bits)?;
    rustix::thread::clear_ambient_capability_set()?;
    let all = (0..u64::BITS).map(|number| CapabilitySet::from_bits_retain(1 << number));
    for one in all.filter(|one| !kept.contains(*one)) {
        match rustix::thread::remove_capability_from_bounding_set(one) {
            Ok(()) => {}
            // This kernel has no more.
            Err(rustix::io::Errno::INVAL) => break,
            Err(error) => return Err(error.into()),
        }
    }
    // Last: the above takes a capability that is given up.
    limit_capabilities(kept)
}

/// Capabilities that a privileged daemon keeps: those in effect, and those that it raises for a moment. Not `CAP_SYS_RESOURCE`: it would
/// open what is kept for root and ignore quotas.
pub const KEPT: CapabilitySet = WORKING.union(CapabilitySet::FSETID);

/// Capabilities that a guard keeps: to find and rename entries of all users, and to see whether a file is open for
/// writing.
pub const KEPT_BY_GUARD: CapabilitySet = CapabilitySet::DAC_OVERRIDE
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::LEASE);

/// Capabilities that root's helper process keeps: to unmount, and to make a log file in any directory.
pub const KEPT_BY_HELPER: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::DAC_READ_SEARCH);

/// Does writing as this thread clear set-user-ID and set-group-ID bits, as it does for an ordinary user?
pub fn clears_set_ids() -> bool {
    !in_effect().contains(CapabilitySet::FSETID)
}

/// Holds other capabilities in effect for this thread, which it stays on, until it is dropped. Then those before are back.
#[derive(Debug)]
#[must_use = "they are put back at once"]
pub struct InEffect(CapabilitySets, PhantomData<*const ()>);

fn put_in_effect(wanted: impl FnOnce(&CapabilitySets) -> CapabilitySet) -> io::Result<InEffect> {
    let before = rustix::thread::capabilities(None)?;
    let mut now = before;
    now.effective = wanted(&before);
    rustix::thread::set_capabilities(None, now)?;
    Ok(InEffect(before, PhantomData))
}

/// Puts `CAP_FSETID` in effect, so that chmod and create keep a set-group-id bit for a group that the thread is not in.
///
/// Does nothing for a thread that is not permitted it.
///
/// # Errors
/// Those of capset(2).
pub fn raise_fsetid() -> io::Result<InEffect> {
    put_in_effect(|had| had.effective | had.permitted & CapabilitySet::FSETID)
}

/// Puts `CAP_FOWNER` out of effect, so that in a sticky directory only its owner, and that of a file, may remove or rename the file
/// (`__check_sticky` in fs/namei.c).
///
/// # Errors
/// Those of capset(2).
pub fn lower_fowner() -> io::Result<InEffect> {
    put_in_effect(|had| had.effective.difference(CapabilitySet::FOWNER))
}

/// [`raise_fsetid`] for an inode that is to have a set-group-ID bit in `mode`, for which the kernel has found it due.
///
/// # Errors
/// Those of capset(2).
pub fn raise_fsetid_for(mode: u32) -> io::Result<Option<InEffect>> {
    (mode & libc::S_ISGID != 0).then(raise_fsetid).transpose()
}

impl Drop for InEffect {
    fn drop(&mut self) {
        if let Err(error) = rustix::thread::set_capabilities(None, self.0) {
            log::error!("cannot put capabilities back: {error}");
        }
    }
}

/// May process `pid`, whose filesystem group is `gid`, keep a set-group-id bit for `group`: is it in that group, or has it
/// `CAP_FSETID`? No where it can't be told, as for a process of another pid namespace that is not in the group by `gid`.
pub fn may_keep_sgid(pid: u32, gid: u32, group: u32) -> bool {
    gid == group || super::status_of(pid).is_ok_and(|status| status_keeps_sgid(&status, group))
}

/// [`may_keep_sgid`] by what proc(5) says of a process's supplementary groups and effective capabilities.
fn status_keeps_sgid(status: &[u8], group: u32) -> bool {
    is_in(status, |member| member == group) || status_has(status, CapabilitySet::FSETID)
}

fn status_has(status: &[u8], capability: CapabilitySet) -> bool {
    let effective = u64::from_str_radix(status_field(status, "CapEff:"), 16);
    effective.is_ok_and(|set| set & capability.bits() != 0)
}

/// Has process `pid`, which acts as `uid`, `CAP_FOWNER`? Where it can't be told, or overlayfs acts for a process of another user, only
/// root has.
pub fn has_fowner(pid: u32, uid: u32) -> bool {
    let status = super::status_of(pid).unwrap_or_default();
    match status_field(&status, "Uid:").rsplit('\t').next() {
        Some(own) if own == uid.to_string() => status_has(&status, CapabilitySet::FOWNER),
        _ => uid == 0,
    }
}

/// Does one of the supplementary groups in the status of a process fit?
fn is_in(status: &[u8], fits: impl Fn(u32) -> bool) -> bool {
    let mut groups = status_field(status, "Groups:").split_ascii_whitespace();
    groups.any(|group| group.parse().is_ok_and(&fits))
}

/// Says whether process `pid`, whose filesystem group is `gid`, is in one of `groups`. Reads its supplementary groups
/// at this moment. `false` where they are unknown, as for a process of another pid namespace that is in none by
/// `gid`.
///
/// A process that changes its groups while it asks, or ends and leaves its number to another, is judged by what is found.
pub fn is_member(pid: u32, gid: u32, groups: &std::collections::BTreeSet<u32>) -> bool {
    let fits = |group| groups.contains(&group);
    fits(gid) || super::status_of(pid).is_ok_and(|status| is_in(&status, fits))
}

/// The kernel takes 8 bytes for each descriptor for which it makes room.
const MOST_ROOM: u64 = 65_536;

/// The limit of open descriptors, where there is none.
const SOME_DESCRIPTORS: usize = 1024;

/// Raises the soft limit on open descriptors to the hard one, and returns it.
///
/// Has the kernel make room for as many while this process has one thread. Later it would wait for all processors, some
/// milliseconds, each time their table is doubled (`expand_fdtable` in fs/file.c).
///
/// # Errors
/// Those of setrlimit(2).
pub fn raise_nofile() -> io::Result<usize> {
    let hard = rustix::process::getrlimit(Resource::Nofile).maximum;
    set_limit(Resource::Nofile, hard)?;
    let highest = hard.unwrap_or(MOST_ROOM).min(MOST_ROOM) - 1;
    let highest = std::os::fd::RawFd::try_from(highest).unwrap_or_default();
    if let Err(error) = rustix::io::fcntl_dupfd_cloexec(io::stderr(), highest) {
        log::debug!("descriptors get room as they come: {error}");
    }
    let limit = hard.map(|hard| usize::try_from(hard).unwrap_or(usize::MAX));
    Ok(limit.unwrap_or(SOME_DESCRIPTORS))
}

/// Sets the soft and the hard limit on a resource.
fn set_limit(resource: Resource, limit: Option<u64>) -> rustix::io::Result<()> {
    let both = Rlimit {
        current: limit,
        maximum: limit,
    };
    rustix::process::setrlimit(resource, both)
}

/// Raises the limits on the size of files, processor time, memory and threads, which may have been meant for a shell.
/// The soft ones go to the hard ones, and those to none at all where that is allowed (`CAP_SYS_RESOURCE`). A limit
/// that cannot be raised is left: at most single operations fail.
///
/// The kernel holds callers to limits of their own before it asks the daemon.
pub fn raise_limits() {
    for resource in [
        Resource::Fsize,
        Resource::Cpu,
        Resource::As,
        Resource::Data,
        Resource::Rss,
        Resource::Nproc,
        Resource::Locks,
    ] {
        let hard = rustix::process::getrlimit(resource).maximum;
        if let Err(error) = set_limit(resource, None).or_else(|_denied| set_limit(resource, hard)) {
            log::debug!("the limit {resource:?} stays: {error}");
        }
    }
}

/// Does the user namespace that this process is in forbid it to set its groups (`user_namespaces(7)`)?
pub fn groups_are_denied() -> bool {
    std::fs::read("/proc/self/setgroups").is_ok_and(|word| word.starts_with(b"deny"))
}

#[cfg(test)]
mod tests;

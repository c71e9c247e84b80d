//! Asking a mount how it does. Another process asks, and is not waited for where the daemon is stuck.

use std::borrow::Cow;
use std::ffi::CStr;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, fstat, stat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::status::ATTRIBUTE;
use crate::backing::{reason, xattr};
use crate::names::Quoted;
use crate::os::child::Child;
use crate::os::credentials::become_user;
use crate::os::mountinfo;
use crate::records::{BackingFault, FormatHead, MountStatus, NoAnswer, NoStatus, STATUS_FORMAT};

/// Time that a daemon has to answer. It waits for nothing but its turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// The name of a process that asks.
pub const ASKER: &CStr = c"utf8fs-status";

/// The remedy where there is no mount.
pub const LIST: &str = "'utf8fs status --all' lists the mounts of utf8fs";

/// The flags that a remount changes. No others matter to the kernel once it is mounted.
const REMOUNTED: [&str; 4] = ["ro", "nosuid", "nodev", "noexec"];

impl NoStatus {
    /// Returns a state with its reason and its remedy.
    pub fn new(state: NoAnswer, message: String, hint: &str) -> Self {
        Self {
            state,
            message,
            hint: hint.to_owned(),
        }
    }
}

/// The answer of a mount.
pub type Answer = Result<MountStatus, NoStatus>;

/// A question that a child asks.
#[derive(Debug)]
pub struct Question {
    path: PathBuf,
    child: io::Result<Child>,
}

/// Asks the mount on `path`. This process must have one thread.
///
/// # Errors
/// There is no status.
pub fn ask(path: &Path) -> Answer {
    Question::start(path).answer()
}

impl Question {
    /// Starts asking the mount on `path`. This process must have one thread.
    pub fn start(path: &Path) -> Self {
        let work = || serde_json::to_vec(&ask_here(path)).unwrap_or_default();
        Self {
            path: path.to_owned(),
            child: Child::start(ASKER, PATIENCE, work),
        }
    }

    /// Waits for the answer, five seconds from the start at most.
    ///
    /// # Errors
    /// There is no status.
    pub fn answer(self) -> Answer {
        let failed = |error: io::Error| {
            let message = format!("the process that asks has failed: {}", reason(&error));
            NoStatus::new(NoAnswer::Unknown, message, "look at the system's log")
        };
        let answer = self.child.and_then(Child::result).map_err(failed)?;
        let answer = answer.ok_or_else(|| {
            let (shown, seconds) = (Quoted::of(&self.path), PATIENCE.as_secs());
            NoStatus::new(
                NoAnswer::Silent,
                format!("the mount on {shown} does not answer for {seconds} seconds"),
                "is its daemon stopped, or waiting for a disk or a network? 'ps -o pid,stat,args -C utf8fs' shows it; 'kill -CONT' continues a stopped one (state T); 'utf8fs umount --lazy', then kill -9, end it",
            )
        })?;
        serde_json::from_slice(&answer).unwrap_or_else(|error| Err(failed(error.into())))
    }
}

/// Returns a mount of ours that `path` lies in and that does not answer.
pub fn silent_outer(path: &Path) -> Option<PathBuf> {
    let ours = mountinfo::ours().unwrap_or_default().into_iter();
    let mut outer = ours.map(|mount| mount.path());
    outer.find(|outer| {
        let is_outer = outer != path && path.starts_with(outer);
        is_outer && ask(outer).is_err_and(|none| none.state == NoAnswer::Silent)
    })
}

/// Does a request that fails so say that the daemon is gone? By rings one that a thread had when it was killed is cancelled
/// (`fuse_uring_cancel` in `fs/fuse/dev_uring.c`).
pub fn is_of_dead_mount(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOTCONN | libc::ECONNABORTED | libc::ECANCELED)
    )
}

/// Says why a path cannot be looked at.
pub fn unseen(path: &Path, error: &io::Error) -> NoStatus {
    let shown = Quoted::of(path);
    if is_of_dead_mount(error) {
        return NoStatus::new(
            NoAnswer::Unknown,
            format!("{shown} cannot be reached: it is inside a dead mount"),
            "mount that again, or unmount it: it goes with all that is mounted in it",
        );
    }
    let state = if error.kind() == ErrorKind::PermissionDenied {
        NoAnswer::Denied
    } else {
        NoAnswer::Unknown
    };
    let message = format!("{shown} cannot be looked at: {}", reason(error));
    NoStatus::new(state, message, LIST)
}

/// Asks the mount on `path`, as the user who mounted where only that one gets in: then this thread keeps that user's identity.
///
/// Waits for the daemon, for ever where that is stuck.
fn ask_here(path: &Path) -> Answer {
    let shown = Quoted::of(path);
    let root = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let root = root.map_err(|errno| unseen(path, &errno.into()))?;
    let found = mountinfo::mount_of(&root).map_err(|error| unseen(path, &error))?;
    let (mount, is_root) = found.unwrap_or_default();
    if !mount.is_ours() {
        let fs_type = Quoted(&mount.fs_type);
        let message =
            format!("{shown} is not a utf8fs mount: it is on {fs_type}; nor does a guard watch it");
        return Err(NoStatus::new(NoAnswer::Unknown, message, LIST));
    }
    if !is_root {
        let mount = Quoted(&mount.mount_point);
        let message = format!("{shown} is inside the mount on {mount}");
        let hint = format!("ask {mount} itself");
        return Err(NoStatus::new(NoAnswer::Unknown, message, &hint));
    }
    // Root is not let into another user's mount either, unless that has `allow_other`; but it may become that user.
    let owner = mount.owner().filter(|(uid, _)| {
        *uid != 0 && geteuid().is_root() && mount.option("allow_other").is_none()
    });
    let status = owner
        .map_or(Ok(()), |(uid, gid)| become_user(uid, gid))
        .and_then(|()| xattr::whole(|status| xattr::get(&root, ATTRIBUTE, status)))
        .map_err(|error| refused(shown, &error))?;
    let mut status = understood(&status)?;
    status.backing_fault = backing_fault(&status, root);
    // As it is seen from here: the daemon may be in a container, or the mount bound to another path.
    status.mountpoint = mount.mount_point.clone().into();
    if let Some(options) = &mut status.options {
        let is_set =
            |word: &&str| mount.has_flag(word) || *word == "ro" && mount.option(word) == Some("");
        let set = REMOUNTED.into_iter().filter(is_set);
        options.flags.retain(|flag| !REMOUNTED.contains(&&**flag));
        options.flags.splice(..0, set.map(Cow::from));
    }
    Ok(status)
}

/// Says why a mount gives no answer.
fn refused(shown: Quoted<'_>, error: &io::Error) -> NoStatus {
    let (state, message, hint) = match error.raw_os_error() {
        _ if is_of_dead_mount(error) => (
            NoAnswer::Dead,
            format!("the daemon of the mount on {shown} is gone"),
            "unmount it, or mount again, which takes the dead mount away",
        ),
        Some(libc::EPERM | libc::EACCES) => (
            NoAnswer::Denied,
            format!("{shown}: permission denied: only root and the user who mounted it may ask"),
            "ask as root or as the user who mounted",
        ),
        Some(libc::EOPNOTSUPP | libc::ENODATA) => (
            NoAnswer::Unknown,
            format!("{shown} has no status: its daemon does not know this question"),
            "it is of an older version, or only a part of a mount is mounted here",
        ),
        _ => (
            NoAnswer::Unknown,
            format!("{shown} does not answer: {}", reason(error)),
            "look at the system's log",
        ),
    };
    NoStatus::new(state, message, hint)
}

/// Reads an answer, if it is of the version that is understood here.
fn understood(answer: &[u8]) -> Answer {
    const HINT: &str = "use the program that mounted";
    let wrong = |error: serde_json::Error| {
        let message = format!("the answer of the daemon is not understood: {error}");
        NoStatus::new(NoAnswer::Unknown, message, HINT)
    };
    let head: FormatHead = serde_json::from_slice(answer).map_err(wrong)?;
    if head.format == STATUS_FORMAT {
        return serde_json::from_slice(answer).map_err(wrong);
    }
    let message = "the daemon speaks another version of this protocol".to_owned();
    let hint = head
        .version
        .map(|version| format!("{HINT}: utf8fs {version}"));
    let hint = hint.as_deref().unwrap_or(HINT);
    Err(NoStatus::new(NoAnswer::Unknown, message, hint))
}

/// Compares the mount with what the path of its backing directory leads to: the root shows its inode number.
fn backing_fault(status: &MountStatus, root: OwnedFd) -> Option<BackingFault> {
    // Where the daemon is no process of ours, as in a container, its paths are not ours either.
    let daemon = std::fs::read(format!("/proc/{}/comm", status.pid)).ok()?;
    if !daemon.starts_with(b"utf8fs") {
        return None;
    }
    let shown = fstat(&root).ok()?.st_ino;
    // What is below may hang. That must not keep the mount in use.
    drop(root);
    match stat(status.backing.as_bytes()) {
        Ok(below) => (below.st_ino != shown).then_some(BackingFault::Replaced),
        Err(Errno::NOENT) => Some(BackingFault::Gone),
        // Who may not look does not know.
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_of_the_protocol_is_an_error_that_names_the_program() {
        const HINT: &str = "use the program that mounted";
        let rows = [
            (
                &br#"{"format":2,"version":"9.1"}"#[..],
                "use the program that mounted: utf8fs 9.1",
            ),
            (br#"{"version":1}"#, HINT),
            (b"[]", HINT),
        ];
        for (answer, hint) in rows {
            assert_eq!(understood(answer).unwrap_err().hint, hint);
        }
        assert!(understood(b"{\"form").is_err());
    }
}

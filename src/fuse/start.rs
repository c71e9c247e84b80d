//! Negotiation with the kernel at the start. fuser opens the session: it reads `FUSE_INIT` and answers. What it is to ask for is
//! decided here, and its session ends at once: our own loops serve the connection.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Sender, channel};

use fuser::{Config, Filesystem, InitFlags, KernelConfig, Request, Session, SessionACL, Version};
use rustix::io::Errno;

use super::passthrough::Passthrough;
use crate::backing::page_size;
use crate::fs::{ROOT, Utf8Fs};
use crate::os::{Privilege, credentials};

/// The oldest version whose records are those of `layout` (Linux 4.20): with the size of the answer to CREATE.
const OLDEST: Version = Version(7, 28);
const _: () = assert!(ROOT == fuser::INodeNo::ROOT.0);

/// Most bytes of one write request; reads are as long.
pub(super) const MAX_WRITE: u32 = 1 << 20;
/// Longest request: a write with its header.
pub(super) const REQUEST: usize = MAX_WRITE as usize + 4096;
/// Requests that nobody waits for, as for readahead, that are on the way at most, and so many that programs are to wait.
const MAX_BACKGROUND: u16 = 64;
const CONGESTED: u16 = 48;

/// Features without which something is missed.
const MISSED: InitFlags = InitFlags::FUSE_DO_READDIRPLUS
    .union(InitFlags::FUSE_READDIRPLUS_AUTO)
    .union(InitFlags::FUSE_PARALLEL_DIROPS)
    .union(InitFlags::FUSE_DONT_MASK)
    .union(InitFlags::FUSE_AUTO_INVAL_DATA)
    .union(InitFlags::FUSE_ASYNC_DIO)
    .union(InitFlags::FUSE_NO_EXPORT_SUPPORT);

/// Returns the best features for `fs`, with passthrough and rings if they are allowed. What the kernel lacks is done without.
/// fuser adds `FUSE_ASYNC_READ`, `FUSE_BIG_WRITES`, `FUSE_MAX_PAGES` and `FUSE_INIT_EXT`.
fn wishes(fs: &Utf8Fs, passthrough: bool, rings: bool) -> InitFlags {
    // Not `FUSE_ATOMIC_O_TRUNC`: the kernel truncates by a SETATTR of its own, under the lock of its inode. So
    // those who wait for a writer of the file wait there, and not here with a thread each.
    let mut flags = MISSED | InitFlags::FUSE_HAS_EXPIRE_ONLY;
    // The kernel leaves set-id bits and file capabilities to us, and need not ask for them before each write. So
    // a write of ours must clear them as an ordinary user's does.
    if credentials::clears_set_ids() {
        flags |= InitFlags::FUSE_HANDLE_KILLPRIV_V2;
    }
    if fs.carries_locks() {
        flags |= InitFlags::FUSE_POSIX_LOCKS | InitFlags::FUSE_FLOCK_LOCKS;
    }
    // It makes the kernel check all rights, by modes too (`process_init_reply` in `fs/fuse/inode.c`).
    if fs.is_shared() {
        flags |= InitFlags::FUSE_POSIX_ACL;
    }
    if passthrough && Privilege::of_thread() == Privilege::Root {
        flags |= InitFlags::FUSE_PASSTHROUGH;
    }
    if rings {
        flags |= InitFlags::FUSE_OVER_IO_URING;
    }
    flags
}

/// Chooses the features of a session while fuser opens it. fuser never gives it back.
struct Negotiator {
    wishes: InitFlags,
    /// The stack depth to ask for with passthrough.
    stack_depth: u32,
    /// Takes the features that were enabled.
    enabled: Sender<InitFlags>,
}

impl Filesystem for Negotiator {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        if config.kernel_abi() < OLDEST {
            return Err(Errno::PROTO.into());
        }
        let offered = config.capabilities();
        let missing = missing_features(offered);
        if !missing.is_empty() {
            log::warn!("this kernel lacks features of FUSE: {}", missing.join(", "));
        }
        // All of them are refused for one that the kernel lacks.
        let enabled = self.wishes & offered;
        config
            .add_capabilities(enabled)
            .map_err(|flags| refused("features", flags))?;
        config
            .set_max_write(MAX_WRITE)
            .map_err(|most| refused("max_write", most))?;
        config
            .set_max_background(MAX_BACKGROUND)
            .map_err(|least| refused("max_background", least))?;
        config
            .set_congestion_threshold(CONGESTED)
            .map_err(|least| refused("congestion_threshold", least))?;
        config
            .set_max_stack_depth(self.stack_depth)
            .map_err(|most| refused("max_stack_depth", most))?;
        // fuser makes `max_pages` large enough for both sizes and does not tell it, so that this one must not be larger.
        if let Err(offered) = config.set_max_readahead(MAX_WRITE) {
            log::debug!("the kernel reads ahead at most {offered} bytes");
        }
        self.enabled.send(enabled).map_err(io::Error::other)
    }
}

/// Returns the names of features without which something is missed.
fn missing_features(offered: InitFlags) -> Vec<&'static str> {
    (MISSED - offered)
        .iter_names()
        .map(|(name, _)| name)
        .collect()
}

/// Returns the error where fuser does not take a value that it took when this was written.
fn refused(what: &str, limit: impl std::fmt::Debug) -> io::Error {
    io::Error::other(format!("fuser refuses {what}: {limit:?}"))
}

/// A connection on which it is agreed how the kernel and a filesystem talk.
#[derive(Debug)]
pub struct Handshake {
    pub(super) connection: OwnedFd,
    /// Can the kernel read and write files by itself?
    pub(super) passthrough: bool,
    /// Payload size of each slot, if the kernel waits for rings.
    pub(super) ring_payload: Option<usize>,
    /// Can a dentry be expired? An older kernel takes that for an invalidation, and says that it worked.
    pub expires_names: bool,
}

impl Handshake {
    /// Agrees with the kernel at the other end of `connection` on how to talk about `fs`, with passthrough and rings if they are
    /// allowed. With rings agreed every request waits until each CPU has one: they are made before.
    ///
    /// # Errors
    /// `EPROTO`: there is no version of the protocol that both know. `ENODEV`: the mount is gone. The connection failed.
    pub fn agree(
        connection: OwnedFd,
        fs: &Utf8Fs,
        passthrough: Passthrough,
        rings: bool,
    ) -> io::Result<Self> {
        let (sender, receiver) = channel();
        let negotiator = Negotiator {
            wishes: wishes(fs, passthrough == Passthrough::Auto, rings),
            // Each layer that is allowed below is one less that may lie on this mount, of two that the kernel allows in all.
            stack_depth: if fs.is_stacked() { 2 } else { 1 },
            enabled: sender,
        };
        // The session closes its descriptor when it is dropped.
        let session_fd = connection.try_clone()?;
        Session::from_fd(negotiator, session_fd, SessionACL::All, Config::default())
            .map_err(with_number)?;
        let enabled = receiver.recv().map_err(io::Error::other)?;
        Ok(Self {
            passthrough: enabled.contains(InitFlags::FUSE_PASSTHROUGH),
            ring_payload: enabled
                .contains(InitFlags::FUSE_OVER_IO_URING)
                .then(ring_payload),
            expires_names: enabled.contains(InitFlags::FUSE_HAS_EXPIRE_ONLY),
            connection,
        })
    }
}

/// Returns an error of fuser with the system's number, where fuser gives none.
fn with_number(error: io::Error) -> io::Error {
    let kind = error.kind();
    if error.raw_os_error().is_some() {
        return error;
    }
    if kind == io::ErrorKind::NotConnected {
        return Errno::NODEV.into();
    }
    if matches!(
        kind,
        io::ErrorKind::InvalidData | io::ErrorKind::Unsupported
    ) {
        return Errno::PROTO.into();
    }
    error
}

/// Returns the payload size that the kernel asks of each slot of a ring: all pages of the longest request
/// (`fuse_uring_create_ring_ent` in `fs/fuse/dev_uring.c`).
fn ring_payload() -> usize {
    usize::try_from(MAX_WRITE)
        .unwrap_or(usize::MAX)
        .next_multiple_of(page_size())
}

#[cfg(test)]
#[path = "tests/handshakes.rs"]
mod tests;

//! Negotiation with the kernel at the start.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::{Errno, retry_on_intr};
use zerocopy::IntoBytes;

use super::layout::{self, InHeader, InitIn, InitOut, OutHeader, init};
use super::passthrough::Passthrough;
use super::request::Arguments;
use crate::backing::page_size;
use crate::fs::Utf8Fs;
use crate::os::{Privilege, credentials};

/// Most bytes of one write request; reads are as long.
pub(super) const MAX_WRITE: u32 = 1 << 20;
/// Longest request: a write with its header.
pub(super) const REQUEST: usize = MAX_WRITE as usize + 4096;
/// Requests that nobody waits for, as for readahead, that are on the way at most, and so many that programs are to wait.
const MAX_BACKGROUND: u16 = 64;
const CONGESTED: u16 = 48;

/// Features without which something is missed.
const MISSED: u64 = init::DO_READDIRPLUS
    | init::READDIRPLUS_AUTO
    | init::PARALLEL_DIROPS
    | init::DONT_MASK
    | init::AUTO_INVAL_DATA
    | init::ASYNC_DIO
    | init::NO_EXPORT_SUPPORT;

/// Returns the best features for `fs`, bits of [`init`], with passthrough and rings if they are allowed. What the kernel lacks is
/// done without.
fn wishes(fs: &Utf8Fs, passthrough: bool, rings: bool) -> u64 {
    // Not `FUSE_ATOMIC_O_TRUNC`: the kernel truncates by a SETATTR of its own, under the lock of its inode. So
    // those who wait for a writer of the file wait there, and not here with a thread each.
    let mut flags = MISSED | init::ASYNC_READ | init::BIG_WRITES | init::MAX_PAGES | init::INIT_EXT;
    flags |= init::HAS_EXPIRE_ONLY;
    // The kernel leaves set-id bits and file capabilities to us, and need not ask for them before each write. So
    // a write of ours must clear them as an ordinary user's does.
    if credentials::clears_set_ids() {
        flags |= init::HANDLE_KILLPRIV_V2;
    }
    if fs.carries_locks() {
        flags |= init::POSIX_LOCKS | init::FLOCK_LOCKS;
    }
    // It makes the kernel check all rights, by modes too (`process_init_reply` in `fs/fuse/inode.c`).
    if fs.is_shared() {
        flags |= init::POSIX_ACL;
    }
    if passthrough && Privilege::of_thread() == Privilege::Root {
        flags |= init::PASSTHROUGH;
    }
    if rings {
        flags |= init::OVER_IO_URING;
    }
    flags
}

/// The answer to a kernel that offers this, or the error.
fn answer(asked: InitIn, more_flags: u32, wishes: u64, is_stacked: bool) -> Result<InitOut, Errno> {
    if asked.major != layout::MAJOR || asked.minor < layout::OLDEST_MINOR {
        return Err(Errno::PROTO);
    }
    let offered = match u64::from(asked.flags) {
        flags if flags & init::INIT_EXT != 0 => flags | u64::from(more_flags) << 32,
        flags => flags,
    };
    let missing = MISSED & !offered;
    if missing != 0 {
        log::warn!("this kernel lacks features of FUSE: {missing:#x}");
    }
    let flags = wishes & offered;
    let half = |flags: u64| u32::try_from(flags & u64::from(u32::MAX)).unwrap_or(0);
    let page = u32::try_from(page_size()).unwrap_or(4096);
    let pages = MAX_WRITE.max(asked.max_readahead).div_ceil(page);
    Ok(InitOut {
        major: layout::MAJOR,
        minor: layout::MINOR,
        max_readahead: asked.max_readahead,
        flags: half(flags),
        flags2: half(flags >> 32),
        max_background: MAX_BACKGROUND,
        congestion_threshold: CONGESTED,
        max_write: MAX_WRITE,
        time_gran: 1,
        max_pages: u16::try_from(pages).unwrap_or(u16::MAX),
        // Each layer that is allowed below is one less that may lie on this mount, of two that the kernel allows in all.
        max_stack_depth: match flags & init::PASSTHROUGH {
            0 => 0,
            _ if is_stacked => 2,
            _ => 1,
        },
        ..InitOut::default()
    })
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
    /// allowed.
    ///
    /// # Errors
    /// `EPROTO`: there is no version of the protocol that both know. The connection failed.
    pub fn agree(
        connection: OwnedFd,
        fs: &Utf8Fs,
        passthrough: Passthrough,
        rings: bool,
    ) -> io::Result<Self> {
        let mut buffer = vec![0; REQUEST];
        let length = retry_on_intr(|| rustix::io::read(&connection, &mut buffer))?;
        let mut arguments = Arguments::new(buffer.get(..length).unwrap_or_default());
        let header: InHeader = arguments.record()?;
        if header.opcode != layout::INIT {
            return Err(Errno::PROTO.into());
        }
        let asked = arguments.record()?;
        let more_flags = arguments.record().unwrap_or(0_u32);
        let wishes = wishes(fs, passthrough == Passthrough::Auto, rings);
        let answer = answer(asked, more_flags, wishes, fs.is_stacked());
        let body = answer.as_ref().map_or(&[][..], IntoBytes::as_bytes);
        let error = answer.map_or_else(|errno| -errno.raw_os_error(), |_| 0);
        let out = OutHeader::new(header.unique, error, body.len());
        rustix::io::write(&connection, &[out.as_bytes(), body].concat())?;
        let answer = answer?;
        let has = |flag| u64::from(answer.flags2) << 32 & flag != 0;
        let pages = usize::from(answer.max_pages).saturating_mul(page_size());
        Ok(Self {
            passthrough: has(init::PASSTHROUGH),
            ring_payload: has(init::OVER_IO_URING).then_some(pages),
            expires_names: has(init::HAS_EXPIRE_ONLY),
            connection,
        })
    }
}

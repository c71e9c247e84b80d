//! Answers about open files: which of them the kernel reads and writes by itself, and what it keeps of the others.

use std::fmt;

use fuser::{
    BackingId, FileHandle, FopenFlags, Generation, InitFlags, KernelConfig, ReplyCreate, ReplyOpen,
};

use super::adapter::Adapter;
use super::convert::attr;
use crate::coherence::Kept;
use crate::coherence::serving::Way;
use crate::fs::{Entry, Opened};
use crate::os::credentials;

/// Most bytes of one write request; reads are as long.
const MAX_WRITE: u32 = 1 << 20;
/// Requests that nobody waits for, as for readahead, that are on the way at most.
const MAX_BACKGROUND: u16 = 64;

/// May the kernel read and write files by itself?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passthrough {
    /// Where it can.
    Auto,
    /// Never: each request goes through us.
    Off,
}

/// Asks the kernel for what concerns data.
pub(super) fn configure(adapter: &mut Adapter, config: &mut KernelConfig) {
    // The kernel leaves set-id bits and file capabilities to us, and need not ask for them before each write; so it
    // must be the case that we lose them as an ordinary user does.
    if credentials::clears_set_ids() {
        ask(config, InitFlags::FUSE_HANDLE_KILLPRIV_V2);
    }
    // Not `FUSE_ATOMIC_O_TRUNC`: the kernel truncates by a SETATTR of its own, under the lock of its inode, so that those who wait for one
    // who writes to the file wait there, and not here with a thread each.
    if let Err(nearest) = config.set_max_write(MAX_WRITE) {
        log::debug!("largest write request: {nearest} bytes");
    }
    if let Err(nearest) = config.set_max_background(MAX_BACKGROUND) {
        log::debug!("requests in the background: {nearest}");
    }
    if adapter.passthrough == Passthrough::Off {
        return;
    }
    // Each layer that is allowed below is one less that may lie on this mount, of two that the kernel allows in all.
    let layers = if adapter.fs.is_stacked() { 2 } else { 1 };
    let can = credentials::is_privileged()
        && config.add_capabilities(InitFlags::FUSE_PASSTHROUGH).is_ok()
        && config.set_max_stack_depth(layers).is_ok();
    if !can {
        log::debug!("the kernel does not read and write files by itself");
        adapter.passthrough = Passthrough::Off;
        return;
    }
    adapter.coherence.keeps_no_content();
}

/// Asks for a feature that can be done without.
pub(super) fn ask(config: &mut KernelConfig, wanted: InitFlags) {
    if let Err(missing) = config.add_capabilities(wanted) {
        log::debug!("this kernel lacks {missing:?}");
    }
}

/// Answers to open and create.
pub(super) trait Reply: fmt::Debug {
    /// Tells the kernel of the backing file that `opened` has.
    fn tell(&self, opened: &Opened) -> std::io::Result<BackingId>;
    /// Answers.
    fn send(self, handle: FileHandle, flags: FopenFlags, id: Option<&BackingId>);
}

impl Reply for ReplyOpen {
    fn tell(&self, opened: &Opened) -> std::io::Result<BackingId> {
        self.open_backing(&*opened.backing_file)
    }

    fn send(self, handle: FileHandle, flags: FopenFlags, id: Option<&BackingId>) {
        match id {
            Some(id) => self.opened_passthrough(handle, flags, id),
            None => self.opened(handle, flags),
        }
    }
}

/// An answer to create, with the entry that was made.
#[derive(Debug)]
pub(super) struct Created {
    pub(super) reply: ReplyCreate,
    pub(super) entry: Entry,
    pub(super) kept: Kept,
}

impl Reply for Created {
    fn tell(&self, opened: &Opened) -> std::io::Result<BackingId> {
        self.reply.open_backing(&*opened.backing_file)
    }

    fn send(self, handle: FileHandle, flags: FopenFlags, id: Option<&BackingId>) {
        let Self { reply, entry, kept } = self;
        let attr = attr(entry.number, &entry.stat);
        let kept = kept.whole();
        let generation = Generation(entry.inode.generation());
        match id {
            Some(id) => reply.created_passthrough(&kept, &attr, generation, handle, flags, id),
            None => reply.created(&kept, &attr, generation, handle, flags),
        }
    }
}

impl Adapter {
    /// Answers that a file was opened, and how it is served.
    pub(super) fn answer_opened(&self, reply: impl Reply, opened: &Opened) {
        let way = self.serving.enter(opened.into(), || {
            if self.passthrough == Passthrough::Off {
                return Err(std::io::ErrorKind::Unsupported.into());
            }
            self.fs.act_for(opened)?;
            reply.tell(opened)
        });
        let quietly = match opened.closes_quietly {
            true => FopenFlags::FOPEN_NOFLUSH,
            false => FopenFlags::empty(),
        };
        let handle = FileHandle(opened.handle);
        match way {
            Way::Kernel(id) => reply.send(handle, quietly, Some(&id)),
            Way::KernelButAsked(id) => {
                reply.send(handle, quietly | FopenFlags::FOPEN_DIRECT_IO, Some(&id));
            }
            Way::Cached => {
                let kept = match self.coherence.keeps_content(opened) {
                    true => FopenFlags::FOPEN_KEEP_CACHE,
                    false => FopenFlags::empty(),
                };
                reply.send(handle, quietly | kept, None);
            }
            Way::Asked => reply.send(handle, quietly | FopenFlags::FOPEN_DIRECT_IO, None),
        }
    }
}

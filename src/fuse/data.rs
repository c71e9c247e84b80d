//! Open files: which of them the kernel reads and writes by itself, and what it keeps of the others.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::adapter::Adapter;
use super::layout::{OpenOut, fopen};
use crate::backing::{close_backing, open_backing};
use crate::coherence::serving::Way;
use crate::fs::Opened;

/// May the kernel read and write files by itself?
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Passthrough {
    /// Wherever it can
    Auto,
    /// Never: utf8fs carries all data
    Off,
}

/// A backing file that the kernel was told of. Dropped, it lets go of it.
#[derive(Debug)]
pub(super) struct BackingId {
    connection: Arc<OwnedFd>,
    id: u32,
}

impl BackingId {
    fn new(connection: &Arc<OwnedFd>, file: &OwnedFd) -> io::Result<Self> {
        Ok(Self {
            id: open_backing(connection, file)?,
            connection: Arc::clone(connection),
        })
    }
}

impl Drop for BackingId {
    fn drop(&mut self) {
        if let Err(error) = close_backing(&self.connection, self.id) {
            log::debug!("the kernel keeps a backing file open: {error}");
        }
    }
}

impl Adapter {
    /// Decides how a file that was opened is served, and answers so.
    pub(super) fn serve_opened(&self, opened: &Opened) -> OpenOut {
        let way = self.serving.enter(opened.into(), || {
            if !self.passthrough {
                return Err(io::ErrorKind::Unsupported.into());
            }
            self.fs.act_for(opened)?;
            BackingId::new(&self.connection, &opened.backing_file)
        });
        let (flags, backing_id) = match way {
            Way::Kernel(id) => (fopen::PASSTHROUGH, id.id),
            Way::KernelButAsked(id) => (fopen::PASSTHROUGH | fopen::DIRECT_IO, id.id),
            Way::Cached if self.coherence.keeps_content(opened) => (fopen::KEEP_CACHE, 0),
            Way::Cached => (0, 0),
            Way::Asked => (fopen::DIRECT_IO, 0),
        };
        let quietly = match opened.closes_quietly {
            true => fopen::NOFLUSH,
            false => 0,
        };
        OpenOut {
            handle: opened.handle,
            open_flags: flags | quietly,
            backing_id,
        }
    }
}

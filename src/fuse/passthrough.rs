//! Passthrough: the kernel reads and writes a backing file by itself.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

use crate::backing::{close_backing, open_backing};

/// May the kernel read and write files by itself?
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Passthrough {
    /// Where possible
    Auto,
    /// Never: utf8fs carries all data
    Off,
}

/// A backing file that the kernel was told of. Dropped, it lets go of it.
#[derive(Debug)]
pub(super) struct BackingId {
    connection: Arc<OwnedFd>,
    pub(super) id: u32,
}

impl BackingId {
    pub(super) fn new(connection: &Arc<OwnedFd>, file: &OwnedFd) -> io::Result<Self> {
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

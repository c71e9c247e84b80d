//! An open file with its flock(2).

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use super::super::descriptors::Taken;
use crate::backing::LockKind;
use crate::backing::lock::flock;

/// A lock of the whole file that may be one of flock(2).
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole {
    pub(super) kind: LockKind,
    pub(super) pid: u32,
}

/// An open file with its flock(2).
#[derive(Debug)]
pub(super) struct Flocked {
    pub(super) fd: OwnedFd,
    /// By owner: one where nobody mixes the two calls.
    pub(super) owners: BTreeMap<u64, Whole>,
    pub(super) _taken: Taken,
}

impl Flocked {
    /// Has the descriptor locked as its owners need it.
    pub(super) fn settle(&self) -> io::Result<bool> {
        flock(&self.fd, self.owners.values().map(|whole| whole.kind).max())
    }
}

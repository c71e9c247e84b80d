//! A name that offends.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::directories::Directory;
use super::maker::Maker;
use crate::backing::FileHandle;
use crate::fs::audit::Operation;
use crate::names::BackingName;
use crate::names::rules::Terms;
use crate::policy::{Alike, Offence, Rule};

/// The directory of a name, and the name.
pub(super) type Key = (FileHandle, BackingName);

/// New names of a directory, which may be alike to a sibling.
pub(super) type Newcomers = HashMap<BackingName, Offender>;

/// A name that offends.
#[derive(Debug, Clone)]
pub(super) struct Offender {
    pub(super) directory: Arc<Directory>,
    pub(super) name: BackingName,
    pub(super) maker: Arc<Maker>,
    pub(super) operation: Operation,
    pub(super) time: Timestamp,
    pub(super) offence: Offence,
    /// The terms that it offends against.
    pub(super) terms: Arc<Terms>,
    /// The number of the options by which it is put right; `None` if it is only reported.
    pub(super) plan: Option<usize>,
}

impl Offender {
    pub(super) fn key(&self) -> Key {
        (self.directory.handle.clone(), self.name.clone())
    }

    /// Returns its path from the guarded directory.
    pub(super) fn path(&self) -> Vec<u8> {
        self.directory.path_of(self.name.as_bytes())
    }

    /// Returns how the name is to be compared with its siblings, if that decides whether it offends.
    pub(super) fn alike(&self) -> Option<Alike> {
        let Rule::NotUnique(alike) = self.offence.rule else {
            return None;
        };
        Some(alike)
    }
}

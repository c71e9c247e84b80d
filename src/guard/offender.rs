//! A name that offends.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::directories::Directory;
use super::judge::Judgement;
use super::maker::Maker;
use crate::fs::audit::Operation;
use crate::names::BackingName;
use crate::policy::{Alike, Rule};

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
    pub(super) judgement: Judgement,
}

impl Offender {
    /// Returns how the name is to be compared with its siblings, if that decides whether it offends.
    pub(super) fn alike(&self) -> Option<Alike> {
        let Rule::NotUnique(alike) = self.judgement.offence.rule else {
            return None;
        };
        Some(alike)
    }

    /// Returns when the name was made, as an order of all names of a directory.
    pub(super) fn age(&self) -> (Timestamp, &BackingName) {
        (self.time, &self.name)
    }
}

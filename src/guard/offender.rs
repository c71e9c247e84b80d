//! A name that offends.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::directories::Directory;
use super::judge::{Judge, Judgement};
use super::maker::Maker;
use crate::backing::FileHandle;
use crate::fs::audit::Operation;
use crate::names::BackingName;
use crate::policy::{Alike, Rule};

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
    pub(super) judgement: Judgement,
}

impl Offender {
    /// Judges a name that was just made or found; `None` if it conforms or is exempt.
    pub(super) fn of(
        judge: &Judge,
        directory: &Arc<Directory>,
        name: &BackingName,
        maker: &Arc<Maker>,
        operation: Operation,
    ) -> Option<Self> {
        let path = || directory.path_of(name.as_bytes());
        let judgement = judge.judge(maker, name.as_bytes(), path)?;
        Some(Self {
            directory: Arc::clone(directory),
            name: name.clone(),
            maker: Arc::clone(maker),
            operation,
            time: Timestamp::now(),
            judgement,
        })
    }

    /// Judges it anew, where its directory is now; `None` if it conforms or is exempt by now.
    pub(super) fn again(&self, judge: &Judge, directory: &Arc<Directory>) -> Option<Self> {
        let judged = Self::of(judge, directory, &self.name, &self.maker, self.operation)?;
        Some(Self {
            time: self.time,
            ..judged
        })
    }

    pub(super) fn key(&self) -> Key {
        (self.directory.handle.clone(), self.name.clone())
    }

    /// Returns its path from the guarded directory.
    pub(super) fn path(&self) -> Vec<u8> {
        self.directory.path_of(self.name.as_bytes())
    }

    /// Returns how the name is to be compared with its siblings, if that decides whether it offends.
    pub(super) fn alike(&self) -> Option<Alike> {
        let Rule::NotUnique(alike) = self.judgement.offence.rule else {
            return None;
        };
        Some(alike)
    }
}

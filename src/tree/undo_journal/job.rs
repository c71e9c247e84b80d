//! The changes of one directory.

pub(crate) use crate::records::Job;
use crate::tree::change::{Change, Retarget};

impl Job {
    /// Returns the changes of links, each with its number in the job and the link's targets.
    pub(crate) fn links(&self) -> impl Iterator<Item = (usize, &Change, &Retarget)> {
        let changes = self.changes.iter().enumerate();
        changes.filter_map(|(number, change)| Some((number, change, change.target.as_ref()?)))
    }

    /// Returns the chains of changes of names, most of them of one, each with the number of its first change.
    pub(crate) fn chains(&self) -> impl Iterator<Item = (usize, &[Change])> {
        let mut start = 0;
        let chains = self.changes.chunk_by(|_, next| next.is_chained);
        let chains = chains.map(move |chain| {
            let first = start;
            start += chain.len();
            (first, chain)
        });
        chains.filter(|(_, chain)| chain.iter().all(|change| change.to.is_some()))
    }
}

/// Entries and directories for which planning made no steps (law T3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unplanned {
    /// Entries with which something is amiss, and which stay as they are.
    pub left: u64,
    /// Directories that could not be read.
    pub unread: u64,
}

//! The index of the jobs of a journal, which stay in its file.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::job::Job;
use super::journal_error::JournalError;
use super::renamed_dirs::RenamedDirs;
use crate::tree::change::{Change, Destination};

/// The jobs of a journal: where they stand, and what they hold.
#[derive(Debug, Default)]
pub(crate) struct JobIndex {
    /// The places of the jobs, the deepest directories first once the journal is whole.
    pub(crate) places: Vec<Place>,
    /// Number of their steps.
    pub(crate) steps: u64,
    /// Is anything set aside?
    pub(crate) has_asides: bool,
    pub(crate) renamed_dirs: RenamedDirs,
}

/// The place of a job in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(super) offset: u64,
    length: usize,
    /// The number of names that lead to its directory.
    pub(crate) depth: usize,
    /// Has it links that get other targets?
    pub(crate) has_links: bool,
}

impl JobIndex {
    /// Adds a job, which has so many bytes there.
    pub(super) fn add(&mut self, job: &Job, offset: u64, length: usize) {
        self.places.push(Place {
            offset,
            length,
            depth: job.directory.len(),
            has_links: job.links().next().is_some(),
        });
        let steps: usize = job.changes.iter().map(Change::steps).sum();
        self.steps += u64::try_from(steps).unwrap_or(u64::MAX);
        let mut destinations = job.changes.iter().map(|change| &change.to);
        self.has_asides |= destinations.any(|to| *to == Some(Destination::Aside));
        self.renamed_dirs.add(job);
    }

    /// Returns the number of jobs.
    pub(super) fn jobs(&self) -> u64 {
        u64::try_from(self.places.len()).unwrap_or(u64::MAX)
    }
}

impl Place {
    /// Reads the bytes of the job.
    pub(super) fn read(&self, file: &File) -> Result<Vec<u8>, JournalError> {
        let mut job = vec![0; self.length];
        let read = file.read_exact_at(&mut job, self.offset);
        read.map_err(JournalError::io("read the journal"))?;
        Ok(job)
    }
}

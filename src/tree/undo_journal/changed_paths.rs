//! The paths that a journal changes, for programs that have them elsewhere.

use super::journal_error::JournalError;
use super::journal_file::Journal;
use crate::names::BackingName;
use crate::records::Job;
use crate::tree::change::{Change, Destination, join_path, own_name};

/// The path of an entry before a migration and after it, from the root of the filesystem on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPath {
    /// The path with all names of before.
    pub old: Vec<u8>,
    /// The path with all names of after.
    pub new: Vec<u8>,
}

impl Journal {
    /// Reports the paths of all entries that get other names, the deepest first. What lies below a directory goes with it, and
    /// is not reported for that alone.
    ///
    /// # Errors
    /// Those of reading the journal.
    pub fn changed_paths(&self, report: &mut dyn FnMut(&ChangedPath)) -> Result<(), JournalError> {
        for place in &self.jobs.places {
            let job = self.job(place)?;
            for (number, change) in job.changes.iter().enumerate() {
                if let Some(new) = self.path_after(&job, number, change) {
                    let names = job.directory.iter().chain([&change.name]);
                    let old = self.absolute(&join_path(names));
                    report(&ChangedPath { old, new });
                }
            }
        }
        Ok(())
    }

    /// Returns the path of an entry after the migration; `None` if it keeps its name.
    fn path_after(&self, job: &Job, number: usize, change: &Change) -> Option<Vec<u8>> {
        let path = match change.to.as_ref()? {
            Destination::Name(new) => {
                let directory = self.jobs.names_after(&job.directory);
                join_path(directory.iter().chain([new]))
            }
            Destination::Aside => {
                join_path([&self.aside_name(), &aside_entry_name(job.number, number)])
            }
        };
        Some(self.absolute(&path))
    }

    fn absolute(&self, path: &[u8]) -> Vec<u8> {
        let root = self.header.root.as_bytes();
        [root.strip_suffix(b"/").unwrap_or(root), b"/", path].concat()
    }

    /// Returns the name of the directory, in the root of the tree, of what is set aside.
    pub(in crate::tree) fn aside_name(&self) -> BackingName {
        own_name(&format!(".utf8fs-aside-{}", self.header.id))
    }
}

/// Returns the name that the entry of a change has among what is set aside: the number of the job's frame, and that of the change
/// in the job.
pub(crate) fn aside_entry_name(frame: u64, number: usize) -> BackingName {
    own_name(&format!("{frame}-{number}"))
}

//! The index of the jobs of a journal, which stay in its file.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use super::journal_error::JournalError;
use crate::backing::{Dir, Kind, Stat};
use crate::names::BackingName;
use crate::tree::change::{Change, Destination, EntryMatch, InodeId, Job, join_path};

/// The jobs of a journal: where they stand, and what they hold.
#[derive(Debug, Default)]
pub(crate) struct JobIndex {
    /// The places of the jobs, the deepest directories first once the journal is whole.
    pub(crate) places: Vec<JobPlace>,
    /// Number of their steps.
    pub(crate) steps: u64,
    /// Is anything set aside?
    pub(crate) has_asides: bool,
    /// The changes of directories that get other names, by the path of before.
    renamed_dirs: HashMap<Vec<u8>, Change>,
}

/// The place of a job in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobPlace {
    /// The number of its frame.
    pub(super) frame: u64,
    pub(super) offset: u64,
    length: usize,
    /// The number of names that lead to its directory.
    pub(crate) depth: usize,
    /// Has it links that get other targets?
    pub(crate) has_links: bool,
}

impl JobIndex {
    /// Adds a job, which stands there.
    pub(super) fn add(&mut self, job: &Job, place: JobPlace) {
        self.places.push(place);
        for change in &job.changes {
            self.steps += change.steps();
            self.has_asides |= change.to == Some(Destination::Aside);
            if change.kind == Kind::Dir && change.to.is_some() {
                let path = join_path(job.directory.iter().chain([&change.name]));
                self.renamed_dirs.insert(path, change.clone());
            }
        }
    }

    /// Returns the number of jobs.
    pub(super) fn jobs(&self) -> u64 {
        u64::try_from(self.places.len()).unwrap_or(u64::MAX)
    }

    /// Do the names of `asked`, each of before or of after, lead from the root to `directory` or towards it? Returns those that
    /// go on beyond it.
    pub(crate) fn leads<'a>(
        &self,
        asked: &'a [BackingName],
        directory: &[BackingName],
    ) -> Option<&'a [BackingName]> {
        for (index, (asked, name)) in asked.iter().zip(directory).enumerate() {
            let renamed = || self.renamed(directory, index);
            if asked != name && renamed()?.names().last() != Some(asked) {
                return None;
            }
        }
        Some(asked.get(directory.len()..).unwrap_or_default())
    }

    /// Returns the change of the directory that the name of that index leads to, if that gets another name.
    fn renamed(&self, directory: &[BackingName], index: usize) -> Option<&Change> {
        let path = join_path(directory.iter().take(index + 1));
        self.renamed_dirs.get(&path)
    }

    /// Returns the names that lead to a directory after the migration.
    pub(super) fn names_after(&self, directory: &[BackingName]) -> Vec<BackingName> {
        let names = directory.iter().enumerate();
        let after = names.map(|(index, name)| {
            let renamed = self.renamed(directory, index);
            renamed.and_then(Change::new_name).unwrap_or(name).clone()
        });
        after.collect()
    }

    /// Opens a directory by the names of before, whichever of them it has now, following no link and entering no mount. Returns its
    /// attributes, too.
    ///
    /// # Errors
    /// Those of openat(2); `EXDEV` for a mount; `ENOTDIR` for what is no directory or was another one.
    pub(crate) fn open(
        &self,
        root: &OwnedFd,
        directory: &[BackingName],
        id: &InodeId,
        matching: EntryMatch,
    ) -> io::Result<(Dir, Stat)> {
        let look = |fd: OwnedFd| Stat::of(&fd).map(|stat| (Dir::new(fd), stat));
        if let Ok(found) = Dir::new(root).descend(directory).and_then(look)
            && matching.is_directory(id, &found.1)
        {
            return Ok(found);
        }
        let error = |errno| Err(io::Error::from_raw_os_error(errno));
        let mut here = look(root.try_clone()?)?;
        let mount = here.1.mnt_id;
        for (index, name) in directory.iter().enumerate() {
            let renamed = self.renamed(directory, index);
            let later = renamed
                .into_iter()
                .flat_map(|renamed| renamed.names().skip(1));
            let is_it = |stat: &Stat| {
                renamed.is_none_or(|renamed| matching.is_directory(&renamed.id, stat))
            };
            let mut found = error(libc::ENOTDIR);
            for name in std::iter::once(name).chain(later) {
                match here.0.child(name).and_then(look) {
                    Ok((_, stat)) if stat.mnt_id != mount => found = error(libc::EXDEV),
                    Ok((child, stat)) if stat.is_dir() && is_it(&stat) => {
                        found = Ok((child, stat));
                        break;
                    }
                    Err(other) if other.kind() != io::ErrorKind::NotFound => found = Err(other),
                    Ok(_) | Err(_) => {}
                }
            }
            here = found?;
        }
        if matching.is_directory(id, &here.1) {
            Ok(here)
        } else {
            error(libc::ENOTDIR)
        }
    }
}

impl JobPlace {
    /// Returns the place of a job in a frame of that number, the JSON of which starts at an offset and has so many bytes.
    pub(super) fn new(frame: u64, offset: u64, length: usize, job: &Job) -> Self {
        Self {
            frame,
            offset,
            length,
            depth: job.directory.len(),
            has_links: job.links().next().is_some(),
        }
    }

    /// Reads the bytes of the job.
    pub(super) fn read(&self, file: &File) -> Result<Vec<u8>, JournalError> {
        let mut job = vec![0; self.length];
        let read = file.read_exact_at(&mut job, self.offset);
        read.map_err(JournalError::io("read the journal"))?;
        Ok(job)
    }
}

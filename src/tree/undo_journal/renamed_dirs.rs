//! Directories that a migration renames: where those in them are found while it is under way.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;

use super::job::Job;
use crate::backing::{Dir, Kind, Stat};
use crate::names::BackingName;
use crate::tree::change::{InodeId, join_path};

/// The directories that get other names, by the path of before.
#[derive(Debug, Default)]
pub(crate) struct RenamedDirs(HashMap<Vec<u8>, RenamedDir>);

#[derive(Debug)]
struct RenamedDir {
    id: InodeId,
    /// The names that it has in turn, after the one of before.
    names: Vec<BackingName>,
}

impl RenamedDirs {
    /// Adds the directories that a job renames.
    pub(super) fn add(&mut self, job: &Job) {
        let changes = job.changes.iter();
        for change in changes.filter(|change| change.kind == Kind::Dir && change.to.is_some()) {
            let path = join_path(job.directory.iter().chain([&change.name]));
            let names = change.names().skip(1).cloned().collect();
            let id = change.id;
            self.0.insert(path, RenamedDir { id, names });
        }
    }

    /// Do the names of `asked`, each of before or of after, lead from the root to `directory` or towards it? Returns those that
    /// go on beyond it.
    pub(crate) fn leads<'a>(
        &self,
        asked: &'a [BackingName],
        directory: &[BackingName],
    ) -> Option<&'a [BackingName]> {
        for (index, (asked, name)) in asked.iter().zip(directory).enumerate() {
            let renamed = || self.0.get(&join_path(directory.iter().take(index + 1)));
            if asked != name && renamed()?.names.last() != Some(asked) {
                return None;
            }
        }
        Some(asked.get(directory.len()..).unwrap_or_default())
    }

    /// Opens a directory by the names of before, whichever of them it has now, following no link and entering no mount.
    ///
    /// # Errors
    /// Those of openat(2); `EXDEV` for a mount; `ENOTDIR` for what is no directory or was another one.
    pub(crate) fn open(
        &self,
        root: &OwnedFd,
        directory: &[BackingName],
        id: &InodeId,
    ) -> io::Result<Dir> {
        if let Ok(found) = Dir::new(root).descend(directory)
            && id.is(&Stat::of(&found)?)
        {
            return Ok(Dir::new(found));
        }
        let other = || io::Error::from_raw_os_error(libc::ENOTDIR);
        let mount = Stat::of(root)?.mnt_id;
        let mut here = Dir::new(root.try_clone()?);
        for (index, name) in directory.iter().enumerate() {
            let renamed = self.0.get(&join_path(directory.iter().take(index + 1)));
            let later = renamed.into_iter().flat_map(|renamed| &renamed.names);
            let mut found = Err(other());
            for name in std::iter::once(name).chain(later) {
                let child = match here.child(name) {
                    Ok(child) => child,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => {
                        found = Err(error);
                        continue;
                    }
                };
                let stat = Stat::of(&child)?;
                let is_it = renamed.is_none_or(|renamed| renamed.id.is(&stat));
                if stat.mnt_id != mount {
                    found = Err(io::Error::from_raw_os_error(libc::EXDEV));
                } else if stat.is_dir() && is_it {
                    found = Ok(child);
                    break;
                }
            }
            here = Dir::new(found?);
        }
        if id.is(&Stat::of(&here)?) {
            Ok(here)
        } else {
            Err(other())
        }
    }
}

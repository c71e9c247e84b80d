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
    ) -> io::Result<(Dir, Stat)> {
        let look = |fd: OwnedFd| Stat::of(&fd).map(|stat| (Dir::new(fd), stat));
        if let Ok(found) = Dir::new(root).descend(directory).and_then(look)
            && id.is(&found.1)
        {
            return Ok(found);
        }
        let error = |errno| Err(io::Error::from_raw_os_error(errno));
        let mut here = look(root.try_clone()?)?;
        let mount = here.1.mnt_id;
        for (index, name) in directory.iter().enumerate() {
            let renamed = self.0.get(&join_path(directory.iter().take(index + 1)));
            let later = renamed.into_iter().flat_map(|renamed| &renamed.names);
            let is_it = |stat: &Stat| renamed.is_none_or(|renamed| renamed.id.is(stat));
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
        if id.is(&here.1) {
            Ok(here)
        } else {
            error(libc::ENOTDIR)
        }
    }
}

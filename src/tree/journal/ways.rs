//! Directories that a migration renames: where those in them are found while it is under way.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;

use super::{Id, Job, Spot};
use crate::backing::{Dir, Kind, Stat};
use crate::names::BackingName;
use crate::tree::step::TreePath;

/// By the path of before, the names that a directory has in turn.
#[derive(Debug, Default)]
pub(crate) struct Ways(HashMap<Vec<u8>, Turns>);

#[derive(Debug)]
struct Turns {
    id: Id,
    /// After the one of before; never empty.
    names: Vec<BackingName>,
}

fn joined(path: &[u8], name: &BackingName) -> Vec<u8> {
    [path, name.as_bytes()].join(&b'/')
}

impl Ways {
    /// Takes in the directories that a job renames.
    pub(super) fn add(&mut self, job: &Job) {
        if !job.moves.iter().any(|step| step.kind == Kind::Dir) {
            return;
        }
        let path = job
            .directory
            .iter()
            .fold(Vec::new(), |path, name| joined(&path, name));
        // Where they came from, by the name that they have.
        let mut before: HashMap<&BackingName, &BackingName> = HashMap::new();
        for step in &job.moves {
            let name = before.remove(&step.name).unwrap_or(&step.name);
            let Spot::Name(to) = &step.to else { continue };
            before.insert(to, name);
            if step.kind == Kind::Dir {
                let turns = self.0.entry(joined(&path, name));
                let turns = turns.or_insert_with(|| Turns {
                    id: step.id,
                    names: Vec::new(),
                });
                turns.names.push(to.clone());
            }
        }
    }

    /// The name that a directory has after the migration.
    fn last(&self, path: &[u8]) -> Option<&BackingName> {
        self.0.get(path)?.names.last()
    }

    /// Do the names of `asked`, each of before or of after, lead from the root to `directory` or towards it? Gives those that
    /// go on beyond it.
    pub(crate) fn leads<'a>(
        &self,
        asked: &'a [BackingName],
        directory: &[BackingName],
    ) -> Option<&'a [BackingName]> {
        let mut path = Vec::new();
        for (asked, name) in asked.iter().zip(directory) {
            path = joined(&path, name);
            if asked != name && self.last(&path) != Some(asked) {
                return None;
            }
        }
        Some(asked.get(directory.len()..).unwrap_or_default())
    }

    /// Opens a directory by the names of before, whichever of them it has now, following no link and entering no mount.
    ///
    /// # Errors
    /// Those of openat(2); `ENOTDIR` for what is no directory or was another one.
    pub(crate) fn open(&self, root: &OwnedFd, directory: &TreePath, id: &Id) -> io::Result<Dir> {
        if let Ok(found) = Dir::new(root).descend(directory)
            && id.is(&Stat::of(&found)?)
        {
            return Ok(Dir::new(found));
        }
        let other = || io::Error::from_raw_os_error(libc::ENOTDIR);
        let mount = Stat::of(root)?.mnt_id;
        let mut here = Dir::new(root.try_clone()?);
        let mut path = Vec::new();
        for name in directory {
            path = joined(&path, name);
            let turns = self.0.get(&path);
            let names =
                std::iter::once(name).chain(turns.into_iter().flat_map(|turns| &turns.names));
            let mut found = Err(other());
            for name in names {
                let child = match here.child(name) {
                    Ok(child) => child,
                    Err(error) => {
                        found = found.and(Err(error));
                        continue;
                    }
                };
                let stat = Stat::of(&child)?;
                let is_it = turns.is_none_or(|turns| turns.id.is(&stat));
                if stat.is_dir() && stat.mnt_id == mount && is_it {
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

impl Id {
    /// What an inode is known by.
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            ino: stat.ino,
            born: stat.btime,
        }
    }

    /// Is it that inode?
    pub(crate) fn is(&self, stat: &Stat) -> bool {
        self.ino == stat.ino
            && (self.born == stat.btime || self.born.is_none() || stat.btime.is_none())
    }
}

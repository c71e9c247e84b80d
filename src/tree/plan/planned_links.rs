//! The ends of the links of a plan, as they would be once it is done, told without doing it.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;

use super::directory_plan::DirectoryPlan;
use crate::backing::{Dir, Kind, Stat};
use crate::names::BackingName;
use crate::records::{PlanLine, TreePath, join_path};
use crate::tree::change::read_target;

/// The names and targets that a plan gives in a tree.
#[derive(Debug, Default)]
pub struct PlannedLinks {
    /// The old names by the new ones, in each directory; `None` for a name that is given up.
    names: HashMap<TreePath, HashMap<BackingName, Option<BackingName>>>,
    links: Vec<PlanLine>,
}

impl PlannedLinks {
    /// Takes in the plan of a directory.
    pub fn add(&mut self, plan: &DirectoryPlan) {
        for line in &plan.lines {
            if let Some(new) = &line.new {
                let names = self.names.entry(line.directory.clone()).or_default();
                names.insert(new.clone(), Some(line.old.clone()));
                names.entry(line.old.clone()).or_insert(None);
            }
            if line.kind == Kind::Symlink {
                self.links.push(line.clone());
            }
        }
    }

    /// Returns the links that would lead elsewhere or nowhere, by their paths. `path` is that of the root.
    pub fn astray(&self, root: &OwnedFd, path: &[u8]) -> Vec<Vec<u8>> {
        let is_astray = |link: &&PlanLine| self.is_astray(root, path, link).unwrap_or(false);
        let astray = self.links.iter().filter(is_astray);
        let paths = astray.map(|link| join_path(link.directory.iter().chain([&link.old])));
        paths.collect()
    }

    /// Would a link that leads somewhere lead elsewhere or nowhere? `None` if its way leads over another link or out of the tree.
    fn is_astray(&self, root: &OwnedFd, path: &[u8], link: &PlanLine) -> Option<bool> {
        let dir = Dir::new(Dir::new(root).descend(&link.directory).ok()?);
        let before = dir.stat_path(link.old.as_bytes()).ok()?;
        let target = match &link.new_target {
            Some(new) => new.clone(),
            None => read_target(&dir, &link.old).ok()?,
        };
        let mut at = link.directory.to_vec();
        let mut rest = target.as_bytes();
        if rest.starts_with(b"/") {
            rest = rest.strip_prefix(path)?;
            at.clear();
        }
        for part in rest.split(|&byte| byte == b'/') {
            let name = match part {
                b"" | b"." => continue,
                b".." => {
                    at.pop()?;
                    continue;
                }
                name => BackingName::parse(name).ok()?,
            };
            let names = self.names.get(at.as_slice());
            match names.and_then(|names| names.get(&name)) {
                Some(None) => return Some(true),
                Some(Some(old)) => at.push(old.clone()),
                None => at.push(name),
            }
            match stat(root, &at) {
                Ok(found) if found.is_symlink() => return None,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => return Some(true),
                Err(_) => return None,
            }
        }
        let end = stat(root, &at).ok()?;
        Some(end.identity() != before.identity())
    }
}

/// Returns the attributes of an entry, by the names that lead to it now.
fn stat(root: &OwnedFd, names: &[BackingName]) -> io::Result<Stat> {
    match names.split_last() {
        Some((name, above)) => Dir::new(Dir::new(root).descend(above)?).stat_child(name),
        None => Stat::of(root),
    }
}

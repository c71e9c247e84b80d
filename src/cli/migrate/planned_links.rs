//! Where the links of a plan would lead once it is done, told without doing it.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::roots::Root;
use crate::backing::Kind;
use crate::names::BackingName;
use crate::tree::change::{TreePath, join_path};
use crate::tree::plan::DirectoryPlan;

/// The names and targets that a plan gives in a tree.
#[derive(Debug, Default)]
pub(super) struct PlannedLinks {
    directories: HashMap<TreePath, Renames>,
    /// The directory and the name of each link, and the target that it gets.
    links: Vec<(TreePath, BackingName, Option<Vec<u8>>)>,
}

/// The renames in a directory.
#[derive(Debug, Default)]
struct Renames {
    /// The old names by the new ones.
    given: HashMap<BackingName, BackingName>,
    /// The old names.
    left: HashSet<BackingName>,
}

impl PlannedLinks {
    pub(super) fn add(&mut self, plan: &DirectoryPlan) {
        let renames = self.directories.entry(plan.directory.clone()).or_default();
        for line in &plan.lines {
            if let Some(new) = &line.new {
                renames.given.insert(new.clone(), line.old.clone());
                renames.left.insert(line.old.clone());
            }
            if line.kind == Kind::Symlink {
                let target = line.new_target.as_ref().map(|new| new.as_bytes().to_vec());
                let directory = plan.directory.clone();
                self.links.push((directory, line.old.clone(), target));
            }
        }
    }

    /// Returns the links that lead somewhere now and would lead nowhere, by their paths. Ways over other links or out of the tree
    /// are taken for good.
    pub(super) fn leading_nowhere(&self, root: &Root) -> Vec<Vec<u8>> {
        let links = self.links.iter().filter(|(directory, name, target)| {
            let link = path(root, directory).join(OsStr::from_bytes(name.as_bytes()));
            let now = fs::read_link(&link)
                .unwrap_or_default()
                .into_os_string()
                .into_vec();
            let target = target.as_ref().unwrap_or(&now);
            fs::metadata(&link).is_ok() && !self.leads(root, directory, target)
        });
        let links = links.map(|(directory, name, _)| join_path(directory.iter().chain([name])));
        links.collect()
    }

    /// Would a target lead somewhere, from that directory?
    fn leads(&self, root: &Root, directory: &TreePath, target: &[u8]) -> bool {
        let mut at = directory.to_vec();
        let mut rest = target;
        if target.starts_with(b"/") {
            let Some(inside) = target.strip_prefix(root.bytes()) else {
                return true;
            };
            at.clear();
            rest = inside;
        }
        for part in rest.split(|&byte| byte == b'/') {
            match part {
                b"" | b"." => continue,
                b".." if at.pop().is_none() => return true,
                b".." => continue,
                _ => {}
            }
            let Ok(name) = BackingName::parse(part) else {
                return false;
            };
            let renames = self.directories.get(at.as_slice());
            let given = renames.and_then(|renames| renames.given.get(&name));
            if given.is_none() && renames.is_some_and(|renames| renames.left.contains(&name)) {
                return false;
            }
            at.push(given.unwrap_or(&name).clone());
            match fs::symlink_metadata(path(root, &at)) {
                Ok(found) if found.is_symlink() => return true,
                Ok(_) => {}
                Err(error) => return error.kind() != ErrorKind::NotFound,
            }
        }
        true
    }
}

/// Returns the path of an entry, by the names that lead to it now.
fn path(root: &Root, names: &[BackingName]) -> PathBuf {
    let names = names.iter().map(|name| OsStr::from_bytes(name.as_bytes()));
    root.path.iter().chain(names).collect()
}

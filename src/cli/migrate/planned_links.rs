//! Where the links of a plan would lead once it is done, told without doing it.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
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

/// The end of the way along a target.
enum End {
    /// It leads over another link or out of the tree.
    Unknown,
    Nowhere,
    /// The path, by the names of now.
    At(PathBuf),
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

    /// Returns the links that would lead elsewhere or nowhere, by their paths.
    pub(super) fn astray(&self, root: &Root) -> Vec<Vec<u8>> {
        let links = self.links.iter().filter(|(directory, name, target)| {
            let link = path(root, directory).join(OsStr::from_bytes(name.as_bytes()));
            let now = fs::read_link(&link).unwrap_or_default();
            let target = target.as_deref().unwrap_or(now.as_os_str().as_bytes());
            let Ok(before) = fs::metadata(&link) else {
                return false;
            };
            match self.end(root, directory, target) {
                End::Unknown => false,
                End::Nowhere => true,
                End::At(path) => fs::metadata(path)
                    .is_ok_and(|end| (end.dev(), end.ino()) != (before.dev(), before.ino())),
            }
        });
        let links = links.map(|(directory, name, _)| join_path(directory.iter().chain([name])));
        links.collect()
    }

    /// Finds where a target would lead from that directory.
    fn end(&self, root: &Root, directory: &TreePath, target: &[u8]) -> End {
        let mut at = directory.to_vec();
        let mut rest = target;
        if target.starts_with(b"/") {
            let Some(inside) = target.strip_prefix(root.bytes()) else {
                return End::Unknown;
            };
            at.clear();
            rest = inside;
        }
        for part in rest.split(|&byte| byte == b'/') {
            match part {
                b"" | b"." => continue,
                b".." if at.pop().is_none() => return End::Unknown,
                b".." => continue,
                _ => {}
            }
            let Ok(name) = BackingName::parse(part) else {
                return End::Nowhere;
            };
            let renames = self.directories.get(at.as_slice());
            let given = renames.and_then(|renames| renames.given.get(&name));
            if given.is_none() && renames.is_some_and(|renames| renames.left.contains(&name)) {
                return End::Nowhere;
            }
            at.push(given.unwrap_or(&name).clone());
            match fs::symlink_metadata(path(root, &at)) {
                Ok(found) if found.is_symlink() => return End::Unknown,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => return End::Nowhere,
                Err(_) => return End::Unknown,
            }
        }
        End::At(path(root, &at))
    }
}

/// Returns the path of an entry, by the names that lead to it now.
fn path(root: &Root, names: &[BackingName]) -> PathBuf {
    let names = names.iter().map(|name| OsStr::from_bytes(name.as_bytes()));
    root.path.iter().chain(names).collect()
}

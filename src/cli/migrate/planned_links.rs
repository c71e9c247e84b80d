//! Where the links of a plan would lead once it is done, told without doing it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::roots::Root;
use crate::backing::Kind;
use crate::names::BackingName;
use crate::records::PlanLine;
use crate::tree::change::{TreePath, join_path};
use crate::tree::plan::DirectoryPlan;

/// The names and targets that a plan gives in a tree.
#[derive(Debug, Default)]
pub(super) struct PlannedLinks {
    /// The old names by the new ones, in each directory; `None` for a name that is given up.
    names: HashMap<TreePath, HashMap<BackingName, Option<BackingName>>>,
    links: Vec<PlanLine>,
}

impl PlannedLinks {
    pub(super) fn add(&mut self, plan: &DirectoryPlan) {
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

    /// Returns the links that would lead elsewhere or nowhere, by their paths.
    pub(super) fn astray(&self, root: &Root) -> Vec<Vec<u8>> {
        let is_astray = |link: &&PlanLine| self.is_astray(root, link).unwrap_or(false);
        let astray = self.links.iter().filter(is_astray);
        let paths = astray.map(|link| join_path(link.directory.iter().chain([&link.old])));
        paths.collect()
    }

    /// Would a link that leads somewhere lead elsewhere or nowhere? `None` if its way leads over another link or out of the tree.
    fn is_astray(&self, root: &Root, link: &PlanLine) -> Option<bool> {
        let mut at = link.directory.to_vec();
        let own = path(root, &at).join(OsStr::from_bytes(link.old.as_bytes()));
        let before = fs::metadata(&own).ok()?;
        let target = match &link.new_target {
            Some(new) => new.as_bytes().to_vec(),
            None => fs::read_link(own).ok()?.into_os_string().into_vec(),
        };
        let mut rest = target.as_slice();
        if target.starts_with(b"/") {
            rest = target.strip_prefix(root.bytes())?;
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
            match fs::symlink_metadata(path(root, &at)) {
                Ok(found) if found.is_symlink() => return None,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => return Some(true),
                Err(_) => return None,
            }
        }
        let end = fs::metadata(path(root, &at)).ok()?;
        Some((end.dev(), end.ino()) != (before.dev(), before.ino()))
    }
}

/// Returns the path of an entry, by the names that lead to it now.
fn path(root: &Root, names: &[BackingName]) -> PathBuf {
    let names = names.iter().map(|name| OsStr::from_bytes(name.as_bytes()));
    root.path.iter().chain(names).collect()
}

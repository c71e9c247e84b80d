//! The new names of a plan that was read, and the links of the tree that follow them (law T9). The plan need not know these links:
//! somebody may have edited it, or it is about a part of the tree.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use parking_lot::Mutex;

use super::directory_plan::DirectoryPlan;
use super::name_change::Spellings;
use super::plan_observer::PlanObserver;
use super::symlink_targets::{Link, LinkDirectory, NewNames, Renames, retarget};
use crate::backing::{Kind, Stat};
use crate::names::BackingName;
use crate::records::{Destination, PlanLine, TreePath};
use crate::tree::tree_walk::{Listed, Mounts, Place, Visitor, threads, walk};

/// The names that a plan gives in a tree.
#[derive(Debug, Default)]
pub struct PlannedNames {
    /// All names that are given up.
    old_names: HashSet<BackingName>,
    directories: HashMap<TreePath, PlannedDirectory>,
}

#[derive(Debug)]
struct PlannedDirectory {
    inode: u64,
    renames: Arc<Renames>,
}

/// The links that follow, by their directories.
#[derive(Debug, Default)]
pub struct FollowingLinks(BTreeMap<TreePath, DirectoryPlan>);

impl PlannedNames {
    /// Takes in the plan of a directory.
    pub fn add(&mut self, plan: &DirectoryPlan) {
        let renames = plan.lines.iter().filter_map(|line| {
            let new = match line.destination()? {
                Destination::Name(new) => Some(new),
                Destination::Aside => None,
            };
            Some((line.old.clone(), new))
        });
        let renames: Renames = renames.collect();
        if let Some(first) = plan.lines.first().filter(|_| !renames.is_empty()) {
            self.old_names.extend(renames.keys().cloned());
            let planned = PlannedDirectory {
                inode: first.directory_inode,
                renames: Arc::new(renames),
            };
            self.directories.insert(first.directory.clone(), planned);
        }
    }

    /// Finds the links in the tree below `root` that lead to what is renamed.
    ///
    /// # Errors
    /// The root can't be looked at.
    pub fn links(&self, root: &OwnedFd, observer: &dyn PlanObserver) -> io::Result<FollowingLinks> {
        if self.old_names.is_empty() {
            return Ok(FollowingLinks::default());
        }
        let visitor = LinkVisitor {
            names: NamesInTree {
                planned: self,
                top: Stat::of(root)?,
            },
            observer,
            found: Mutex::default(),
        };
        walk(
            std::slice::from_ref(root),
            Mounts::Stay,
            threads(),
            &visitor,
        )?;
        Ok(visitor.found.into_inner())
    }
}

impl FollowingLinks {
    /// Adds those of a directory to its plan. A link of which the plan says the target gets that.
    pub fn add_to(&mut self, plan: &mut DirectoryPlan) {
        let Some(links) = self.0.remove(&plan.directory()) else {
            return;
        };
        let lines = plan.lines.iter_mut();
        let mut planned: HashMap<BackingName, &mut PlanLine> =
            lines.map(|line| (line.old.clone(), line)).collect();
        let mut others = Vec::new();
        for link in links.lines {
            let Some(line) = planned.get_mut(&link.old) else {
                others.push(link);
                continue;
            };
            let is_link = matches!(line.kind, Kind::Symlink | Kind::Unknown);
            if is_link && line.new_target.is_none() {
                line.target = link.target;
                line.new_target = link.new_target;
                if link.reason.is_of_target() {
                    line.reason = link.reason;
                }
            }
        }
        plan.lines.extend(others);
    }

    /// Returns those of the directories of which the plan says nothing.
    pub fn into_rest(self) -> impl Iterator<Item = DirectoryPlan> {
        self.0.into_values()
    }
}

/// The names that a plan gives, in the tree with that root.
struct NamesInTree<'n> {
    planned: &'n PlannedNames,
    top: Stat,
}

impl NewNames for NamesInTree<'_> {
    fn top(&self) -> &Stat {
        &self.top
    }

    fn may_change(&self, name: &[u8]) -> bool {
        BackingName::parse(name).is_ok_and(|name| self.planned.old_names.contains(&name))
    }

    fn renames(&self, fd: &OwnedFd, inside: &[BackingName]) -> io::Result<Arc<Renames>> {
        let Some(directory) = self.planned.directories.get(inside) else {
            return Ok(Arc::default());
        };
        let is_it = Stat::of(fd)?.ino == directory.inode;
        Ok(match is_it {
            true => Arc::clone(&directory.renames),
            false => Arc::default(),
        })
    }

    /// A plan knows nothing of names that are not there.
    fn spellings(&self, _: &BackingName, _: &[BackingName]) -> Spellings {
        Spellings::default()
    }
}

/// The visitor of all directories, which looks at their links.
struct LinkVisitor<'v> {
    names: NamesInTree<'v>,
    observer: &'v dyn PlanObserver,
    found: Mutex<FollowingLinks>,
}

impl LinkVisitor<'_> {
    /// Returns the lines of the links of a directory that follow.
    fn following(
        &self,
        names: &[BackingName],
        directory: &Listed<'_>,
    ) -> io::Result<Vec<PlanLine>> {
        let mut lines = Vec::new();
        let entries = directory.entries.iter();
        let links = entries.filter(|entry| entry.kind == Kind::Symlink);
        let links: Vec<Link> = links.filter_map(|link| Link::of(&link, false)).collect();
        if links.is_empty() {
            return Ok(lines);
        }
        let stat = Stat::of(directory.fd)?;
        let here = LinkDirectory {
            inside: names,
            fd: directory.fd,
            stat: &stat,
            renames: self.names.renames(directory.fd, names)?,
        };
        retarget(&self.names, &here, &links, &mut lines)?;
        let path = TreePath::from(names);
        for line in &mut lines {
            line.directory.clone_from(&path);
            line.directory_inode = stat.ino;
        }
        Ok(lines)
    }
}

impl Visitor for LinkVisitor<'_> {
    type State = ();

    fn visit(&self, (): &mut (), directory: &Listed<'_>) {
        let names = directory.place.names();
        match self.following(&names, directory) {
            Ok(lines) if lines.is_empty() => {}
            Ok(lines) => {
                let plan = DirectoryPlan {
                    entries: lines.len(),
                    lines,
                };
                self.found.lock().0.insert(TreePath::from(names), plan);
            }
            Err(error) => self.observer.unread(directory.place, &error),
        }
    }

    fn failed(&self, (): &mut (), place: &Place, error: io::Error) {
        self.observer.unread(place, &error);
    }

    fn is_over(&self) -> bool {
        self.observer.is_over()
    }
}

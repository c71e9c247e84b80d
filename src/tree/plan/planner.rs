//! Whole trees, planned: every directory is read once, and planned by itself.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use parking_lot::Mutex;

use super::charset_choice::CharsetChoice;
use super::directory_plan::DirectoryPlan;
use super::filter::{Filter, Scope};
use super::name_change::{Spellings, may_change, spellings};
use super::plan_directory::plan;
use super::plan_observer::PlanObserver;
use super::plan_options::PlanOptions;
use super::symlink_targets::{Identity, Link, LinkDirectory, NewNames, Renames, renames, retarget};
use crate::backing::{Dir, Kind, Stat};
use crate::codec::guess::Guesser;
use crate::names::BackingName;
use crate::records::{PlanLine, Reason, TreePath};
use crate::tree::content_eq::have_same_content;
use crate::tree::entry_list::{EntryList, ListedEntry};
use crate::tree::tree_walk::{Listed, Mounts, Place, Visitor, threads, walk};

/// Most directories of which the new names are kept in mind, since links lead to them.
const MOST_KNOWN: usize = 64;

/// A function that acts on the plan of a directory. Called by several threads at a time.
pub type Take<'t> = dyn Fn(&DirectoryPlan) + Sync + 't;

/// A planner of a tree.
#[derive(Debug)]
pub struct Planner<'s> {
    /// The directory at its top.
    pub root: &'s OwnedFd,
    /// The options.
    pub options: &'s PlanOptions,
    /// The entries that are in question.
    pub filter: &'s Filter,
}

impl Planner<'_> {
    /// Plans every directory, and has `take` act on it, also if there is nothing to do in it.
    ///
    /// # Errors
    /// The root can't be looked at.
    pub fn plan(&self, observer: &dyn PlanObserver, take: &Take<'_>) -> io::Result<()> {
        let mut visitor = TreeVisitor {
            planner: self,
            observer,
            take,
            top: Stat::of(self.root)?,
            choice: CharsetChoice::default(),
            known: Mutex::default(),
            is_planning: false,
        };
        let roots = std::slice::from_ref(self.root);
        if self.options.needs_guesses() {
            let mut names = Guesser::default();
            for (part, _) in walk(roots, Mounts::Stay, threads(), &visitor)? {
                names.merge(&part);
            }
            visitor.choice = CharsetChoice::of(&names);
        }
        visitor.is_planning = true;
        walk(roots, Mounts::Stay, threads(), &visitor).map(drop)
    }
}

/// The visitor of both walks of a tree: the first gathers names for guesses, the second plans. What can't be read is reported by
/// the second.
struct TreeVisitor<'p> {
    planner: &'p Planner<'p>,
    observer: &'p dyn PlanObserver,
    take: &'p Take<'p>,
    /// Inode, device and mount of the root.
    top: Stat,
    choice: CharsetChoice,
    /// Directories that many links lead to, planned once.
    known: Mutex<HashMap<Identity, Arc<Renames>>>,
    /// Is it the second walk?
    is_planning: bool,
}

impl<'p> Visitor for TreeVisitor<'p> {
    /// Names for guesses, and the scope of the directory that was visited last.
    type State = (Guesser, Option<Scope<'p>>);

    fn visit(&self, (guesser, scope): &mut Self::State, directory: &Listed<'_>) {
        let names = directory.place.names();
        let scope = scope.insert(self.planner.filter.scope(&names));
        if !self.is_planning {
            let entries = directory.entries.iter().map(|entry| entry.name);
            let entries = entries.filter(|name| !name.is_ascii() && scope.includes(name));
            return entries.for_each(|name| guesser.add(name));
        }
        // With names missing, a new one might be taken unseen.
        if !directory.is_whole || self.observer.is_over() {
            return;
        }
        match self.planned(scope, &names, directory) {
            // Of a directory that is left out only the links matter.
            Ok(planned) if planned.lines.is_empty() && scope.is_left_out() => {}
            Ok(planned) => (self.take)(&planned),
            Err(error) => self.observer.unread(directory.place, &error),
        }
    }

    /// Links in all of the tree follow what is renamed (law T9), so that all of it is planned.
    fn descends(&self, (_, scope): &Self::State, _: &Place, name: &BackingName) -> bool {
        let enters = |scope: &Scope<'_>| scope.enters(name.as_bytes());
        self.is_planning || scope.as_ref().is_some_and(enters)
    }

    fn failed(&self, _: &mut Self::State, place: &Place, error: io::Error) {
        if self.is_planning {
            self.observer.unread(place, &error);
        }
    }

    fn left_out(&self, _: &mut Self::State, place: &Place) {
        let is_left_out = || self.planner.filter.scope(&place.names()).is_left_out();
        if self.is_planning && !is_left_out() {
            self.observer.left_out(place);
        }
    }

    fn is_over(&self) -> bool {
        self.observer.is_over()
    }
}

impl<'p> TreeVisitor<'p> {
    /// Returns the options for the names in the directory that these names lead to.
    fn options_at(&self, names: &[BackingName]) -> Cow<'p, PlanOptions> {
        let path = self.planner.filter.path(names);
        self.planner.options.for_directory(path)
    }

    /// Plans the entries of the open directory that these names lead to.
    fn lines(
        &self,
        names: &[BackingName],
        fd: &OwnedFd,
        listing: &EntryList,
        scope: &Scope<'_>,
    ) -> Vec<PlanLine> {
        let identity = |name: BackingName| Some(Dir::new(fd).stat_child(&name).ok()?.identity());
        let own = self.planner.filter.own;
        let is_own = |entry: &ListedEntry<'_>| {
            own.is_some_and(|own| own.1 == entry.inode)
                && BackingName::parse(entry.name).ok().and_then(identity) == own
        };
        let is_included = |entry: &ListedEntry<'_>| scope.includes(entry.name) && !is_own(entry);
        // A file that can't be read is not known to be the same.
        let same = |one: &_, other: &_| have_same_content(fd, one, other).unwrap_or(false);
        let options = self.options_at(names);
        plan(&options, &self.choice, listing, &is_included, &same)
    }

    /// Plans the directory to which these names lead.
    fn planned(
        &self,
        scope: &Scope<'_>,
        names: &[BackingName],
        &Listed { fd, entries, .. }: &Listed<'_>,
    ) -> io::Result<DirectoryPlan> {
        let mut lines = self.lines(names, fd, entries, scope);
        let links = entries.iter().filter(|entry| entry.kind == Kind::Symlink);
        let links: Vec<Link> = links
            .filter_map(|link| Link::of(&link, scope.includes(link.name)))
            .collect();
        if !lines.is_empty() || !links.is_empty() {
            let stat = Stat::of(fd)?;
            look_at(&mut lines, fd, &stat);
            let directory = LinkDirectory {
                inside: names,
                fd,
                stat: &stat,
                renames: Arc::new(renames(&lines)),
            };
            retarget(self, &directory, &links, &mut lines)?;
            let directory = TreePath::from(names);
            for line in &mut lines {
                line.directory.clone_from(&directory);
                line.directory_inode = stat.ino;
            }
        }
        Ok(DirectoryPlan {
            entries: entries.len(),
            lines,
        })
    }
}

impl NewNames for TreeVisitor<'_> {
    fn top(&self) -> &Stat {
        &self.top
    }

    fn may_change(&self, name: &[u8]) -> bool {
        may_change(self.planner.options, name)
    }

    /// The directory is planned if it was not yet.
    fn renames(&self, fd: &OwnedFd, inside: &[BackingName]) -> io::Result<Arc<Renames>> {
        let scope = self.planner.filter.scope(inside);
        if scope.is_left_out() {
            return Ok(Arc::default());
        }
        let wanted = Stat::of(fd)?.identity();
        if let Some(renames) = self.known.lock().get(&wanted) {
            return Ok(Arc::clone(renames));
        }
        let listing = EntryList::read(fd)?;
        let lines = self.lines(inside, fd, &listing, &scope);
        let renames = Arc::new(renames(&lines));
        let mut known = self.known.lock();
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(wanted, Arc::clone(&renames));
        Ok(renames)
    }

    fn spellings(&self, name: &BackingName, inside: &[BackingName]) -> Spellings {
        let options = self.options_at(inside);
        let choice = self.choice.of_directory(&options, &EntryList::default());
        spellings(&options, &choice, name)
    }
}

/// Has lines tell the inode numbers of statx(2). A listing may have others: on overlayfs for directories, on FUSE filesystems for
/// all. Directories on which something is mounted can't be renamed.
fn look_at(lines: &mut [PlanLine], fd: &OwnedFd, directory: &Stat) {
    let mut is_told = false;
    for line in lines {
        let is_dir = line.kind == Kind::Dir;
        if is_told && !is_dir {
            continue;
        }
        let Ok(stat) = Dir::new(fd).stat_child(&line.old) else {
            continue;
        };
        if is_dir && line.new.is_some() && stat.mnt_id != directory.mnt_id {
            line.new = None;
            line.reason = Reason::MountPoint;
        }
        is_told |= !is_dir && line.inode == stat.ino;
        line.inode = stat.ino;
    }
}

//! Whole trees, planned: every directory is read once, and planned by itself.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::charset_choice::TreeGuess;
use super::directory_plan::DirectoryPlan;
use super::entry_list::EntryList;
use super::filter::{Filter, Scope};
use super::plan_directory::plan_open;
use super::plan_options::PlanOptions;
use super::symlink_targets::Links;
use crate::backing::{Dir, Kind, Stat};
use crate::codec::guess::Guesser;
use crate::names::BackingName;
use crate::records::{PlanLine, Reason, TreePath};
use crate::tree::tree_walk::{Mounts, Place, Visitor, walk};

/// A sink of plans. Called by several threads at a time.
pub trait PlanSink: Sync {
    /// A directory was planned, also if there is nothing to do in it.
    fn take(&self, plan: &DirectoryPlan);

    /// A directory could not be read; nothing is planned in it (law T3).
    fn failed(&self, place: &Place, error: &io::Error);

    /// A directory on another mount is left out.
    fn left_out(&self, _place: &Place) {}

    /// Is it to end before its end?
    fn is_over(&self) -> bool {
        false
    }
}

/// A planner of a tree.
#[derive(Debug)]
pub struct Planner<'s> {
    /// The directory at its top.
    pub root: &'s OwnedFd,
    /// The options.
    pub options: &'s PlanOptions,
    /// The entries that are in question.
    pub filter: &'s Filter,
    /// Number of threads that read.
    pub threads: usize,
}

impl Planner<'_> {
    /// Returns what the names of all the tree are likely written in, without a look at the tree where nobody needs it. What
    /// can't be read is left out.
    fn guess(&self, sink: &dyn PlanSink) -> io::Result<TreeGuess> {
        if !self.options.needs_guesses() {
            return Ok(TreeGuess::default());
        }
        let filter = self.filter;
        let states = self.walk(&Names { filter, sink })?;
        let mut names = Guesser::new();
        for (part, _) in states {
            names.merge(part);
        }
        Ok(TreeGuess::of(&names))
    }

    /// Plans every directory.
    ///
    /// # Errors
    /// The root can't be looked at.
    pub fn plan(&self, sink: &dyn PlanSink) -> io::Result<()> {
        let tree = self.guess(sink)?;
        let links = Links::new(self.root, self.options, self.filter, &tree)?;
        self.walk(&PlanVisitor { links, sink }).map(drop)
    }

    fn walk<V: Visitor>(&self, visitor: &V) -> io::Result<Vec<V::State>> {
        let roots = std::slice::from_ref(self.root);
        walk(roots, Mounts::Stay, self.threads, visitor)
    }
}

/// Gathers names for guesses.
struct Names<'n> {
    filter: &'n Filter,
    sink: &'n dyn PlanSink,
}

impl<'n> Visitor for Names<'n> {
    type State = (Guesser, Scope<'n>);

    fn start(&self) -> Self::State {
        (Guesser::new(), self.filter.scope(&[]))
    }

    fn enter(&self, (_, scope): &mut Self::State, place: &Arc<Place>) {
        *scope = self.filter.scope(&place.names());
    }

    fn entry(&self, (names, scope): &mut Self::State, name: &[u8], _: Kind, _: u64) {
        if !name.is_ascii() && scope.includes(name) {
            names.add(name);
        }
    }

    fn descends(&self, (_, scope): &mut Self::State, _: &Place, name: &BackingName) -> bool {
        scope.enters(name.as_bytes())
    }

    fn is_over(&self) -> bool {
        self.sink.is_over()
    }
}

struct PlanVisitor<'p> {
    links: Links<'p>,
    sink: &'p dyn PlanSink,
}

/// The directory that a thread reads.
struct Reading<'p> {
    listing: EntryList,
    links: Vec<BackingName>,
    scope: Scope<'p>,
    is_broken: bool,
}

impl<'p> Visitor for PlanVisitor<'p> {
    type State = Reading<'p>;

    fn start(&self) -> Self::State {
        Reading {
            listing: EntryList::default(),
            links: Vec::new(),
            scope: self.links.filter.scope(&[]),
            is_broken: false,
        }
    }

    fn enter(&self, here: &mut Self::State, place: &Arc<Place>) {
        here.listing.clear();
        here.links.clear();
        here.scope = self.links.filter.scope(&place.names());
        here.is_broken = false;
    }

    fn entry(&self, here: &mut Self::State, name: &[u8], kind: Kind, inode: u64) {
        here.listing.push(name, kind, inode);
        if kind == Kind::Symlink
            && here.scope.includes(name)
            && let Ok(name) = BackingName::parse(name)
        {
            here.links.push(name);
        }
    }

    fn descends(&self, here: &mut Self::State, _: &Place, name: &BackingName) -> bool {
        here.scope.enters(name.as_bytes())
    }

    fn leave(&self, here: &mut Self::State, place: &Arc<Place>, fd: &OwnedFd) {
        // With names missing, a new one might be taken unseen.
        if here.is_broken || self.sink.is_over() {
            return;
        }
        match self.planned(here, place, fd) {
            Ok(planned) => self.sink.take(&planned),
            Err(error) => self.sink.failed(place, &error),
        }
    }

    fn failed(&self, here: &mut Self::State, place: &Arc<Place>, error: io::Error) {
        here.is_broken = true;
        self.sink.failed(place, &error);
    }

    fn left_out(&self, _here: &mut Self::State, place: &Arc<Place>) {
        self.sink.left_out(place);
    }

    fn is_over(&self) -> bool {
        self.sink.is_over()
    }
}

impl PlanVisitor<'_> {
    fn planned(
        &self,
        here: &Reading<'_>,
        place: &Place,
        fd: &OwnedFd,
    ) -> io::Result<DirectoryPlan> {
        let directory = place.names();
        let options = self.links.options_at(&directory);
        let mut lines = plan_open(&options, self.links.tree, &here.listing, &here.scope, fd);
        if !lines.is_empty() || !here.links.is_empty() {
            let stat = Stat::of(fd)?;
            look_at(&mut lines, fd, &stat);
            if !here.links.is_empty() {
                let links = &self.links;
                links.retarget(&directory, fd, &here.links, &mut lines)?;
            }
            let directory = TreePath::from(directory);
            for line in &mut lines {
                line.directory.clone_from(&directory);
                line.directory_inode = stat.ino;
            }
        }
        Ok(DirectoryPlan {
            entries: here.listing.len(),
            lines,
        })
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

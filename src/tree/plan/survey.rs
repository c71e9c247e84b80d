//! Whole trees, planned: every directory is read once, and planned by itself.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::choose::TreeGuess;
use super::directory;
use super::filter::{Filter, Scope};
use super::line::{Line, Reason};
use super::links::Links;
use super::listing::{Listed, Listing};
use super::order;
use super::same::have_same_content;
use super::wishes::Wishes;
use crate::backing::{Dir, Kind, Stat};
use crate::codec::guess::Guesser;
use crate::names::BackingName;
use crate::tree::step::{Group, TreePath};
use crate::tree::walk::{Mounts, Place, Visitor, walk};

/// A directory that was planned.
#[derive(Debug)]
pub struct Planned<'p> {
    /// Where it lies.
    pub place: &'p Place,
    /// Its inode number; 0 where there are no lines.
    pub inode: u64,
    /// How many entries it has.
    pub entries: usize,
    /// What becomes of some of them.
    pub lines: Vec<Line>,
}

impl Planned<'_> {
    /// What is done in it.
    #[must_use]
    pub fn group(&self) -> Group {
        let names = self.place.names();
        let names = names
            .into_iter()
            .filter_map(|name| BackingName::parse(name).ok());
        Group {
            directory: names.collect::<TreePath>(),
            inode: self.inode,
            steps: order::independent(&self.lines),
        }
    }
}

/// Who takes what was planned. Called by several threads at a time.
pub trait Taker: Sync {
    /// A directory was planned, also if there is nothing to do in it.
    fn take(&self, planned: &Planned<'_>);

    /// A directory could not be read; nothing is planned in it (law T3).
    fn failed(&self, place: &Place, error: &io::Error);

    /// A directory on another mount is left out.
    fn left_out(&self, _place: &Place) {}

    /// Is it to end before its end?
    fn is_over(&self) -> bool {
        false
    }
}

/// A tree that is planned.
#[derive(Debug)]
pub struct Survey<'s> {
    /// The directories at its tops.
    pub roots: &'s [OwnedFd],
    /// What is asked.
    pub wishes: &'s Wishes,
    /// Which entries are in question.
    pub filter: &'s Filter,
    /// How many threads read.
    pub threads: usize,
}

impl Survey<'_> {
    /// What the names of all the tree are likely written in. Told without a look at the tree where nobody needs it. What
    /// can't be read is left out. `is_over` is asked before each directory.
    ///
    /// # Errors
    /// A root can't be looked at.
    pub fn guess(&self, is_over: &(dyn Fn() -> bool + Sync)) -> io::Result<TreeGuess> {
        if !self.wishes.needs_guesses() {
            return Ok(TreeGuess::default());
        }
        let filter = self.filter;
        let visitor = Names { filter, is_over };
        let states = walk(self.roots, Mounts::Stay, self.threads, &visitor)?;
        let mut names = Guesser::new();
        for (part, _) in states {
            names.merge(part);
        }
        Ok(TreeGuess::of(&names))
    }

    /// Plans every directory.
    ///
    /// # Errors
    /// A root can't be looked at.
    pub fn plan(&self, tree: &TreeGuess, taker: &dyn Taker) -> io::Result<()> {
        let links = Links::new(self.roots, self.wishes, self.filter, tree)?;
        let visitor = Planner {
            survey: self,
            tree,
            links: &links,
            taker,
        };
        walk(self.roots, Mounts::Stay, self.threads, &visitor)?;
        Ok(())
    }
}

/// Gathers names for guesses.
struct Names<'n> {
    filter: &'n Filter,
    is_over: &'n (dyn Fn() -> bool + Sync),
}

impl<'n> Visitor for Names<'n> {
    type State = (Guesser, Scope<'n>);

    fn start(&self) -> Self::State {
        (Guesser::new(), self.filter.scope([]))
    }

    fn enter(&self, (_, scope): &mut Self::State, place: &Arc<Place>) {
        *scope = self.filter.scope(place.names());
    }

    fn name(&self, (names, scope): &mut Self::State, name: &[u8], _kind: Kind) {
        if !name.is_ascii() && scope.includes(name) {
            names.add(name);
        }
    }

    fn descends(&self, (_, scope): &mut Self::State, name: &[u8]) -> bool {
        scope.enters(name)
    }

    fn leave(&self, _: &mut Self::State, _: &Arc<Place>) {}

    fn failed(&self, _: &mut Self::State, _: &Arc<Place>, _: io::Error) {}

    fn left_out(&self, _: &mut Self::State, _: &Arc<Place>) {}

    fn is_over(&self) -> bool {
        (self.is_over)()
    }
}

struct Planner<'p> {
    survey: &'p Survey<'p>,
    tree: &'p TreeGuess,
    links: &'p Links<'p>,
    taker: &'p dyn Taker,
}

/// The directory that a thread reads.
struct Reading<'p> {
    listing: Listing,
    links: Vec<BackingName>,
    scope: Scope<'p>,
    is_broken: bool,
}

impl<'p> Visitor for Planner<'p> {
    type State = Reading<'p>;

    fn start(&self) -> Self::State {
        Reading {
            listing: Listing::default(),
            links: Vec::new(),
            scope: self.survey.filter.scope([]),
            is_broken: false,
        }
    }

    fn enter(&self, here: &mut Self::State, place: &Arc<Place>) {
        here.listing.clear();
        here.links.clear();
        here.scope = self.survey.filter.scope(place.names());
        here.is_broken = false;
    }

    fn name(&self, _: &mut Self::State, _: &[u8], _: Kind) {}

    fn entry(&self, here: &mut Self::State, name: &[u8], kind: Kind, inode: u64) {
        here.listing.push(name, kind, inode);
        if kind == Kind::Symlink
            && here.scope.includes(name)
            && let Ok(name) = BackingName::parse(name)
        {
            here.links.push(name);
        }
    }

    fn descends(&self, here: &mut Self::State, name: &[u8]) -> bool {
        here.scope.enters(name)
    }

    fn leave(&self, _: &mut Self::State, _: &Arc<Place>) {}

    fn finish(&self, here: &mut Self::State, place: &Arc<Place>, fd: &OwnedFd) {
        // With names missing, a new one might be taken unseen.
        if here.is_broken || self.taker.is_over() {
            return;
        }
        match self.planned(here, place, fd) {
            Ok(planned) => self.taker.take(&planned),
            Err(error) => self.taker.failed(place, &error),
        }
    }

    fn failed(&self, here: &mut Self::State, place: &Arc<Place>, error: io::Error) {
        here.is_broken = true;
        self.taker.failed(place, &error);
    }

    fn left_out(&self, _: &mut Self::State, place: &Arc<Place>) {
        self.taker.left_out(place);
    }

    fn is_over(&self) -> bool {
        self.taker.is_over()
    }
}

impl Planner<'_> {
    fn planned<'a>(
        &self,
        here: &Reading<'_>,
        place: &'a Place,
        fd: &OwnedFd,
    ) -> io::Result<Planned<'a>> {
        let mut planned = Planned {
            place,
            inode: 0,
            entries: here.listing.len(),
            lines: names(
                self.survey.wishes,
                self.tree,
                &here.listing,
                &here.scope,
                fd,
            ),
        };
        if planned.lines.is_empty() && here.links.is_empty() {
            return Ok(planned);
        }
        let stat = Stat::of(fd)?;
        planned.inode = stat.ino;
        keep_mount_points(&mut planned.lines, fd, &stat);
        if !here.links.is_empty() {
            self.links
                .retarget(place, fd, &here.listing, &here.links, &mut planned.lines)?;
        }
        Ok(planned)
    }
}

/// What becomes of the names of a directory that is open.
pub(super) fn names(
    wishes: &Wishes,
    tree: &TreeGuess,
    listing: &Listing,
    scope: &Scope<'_>,
    fd: &OwnedFd,
) -> Vec<Line> {
    let own = own(listing, scope, fd);
    let is_included = |name: &[u8]| !own.contains(&name) && scope.includes(name);
    let mut same = |one: &[u8], other: &[u8]| {
        let names = BackingName::parse(one)
            .ok()
            .zip(BackingName::parse(other).ok());
        // What can't be read is not known to be the same.
        names.is_some_and(|(one, other)| have_same_content(fd, &one, &other).unwrap_or(false))
    };
    directory::plan(wishes, tree, listing, &is_included, &mut same)
}

/// The names that files of ours have there.
fn own<'l>(listing: &'l Listing, scope: &Scope<'_>, fd: &OwnedFd) -> Vec<&'l [u8]> {
    let is_own = |entry: &Listed<'_>| {
        let mut alike = scope
            .own()
            .iter()
            .filter(|(_, inode)| *inode == entry.inode);
        alike.any(|own| {
            let stat = BackingName::parse(entry.name).ok();
            let stat = stat.and_then(|name| Dir::new(fd).stat_child(&name).ok());
            stat.is_some_and(|stat| (stat.dev, stat.ino) == *own)
        })
    };
    let owned = listing.iter().filter(is_own).map(|entry| entry.name);
    owned.collect()
}

/// Directories on which something is mounted can't be renamed.
fn keep_mount_points(lines: &mut [Line], fd: &OwnedFd, directory: &Stat) {
    for line in lines.iter_mut() {
        if line.kind == Kind::Dir
            && line.new.is_some()
            && let Ok(stat) = Dir::new(fd).stat_child(&line.old)
            && stat.mnt_id != directory.mnt_id
        {
            line.new = None;
            line.reason = Reason::MountPoint;
        }
    }
}

//! New targets of symbolic links: components that are renamed get their new names, on the way that the kernel goes.
//! From where a target leads out of the tree, it is left alone.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use super::name_change::{may_change, name_change};
use super::planner::TreeVisitor;
use crate::backing::{Dir, Kind, Stat, file};
use crate::names::BackingName;
use crate::records::{Name, PlanLine, Reason};
use crate::tree::change::LONGEST_TARGET;
use crate::tree::entry_list::EntryList;

/// Most symbolic links that the kernel follows on one way.
const MOST_LINKS: usize = 40;

/// Most components that are gone along for one link.
const MOST_STEPS: usize = 10_000;

/// Most other directories that are kept in mind.
const MOST_KNOWN: usize = 64;

/// The new names in a directory, by the old ones; `None` of a file that is set aside.
pub(super) type Renames = HashMap<BackingName, Option<BackingName>>;

pub(super) type Identity = (u64, u64);

/// The names that lead to a directory from the root of the tree.
type Inside = Vec<BackingName>;

/// A directory on the way.
#[derive(Debug, Clone)]
struct At {
    /// `None` where there is none of that name.
    fd: Option<Arc<OwnedFd>>,
    /// `None` outside.
    inside: Option<Inside>,
}

/// Somebody on the way along a target. Its last directory is where it stands.
struct Way<'w> {
    tree: &'w TreeVisitor<'w>,
    stack: Vec<At>,
    followed: usize,
    steps: usize,
    /// Does the way lead over a file that is set aside?
    is_set_aside: bool,
    /// The directory that the link lies in is planned already.
    here: &'w (Identity, Arc<Renames>),
}

impl TreeVisitor<'_> {
    /// Gives the links of a directory, of which `lines` says what else becomes of its entries, their new targets.
    pub(super) fn retarget(
        &self,
        directory: &[BackingName],
        (fd, stat): (&OwnedFd, &Stat),
        links: &[BackingName],
        lines: &mut Vec<PlanLine>,
    ) -> io::Result<()> {
        if links.is_empty() {
            return Ok(());
        }
        let start = At {
            fd: Some(Arc::new(fd.try_clone()?)),
            inside: Some(directory.to_vec()),
        };
        let here = (stat.identity(), Arc::new(renames(lines)));
        for name in links {
            let link = Dir::new(fd).child(name);
            // It may be gone by now.
            let Ok((target, link)) = link.and_then(|link| Ok((file::readlink(&link)?, link)))
            else {
                continue;
            };
            let mut way = Way {
                tree: self,
                stack: vec![start.clone()],
                followed: 0,
                steps: 0,
                is_set_aside: false,
                here: &here,
            };
            let new_target = way.along(&target)?;
            if new_target.is_none() && !way.is_set_aside {
                continue;
            }
            let stat = Stat::of(&link)?;
            let index = lines.binary_search_by(|line| line.old.cmp(name));
            let index = index.unwrap_or_else(|index| {
                let line = PlanLine::new(name.clone(), Kind::Symlink, stat.ino, Reason::Target);
                lines.insert(index, line);
                index
            });
            let Some(line) = lines.get_mut(index) else {
                continue;
            };
            line.target = Some(target.into());
            match new_target {
                _ if way.is_set_aside => line.reason = Reason::TargetSetAside,
                Some(new) if new.len() > LONGEST_TARGET => line.reason = Reason::TargetTooLong,
                _ if stat.nlink > 1 => line.reason = Reason::HardLinked,
                new => line.new_target = new.map(Name::from),
            }
        }
        Ok(())
    }

    /// Returns the names that lead to the root, if that directory is it.
    fn root(&self, stat: &Stat) -> Option<Inside> {
        let is_it = self.top.identity() == stat.identity() && self.top.mnt_id == stat.mnt_id;
        is_it.then(Inside::new)
    }

    /// The new names in a directory, which is planned if it was not yet.
    fn renames(&self, fd: &OwnedFd, inside: &[BackingName]) -> io::Result<Arc<Renames>> {
        let wanted = Stat::of(fd)?.identity();
        if let Some(renames) = self.known.lock().get(&wanted) {
            return Ok(Arc::clone(renames));
        }
        let listing = EntryList::read(fd)?;
        let scope = self.planner.filter.scope(inside);
        let lines = self.lines(inside, fd, &listing, &scope);
        let renames = Arc::new(renames(&lines));
        let mut known = self.known.lock();
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(wanted, Arc::clone(&renames));
        Ok(renames)
    }
}

fn renames(lines: &[PlanLine]) -> Renames {
    let lines = lines.iter();
    let lines = lines.filter(|line| line.new.is_some() || line.same_as.is_some());
    lines
        .map(|line| (line.old.clone(), line.new.clone()))
        .collect()
}

impl Way<'_> {
    /// Goes along the target of a link in the directory that this stands in, as far as the way can be told. Returns the new target;
    /// `None` if it stays as it is.
    fn along(&mut self, target: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let options = self.tree.planner.options;
        let parts = target.split(|&byte| byte == b'/');
        let mut parts: Vec<Vec<u8>> = parts.map(<[u8]>::to_vec).collect();
        let Some(last) = parts.iter().rposition(|part| may_change(options, part)) else {
            return Ok(None);
        };
        self.start(target)?;
        for (index, part) in parts.iter_mut().enumerate() {
            let old = part.clone();
            if may_change(options, part)
                && let Ok(name) = BackingName::parse(part)
                && let Some(new) = self.renamed(&name)?
            {
                *part = new.as_bytes().to_vec();
            }
            if index >= last || !self.step(&old)? {
                break;
            }
        }
        let new = parts.join(&b'/');
        Ok((new != target).then_some(new))
    }

    /// Goes along one part of a target. False if the way can't be told from there on.
    fn step(&mut self, part: &[u8]) -> io::Result<bool> {
        self.steps += 1;
        match part {
            _ if self.steps > MOST_STEPS => Ok(false),
            b"" | b"." => Ok(true),
            b".." => self.up().map(|()| true),
            name => match BackingName::parse(name) {
                Ok(name) => self.down(&name),
                Err(_no_name) => Ok(false),
            },
        }
    }

    /// The new name of an entry where this stands; `None` if it keeps its own, or is outside.
    fn renamed(&mut self, name: &BackingName) -> io::Result<Option<BackingName>> {
        let Some(At {
            fd,
            inside: Some(inside),
        }) = self.stack.last()
        else {
            return Ok(None);
        };
        let Some(fd) = fd.as_deref() else {
            return Ok(self.alone(name, inside));
        };
        let is_here = Stat::of(fd)?.identity() == self.here.0;
        let here = is_here.then(|| Ok(Arc::clone(&self.here.1)));
        // Another one may be passed through, but not read.
        let Ok(renames) = here.unwrap_or_else(|| self.tree.renames(fd, inside)) else {
            return Ok(None);
        };
        if let Some(new) = renames.get(name) {
            self.is_set_aside |= new.is_none();
            return Ok(new.clone());
        }
        if Dir::new(fd).exists(name)? {
            return Ok(None);
        }
        // A link that leads nowhere: as the name would be there, unless it would lead somewhere by that.
        let new = self.alone(name, inside);
        let leads_nowhere = |new: &BackingName| {
            let is_there = Dir::new(fd).exists(new).unwrap_or(true);
            !is_there && renames.values().flatten().all(|other| other != new)
        };
        Ok(new.filter(leads_nowhere))
    }

    fn alone(&self, name: &BackingName, inside: &[BackingName]) -> Option<BackingName> {
        let tree = self.tree;
        let options = tree.options_at(inside);
        let choice = tree.choice.of_directory(&options, &EntryList::default());
        name_change(&options, &choice, name)?.new
    }

    /// Goes to the root of the filesystem if a target starts there.
    fn start(&mut self, target: &[u8]) -> io::Result<()> {
        if target.starts_with(b"/") {
            let fd = Dir::open_root(Path::new("/"))?.into_fd();
            let inside = self.tree.root(&Stat::of(&fd)?);
            let fd = Some(Arc::new(fd));
            self.stack = vec![At { fd, inside }];
        }
        Ok(())
    }

    /// Goes to the directory above.
    fn up(&mut self) -> io::Result<()> {
        let left = self.stack.pop();
        if let Some(At {
            fd: Some(fd),
            inside,
        }) = left
            && self.stack.is_empty()
        {
            let fd = Dir::new(&*fd).parent()?;
            let inside = match inside.as_deref() {
                Some([above @ .., _]) => Some(above.to_vec()),
                _ => self.tree.root(&Stat::of(&fd)?),
            };
            let fd = Some(Arc::new(fd));
            self.stack.push(At { fd, inside });
        }
        Ok(())
    }

    /// Goes to an entry where this stands, and on if it is a link. False if the way can't be told from there on.
    fn down(&mut self, name: &BackingName) -> io::Result<bool> {
        let Some(here) = self.stack.last() else {
            return Ok(false);
        };
        let child = |fd| Dir::new(fd).child(name).ok();
        let child = here.fd.as_deref().and_then(child);
        let mut inside = here.inside.clone();
        if let Some(names) = &mut inside {
            names.push(name.clone());
        }
        let Some(child) = child else {
            self.stack.push(At { fd: None, inside });
            return Ok(true);
        };
        let stat = Stat::of(&child)?;
        if stat.is_symlink() {
            return self.follow(&file::readlink(&child)?);
        }
        inside = self.tree.root(&stat).or(inside);
        inside = inside.filter(|_| self.tree.top.mnt_id == stat.mnt_id);
        let fd = stat.is_dir().then(|| Arc::new(child));
        self.stack.push(At { fd, inside });
        Ok(true)
    }

    /// Goes along the target of a link on the way.
    fn follow(&mut self, target: &[u8]) -> io::Result<bool> {
        self.followed += 1;
        if self.followed > MOST_LINKS {
            return Ok(false);
        }
        self.start(target)?;
        for part in target.split(|&byte| byte == b'/') {
            if !self.step(part)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

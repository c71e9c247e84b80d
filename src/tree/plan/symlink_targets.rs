//! New targets of symbolic links: components that are renamed get their new names, on the way that the kernel goes.
//! From where a target leads out of the tree, it is left alone.
//!
//! A component that names no entry any more may have been renamed by an earlier migration, which left the link (law T9). Where the
//! name that it would get now names an entry, it gets that.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use super::name_change::Spellings;
use crate::backing::{Dir, Kind, Stat, file};
use crate::names::BackingName;
use crate::records::{Name, PlanLine, Reason};
use crate::tree::change::LONGEST_TARGET;
use crate::tree::entry_list::ListedEntry;

/// Most symbolic links that the kernel follows on one way.
const MOST_LINKS: usize = 40;

/// Most components that are gone along for one link.
const MOST_STEPS: usize = 10_000;

/// The new names in a directory, by the old ones; `None` of a file that is set aside.
pub(super) type Renames = HashMap<BackingName, Option<BackingName>>;

pub(super) type Identity = (u64, u64);

/// The names that lead to a directory from the root of the tree.
type Inside = Vec<BackingName>;

/// The names that a migration gives in a tree.
pub(super) trait NewNames {
    /// Returns the attributes of the root.
    fn top(&self) -> &Stat;

    /// May an entry of that name get another one, or have got another one before?
    fn may_change(&self, name: &[u8]) -> bool;

    /// Returns the new names in a directory to which these names lead.
    ///
    /// # Errors
    /// Those of reading it.
    fn renames(&self, fd: &OwnedFd, inside: &[BackingName]) -> io::Result<Arc<Renames>>;

    /// Returns the names that an entry of that name, which is not there, may have got.
    fn spellings(&self, name: &BackingName, inside: &[BackingName]) -> Spellings;
}

/// A link of a directory.
#[derive(Debug)]
pub(super) struct Link {
    name: BackingName,
    /// Is it in question itself? Otherwise it only follows what is renamed.
    is_included: bool,
}

impl Link {
    /// Returns an entry as a link; `None` if it is none.
    pub(super) fn of(entry: &ListedEntry<'_>, is_included: bool) -> Option<Self> {
        let name = BackingName::parse(entry.name).ok();
        let name = name.filter(|_| entry.kind == Kind::Symlink)?;
        Some(Self { name, is_included })
    }
}

/// A directory whose links are looked at.
#[derive(Debug)]
pub(super) struct LinkDirectory<'d> {
    /// The names that lead to it.
    pub(super) inside: &'d [BackingName],
    pub(super) fd: &'d OwnedFd,
    pub(super) stat: &'d Stat,
    /// The new names in it.
    pub(super) renames: Arc<Renames>,
}

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
    names: &'w dyn NewNames,
    stack: Vec<At>,
    followed: usize,
    steps: usize,
    /// Does the way lead over a file that is set aside?
    is_set_aside: bool,
    /// Does it lead over an entry that was renamed before?
    is_mended: bool,
    /// Does a component that names nothing get the name that an entry of its name would get?
    spells_missing: bool,
    /// The directory that the link lies in.
    here: &'w LinkDirectory<'w>,
}

/// The entry that was renamed before, or gets a name, that a component of a target stands for.
struct Successor {
    /// Its name now.
    now: BackingName,
    /// Its name once all is done.
    new: BackingName,
}

/// Gives the links of a directory, of which `lines` says what else becomes of its entries, their new targets.
///
/// # Errors
/// Those of looking at the directories on the way.
pub(super) fn retarget(
    names: &dyn NewNames,
    directory: &LinkDirectory<'_>,
    links: &[Link],
    lines: &mut Vec<PlanLine>,
) -> io::Result<()> {
    if links.is_empty() {
        return Ok(());
    }
    let start = At {
        fd: Some(Arc::new(directory.fd.try_clone()?)),
        inside: Some(directory.inside.to_vec()),
    };
    for Link { name, is_included } in links {
        let link = Dir::new(directory.fd).child(name);
        // It may be gone by now.
        let Ok((target, link)) = link.and_then(|link| Ok((file::readlink(&link)?, link))) else {
            continue;
        };
        let mut way = Way {
            names,
            stack: vec![start.clone()],
            followed: 0,
            steps: 0,
            is_set_aside: false,
            is_mended: false,
            spells_missing: *is_included,
            here: directory,
        };
        let new_target = way.along(&target)?;
        if new_target.is_none() && !way.is_set_aside {
            continue;
        }
        let stat = Stat::of(&link)?;
        let index = lines.binary_search_by(|line| line.old.cmp(name));
        let index = index.unwrap_or_else(|index| {
            let reason = match way.is_mended {
                true => Reason::Mended,
                false => Reason::Target,
            };
            let line = PlanLine::new(name.clone(), Kind::Symlink, stat.ino, reason);
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

/// Returns the new names of a plan's lines.
pub(super) fn renames(lines: &[PlanLine]) -> Renames {
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
        let names = self.names;
        let parts = target.split(|&byte| byte == b'/');
        let mut parts: Vec<Vec<u8>> = parts.map(<[u8]>::to_vec).collect();
        let Some(last) = parts.iter().rposition(|part| names.may_change(part)) else {
            return Ok(None);
        };
        self.start(target)?;
        for (index, part) in parts.iter_mut().enumerate() {
            let old = part.clone();
            if names.may_change(part)
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
            return Ok(self.spelled(name, inside));
        };
        // A directory may be passed through, but not read.
        let Ok(renames) = self.renames(fd, inside) else {
            return Ok(None);
        };
        if let Some(new) = renames.get(name) {
            self.is_set_aside |= new.is_none();
            return Ok(new.clone());
        }
        if Dir::new(fd).exists(name).unwrap_or(true) {
            return Ok(None);
        }
        if let Some(Successor { now, new }) = self.successor(name, fd, inside) {
            self.is_mended = true;
            self.is_set_aside |= renames.get(&now).is_some_and(Option::is_none);
            return Ok(Some(new));
        }
        // A link that leads nowhere by any name: as the name would be there.
        Ok(self.spelled(name, inside))
    }

    /// Returns the new names in a directory of the tree.
    fn renames(&self, fd: &OwnedFd, inside: &[BackingName]) -> io::Result<Arc<Renames>> {
        if Stat::of(fd)?.identity() == self.here.stat.identity() {
            return Ok(Arc::clone(&self.here.renames));
        }
        self.names.renames(fd, inside)
    }

    /// Returns the name that an entry would get which is not there, if such a component is to get it.
    fn spelled(&self, name: &BackingName, inside: &[BackingName]) -> Option<BackingName> {
        let spellings = self
            .spells_missing
            .then(|| self.names.spellings(name, inside));
        spellings?.likely
    }

    /// Returns the entry that a name stands for which no entry has any more: the one that has, or gets, the name that it would get;
    /// else the only one that has a possible reading of it.
    fn successor(
        &self,
        name: &BackingName,
        fd: &OwnedFd,
        inside: &[BackingName],
    ) -> Option<Successor> {
        if !self.names.may_change(name.as_bytes()) {
            return None;
        }
        let renames = self.renames(fd, inside).unwrap_or_default();
        let find = |new: &BackingName| {
            if Dir::new(fd).exists(new).unwrap_or(false) {
                let later = renames.get(new).and_then(Option::as_ref);
                return Some(Successor {
                    now: new.clone(),
                    new: later.unwrap_or(new).clone(),
                });
            }
            let mut renames = renames.iter();
            let (now, _) = renames.find(|(_, other)| other.as_ref() == Some(new))?;
            Some(Successor {
                now: now.clone(),
                new: new.clone(),
            })
        };
        let Spellings { likely, possible } = self.names.spellings(name, inside);
        if let Some(successor) = likely.as_ref().and_then(&find) {
            return Some(successor);
        }
        let mut found = possible.iter().filter_map(find);
        let only = found.next();
        only.filter(|_| found.next().is_none())
    }

    /// Goes to the root of the filesystem if a target starts there.
    fn start(&mut self, target: &[u8]) -> io::Result<()> {
        if target.starts_with(b"/") {
            let fd = Dir::open_root(Path::new("/"))?.into_fd();
            let inside = self.root(&Stat::of(&fd)?);
            let fd = Some(Arc::new(fd));
            self.stack = vec![At { fd, inside }];
        }
        Ok(())
    }

    /// Returns the names that lead to the root, if that directory is it.
    fn root(&self, stat: &Stat) -> Option<Inside> {
        let top = self.names.top();
        let is_it = top.identity() == stat.identity() && top.mnt_id == stat.mnt_id;
        is_it.then(Inside::new)
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
                _ => self.root(&Stat::of(&fd)?),
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
        let mut name = name.clone();
        let mut child = None;
        if let Some(fd) = here.fd.as_deref() {
            child = Dir::new(fd).child(&name).ok();
            if child.is_none()
                && let Some(inside) = &here.inside
                && let Some(successor) = self.successor(&name, fd, inside)
            {
                name = successor.now;
                child = Dir::new(fd).child(&name).ok();
            }
        }
        let mut inside = here.inside.clone();
        if let Some(names) = &mut inside {
            names.push(name);
        }
        let Some(child) = child else {
            self.stack.push(At { fd: None, inside });
            return Ok(true);
        };
        let stat = Stat::of(&child)?;
        if stat.is_symlink() {
            return self.follow(&file::readlink(&child)?);
        }
        inside = self.root(&stat).or(inside);
        inside = inside.filter(|_| self.names.top().mnt_id == stat.mnt_id);
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

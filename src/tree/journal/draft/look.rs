//! What a group finds as it was planned for, in the shape in which it is carried out.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;

use crate::backing::{Dir, Kind, Stat, file};
use crate::names::BackingName;
use crate::tree::journal::{Id, Job, Left, Link, Move, Spot, Ways, Why};
use crate::tree::step::{Action, Group, Step};

/// Looks at the directory and its entries; `None` where nothing is to be done. What is not as planned goes to `left`.
pub(super) fn look(root: &OwnedFd, group: &Group, left: &mut Vec<Left>) -> Option<Job> {
    let is_chained = is_chained(&group.steps);
    let mut origins = Origins {
        is_chained,
        before: HashMap::new(),
    };
    let mut leave = |name: &BackingName, why: Why| {
        let is_new = !left.iter().rev().take(1).any(|last| last.name == *name);
        if is_new {
            left.push(Left {
                directory: group.directory.clone(),
                name: name.clone(),
                why,
            });
        }
    };
    let wanted = Id {
        ino: group.inode,
        born: None,
    };
    let opened = Ways::default().open(root, &group.directory, &wanted);
    let opened = opened.and_then(|dir| Stat::of(&dir).map(|stat| (dir, stat)));
    let Ok((dir, stat)) = opened else {
        for step in &group.steps {
            leave(origins.take(step), Why::Elsewhere);
        }
        return None;
    };
    let mut job = Job {
        number: 0,
        directory: group.directory.clone(),
        id: Id::of(&stat),
        mtime: stat.mtime,
        links: Vec::new(),
        moves: Vec::new(),
    };
    // Moves with the chain that they belong to, and chains of which one cannot be made.
    let mut moves: Vec<(usize, Move, &BackingName)> = Vec::new();
    let mut broken = HashSet::new();
    let mut chains = Chains::new(&group.steps, is_chained);
    for (index, step) in group.steps.iter().enumerate() {
        let name = origins.take(step);
        let found = found(&dir, stat.mnt_id, step, name);
        let to = match &step.action {
            Action::Retarget(new) => {
                match found.and_then(|stat| Ok((Id::of(&stat), target(&dir, name, &stat)?))) {
                    Ok((_, old)) if old == *new => {}
                    Ok((id, old)) => {
                        let (name, new) = (name.clone(), new.clone());
                        job.links.push(Link { name, id, old, new });
                    }
                    Err(why) => leave(name, why),
                }
                continue;
            }
            Action::Rename(to) => Spot::Name(to.clone()),
            Action::SetAside => Spot::Aside,
        };
        let chain = chains.of(index);
        match found {
            Ok(stat) if to != Spot::Aside || stat.is_file() => {
                let step = Move {
                    name: step.name.clone(),
                    id: Id::of(&stat),
                    kind: stat.kind(),
                    to,
                    joins: false,
                };
                moves.push((chain, step, name));
            }
            found => {
                leave(name, found.err().unwrap_or(Why::Unsafe));
                broken.insert(chain);
            }
        }
    }
    moves.sort_by_key(|(chain, ..)| *chain);
    let mut last = None;
    for (chain, mut step, name) in moves {
        if broken.contains(&chain) {
            leave(name, Why::Chained);
            continue;
        }
        step.joins = last.replace(chain) == Some(chain);
        job.moves.push(step);
    }
    (job.steps() > 0).then_some(job)
}

/// The entry of a step, if it is as it was.
fn found(dir: &Dir, mount: u64, step: &Step, name: &BackingName) -> Result<Stat, Why> {
    let stat = dir.stat_child(name).map_err(|error| why(&error))?;
    if stat.mnt_id != mount {
        return Err(Why::MountPoint);
    }
    let is_kind = step.kind == Kind::Unknown || step.kind == stat.kind();
    if stat.ino == step.inode && is_kind {
        Ok(stat)
    } else {
        Err(Why::Changed)
    }
}

/// The target of a link that may get another one.
fn target(dir: &Dir, name: &BackingName, stat: &Stat) -> Result<Vec<u8>, Why> {
    if !stat.is_symlink() {
        return Err(Why::Changed);
    }
    if stat.nlink > 1 {
        return Err(Why::HardLinked);
    }
    let read = dir.child(name).and_then(file::readlink);
    read.map_err(|error| why(&error))
}

/// What an error of the system means for an entry.
pub(crate) fn why(error: &io::Error) -> Why {
    match error.raw_os_error() {
        Some(libc::ENOENT) => Why::Gone,
        Some(libc::EEXIST) => Why::Taken,
        Some(errno) => Why::System(errno),
        None => Why::System(libc::EIO),
    }
}

/// Does a step take a name that another one gives up?
fn is_chained(steps: &[Step]) -> bool {
    let taken = steps.iter().filter_map(|step| match &step.action {
        Action::Rename(to) => Some(to),
        Action::Retarget(_) | Action::SetAside => None,
    });
    let taken: HashSet<&BackingName> = taken.collect();
    steps.iter().any(|step| taken.contains(&step.name))
}

/// What entries were called before anything is done.
struct Origins<'s> {
    is_chained: bool,
    before: HashMap<&'s BackingName, &'s BackingName>,
}

impl<'s> Origins<'s> {
    /// The name of before of the entry of the next step.
    fn take(&mut self, step: &'s Step) -> &'s BackingName {
        let name = self.before.get(&step.name).copied().unwrap_or(&step.name);
        if self.is_chained
            && let Action::Rename(to) = &step.action
        {
            self.before.remove(&step.name);
            self.before.insert(to, name);
        }
        name
    }
}

/// Which steps give names up to each other.
struct Chains {
    /// By step, another one of the same chain that is not behind it; itself for the first.
    above: Vec<usize>,
}

impl Chains {
    fn new(steps: &[Step], is_chained: bool) -> Self {
        let mut chains = Self {
            above: (0..steps.len()).collect(),
        };
        if !is_chained {
            return chains;
        }
        let mut by_name: HashMap<&BackingName, usize> = HashMap::new();
        for (index, step) in steps.iter().enumerate() {
            let to = match &step.action {
                Action::Retarget(_) => continue,
                Action::Rename(to) => Some(to),
                Action::SetAside => None,
            };
            for name in std::iter::once(&step.name).chain(to) {
                let other = *by_name.entry(name).or_insert(index);
                chains.join(index, other);
            }
        }
        chains
    }

    /// The first step of a step's chain.
    fn of(&mut self, index: usize) -> usize {
        let mut first = index;
        while let Some(&above) = self.above.get(first).filter(|&&above| above != first) {
            first = above;
        }
        if let Some(above) = self.above.get_mut(index) {
            *above = first;
        }
        first
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.of(one), self.of(other));
        if let Some(above) = self.above.get_mut(one.max(other)) {
            *above = one.min(other);
        }
    }
}

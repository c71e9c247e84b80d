//! Changes: one shape from the planner to the undo journal and the executor.

use crate::backing::{Dir, Stat, file};
use crate::names::BackingName;
use crate::records::Name;
pub use crate::records::{Change, Destination, InodeId, Job, Retarget, TreePath, join_path};

/// Longest target that symlink(2) takes.
pub(super) const LONGEST_TARGET: usize = 4095;

impl Change {
    /// Returns the name that it gets, if it gets one.
    pub fn new_name(&self) -> Option<&BackingName> {
        match &self.to {
            Some(Destination::Name(new)) => Some(new),
            Some(Destination::Aside) | None => None,
        }
    }

    /// Returns the names that it has in turn, the one of before first.
    pub(super) fn names(&self) -> impl Iterator<Item = &BackingName> + Clone {
        let later = self.meantime.iter().chain(self.new_name());
        std::iter::once(&self.name).chain(later)
    }

    /// Returns how many steps it has: one for its name, one for its target.
    pub(super) fn steps(&self) -> u64 {
        u64::from(self.to.is_some()) + u64::from(self.is_retargeted())
    }

    /// Does a link get another target?
    pub(super) fn is_retargeted(&self) -> bool {
        self.target.as_ref().is_some_and(Retarget::is_change)
    }
}

impl Job {
    /// Returns the changes of links, each with its number in the job and the link's targets.
    pub(crate) fn links(&self) -> impl Iterator<Item = (usize, &Change, &Retarget)> {
        let changes = self.changes.iter().enumerate();
        changes.filter_map(|(number, change)| Some((number, change, change.target.as_ref()?)))
    }

    /// Returns the chains of changes of names, most of them of one, each with the number of its first change.
    pub(super) fn chains(&self) -> impl Iterator<Item = (usize, &[Change])> {
        let mut start = 0;
        let chains = self.changes.chunk_by(|_, next| next.is_chained);
        let chains = chains.map(move |chain| {
            let first = start;
            start += chain.len();
            (first, chain)
        });
        chains.filter(|(_, chain)| chain.iter().all(|change| change.to.is_some()))
    }
}

/// What makes an entry the one that a change is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EntryMatch {
    /// Its inode.
    #[default]
    Inode,
    /// Its name and kind, as in a copy of the tree.
    Name,
}

impl EntryMatch {
    /// Is it the directory of that identity?
    pub(crate) fn is_directory(self, id: &InodeId, stat: &Stat) -> bool {
        match self {
            Self::Inode => id.is(stat),
            Self::Name => stat.is_dir(),
        }
    }

    /// Is it the entry of a change, as far as its attributes tell?
    pub(super) fn is_entry(self, change: &Change, stat: &Stat) -> bool {
        match self {
            Self::Inode => change.id.is(stat),
            Self::Name => change.kind == stat.kind(),
        }
    }
}

impl InodeId {
    /// Returns the identity of an inode.
    pub fn of(stat: &Stat) -> Self {
        Self {
            ino: stat.ino,
            born: stat.btime,
        }
    }

    /// Is it the identity of that inode?
    pub(crate) fn is(&self, stat: &Stat) -> bool {
        self.ino == stat.ino
            && (self.born == stat.btime || self.born.is_none() || stat.btime.is_none())
    }
}

impl Retarget {
    /// Is the new target another one?
    pub(crate) fn is_change(&self) -> bool {
        self.old != self.new
    }

    /// Returns the targets in which each name is that of before or that of after, the old target first. One of them leads on
    /// while not all names are changed. Of very many only some are returned, but always the old and the new one.
    pub(super) fn possible(&self) -> Vec<Name> {
        const MOST: usize = 1 << 8;
        let (old, new) = (names(self.old.as_bytes()), names(self.new.as_bytes()));
        let mut targets: Vec<Vec<&[u8]>> = vec![Vec::new()];
        for (&old, &new) in old.iter().zip(&new) {
            let is_one = old == new || targets.len() >= MOST;
            let mut other = if is_one { Vec::new() } else { targets.clone() };
            targets.iter_mut().for_each(|target| target.push(old));
            other.iter_mut().for_each(|target| target.push(new));
            targets.extend(other);
        }
        if old.len() != new.len() {
            targets = vec![old];
        }
        let targets = targets.iter().map(|names| names.join(&b'/').into());
        let mut targets: Vec<Name> = targets.collect();
        if !targets.contains(&self.new) {
            targets.push(self.new.clone());
        }
        targets
    }
}

/// Returns a name of our own making.
pub(super) fn own_name(name: &str) -> BackingName {
    BackingName::parse(name.as_bytes()).expect("invariant: it has neither / nor NUL, and is no dot")
}

fn names(target: &[u8]) -> Vec<&[u8]> {
    target.split(|&octet| octet == b'/').collect()
}

/// Returns the target of a symbolic link in a directory.
///
/// # Errors
/// Those of openat(2) and readlink(2).
pub(super) fn read_target<F: std::os::fd::AsFd>(
    dir: &Dir<F>,
    name: &BackingName,
) -> std::io::Result<Name> {
    file::readlink(dir.child(name)?).map(Name::from)
}

#[cfg(test)]
mod tests {
    use super::{Name, Retarget};

    fn targets(old: &str, new: &str) -> Vec<String> {
        let (old, new) = (Name::from(old), Name::from(new));
        let targets = Retarget { old, new }.possible().into_iter();
        targets
            .map(|target| String::from_utf8(target.into_bytes()).unwrap())
            .collect()
    }

    #[test]
    fn the_targets_of_a_link_are_those_of_names_of_before_and_after() {
        let rows: [(&str, &str, &[&str]); 5] = [
            ("a", "b", &["a", "b"]),
            (
                "../a/x/c",
                "../b/x/d",
                &["../a/x/c", "../b/x/c", "../a/x/d", "../b/x/d"],
            ),
            ("/a//b/", "/c//b/", &["/a//b/", "/c//b/"]),
            // As somebody has put it into a plan.
            ("a/b", "c", &["a/b", "c"]),
            ("a", "b/c", &["a", "b/c"]),
        ];
        for (old, new, expected) in rows {
            assert_eq!(targets(old, new), expected);
        }
    }

    #[test]
    fn of_a_long_way_some_targets_are_looked_at_and_always_both_ends() {
        let [old, new] = ["a/", "b/"].map(|name| name.repeat(500));
        let targets = targets(&old, &new);
        assert_eq!(targets.first(), Some(&old));
        assert_eq!(targets.last(), Some(&new));
        assert!(targets.len() < 300);
    }
}

//! What is done in one directory, as it lies in a journal.

use super::octets::{Id, Reader, Writer, kind_octet};
use crate::backing::{Kind, Time};
use crate::names::BackingName;
use crate::tree::step::TreePath;

/// All that is done in one directory. First its links get other targets, under the names of before, as those of all directories do;
/// then names are changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    /// The number of its frame; 0 before it has one.
    pub(crate) number: u64,
    pub(crate) directory: TreePath,
    pub(crate) id: Id,
    pub(crate) mtime: Time,
    pub(crate) links: Vec<Link>,
    /// Those of a chain stand together, in their order.
    pub(crate) moves: Vec<Move>,
}

/// A symbolic link that gets another target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    /// Its name before anything is done.
    pub(crate) name: BackingName,
    pub(crate) id: Id,
    pub(crate) old: Vec<u8>,
    pub(crate) new: Vec<u8>,
}

impl Link {
    /// The targets in which each name is that of before or that of after, from the old target on: what leads on while not all
    /// names are changed. Of very many only some, but always both of these.
    pub(crate) fn targets(&self) -> Vec<Vec<u8>> {
        const MOST: usize = 1 << 8;
        let names = |target: &[u8]| {
            let names = target.split(|&octet| octet == b'/');
            names.map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        let (old, new) = (names(&self.old), names(&self.new));
        let mut targets: Vec<Vec<Vec<u8>>> = vec![Vec::new()];
        for (old, new) in old.iter().zip(&new) {
            let is_other = old != new && targets.len() < MOST;
            let mut others = if is_other {
                targets.clone()
            } else {
                Vec::new()
            };
            targets
                .iter_mut()
                .for_each(|target| target.push(old.clone()));
            others
                .iter_mut()
                .for_each(|target| target.push(new.clone()));
            targets.append(&mut others);
        }
        let mut targets: Vec<Vec<u8>> = targets.iter().map(|names| names.join(&b'/')).collect();
        if old.len() != new.len() || targets.first() != Some(&self.old) {
            targets = vec![self.old.clone()];
        }
        if !targets.contains(&self.new) {
            targets.push(self.new.clone());
        }
        targets
    }
}

/// An entry that gets another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Move {
    /// Its name when the moves before are done.
    pub(crate) name: BackingName,
    pub(crate) id: Id,
    pub(crate) kind: Kind,
    pub(crate) to: Spot,
    /// It belongs to the chain of the move before it: one of them frees a name that another one takes.
    pub(crate) joins: bool,
}

/// Where an entry goes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Spot {
    /// To another name in its directory.
    Name(BackingName),
    /// To the directory of what is put aside.
    Aside,
}

const LINK: u8 = 1;
const RENAME: u8 = 2;
const ASIDE: u8 = 3;
const JOINS: u8 = 0x80;

impl Job {
    /// How many steps it has.
    pub(crate) fn steps(&self) -> usize {
        self.links.len() + self.moves.len()
    }

    /// Its octets; `None` if a length does not fit.
    pub(super) fn write(&self) -> Option<Vec<u8>> {
        let mut out = Writer::default();
        out.u32(u32::try_from(self.directory.len()).ok()?);
        for name in &self.directory {
            out.name(name)?;
        }
        out.id(&self.id);
        out.time(self.mtime);
        out.u32(u32::try_from(self.steps()).ok()?);
        for link in &self.links {
            out.u8(LINK);
            out.u8(kind_octet(Kind::Symlink));
            out.id(&link.id);
            out.name(&link.name)?;
            out.octets(&link.old)?;
            out.octets(&link.new)?;
        }
        for step in &self.moves {
            let tag = match step.to {
                Spot::Name(_) => RENAME,
                Spot::Aside => ASIDE,
            };
            out.u8(if step.joins { tag | JOINS } else { tag });
            out.u8(kind_octet(step.kind));
            out.id(&step.id);
            out.name(&step.name)?;
            if let Spot::Name(to) = &step.to {
                out.name(to)?;
            }
        }
        Some(out.0)
    }

    /// Reads one; `None` if the octets are none.
    pub(super) fn read(number: u64, octets: &[u8]) -> Option<Self> {
        let mut octets = Reader(octets);
        let mut directory = Vec::new();
        for _ in 0..octets.u32()? {
            directory.push(octets.name()?);
        }
        let (id, mtime) = (octets.id()?, octets.time()?);
        let (mut links, mut moves) = (Vec::new(), Vec::new());
        for _ in 0..octets.u32()? {
            let tag = octets.u8()?;
            let kind = Kind::from_dirent(octets.u8()?);
            let (id, name) = (octets.id()?, octets.name()?);
            if tag == LINK {
                let (old, new) = (octets.octets()?.to_vec(), octets.octets()?.to_vec());
                links.push(Link { name, id, old, new });
                continue;
            }
            let to = match tag & !JOINS {
                RENAME => Spot::Name(octets.name()?),
                ASIDE => Spot::Aside,
                _ => return None,
            };
            let joins = tag & JOINS != 0;
            if joins && moves.is_empty() {
                return None;
            }
            moves.push(Move {
                name,
                id,
                kind,
                to,
                joins,
            });
        }
        octets.end()?;
        Some(Self {
            number,
            directory,
            id,
            mtime,
            links,
            moves,
        })
    }

    /// The chains of its moves, each with the number of its first move.
    pub(crate) fn chains(&self) -> impl Iterator<Item = (usize, &[Move])> {
        let mut start = 0;
        self.moves.chunk_by(|_, next| next.joins).map(move |chain| {
            let first = start;
            start += chain.len();
            (first, chain)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backing::Stat;

    fn targets(old: &str, new: &str) -> Vec<String> {
        let stat = Stat::of(std::fs::File::open("/").unwrap()).unwrap();
        let link = Link {
            name: BackingName::parse(b"link").unwrap(),
            id: Id::of(&stat),
            old: old.into(),
            new: new.into(),
        };
        let targets = link.targets().into_iter();
        targets
            .map(|target| String::from_utf8(target).unwrap())
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

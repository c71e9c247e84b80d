//! The visible names of one directory.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use super::shorten::{MOST_TILDES, hash, hashes};
use super::{BackingName, NameMap, VisibleName};

/// The visible names of the backing names in one directory that do not conform. A pure function of the directory's
/// content and the settings (law N4), one to one (law N2).
///
/// Conforming names are not listed: each is visible as itself (law N1).
///
/// Every name has a list of candidates, the plain one first. One that does not conform gets the first candidate that
/// no conforming sibling has and no other name claims with priority. Earlier candidates have priority, then the order
/// of bytes. Exactly one such assignment exists, so entries that come and go are worked in one by one: each moves
/// only those whose names it takes or frees.
#[derive(Debug, Default)]
pub struct Index {
    visible: HashMap<BackingName, Held>,
    backing: HashMap<VisibleName, BackingName>,
    /// Entries that wanted a visible name and got a later candidate instead. Ordered by candidate, then by bytes, so
    /// that the first has it next.
    wanted: HashMap<VisibleName, BTreeSet<(usize, BackingName)>>,
    /// All names by the hash of the mark that they would have, once somebody looked for one.
    hashes: Option<HashMap<Box<[u8]>, BackingName>>,
}

/// The visible name that a backing name has, and by which of its ways.
#[derive(Debug)]
struct Held {
    name: VisibleName,
    way: usize,
}

/// The visible names that were given up and those that were taken when entries came or went. One may be among both.
#[derive(Debug, Default)]
pub struct Moves {
    /// Names that somebody had before.
    pub left: Vec<VisibleName>,
    /// Names that somebody has now.
    pub taken: Vec<VisibleName>,
}

/// The `way`th way of showing a name that does not conform: 0 plain, where it has a text, else escaped with that many `%`.
fn candidate(map: &NameMap, name: &BackingName, way: usize) -> Option<VisibleName> {
    match way {
        0 => map.plain_candidate(name.as_bytes()),
        percents => Some(map.escape_candidate(name.as_bytes(), percents)),
    }
}

impl Index {
    /// Assigns visible names to `names`: all backing names of a directory that do not conform, in any order.
    /// `is_taken` says whether a conforming sibling has a name.
    ///
    /// It ends, because candidates are endless and siblings can take only so many.
    pub fn build(map: &NameMap, names: Vec<BackingName>, is_taken: impl Fn(&[u8]) -> bool) -> Self {
        let mut index = Self::default();
        for name in names {
            index.add(map, &name, &is_taken);
        }
        index
    }

    fn give(&mut self, to: BackingName, name: VisibleName, way: usize) {
        self.backing.insert(name.clone(), to.clone());
        self.visible.insert(to, Held { name, way });
    }

    fn want(&mut self, by: BackingName, name: VisibleName, way: usize) {
        self.wanted.entry(name).or_default().insert((way, by));
    }

    /// Forgets that `name` wanted to be visible by these ways.
    fn want_no_more(&mut self, map: &NameMap, name: &BackingName, ways: std::ops::Range<usize>) {
        for way in ways {
            let Some(wanted) = candidate(map, name, way) else {
                continue;
            };
            if let Some(all) = self.wanted.get_mut(&wanted) {
                all.remove(&(way, name.clone()));
                if all.is_empty() {
                    self.wanted.remove(&wanted);
                }
            }
        }
    }

    /// Finds `name` a visible name by `way` or a later one; then the same for whoever had that one and has to give way.
    fn settle(
        &mut self,
        map: &NameMap,
        mut name: BackingName,
        mut way: usize,
        is_taken: impl Fn(&[u8]) -> bool,
        moves: &mut Moves,
    ) {
        loop {
            let Some(wanted) = candidate(map, &name, way) else {
                way += 1;
                continue;
            };
            if is_taken(wanted.as_bytes()) {
                self.want(name.clone(), wanted, way);
                way += 1;
                continue;
            }
            let Some(holder) = self.backing.get(&wanted) else {
                moves.taken.push(wanted.clone());
                self.give(name, wanted, way);
                return;
            };
            let by = self.visible.get(holder).map_or(0, |held| held.way);
            if (by, holder) <= (way, &name) {
                self.want(name.clone(), wanted, way);
            } else {
                let holder = holder.clone();
                self.give(name, wanted.clone(), way);
                self.want(holder.clone(), wanted, by);
                (name, way) = (holder, by);
            }
            way += 1;
        }
    }

    /// Gives a visible name that is free to whoever wanted it first; then the same for the one that this leaves.
    fn pass_on(&mut self, map: &NameMap, mut free: VisibleName, moves: &mut Moves) {
        let first = |all: &BTreeSet<(usize, BackingName)>| all.first().cloned();
        while let Some((way, name)) = self.wanted.get(&free).and_then(first) {
            let before = self.visible.get(&name).map(|held| held.way);
            self.want_no_more(map, &name, way..before.unwrap_or(way + 1));
            let Some(before) = self.visible.remove(&name) else {
                continue;
            };
            self.backing.remove(&before.name);
            moves.left.push(before.name.clone());
            moves.taken.push(free.clone());
            self.give(name, free, way);
            free = before.name;
        }
    }

    /// Takes a name that does not conform in, because it is in the directory now; `is_taken` says whether a conforming
    /// sibling has a name.
    pub fn add(
        &mut self,
        map: &NameMap,
        name: &BackingName,
        is_taken: impl Fn(&[u8]) -> bool,
    ) -> Moves {
        let mut moves = Moves::default();
        if !self.visible.contains_key(name) {
            if let Some(hashes) = &mut self.hashes {
                hashes.insert(hash(name.as_bytes(), 1).collect(), name.clone());
            }
            self.settle(map, name.clone(), 0, is_taken, &mut moves);
        }
        moves
    }

    /// Removes a name that does not conform and is gone from the directory. `None` if it was not known: all is to be
    /// assigned again.
    pub fn remove(&mut self, map: &NameMap, name: &BackingName) -> Option<Moves> {
        let Held { name: free, way } = self.visible.remove(name)?;
        self.backing.remove(&free);
        if let Some(hashes) = &mut self.hashes {
            hashes.remove(&hash(name.as_bytes(), 1).collect::<Box<[u8]>>());
        }
        self.want_no_more(map, name, 0..way);
        let mut moves = Moves {
            left: vec![free.clone()],
            taken: Vec::new(),
        };
        self.pass_on(map, free, &mut moves);
        Some(moves)
    }

    /// Takes into account that the conforming sibling `name` is in the directory now; `is_taken` as for [`Self::add`].
    pub fn add_sibling(
        &mut self,
        map: &NameMap,
        name: &[u8],
        is_taken: impl Fn(&[u8]) -> bool,
    ) -> Moves {
        let mut moves = Moves::default();
        if let Some((name, holder)) = self.backing.remove_entry(name) {
            let way = self.visible.remove(&holder).map_or(0, |held| held.way);
            self.want(holder.clone(), name.clone(), way);
            let is_taken = |wanted: &[u8]| wanted == name.as_bytes() || is_taken(wanted);
            self.settle(map, holder, way + 1, is_taken, &mut moves);
            moves.left.push(name);
        }
        moves
    }

    /// Takes into account that the conforming sibling `name` is gone from the directory. `None` if the name was not
    /// known to be taken: all is to be assigned again.
    pub fn remove_sibling(&mut self, map: &NameMap, name: &[u8]) -> Option<Moves> {
        if self.backing.contains_key(name) {
            return None;
        }
        let mut moves = Moves::default();
        if let Some((free, _)) = self.wanted.get_key_value(name) {
            self.pass_on(map, free.clone(), &mut moves);
        }
        Some(moves)
    }

    /// Returns the visible name of a backing name that does not conform; `None` if it was not in the directory.
    pub fn visible(&self, name: &BackingName) -> Option<&VisibleName> {
        self.visible.get(name).map(|held| &held.name)
    }

    /// The backing name that does not conform and is visible as `name`.
    pub fn backing(&self, name: &[u8]) -> Option<&BackingName> {
        self.backing.get(name)
    }

    /// Returns the backing name that does not conform and whose escape would be cut to `name`, an alias of it (law
    /// N10). The escape has as many signs as a mark can have tildes.
    pub fn cut_spelling(&mut self, map: &NameMap, name: &[u8]) -> Option<BackingName> {
        hashes(name).next()?;
        let all = self.visible.keys();
        let by_hash = self.hashes.get_or_insert_with(|| {
            all.map(|name| (hash(name.as_bytes(), 1).collect(), name.clone()))
                .collect()
        });
        hashes(name)
            .filter_map(|hash| by_hash.get(hash))
            .find(|backing| {
                let mut ways = 1..=MOST_TILDES;
                ways.any(|way| map.escape_candidate(backing.as_bytes(), way).as_bytes() == name)
            })
            .cloned()
    }

    /// The visible names of all names that do not conform, in no order.
    pub fn visible_names(&self) -> impl Iterator<Item = &VisibleName> {
        self.backing.keys()
    }

    /// Bytes that it takes in memory, roughly.
    pub fn footprint(&self) -> usize {
        // The two tables share the bytes of names; their own places are counted with room to grow.
        let pairs: usize = self
            .visible
            .iter()
            .map(|(b, held)| b.as_bytes().len() + held.name.as_bytes().len() + 224)
            .sum();
        let wanted: usize = self
            .wanted
            .iter()
            .map(|(name, all)| name.as_bytes().len() + 160 + all.len() * 64)
            .sum();
        // The hashes, should they be asked for.
        pairs + wanted + self.visible.len() * 64
    }
}

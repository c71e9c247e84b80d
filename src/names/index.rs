//! The visible names of one directory.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use super::{BackingName, NameMap, VisibleName};

/// Which backing name that does not conform has which visible name, in one directory: a pure function of the
/// directory's content and the settings (law N4), one to one (law N2).
///
/// Conforming names are not listed: each is visible as itself (law N1).
#[derive(Debug, Default)]
pub struct Index {
    visible: HashMap<BackingName, VisibleName>,
    backing: HashMap<VisibleName, BackingName>,
    /// Visible names that somebody wanted and could not have. When the entry that has one goes, all is assigned anew.
    contested: HashSet<VisibleName>,
}

impl Index {
    /// Assigns visible names to `names`, which are all the backing names of a directory that do not conform, in any
    /// order; `is_taken` says whether a conforming sibling has a name.
    ///
    /// All names try their plain way first, in the order of their bytes; those left over try to be escaped with one `%`,
    /// then with two, and so on. It comes to an end, because a name has no end of visible names to try, and siblings can
    /// take only so many.
    pub fn build(
        map: &NameMap,
        mut names: Vec<BackingName>,
        is_taken: impl Fn(&[u8]) -> bool,
    ) -> Self {
        let mut index = Self::default();
        names.sort_unstable();
        // A directory that changes while it is read can list an entry twice.
        names.dedup();
        names.retain(|name| {
            map.plain_candidate(name.as_bytes())
                .is_none_or(|wanted| !index.assign(name, wanted, &is_taken))
        });
        let mut percents = 1;
        while !names.is_empty() {
            names.retain(|name| {
                let wanted = map.escape_candidate(name.as_bytes(), percents);
                !index.assign(name, wanted, &is_taken)
            });
            percents += 1;
        }
        index
    }

    /// Assigns the visible name `wanted` to `name` and returns true, unless it is taken.
    fn assign(
        &mut self,
        name: &BackingName,
        wanted: VisibleName,
        is_taken: impl Fn(&[u8]) -> bool,
    ) -> bool {
        let is_free = !is_taken(wanted.as_bytes()) && !self.backing.contains_key(&wanted);
        if is_free {
            self.visible.insert(name.clone(), wanted.clone());
            self.backing.insert(wanted, name.clone());
        } else {
            self.contested.insert(wanted);
        }
        is_free
    }

    /// Takes a name that does not conform in, because it is new in the directory. Returns whether the index is still
    /// right: not so if the visible name that it tries first is taken or was wanted by others, and all is to be assigned
    /// anew.
    pub fn add(
        &mut self,
        map: &NameMap,
        name: &BackingName,
        is_taken: impl Fn(&[u8]) -> bool,
    ) -> bool {
        let wanted = map
            .plain_candidate(name.as_bytes())
            .unwrap_or_else(|| map.escape_candidate(name.as_bytes(), 1));
        !self.visible.contains_key(name)
            && !self.contested.contains(&wanted)
            && self.assign(name, wanted, is_taken)
    }

    /// What a backing name that does not conform is visible as; `None` if it was not in the directory.
    #[must_use]
    pub fn visible(&self, name: &BackingName) -> Option<&VisibleName> {
        self.visible.get(name)
    }

    /// The backing name that does not conform and is visible as `name`.
    #[must_use]
    pub fn backing(&self, name: &[u8]) -> Option<&BackingName> {
        self.backing.get(name)
    }

    /// The visible names of all names that do not conform, in no order.
    pub fn visible_names(&self) -> impl Iterator<Item = &VisibleName> {
        self.backing.keys()
    }

    /// Number of names that do not conform.
    #[must_use]
    pub fn len(&self) -> usize {
        self.visible.len()
    }

    /// Do all names of the directory conform?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.visible.is_empty()
    }

    /// Does it stay right when the conforming sibling `name` appears or goes?
    #[must_use]
    pub fn is_indifferent_to(&self, name: &[u8]) -> bool {
        !self.contested.contains(name) && !self.backing.contains_key(name)
    }

    /// Takes a name that does not conform out, because it is gone from the directory. Returns whether the index is
    /// still right: not so if a sibling wanted the visible name that is free now.
    pub fn remove(&mut self, name: &BackingName) -> bool {
        match self.visible.remove(name) {
            Some(visible) => {
                self.backing.remove(&visible);
                !self.contested.contains(&visible)
            }
            None => false,
        }
    }

    /// Bytes that it takes in memory, roughly.
    #[must_use]
    pub fn footprint(&self) -> usize {
        let pairs: usize = self
            .visible
            .iter()
            .map(|(b, v)| 2 * (b.as_bytes().len() + v.as_bytes().len()) + 128)
            .sum();
        let contested: usize = self
            .contested
            .iter()
            .map(|name| name.as_bytes().len() + 32)
            .sum();
        pairs + contested
    }
}

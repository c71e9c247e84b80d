//! The visible names of one directory, by what those have in common that are alike.

use std::collections::BTreeSet;
use std::ops::Bound;

use super::VisibleName;
use crate::policy::Alike;

/// Memory of an entry beside its bytes, roughly.
const ENTRY: usize = 48;

/// The visible names of one directory, for finding one that another is like.
///
/// It takes no more time for names that are all alike than for others.
#[derive(Debug)]
pub struct Siblings {
    alike: Alike,
    /// For each name what it has in common with those that it is like, a NUL, which is in neither, and itself.
    entries: BTreeSet<Box<[u8]>>,
    bytes: usize,
}

impl Siblings {
    /// No names yet.
    pub fn new(alike: Alike) -> Self {
        Self {
            alike,
            entries: BTreeSet::new(),
            bytes: 0,
        }
    }

    /// Takes a name in, if it is not there yet.
    pub fn add(&mut self, name: &[u8]) {
        let entry = self.entry(name);
        let length = entry.len();
        if self.entries.insert(entry) {
            self.bytes += length + ENTRY;
        }
    }

    /// Takes a name out, if it is there.
    pub fn remove(&mut self, name: &[u8]) {
        let entry = self.entry(name);
        if self.entries.remove(&entry) {
            self.bytes -= entry.len() + ENTRY;
        }
    }

    /// A name that `name` is like, which is neither `name` itself nor `leaving`; `None` where `name` itself is there, which
    /// is then no new name.
    pub fn like(&self, name: &[u8], leaving: Option<&[u8]>) -> Option<VisibleName> {
        if self.entries.contains(&self.entry(name)) {
            return None;
        }
        let mut common = self.alike.key(name);
        common.push(0);
        let start = Bound::Included(common.as_slice());
        self.entries
            .range::<[u8], _>((start, Bound::Unbounded))
            .map_while(|entry| entry.strip_prefix(common.as_slice()))
            .find(|&sibling| Some(sibling) != leaving)
            .and_then(|sibling| VisibleName::parse(sibling).ok())
    }

    /// Bytes that it takes in memory, roughly.
    pub fn footprint(&self) -> usize {
        self.bytes
    }

    fn entry(&self, name: &[u8]) -> Box<[u8]> {
        let mut entry = self.alike.key(name);
        entry.push(0);
        entry.extend_from_slice(name);
        entry.into()
    }
}

#[cfg(test)]
mod tests {
    use super::Siblings;
    use crate::policy::Alike;

    fn of(names: &[&str]) -> Siblings {
        let mut siblings = Siblings::new(Alike::Casefold);
        for name in names {
            siblings.add(name.as_bytes());
        }
        siblings
    }

    fn like(siblings: &Siblings, name: &str, leaving: Option<&str>) -> Option<String> {
        let found = siblings.like(name.as_bytes(), leaving.map(str::as_bytes));
        found.map(|found| String::from_utf8(found.as_bytes().to_vec()).unwrap())
    }

    #[test]
    fn a_new_name_is_like_one_that_differs_in_case() {
        let siblings = of(&["readme", "Straße", "b"]);
        assert_eq!(like(&siblings, "README", None).as_deref(), Some("readme"));
        assert_eq!(like(&siblings, "STRASSE", None).as_deref(), Some("Straße"));
        assert_eq!(like(&siblings, "readme.txt", None), None);
        assert_eq!(like(&siblings, "read", None), None);
        assert_eq!(like(&siblings, "readme", None), None, "it is there itself");
        assert_eq!(like(&siblings, "Readme", Some("readme")), None);
    }

    /// Made below the mount: both are there, and neither is new.
    #[test]
    fn names_that_are_alike_can_be_there_together() {
        let mut siblings = of(&["A", "a"]);
        assert_eq!(like(&siblings, "a", None), None);
        assert_eq!(like(&siblings, "A", None), None);
        siblings.remove(b"A");
        assert_eq!(like(&siblings, "A", None).as_deref(), Some("a"));
        assert_eq!(like(&siblings, "A", Some("a")), None);
        siblings.add(b"A");
        siblings.remove(b"a");
        assert_eq!(like(&siblings, "a", None).as_deref(), Some("A"));
    }

    #[test]
    fn the_footprint_is_that_of_the_names_that_are_there() {
        let mut siblings = of(&[]);
        assert_eq!(siblings.footprint(), 0);
        siblings.add(b"abc");
        let one = siblings.footprint();
        siblings.add(b"abc");
        assert_eq!(siblings.footprint(), one);
        siblings.add(b"ABC");
        assert_eq!(siblings.footprint(), 2 * one);
        siblings.remove(b"x");
        siblings.remove(b"ABC");
        siblings.remove(b"ABC");
        assert_eq!(siblings.footprint(), one);
    }
}

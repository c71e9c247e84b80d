//! The names of one directory, and which of them collide.

use std::collections::BTreeMap;

use super::ascii_names;
use super::name_rules::Rules;
use crate::policy::Alike;
use crate::tree::entry_list::{EntryList, ListedEntry};

/// The names of one directory.
#[derive(Debug)]
pub(super) struct NameList<'l> {
    pub(super) entries: &'l EntryList,
    /// The keys of all, equal for names that differ in case or form alone, and for others hardly ever.
    keys: Vec<u64>,
    /// Indices of those that are not plain, in order.
    pub(super) special: Vec<usize>,
}

/// A collision of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Collision {
    /// A sibling that it collides with.
    pub(super) with: usize,
    /// A sibling differs in case.
    pub(super) in_case: bool,
    /// A sibling differs in form alone.
    pub(super) in_form: bool,
}

impl<'l> NameList<'l> {
    pub(super) fn new(rules: &Rules, entries: &'l EntryList) -> Self {
        let mut special = Vec::new();
        let key = |(index, entry): (usize, ListedEntry<'_>)| {
            rules.plain_key(entry.name).unwrap_or_else(|| {
                special.push(index);
                ascii_names::key(&Alike::Casefold.key(entry.name))
            })
        };
        let keys = entries.iter().enumerate().map(key).collect();
        Self {
            entries,
            keys,
            special,
        }
    }

    /// Returns every name that collides with another, by its index. A name that is there twice does not collide with itself.
    pub(super) fn collisions(&self) -> BTreeMap<usize, Collision> {
        let mut keys = self.keys.clone();
        keys.sort_unstable();
        let pairs = keys.array_windows();
        let shared = pairs.filter_map(|[one, next]| (one == next).then_some(*one));
        let shared: Vec<u64> = shared.collect();
        drop(keys);
        let mut found = BTreeMap::new();
        if shared.is_empty() {
            return found;
        }
        let mut groups: BTreeMap<Vec<u8>, BTreeMap<&[u8], usize>> = BTreeMap::new();
        for (index, key) in self.keys.iter().enumerate() {
            if shared.binary_search(key).is_ok() {
                let name = self.entries.name(index);
                let group = groups.entry(Alike::Casefold.key(name)).or_default();
                group.entry(name).or_insert(index);
            }
        }
        for group in groups.values().filter(|group| group.len() > 1) {
            collide(group, &mut found);
        }
        found
    }
}

/// Adds what collides among names that are alike in all but case and form: in each form with another name of that form,
/// else with one of another form.
fn collide(group: &BTreeMap<&[u8], usize>, found: &mut BTreeMap<usize, Collision>) {
    let mut forms: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
    for (name, index) in group {
        let form = forms.entry(Alike::Nfc.key(name)).or_default();
        form.push(*index);
    }
    let others: Vec<usize> = forms.values().flatten().copied().collect();
    for same in forms.values() {
        for index in same {
            let with = same.iter().chain(&others).find(|other| *other != index);
            found.extend(with.map(|&with| {
                let collision = Collision {
                    with,
                    in_case: forms.len() > 1,
                    in_form: same.len() > 1,
                };
                (*index, collision)
            }));
        }
    }
}

//! The names of one directory, while it is read, and which of them collide.

use std::collections::BTreeMap;

use super::ascii_names;
use super::name_rules::Rules;
use crate::policy::Alike;

/// The names of one directory.
#[derive(Debug, Default)]
pub(super) struct NameList {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// Indices of those that are to be looked at.
    special: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The end of its bytes.
    end: usize,
    /// Equal for names that differ in case or form alone, and for others hardly ever.
    key: u64,
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

impl NameList {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
        self.special.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn push(&mut self, rules: &Rules, name: &[u8]) {
        let key = rules.plain_key(name).unwrap_or_else(|| {
            self.special.push(self.entries.len());
            ascii_names::key(&Alike::Casefold.key(name))
        });
        self.bytes.extend_from_slice(name);
        let end = self.bytes.len();
        self.entries.push(Entry { end, key });
    }

    /// The name of that index; empty where there is none.
    pub(super) fn name(&self, index: usize) -> &[u8] {
        let end = |index: usize| self.entries.get(index).map(|entry| entry.end);
        let start = index.checked_sub(1).and_then(end).unwrap_or_default();
        let end = end(index).unwrap_or_default();
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// The names that are not plain, in order.
    pub(super) fn special(&self) -> &[usize] {
        &self.special
    }

    /// Returns every name that collides with another, by its index. A name that is there twice does not collide with itself.
    pub(super) fn collisions(&self) -> BTreeMap<usize, Collision> {
        let mut keys: Vec<u64> = self.entries.iter().map(|entry| entry.key).collect();
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
        for (index, entry) in self.entries.iter().enumerate() {
            if shared.binary_search(&entry.key).is_ok() {
                let name = self.name(index);
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

//! Names of one directory that collide.

use std::collections::BTreeMap;

use super::ascii_names;
use crate::policy::Alike;
use crate::records::{Finding, Found};
use crate::tree::entry_list::EntryList;

/// A collision of a name.
#[derive(Debug)]
pub(super) struct Collision {
    /// A sibling that it collides with.
    pub(super) with: usize,
    /// That a sibling differs in case, in form alone, or both.
    pub(super) found: Vec<Found>,
}

/// Returns the key of a name, equal for names that differ in case or form alone, and for others hardly ever.
pub(super) fn key(name: &[u8]) -> u64 {
    ascii_names::key(&Alike::Casefold.key(name))
}

/// Returns every name that collides with another, by its index. A name that is there twice does not collide with itself. `keys` has
/// the key of each.
pub(super) fn collisions(entries: &EntryList, keys: &[u64]) -> BTreeMap<usize, Collision> {
    let mut sorted = keys.to_vec();
    sorted.sort_unstable();
    let pairs = sorted.array_windows();
    let shared = pairs.filter_map(|[one, next]| (one == next).then_some(*one));
    let shared: Vec<u64> = shared.collect();
    drop(sorted);
    // Names that are alike in all but case and form; of these, those of one form.
    let mut groups: BTreeMap<_, BTreeMap<_, BTreeMap<&[u8], usize>>> = BTreeMap::new();
    for (index, key) in keys.iter().enumerate() {
        if shared.binary_search(key).is_ok() {
            let name = entries.name(index);
            let forms = groups.entry(Alike::Casefold.key(name)).or_default();
            let same = forms.entry(Alike::Nfc.key(name)).or_default();
            same.entry(name).or_insert(index);
        }
    }
    let mut collisions = BTreeMap::new();
    for forms in groups.values() {
        for same in forms.values() {
            let in_case = (forms.len() > 1).then_some((Finding::CollidesInCase, "casefold"));
            let in_form = (same.len() > 1).then_some((Finding::CollidesInForm, "nfc"));
            let found = in_case.into_iter().chain(in_form);
            let found = found.map(|(finding, kind)| Found::whole(finding, kind));
            let found: Vec<Found> = found.collect();
            for index in same.values() {
                let mut others = same
                    .values()
                    .chain(forms.values().flat_map(BTreeMap::values));
                if let Some(&with) = others.find(|other| *other != index) {
                    let found = found.clone();
                    collisions.insert(*index, Collision { with, found });
                }
            }
        }
    }
    collisions
}

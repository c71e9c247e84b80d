//! The evaluation of a directory once all its names are there: of each by itself, and of those that collide.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use super::ascii_names::key;
use super::scanner::{Scan, joined};
use crate::codec::guess::Guesser;
use crate::policy::Alike;
use crate::records::{Counts, Directory, Finding, Found, Sampled, ScanEntry, ScanLine};
use crate::tree::entry_list::EntryList;

/// Number of directories between two whose paths are kept to show the progress.
const NOW_AND_THEN: u64 = 64;

/// A collision of a name.
#[derive(Debug)]
struct Collision {
    /// A sibling that it collides with.
    with: usize,
    /// That a sibling differs in case, in form alone, or both.
    found: Vec<Found>,
}

impl Scan<'_> {
    /// Judges the names of a directory and adds them to the tally. `path` returns its path, root and all, and is called only if
    /// needed.
    pub(super) fn evaluate(&self, entries: &EntryList, path: impl FnOnce() -> Vec<u8>) {
        let path = LazyCell::new(path);
        let mut special = Vec::new();
        // Equal for names that differ in case or form alone, and for others hardly ever.
        let keys = entries.iter().enumerate().map(|(index, entry)| {
            self.rules.plain_key(entry.name).unwrap_or_else(|| {
                special.push(index);
                key(&Alike::Casefold.key(entry.name))
            })
        });
        let keys: Vec<u64> = keys.collect();
        let collisions = collisions(entries, &keys);
        let special: BTreeSet<&usize> = special.iter().chain(collisions.keys()).collect();
        let mut counts = Counts {
            entries: u64::try_from(entries.len()).unwrap_or(u64::MAX),
            ..Counts::default()
        };
        let mut guesser: Option<Box<Guesser>> = None;
        for index in special {
            let name = entries.name(*index);
            let mut found = self.rules.judge(name, &mut guesser, &mut counts);
            let collision = collisions.get(index);
            found.extend(collision.iter().flat_map(|collision| &collision.found));
            if found.is_empty() {
                continue;
            }
            let mut findings = found.iter().map(|found| &found.finding);
            let offends = findings.any(|finding| self.rules.offences.contains(finding));
            counts.add_troubled(&found, offends);
            let entry = || ScanEntry {
                path: joined(&path, name).into(),
                name: name.to_vec().into(),
                offends,
                found: found.clone(),
                like: collision.map(|collision| entries.name(collision.with).to_vec().into()),
            };
            let hash = key(name) ^ key(&path).rotate_left(32);
            let sample = || Sampled {
                hash,
                directory: path.clone().into(),
                entry: entry(),
            };
            self.tally.lock().add_kinds(&found, hash, sample);
            if self.sink.is_some() {
                self.report(&ScanLine::Entry(entry()));
            }
        }
        counts.ascii = counts.entries - counts.beyond_ascii - counts.ill_formed;
        let directory = Directory {
            path: match counts.troubled() {
                0 => Vec::new().into(),
                _ => path.clone().into(),
            },
            counts,
            guesser,
        };
        let mut tally = self.tally.lock();
        if tally.directories.is_multiple_of(NOW_AND_THEN) {
            self.place.lock().clone_from(&path);
        }
        tally.add(directory);
    }
}

/// Returns every name that collides with another, by its index. A name that is there twice does not collide with itself. `keys` has
/// the key of each.
fn collisions(entries: &EntryList, keys: &[u64]) -> BTreeMap<usize, Collision> {
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

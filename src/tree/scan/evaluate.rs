//! The evaluation of a directory once all its names are there.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use super::ascii_names::key;
use super::name_collisions::{self, collisions};
use super::scanner::{Scan, joined};
use crate::codec::guess::Guesser;
use crate::records::{Counts, Directory, Sampled, ScanEntry, ScanLine};
use crate::tree::entry_list::EntryList;

/// Number of directories between two whose paths are kept to show the progress.
const NOW_AND_THEN: u64 = 64;

impl Scan<'_> {
    /// Judges the names of a directory and adds them to the tally. `path` returns its path, root and all, and is called only if
    /// needed.
    pub(super) fn evaluate(&self, entries: &EntryList, path: impl FnOnce() -> Vec<u8>) {
        let path = LazyCell::new(path);
        let mut special = Vec::new();
        let keys = entries.iter().enumerate().map(|(index, entry)| {
            self.rules.plain_key(entry.name).unwrap_or_else(|| {
                special.push(index);
                name_collisions::key(entry.name)
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

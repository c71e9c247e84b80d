//! The evaluation of a directory once all its names are there.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::ascii_names::key;
use super::name_list::NameList;
use super::scanner::{Scan, joined};
use crate::codec::guess::Guesser;
use crate::records::{Counts, Directory, Finding, Found, Sampled, ScanEntry, ScanLine, Tally};
use crate::tree::entry_list::EntryList;

impl Scan<'_> {
    /// Judges the names of a directory and adds them to the tally. `path` returns its path from the root, and is
    /// called only if needed.
    pub(super) fn evaluate(
        &self,
        tally: &mut Tally,
        entries: &EntryList,
        root: usize,
        path: impl Fn() -> Vec<u8>,
    ) {
        let listing = NameList::new(&self.rules, entries);
        let path_once = OnceCell::new();
        let path = || path_once.get_or_init(&path);
        let mut counts = Counts {
            entries: u64::try_from(entries.len()).unwrap_or(u64::MAX),
            ..Counts::default()
        };
        let mut guesser: Option<Box<Guesser>> = None;
        let mut found = Vec::new();
        let collisions = listing.collisions();
        let special = listing.special.iter().chain(collisions.keys());
        for index in BTreeSet::from_iter(special) {
            let name = entries.name(*index);
            found.clear();
            self.rules
                .judge(name, &mut found, &mut guesser, &mut counts);
            let collision = collisions.get(index);
            if let Some(collision) = collision {
                let kinds = [
                    (collision.in_case, Finding::CollidesInCase, "casefold"),
                    (collision.in_form, Finding::CollidesInForm, "nfc"),
                ];
                let kinds = kinds.into_iter().filter(|(is_so, ..)| *is_so);
                found.extend(kinds.map(|(_, finding, kind)| Found::whole(finding, kind)));
            }
            if found.is_empty() {
                continue;
            }
            let offends = found
                .iter()
                .any(|found| self.rules.offences().contains(&found.finding));
            counts.add_troubled(&found, offends);
            let hash = key(name) ^ key(path()).rotate_left(32);
            let entry = || ScanEntry {
                path: joined(&self.path(root, path()), name).into(),
                name: name.to_vec().into(),
                offends,
                found: found.clone(),
                like: collision.map(|collision| entries.name(collision.with).to_vec().into()),
            };
            let sample = || Sampled {
                hash,
                directory: self.path(root, path()).into(),
                entry: entry(),
            };
            for found in &found {
                tally.add_kind(found, hash, sample);
            }
            if self.sink.is_some() {
                self.report(&ScanLine::Entry(entry()));
            }
        }
        counts.ascii = counts.entries - counts.beyond_ascii - counts.ill_formed;
        let directory = Directory {
            path: match counts.troubled() {
                0 => Vec::new().into(),
                _ => self.path(root, path()).into(),
            },
            counts,
            guesser,
        };
        self.reached.add(&directory, || self.path(root, path()));
        tally.add(directory);
    }
}

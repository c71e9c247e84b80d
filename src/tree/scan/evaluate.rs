//! The evaluation of a directory once all its names are there.

use std::cell::OnceCell;

use super::ascii_names;
use super::name_list::NameList;
use super::name_rules::Written;
use super::paths::joined;
use super::scanner::{Scan, Sink};
use crate::codec::guess::Guesser;
use crate::records::{Counts, Directory, Finding, Found, Sampled, ScanEntry, Tally};

/// Length of reports that are handed to the sink.
const HANDED_OVER: usize = 64 * 1024;

/// A name with something found in it.
struct Troubled<'h> {
    root: usize,
    /// The path of its directory from the root.
    path: &'h [u8],
    name: &'h [u8],
    found: &'h [Found],
    like: Option<&'h [u8]>,
}

impl<S: Sink> Scan<'_, S> {
    /// Judges the names of a directory and adds them to the tally. `path` returns its path from the root, and is
    /// called only if needed.
    pub(super) fn evaluate(
        &self,
        tally: &mut Tally,
        listing: &NameList,
        out: &mut Vec<u8>,
        root: usize,
        path: impl Fn() -> Vec<u8>,
    ) {
        let path_once = OnceCell::new();
        let path = || path_once.get_or_init(&path);
        let entries = u64::try_from(listing.len()).unwrap_or(u64::MAX);
        let mut counts = Counts {
            entries,
            ascii: entries,
            ..Counts::default()
        };
        let mut guesser: Option<Box<Guesser>> = None;
        let mut found = Vec::new();
        let collisions = listing.collisions();
        let mut collisions = collisions.iter().copied().peekable();
        let mut special = listing.special().iter().copied().peekable();
        loop {
            let next = [special.peek().copied(), collisions.peek().map(|c| c.index)];
            let Some(index) = next.into_iter().flatten().min() else {
                break;
            };
            let name = listing.name(index);
            found.clear();
            if special.next_if_eq(&index).is_some() {
                let written = self.rules.judge(name, &mut found, &mut guesser);
                let count = match written {
                    Written::Ascii => None,
                    Written::BeyondAscii => Some(&mut counts.beyond_ascii),
                    Written::IllFormed => Some(&mut counts.ill_formed),
                };
                if let Some(count) = count {
                    *count += 1;
                    counts.ascii -= 1;
                }
            }
            let collision = collisions.next_if(|collision| collision.index == index);
            if let Some(collision) = collision {
                let kinds = [
                    (collision.in_case, Finding::CollidesInCase, "casefold"),
                    (collision.in_form, Finding::CollidesInForm, "nfc"),
                ];
                let kinds = kinds.into_iter().filter(|(is_so, ..)| *is_so);
                found.extend(kinds.map(|(_, finding, kind)| Found::whole(finding, kind)));
            }
            if !found.is_empty() {
                let troubled = Troubled {
                    root,
                    path: path(),
                    name,
                    found: &found,
                    like: collision.map(|collision| listing.name(collision.with)),
                };
                self.add_troubled(tally, &mut counts, &troubled, out);
            }
        }
        let directory = Directory {
            root,
            path: match counts.troubled() {
                0 => Vec::new().into(),
                _ => path().clone().into(),
            },
            counts,
            guesser,
        };
        self.reached.add(&directory, || self.path(root, path()));
        tally.add(directory);
    }

    fn add_troubled(
        &self,
        tally: &mut Tally,
        counts: &mut Counts,
        troubled: &Troubled<'_>,
        out: &mut Vec<u8>,
    ) {
        let is_offending = troubled
            .found
            .iter()
            .any(|found| self.rules.is_offence(found.finding));
        *if is_offending {
            &mut counts.offending
        } else {
            &mut counts.remarked
        } += 1;
        for &finding in Finding::ALL {
            if troubled.found.iter().any(|found| found.finding == finding) {
                *counts.found.of(finding) += 1;
            }
        }
        let directory = ascii_names::key(troubled.path);
        let hash = ascii_names::key(troubled.name) ^ directory.rotate_left(32);
        let sample = || Sampled {
            hash,
            root: troubled.root,
            directory: troubled.path.to_vec().into(),
            name: troubled.name.to_vec().into(),
            found: troubled.found.to_vec(),
            like: troubled.like.map(|like| like.to_vec().into()),
        };
        for found in troubled.found {
            tally.add_kind(found, hash, sample);
        }
        if self.sink.reports() {
            let directory = self.path(troubled.root, troubled.path);
            let entry = ScanEntry {
                path: joined(&directory, troubled.name).into(),
                name: troubled.name.into(),
                offends: is_offending,
                found: troubled.found.into(),
                like: troubled.like.map(Into::into),
            };
            self.sink.entry(out, entry);
            if out.len() >= HANDED_OVER {
                if !self.sink.take(out) {
                    self.reached.end();
                }
                out.clear();
            }
        }
    }
}

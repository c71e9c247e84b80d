//! What is done with a directory once all its names are there.

use std::cell::OnceCell;

use super::finding::{Finding, Found};
use super::listing::Listing;
use super::rules::Written;
use super::tally::{Counts, Directory, Sampled, Tally};
use super::visitor::{Listed, Sink};
use super::{Scan, plain};
use crate::codec::guess::Guesser;

/// What is to be told is handed over when it is as long as this.
const HANDED_OVER: usize = 64 * 1024;

/// What is the same for all names of a directory.
struct Here {
    root: usize,
    /// Its path from the root.
    path: OnceCell<Vec<u8>>,
    /// Its path with the root's.
    whole: OnceCell<Vec<u8>>,
}

/// A name with something found in it.
struct Troubled<'h> {
    name: &'h [u8],
    found: &'h [Found],
    like: Option<&'h [u8]>,
}

impl<S: Sink> Scan<'_, S> {
    /// Judges the names of a directory and adds them to the tally; `path` gives its path from the root, and is only called
    /// where that is told.
    pub(super) fn close(
        &self,
        tally: &mut Tally,
        listing: &Listing,
        out: &mut Vec<u8>,
        root: usize,
        path: impl Fn() -> Vec<u8>,
    ) {
        let here = Here {
            root,
            path: OnceCell::new(),
            whole: OnceCell::new(),
        };
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
                found.extend(kinds.map(|(_, finding, kind)| Found {
                    finding,
                    kind,
                    place: None,
                }));
            }
            if !found.is_empty() {
                let troubled = Troubled {
                    name,
                    found: &found,
                    like: collision.map(|collision| listing.name(collision.with)),
                };
                here.path.get_or_init(&path);
                self.add_troubled(tally, &mut counts, &here, &troubled, out);
            }
        }
        let directory = Directory {
            root,
            path: match counts.troubled() {
                0 => Vec::new(),
                _ => here.path.get_or_init(&path).clone(),
            },
            counts,
            guesser,
        };
        self.reached
            .add(&directory, || self.path(root, here.path.get_or_init(&path)));
        tally.add(directory);
    }

    fn add_troubled(
        &self,
        tally: &mut Tally,
        counts: &mut Counts,
        here: &Here,
        troubled: &Troubled<'_>,
        out: &mut Vec<u8>,
    ) {
        let path = here.path.get().map_or(&[][..], Vec::as_slice);
        let is_offending = troubled
            .found
            .iter()
            .any(|found| self.rules.is_offence(found.finding));
        *if is_offending {
            &mut counts.offending
        } else {
            &mut counts.remarked
        } += 1;
        for finding in Finding::ALL {
            if troubled.found.iter().any(|found| found.finding == finding) {
                counts.add_finding(finding);
            }
        }
        let hash = plain::key(troubled.name) ^ plain::key(path).rotate_left(32);
        let sample = || Sampled {
            hash,
            root: here.root,
            directory: path.to_vec(),
            name: troubled.name.to_vec(),
            found: troubled.found.to_vec(),
            like: troubled.like.map(<[u8]>::to_vec),
        };
        for found in troubled.found {
            tally.add_kind(found, hash, sample);
        }
        if self.sink.is_told() {
            let listed = Listed {
                directory: here.whole.get_or_init(|| self.path(here.root, path)),
                name: troubled.name,
                found: troubled.found,
                is_offending,
                like: troubled.like,
            };
            self.sink.entry(out, &listed);
            if out.len() >= HANDED_OVER {
                if !self.sink.take(out) {
                    self.reached.end();
                }
                out.clear();
            }
        }
    }
}

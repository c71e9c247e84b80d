//! Directories that were just listed with all attributes.
//!
//! The kernel may keep a list that it asked for with attributes, but would have to ask for each file's anew once these are old,
//! which costs more than another list with attributes does. So it is to use a list that it kept only while they are fresh.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::inode::lock;

/// So long after the listing began the attributes are fresh: half as long as they are kept.
const FRESH: Duration = Duration::from_millis(500);

/// Of so many directories it is known when they were listed.
const MOST: usize = 1024;

/// How far a stream has listed its directory.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// When it began, if all entries since were given with attributes.
    pub(super) began: Option<Instant>,
}

impl Listing {
    /// More is read.
    pub(super) fn goes_on(&mut self, from_start: bool, has_attributes: bool) {
        if from_start {
            self.began = Some(Instant::now());
        }
        self.began.take_if(|_| !has_attributes);
    }
}

/// When directories were listed, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Listings(Mutex<HashMap<u64, Instant>>);

impl Listings {
    /// A directory was listed to its end.
    pub(super) fn note(&self, directory: u64, began: Instant) {
        let mut listed = lock(&self.0);
        // Who lists so many lists none of them again soon.
        if listed.len() >= MOST {
            listed.clear();
        }
        listed.insert(directory, began);
    }

    /// Are the attributes fresh that the last listing of a directory gave?
    pub(super) fn is_fresh(&self, directory: u64) -> bool {
        let listed = lock(&self.0);
        listed
            .get(&directory)
            .is_some_and(|began| began.elapsed() < FRESH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_fresh_for_half_a_second_after_it_began() {
        let listed = Listings::default();
        assert!(!listed.is_fresh(1));
        listed.note(1, Instant::now() - FRESH);
        assert!(!listed.is_fresh(1));
        for number in 0..2000 {
            listed.note(number, Instant::now());
        }
        assert!(!listed.is_fresh(1000));
        assert!(listed.is_fresh(1999));
    }

    #[test]
    fn a_listing_counts_where_all_of_it_has_attributes() {
        let mut listing = Listing::default();
        listing.goes_on(true, true);
        listing.goes_on(false, true);
        assert!(listing.began.is_some());
        listing.goes_on(false, false);
        listing.goes_on(false, true);
        assert!(listing.began.is_none());
    }
}

//! Directories that were just listed with all attributes.
//!
//! The kernel may keep a list that it asked for with attributes, but would have to ask for each file's anew once these are old,
//! which costs more than another list with attributes does. So it is to keep a list only while they are fresh, and only where
//! a directory is listed again and again, since keeping costs too.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::inode::lock;

/// So long after the listing began the attributes are fresh: half as long as they are kept.
const FRESH: Duration = Duration::from_millis(500);

/// Who lists a directory again within this time may well do so once more.
const AGAIN: Duration = Duration::from_secs(2);

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

    /// Is a directory to be kept that is about to be listed, and are the attributes that its last listing gave fresh?
    pub(super) fn is_kept_and_fresh(&self, directory: u64) -> (bool, bool) {
        let listed = lock(&self.0);
        listed.get(&directory).map_or((false, false), |began| {
            let age = began.elapsed();
            (age < AGAIN, age < FRESH)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_fresh_for_half_a_second_after_it_began() {
        let listed = Listings::default();
        assert_eq!(listed.is_kept_and_fresh(1), (false, false));
        listed.note(1, Instant::now() - FRESH);
        assert_eq!(listed.is_kept_and_fresh(1), (true, false));
        for number in 0..2000 {
            listed.note(number, Instant::now());
        }
        assert_eq!(listed.is_kept_and_fresh(1000), (false, false));
        assert_eq!(listed.is_kept_and_fresh(1999), (true, true));
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

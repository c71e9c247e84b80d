//! Directories that were just listed with all attributes.
//!
//! The kernel may keep a list that it asked for with attributes, but would have to ask for each file's anew once these are old,
//! which costs more than another list with attributes does. So it is to use a list that it kept only while they are fresh.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Lasts;
use super::inode::lock;

/// Attributes are kept for so long at least, and taken for fresh half as long as the first of them are kept.
const BRIEFLY: Duration = Duration::from_secs(1);

/// No list is used for longer.
const MOST_TIME: Duration = Duration::from_secs(60);

/// Of so many directories it is known when they were listed.
const MOST: usize = 1024;

/// How far a stream has listed its directory.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// When it began, and for how long all attributes are kept that were given since, if all entries had them.
    given: Option<(Instant, Duration)>,
}

impl Listing {
    /// More is read.
    pub(super) fn goes_on(&mut self, from_start: bool, has_attributes: bool) {
        if from_start {
            self.given = Some((Instant::now(), MOST_TIME));
        }
        self.given.take_if(|_| !has_attributes);
    }

    /// An entry was given whose attributes are kept so long.
    pub(super) fn give(&mut self, attributes: Lasts) {
        let time = match attributes {
            // The kernel asks for these each time.
            Lasts::Not | Lasts::Long => return,
            Lasts::Open | Lasts::Briefly => BRIEFLY,
            Lasts::For(time) => time.max(BRIEFLY),
        };
        if let Some((_, least)) = &mut self.given {
            *least = time.min(*least);
        }
    }

    /// Until when the attributes are fresh that were given.
    pub(super) fn fresh_until(&self) -> Option<Instant> {
        self.given.map(|(began, least)| began + least / 2)
    }
}

/// Until when what was listed of directories is fresh, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Listings(Mutex<HashMap<u64, Instant>>);

impl Listings {
    /// A directory was listed to its end.
    pub(super) fn note(&self, directory: u64, fresh_until: Instant) {
        let mut listed = lock(&self.0);
        // Who lists so many lists none of them again soon.
        if listed.len() >= MOST {
            listed.clear();
        }
        listed.insert(directory, fresh_until);
    }

    /// A directory is listed anew: what the kernel keeps of it becomes another list.
    pub(super) fn forget(&self, directory: u64) {
        lock(&self.0).remove(&directory);
    }

    /// Are the attributes fresh that the last listing of a directory gave?
    pub(super) fn is_fresh(&self, directory: u64) -> bool {
        let listed = lock(&self.0);
        listed
            .get(&directory)
            .is_some_and(|&until| Instant::now() < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_fresh_until_its_time() {
        let listed = Listings::default();
        assert!(!listed.is_fresh(1));
        listed.note(1, Instant::now());
        assert!(!listed.is_fresh(1));
        for number in 0..2000 {
            listed.note(number, Instant::now() + MOST_TIME);
        }
        assert!(!listed.is_fresh(1000));
        assert!(listed.is_fresh(1999));
        listed.forget(1999);
        assert!(!listed.is_fresh(1999));
    }

    #[test]
    fn a_listing_counts_where_all_of_it_has_attributes() {
        let mut listing = Listing::default();
        listing.goes_on(true, true);
        listing.goes_on(false, true);
        let began = listing.given.unwrap().0;
        let fresh = |listing: &Listing| listing.fresh_until().unwrap() - began;
        assert_eq!(fresh(&listing), MOST_TIME / 2);
        // The first that is old makes the list so.
        for (attributes, time) in [
            (Lasts::Long, MOST_TIME),
            (Lasts::For(Duration::from_secs(7)), Duration::from_secs(7)),
            (Lasts::For(Duration::from_secs(9)), Duration::from_secs(7)),
            (Lasts::Not, Duration::from_secs(7)),
            (Lasts::For(Duration::ZERO), BRIEFLY),
            (Lasts::Briefly, BRIEFLY),
        ] {
            listing.give(attributes);
            assert_eq!(fresh(&listing), time / 2);
        }
        listing.goes_on(false, false);
        listing.goes_on(false, true);
        assert_eq!(listing.fresh_until(), None);
    }
}

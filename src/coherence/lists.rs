//! Directories that were just listed with all attributes.
//!
//! The kernel may keep a list that it asked for with attributes. But once these are old it asks for each file's
//! again, which costs more than another list with attributes. So it is to use a kept list only while its attributes
//! are fresh.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Number of directories of which the time of the last listing is known.
const MOST: usize = 1024;

/// The last listing of a directory.
#[derive(Debug, Clone, Copy)]
struct List {
    began: Instant,
    /// For how long all attributes are kept that were given since.
    least: Duration,
    is_whole: bool,
}

/// The last listings of directories with all attributes, by inode number.
#[derive(Debug, Default)]
pub(super) struct Lists(Mutex<HashMap<u64, List>>);

impl Lists {
    /// No list is used for longer.
    pub(super) const MOST: Duration = Duration::from_secs(60);

    /// A part of a directory was listed, and attributes were given that are kept for `least`; `None` where some were not given.
    pub(super) fn note(
        &self,
        directory: u64,
        is_start: bool,
        least: Option<Duration>,
        is_end: bool,
    ) {
        let mut lists = self.0.lock();
        let Some(least) = least else {
            lists.remove(&directory);
            return;
        };
        if is_start {
            // Who lists so many lists none of them again soon.
            if lists.len() >= MOST {
                lists.clear();
            }
            let list = List {
                began: Instant::now(),
                least: Self::MOST,
                is_whole: false,
            };
            lists.insert(directory, list);
        }
        if let Some(list) = lists.get_mut(&directory) {
            list.least = list.least.min(least);
            list.is_whole |= is_end;
        }
    }

    /// Are the attributes fresh that the last listing of a directory gave? They are taken for that half as long as they are kept.
    pub(super) fn is_fresh(&self, directory: u64) -> bool {
        let lists = self.0.lock();
        let list = lists.get(&directory);
        list.is_some_and(|list| list.is_whole && list.began.elapsed() < list.least / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Option<Duration> = Some(Lists::MOST);

    #[test]
    fn a_list_is_fresh_until_its_time() {
        let lists = Lists::default();
        assert!(!lists.is_fresh(1));
        for number in 0..2000 {
            lists.note(number, true, WHOLE, true);
        }
        assert!(!lists.is_fresh(1000));
        assert!(lists.is_fresh(1999));
        let age = |list: &mut List| list.began = list.began.checked_sub(Lists::MOST / 2).unwrap();
        lists.0.lock().values_mut().for_each(age);
        assert!(!lists.is_fresh(1999));
    }

    #[test]
    fn a_list_counts_where_all_of_it_has_attributes() {
        let lists = Lists::default();
        let least = || lists.0.lock().get(&1).map(|list| list.least);
        lists.note(1, true, WHOLE, false);
        assert!(!lists.is_fresh(1), "there is more");
        // The first that is old makes the list so.
        for (seconds, expected) in [(7, 7), (9, 7), (1, 1)] {
            lists.note(1, false, Some(Duration::from_secs(seconds)), false);
            assert_eq!(least(), Some(Duration::from_secs(expected)));
        }
        lists.note(1, false, WHOLE, true);
        assert!(lists.is_fresh(1));
        lists.note(1, true, WHOLE, false);
        assert!(!lists.is_fresh(1), "it is listed anew");
        lists.note(1, false, None, false);
        lists.note(1, false, WHOLE, true);
        assert!(!lists.is_fresh(1));
    }
}

//! Counting many different things in bounded memory.

use std::collections::HashMap;

/// So many different things are counted exactly.
const MOST: usize = 100_000;

/// So many bytes of them.
const MOST_BYTES: usize = 1 << 26;

/// How often each thing was met.
///
/// Where there are too many, those met least are forgotten (after Misra and Gries): all that is told is then too small by
/// [`Counter::missing`] at most, and whatever was met more often than that is there.
#[derive(Debug, Default)]
pub(super) struct Counter {
    counts: HashMap<Box<[u8]>, u64>,
    bytes: usize,
    missing: u64,
    has_forgotten: bool,
}

impl Counter {
    pub(super) fn add(&mut self, thing: &[u8], times: u64) {
        if let Some(count) = self.counts.get_mut(thing) {
            *count = count.saturating_add(times);
            return;
        }
        self.bytes += thing.len();
        self.counts.insert(thing.into(), times);
        if self.counts.len() > MOST || self.bytes > MOST_BYTES {
            self.forget();
        }
    }

    /// Forgets at least half of them.
    fn forget(&mut self) {
        self.has_forgotten = true;
        let mut counts: Vec<u64> = self.counts.values().copied().collect();
        // Of two the smaller, so that one long thing does not take along what was met often.
        let middle = counts.len().saturating_sub(1) / 2;
        let (_, median, _) = counts.select_nth_unstable(middle);
        let less = *median;
        self.missing = self.missing.saturating_add(less);
        let bytes = &mut self.bytes;
        self.counts.retain(|thing, count| {
            *count = count.saturating_sub(less);
            if *count == 0 {
                *bytes -= thing.len();
            }
            *count > 0
        });
    }

    /// How many different things are known: no more than there were, and less where some were forgotten.
    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    /// Is [`Counter::len`] how many there were?
    pub(super) fn is_whole(&self) -> bool {
        !self.has_forgotten
    }

    /// By how much a count may be too small; 0 where all were counted.
    pub(super) fn missing(&self) -> u64 {
        self.missing
    }

    /// Those that were met most, the most frequent first, at most so many.
    pub(super) fn top(&self, most: usize) -> Vec<(&[u8], u64)> {
        let counts = self.counts.iter();
        let mut all: Vec<(&[u8], u64)> = counts.map(|(thing, count)| (&**thing, *count)).collect();
        all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        all.truncate(most);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::{Counter, MOST};

    #[test]
    fn few_things_are_counted_exactly() {
        let mut counter = Counter::default();
        for (thing, times) in [(&b"b"[..], 2), (b"a", 2), (b"c", 7), (b"b", 1)] {
            counter.add(thing, times);
        }
        assert_eq!(counter.top(2), [(&b"c"[..], 7), (b"b", 3)]);
        assert_eq!((counter.len(), counter.missing()), (3, 0));
        assert!(counter.is_whole());
    }

    #[test]
    fn of_too_many_the_frequent_ones_are_told_and_how_wrong_it_may_be() {
        let mut counter = Counter::default();
        for number in 0..3 * MOST {
            counter.add(number.to_string().as_bytes(), 1);
            if number % 10 == 0 {
                counter.add(b"often", 1);
            }
        }
        counter.add(&vec![b'x'; 70 << 20], 1);
        let often = u64::try_from(3 * MOST / 10).unwrap();
        let top = counter.top(1);
        assert_eq!(top[0].0, b"often");
        assert!((1..100).contains(&counter.missing()));
        assert!(top[0].1 <= often && top[0].1 + counter.missing() >= often);
        assert!(!counter.is_whole());
        assert!(counter.len() <= MOST && counter.bytes < 1 << 22);
    }
}
